#!/usr/bin/env bash
# Starts a Docker Engine on the default socket where none answers, and stops that one again.
# Owns: the dockerd it started, its log and the record of it. Never touches any other Engine.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: start_docker.sh --start | --stop ID | --status

  --start    does nothing if an Engine answers at /var/run/docker.sock (prints nothing).
             Else starts one, waits until it answers, and prints its ID on standard output:
             a pid, or the word "systemd" where systemd runs the host.
  --stop ID  stops the Engine with that ID if this script started it; refuses any other.
  --status   exit status 0 if an Engine answers, 1 if not.

Environment:
  K3D_DOCKER_ROOT      data root of a new dockerd            (/var/lib/docker)
  K3D_DOCKER_LOG       its log                               (/var/log/k3d-dockerd.log)
  K3D_DOCKER_ARGS      more arguments for it, split at blanks
  K3D_DOCKER_DEADLINE  seconds to wait for it                (60)

A plain start is tried first; when that fails (no iptables or no right to make a bridge),
a second one with --iptables=false --bridge=none: containers then use --network host or none.
HELP
}

socket=/var/run/docker.sock
state=/run/k3d-start-docker
log=${K3D_DOCKER_LOG:-/var/log/k3d-dockerd.log}
root=${K3D_DOCKER_ROOT:-/var/lib/docker}
deadline=${K3D_DOCKER_DEADLINE:-60}

say() { printf 'start_docker: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

answers() { [[ -S $socket ]] && [[ $(curl -s -m 3 --unix-socket "$socket" http://docker/_ping 2>/dev/null) == OK ]]; }

has_systemd() { [[ -d /run/systemd/system ]] && command -v systemctl >/dev/null; }

# A pid alone can be reused by another process; with its start time it cannot.
start_time() {
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -r -a fields <<<"${stat##*) }" # from the third field on: the name may hold blanks
  printf '%s' "${fields[19]}"
}

is_dockerd() { [[ $(cat "/proc/$1/comm" 2>/dev/null) == dockerd ]]; }

wait_until_gone() { # PID SECONDS
  local end=$((SECONDS + $2))
  while [[ -d /proc/$1 ]] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

launch() { # ARGUMENTS...; sets pid; 0 when it answers
  local extra=() end
  read -r -a extra <<<"${K3D_DOCKER_ARGS:-}"
  printf -- '--- %s dockerd --data-root %s %s\n' "$(date -u +%FT%TZ)" "$root" "$*" >>"$log"
  # A session of its own, so that it outlives the shell; the lock must not go with it.
  setsid dockerd --data-root "$root" "${extra[@]}" "$@" >>"$log" 2>&1 </dev/null 9>&- &
  pid=$!
  end=$((SECONDS + deadline))
  while ((SECONDS < end)); do
    answers && return 0
    [[ -d /proc/$pid ]] && is_dockerd_or_starting || return 1
    sleep 0.1
  done
  say "no answer within ${deadline} s"
  return 1
}

# Right after the fork the process is still bash or setsid; a zombie has ended.
is_dockerd_or_starting() { ! grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null; }

give_up_on() { # PID: end a start that failed
  kill -TERM "$1" 2>/dev/null || return 0
  wait_until_gone "$1" 15 || kill -KILL "$1" 2>/dev/null || true
}

start() {
  answers && { say "an Engine answers at $socket already"; return 0; }
  [[ $EUID == 0 ]] || die "must be root to start dockerd"
  install -d -m 0755 "$state" "$(dirname "$log")"
  exec 9>"$state/lock"
  flock -w $((deadline * 2 + 10)) 9 || die "another start is still going on"
  answers && { say "an Engine answers at $socket already"; return 0; }

  if has_systemd; then
    systemctl start docker || die "systemctl start docker failed: see journalctl -u docker"
    local end=$((SECONDS + deadline))
    until answers; do
      ((SECONDS < end)) || die "docker.service is started but does not answer at $socket"
      sleep 0.1
    done
    : >"$state/systemd"
    echo systemd
    return 0
  fi

  command -v dockerd >/dev/null || die "dockerd is missing: run packaging/deps.sh"
  # dockerd refuses to start while its pid file names any living process, as it may after a crash.
  local old
  if old=$(cat /var/run/docker.pid 2>/dev/null) && ! is_dockerd "$old"; then
    say "removing the pid file of a dockerd that is gone ($old)"
    rm -f /var/run/docker.pid
  elif [[ -n $old ]]; then
    die "dockerd $old runs but does not answer at $socket; it is not ours to restart"
  fi

  local pid
  if ! launch; then
    say "plain start failed: $(awk '/^--- /{ last = "" } /failed to start|level=(fatal|error)|Status: / { last = $0 } END { print last }' "$log")"
    give_up_on "$pid"
    say "trying without iptables and bridge"
    if ! launch --iptables=false --bridge=none; then
      give_up_on "$pid"
      tail -n 20 "$log" >&2
      die "dockerd does not start; log: $log"
    fi
  fi
  start_time "$pid" >"$state/$pid"
  say "dockerd $pid answers, log: $log"
  echo "$pid"
}

stop() { # ID
  local id=$1
  [[ $id == systemd || $id =~ ^[1-9][0-9]*$ ]] || die "not an ID: $id"
  [[ -e $state/$id ]] || die "$id was not started by this script; left alone"
  if [[ $id == systemd ]]; then
    systemctl stop docker.socket docker.service
    rm -f "$state/systemd"
    return 0
  fi
  if ! is_dockerd "$id" || [[ $(start_time "$id") != "$(cat "$state/$id")" ]]; then
    rm -f "$state/$id"
    say "dockerd $id is gone already"
    return 0
  fi
  kill -TERM "$id"
  wait_until_gone "$id" 60 || die "dockerd $id did not end within 60 s of SIGTERM; left alone"
  rm -f "$state/$id"
  say "dockerd $id stopped"
}

case ${1:-} in
  --start) (($# == 1)) || { usage >&2; exit 2; }; start ;;
  --stop) (($# == 2)) || { usage >&2; exit 2; }; stop "$2" ;;
  --status) (($# == 1)) || { usage >&2; exit 2; }; answers ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
