#!/usr/bin/env bash
# A newer Docker Engine (28: CDI, BuildKit, API 1.51) inside a container of this machine's Engine.
# Owns: one container, volume, bridge and cgroup per DIR, and in DIR docker.sock and dockerd.log.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: docker28.sh start DIR [--cdi DIR] [--mount PATH]... [--image NAME]... [--live-restore]
       docker28.sh stop|crash|pid|logs DIR

  start   makes it, or brings dockerd back after `crash`; prints the socket's path, DIR/docker.sock,
          when the Engine answers. A container that is there keeps its options.
  stop    removes it with all of its containers and images
  crash   SIGKILLs its dockerd and containerd; containers go on until `start` (on with --live-restore)
  pid     prints dockerd's pid on this machine
  logs    prints dockerd's log

  --cdi DIR       folder of CDI specs, becomes /etc/cdi (see cdi/write_cdi_spec.sh)
  --mount PATH    the Engine sees PATH at the same path, so that containers can mount what is below it;
                  DIR is always among them (repeatable)
  --image NAME    an image of the outer Engine to copy into it (repeatable)
  --live-restore  containers survive dockerd

Its containers share this machine's pids and network: `State.Pid` is a pid here, and --network host is the
machine's loopback. It does no NAT: use --network host or none.
The outer Engine is the one at $DOCKER_HOST or the default socket.
HELP
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
image=k3d-testbed-docker28:latest
say() { printf 'docker28: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

inner() { docker -H "unix://$socket" "$@"; }
answers() { [[ -S $socket ]] && [[ $(curl -s -m 3 --unix-socket "$socket" http://docker/_ping 2>/dev/null) == OK ]]; }
state() { docker ps -a --filter "name=^/$name\$" --format '{{.State}}'; }
# The pid as this machine sees it: the container shares its pids.
dockerd_pid() { docker exec "$name" cat /run/docker28.pid 2>/dev/null || true; }
is_alive() { [[ -n $1 && $(cat "/proc/$1/comm" 2>/dev/null) == dockerd ]]; }

start() {
  local cdi='' mounts=("$dir") images=() live='' path options=()
  while (($#)); do
    case $1 in
      --cdi | --mount | --image)
        (($# >= 2)) || { usage >&2; exit 2; }
        case $1 in
          --cdi) cdi=$(realpath -e "$2") ;;
          --mount) mounts+=("$(realpath -e "$2")") ;;
          # Without a tag `docker save` would take all of that name.
          --image) if [[ $2 == *:* ]]; then images+=("$2"); else images+=("$2:latest"); fi ;;
        esac
        shift 2
        ;;
      --live-restore) live=1; shift ;;
      *) usage >&2; exit 2 ;;
    esac
  done

  if [[ -z $(state) ]]; then
    "$here/../../packaging/engine/debian_image.sh" --tag "$image" --suite sid docker.io iptables iproute2
    for path in "${mounts[@]}"; do options+=(--volume "$path:$path"); done
    [[ -z $cdi ]] || options+=(--volume "$cdi:/etc/cdi:ro")
    # All capabilities but the one that the outer machine may lack, which --privileged insists on.
    # A bridge of its own: dockerd without one takes docker0 away from the outer Engine.
    docker run -d --name "$name" --label k3d.testbed=docker28 --network host --pid host --cgroupns host \
      --cap-add ALL --cap-drop SYS_RESOURCE \
      --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
      --volume /sys/fs/cgroup:/sys/fs/cgroup:rw --volume "$name:/var/lib/docker" \
      --env "LIVE_RESTORE=$live" "${options[@]}" "$image" sleep infinity >/dev/null
  elif [[ $(state) != running ]]; then
    docker start "$name" >/dev/null
  fi

  if ! is_alive "$(dockerd_pid)"; then
    rm -f "$socket"
    # shellcheck disable=SC2016
    docker exec -d "$name" sh -c '
      ip link show "$2" >/dev/null 2>&1 || ip link add "$2" type bridge
      rm -f /run/docker.pid /run/docker/containerd/containerd.pid
      echo $$ >/run/docker28.pid
      exec dockerd -H "unix://$1/docker.sock" -G "$3" --bridge "$2" --iptables=false --ip6tables=false \
        --cgroup-parent "/$2" ${LIVE_RESTORE:+--live-restore} >>"$1/dockerd.log" 2>&1' sh "$dir" "$short" "$group"
  fi
  local end=$((SECONDS + 60))
  until answers; do
    ((SECONDS < end)) || { tail -n 20 "$dir/dockerd.log" >&2; die "no answer within 60 s"; }
    sleep 0.1
  done
  for path in "${images[@]}"; do
    inner image inspect "$path" >/dev/null 2>&1 || docker save "$path" | inner load >&2
  done
  printf '%s\n' "$socket"
}

crash() {
  local pid children
  pid=$(dockerd_pid)
  is_alive "$pid" || die "dockerd does not run"
  children=$(cat "/proc/$pid/task/$pid/children")
  # containerd is dockerd's only child of that name; shims have gone to init.
  local child victims=("$pid")
  for child in $children; do
    [[ $(cat "/proc/$child/comm" 2>/dev/null) == containerd ]] && victims+=("$child")
  done
  kill -KILL "${victims[@]}"
  while is_alive "$pid"; do sleep 0.05; done
}

stop() {
  local ids pid path
  if answers; then
    ids=$(inner ps -aq)
    # shellcheck disable=SC2086 # one word per container
    [[ -z $ids ]] || inner rm -f $ids >/dev/null
  fi
  pid=$(dockerd_pid)
  if is_alive "$pid"; then
    kill -TERM "$pid"
    local end=$((SECONDS + 30))
    while is_alive "$pid"; do
      ((SECONDS < end)) || { kill -KILL "$pid"; break; }
      sleep 0.1
    done
  fi
  # What a crashed Engine left running is found by its cgroup; so are the cgroups themselves.
  while read -r path; do
    xargs -r kill -KILL <"$path" 2>/dev/null || true
  done < <(find /sys/fs/cgroup -path "*/$short/*" -name cgroup.procs 2>/dev/null)
  docker rm -f "$name" >/dev/null 2>&1 || true
  docker volume rm "$name" >/dev/null 2>&1 || true
  find /sys/fs/cgroup -depth -type d \( -path "*/$short" -o -path "*/$short/*" \) -exec rmdir {} + 2>/dev/null || true
  ip link del "$short" 2>/dev/null || true
  rm -f "$socket"
}

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  start | stop | crash | pid | logs) (($# >= 2)) || { usage >&2; exit 2; } ;;
  *) usage >&2; exit 2 ;;
esac
verb=$1
mkdir -p "$2"
dir=$(realpath -e "$2")
shift 2
short=k3d28-$(printf '%s' "$dir" | sha256sum | cut -c1-8) # also an interface's name: at most 15 characters
name=k3d-testbed-$short
socket=$dir/docker.sock
group=$(getent group docker | cut -d: -f3)
: "${group:=0}"
case $verb in
  start) start "$@" ;;
  stop) stop ;;
  crash) crash ;;
  pid) dockerd_pid ;;
  logs) cat "$dir/dockerd.log" ;;
esac
