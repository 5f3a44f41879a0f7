#!/usr/bin/env bash
# A Debian 12 host with systemd as PID 1 and its own Docker Engine, inside a container: for unit files, the
# watchdog, socket activation, journald, and k3d as a user of its own.
# Owns: per NAME one container, volume, bridge and cgroup.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: systemd_host.sh start NAME [--mount PATH[:ro]]... [--network host|none] [--image NAME]... [--live-restore]
       systemd_host.sh exec NAME COMMAND [ARGUMENT]...
       systemd_host.sh install NAME [K3D_BINARY [K3CTL_BINARY]]
       systemd_host.sh reboot|stop NAME

  start    makes it, waits until systemd says `running` and Docker answers; prints the container's name.
           One that is there is left as it is (started again if it was stopped).
  exec     runs a command in it as root; standard input, output and the exit status are the command's.
           As the daemon's user: exec NAME runuser -u k3d -- COMMAND
  install  puts the binaries into /usr/bin and packaging/systemd into its places, makes user and folders.
           Enables and starts nothing. /etc/k3d/k3d.yaml is the caller's.
  reboot   PID 1 starts anew: /run is empty, Docker starts again. The kernel's boot_id stays.
  stop     removes it with all that is in it

  --mount PATH    the machine's folder at the same path inside (repeatable)
  --network none  a loopback of its own, so that ports are free; host (default) shares the machine's
  --image NAME    an image of the outer Engine to copy into its Docker (repeatable)
  --live-restore  sets that in its /etc/docker/daemon.json

Its Docker is Debian's (20.10), data on a volume. `State.Pid` of its containers is a pid inside, as k3d sees it.
The outer Engine is the one at $DOCKER_HOST or the default socket.
HELP
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packaging=$(cd "$here/../../packaging" && pwd)
image=k3d-testbed-systemd:latest
# What PID 1 and Docker need, and the libraries that the k3d binary is linked to.
packages=(systemd systemd-sysv dbus docker.io iptables iproute2 procps curl ca-certificates
  libyaml-cpp0.7 libspdlog1.10 libfmt9 libsystemd0 libssl3 libcurl4 libsqlite3-0)
say() { printf 'systemd_host: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

inside() { docker exec -i "$container" "$@"; }
state() { docker ps -a --filter "name=^/$container\$" --format '{{.State}}'; }

wait_until_up() {
  local end=$((SECONDS + 90)) answer=''
  while ((SECONDS < end)); do
    answer=$(inside systemctl is-system-running 2>/dev/null || true)
    [[ $answer == running || $answer == degraded ]] && break
    sleep 0.2
  done
  if [[ $answer != running ]]; then
    inside systemctl --failed --no-legend >&2 || docker logs --tail 20 "$container" >&2
    die "systemd says: ${answer:-nothing}"
  fi
  inside docker version >/dev/null || { inside journalctl -u docker -n 20 --no-pager >&2; die "its Docker does not answer"; }
}

start() {
  local options=() images=() network=host live='' path mode
  while (($#)); do
    case $1 in
      --mount | --network | --image)
        (($# >= 2)) || { usage >&2; exit 2; }
        case $1 in
          --mount)
            path=${2%:ro}
            mode=${2#"$path"}
            path=$(realpath -e "$path")
            options+=(--volume "$path:$path$mode")
            ;;
          --network)
            [[ $2 == host || $2 == none ]] || { usage >&2; exit 2; }
            network=$2
            ;;
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
    "$packaging/engine/debian_image.sh" --tag "$image" --suite bookworm --setup "$here/systemd_host_setup.sh" \
      --change 'CMD ["/sbin/init"]' --change 'ENV container=docker' "${packages[@]}"
    docker create --name "$container" --label k3d.testbed=systemd --network "$network" --cgroupns host \
      --cap-add ALL --cap-drop SYS_RESOURCE --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
      --volume /sys/fs/cgroup:/sys/fs/cgroup:rw --volume "$container:/var/lib/docker" \
      --tmpfs /run --tmpfs /run/lock --tmpfs /tmp --stop-signal SIGRTMIN+3 "${options[@]}" "$image" >/dev/null
    local files
    files=$(mktemp -d)
    mkdir -p "$files/etc/docker"
    printf 'BRIDGE=%s\n' "$short" >"$files/etc/testbed.env"
    printf '{"live-restore": %s}\n' "$([[ -n $live ]] && echo true || echo false)" >"$files/etc/docker/daemon.json"
    tar -C "$files" -c --owner 0 --group 0 etc | docker cp - "$container:/"
    rm -rf "$files"
  fi
  [[ $(state) == running ]] || docker start "$container" >/dev/null
  wait_until_up
  for path in "${images[@]}"; do
    inside docker image inspect "$path" >/dev/null 2>&1 || docker save "$path" | inside docker load >&2
  done
  printf '%s\n' "$container"
}

install_k3d() { # [K3D [K3CTL]]
  local files
  files=$(mktemp -d)
  install -D -m 0644 -t "$files/usr/lib/systemd/system" "$packaging"/systemd/k3d.service "$packaging"/systemd/k3d.socket
  install -D -m 0644 "$packaging/systemd/k3d.sysusers" "$files/usr/lib/sysusers.d/k3d.conf"
  install -D -m 0644 "$packaging/systemd/k3d.tmpfiles" "$files/usr/lib/tmpfiles.d/k3d.conf"
  # Under another name first and then renamed: a running binary can't be written to.
  [[ -z ${1:-} ]] || install -D -m 0755 "$1" "$files/usr/bin/k3d.new"
  [[ -z ${2:-} ]] || install -D -m 0755 "$2" "$files/usr/bin/k3ctl.new"
  tar -C "$files" -c --owner 0 --group 0 usr | inside tar -C / -x --keep-directory-symlink --no-overwrite-dir
  rm -rf "$files"
  # shellcheck disable=SC2016
  inside sh -eu -c '
    for name in k3d k3ctl; do [ ! -e /usr/bin/$name.new ] || mv /usr/bin/$name.new /usr/bin/$name; done
    systemd-sysusers /usr/lib/sysusers.d/k3d.conf
    systemd-tmpfiles --create /usr/lib/tmpfiles.d/k3d.conf
    systemctl daemon-reload'
}

stop() {
  docker rm -f "$container" >/dev/null 2>&1 || true
  docker volume rm "$container" >/dev/null 2>&1 || true
  find /sys/fs/cgroup -depth -type d \( -path "*/$short" -o -path "*/$short/*" \) -exec rmdir {} + 2>/dev/null || true
  ip link del "$short" 2>/dev/null || true
}

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  start | exec | install | reboot | stop) (($# >= 2)) || { usage >&2; exit 2; } ;;
  *) usage >&2; exit 2 ;;
esac
verb=$1 name=$2
shift 2
[[ $name =~ ^[a-z0-9][a-z0-9-]{0,40}$ ]] || die "a name is made of a-z, 0-9 and -: $name"
container=k3d-testbed-systemd-$name
short=k3dsd-$(printf '%s' "$name" | sha256sum | cut -c1-8) # also an interface's name: at most 15 characters
case $verb in
  start) start "$@" ;;
  exec)
    (($#)) || { usage >&2; exit 2; }
    if [[ -t 0 && -t 1 ]]; then exec docker exec -it "$container" "$@"; fi
    exec docker exec -i "$container" "$@"
    ;;
  install) install_k3d "$@" ;;
  reboot) docker restart -t 20 "$container" >/dev/null; wait_until_up ;;
  stop) stop ;;
esac
