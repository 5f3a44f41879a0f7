#!/usr/bin/env bash
# The main job on a fresh Debian 12: build k3d, make a demo engine and a tiny Kimi-K3, serve it, ask it something.
# Owns: the order of the steps and the clean-up of everything it started. The steps are scripts and programs of their own.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: quickstart.sh [--once]

Installs what is missing, builds k3d, makes the demo engine image and a tiny random Kimi-K3 if they are absent, starts
Docker if none answers, starts k3d with config/demo.yaml, activates the profile "batch" and streams an answer.
Then it stays in the foreground until Ctrl-C, and stops what it started.

  --once  exits after the answer and leaves nothing running that it started

Run it as root on a fresh machine. The second run takes seconds.
HELP
}

once=''
case ${1:-} in
  '') ;;
  --once) once=1 ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; exit 2 ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 # a checkout in another folder finds what was compiled in this one
build=${K3D_BUILD:-build/release}
state=/var/lib/k3d-demo
model=$state/models/tiny-k3.gguf
export K3D_URL=unix:/run/k3d-demo/control.sock
docker_id='' k3d_pid=''

step_name='' step_began=0
step() {
  step_name=$1
  step_began=$(date +%s%N)
  printf '==> %s\n' "$step_name"
}
done_step() { printf '    %s: done in %s s\n' "$step_name" "$(awk -v b="$step_began" -v e="$(date +%s%N)" 'BEGIN{printf "%.1f", (e-b)/1e9}')"; }
die() { printf 'quickstart: %s\n' "$*" >&2; exit 1; }

clean_up() {
  local status=$?
  trap - EXIT INT TERM
  if [[ -n $k3d_pid ]] && kill -0 "$k3d_pid" 2>/dev/null; then
    printf '\n==> stopping what this script started\n'
    "$build/api/k3ctl/k3ctl" down --force >/dev/null 2>&1 || true
    kill -TERM "$k3d_pid" 2>/dev/null || true
    wait "$k3d_pid" 2>/dev/null || true
  fi
  if [[ -n $docker_id ]]; then packaging/engine/start_docker.sh --stop "$docker_id" || true; fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 0' INT TERM

step 'install what is missing'
packaging/deps.sh
done_step

step "build k3d ($build)"
if [[ ! -f $build/build.ninja ]]; then
  cmake -C packaging/cmake/release.cmake -B "$build" -G Ninja -DK3D_TESTS=OFF >/dev/null
fi
ninja -C "$build" k3d k3ctl | tail -n 1
done_step

step 'a Docker Engine that answers'
docker_id=$(packaging/engine/start_docker.sh --start)
done_step

step 'the demo engine image (llama-server of Debian)'
packaging/engine/make_demo_image.sh
done_step

step "the tiny Kimi-K3 ($model)"
mkdir -p "$state/models" /run/k3d-demo
packaging/engine/make_tiny_model.sh "$model" >/dev/null
done_step

step 'k3d with config/demo.yaml'
log=$state/k3d.log
chmod go-w config/demo.yaml # k3d refuses a configuration that others may write, and an umask of 002 makes such files
"$build/daemon/app/k3d" --config config/demo.yaml >"$log" 2>&1 &
k3d_pid=$!
deadline=$((SECONDS + 20))
until "$build/api/k3ctl/k3ctl" status >/dev/null 2>&1; do
  kill -0 "$k3d_pid" 2>/dev/null || { cat "$log" >&2; die 'k3d did not start; its own words are above'; }
  ((SECONDS < deadline)) || { cat "$log" >&2; die 'k3d did not answer within 20 s'; }
  sleep 0.1
done
done_step

step 'activate the profile "batch"'
"$build/api/k3ctl/k3ctl" up batch --reason quickstart
done_step

step 'a chat completion through the proxy, streamed (a random model: the text is noise)'
"$build/api/k3ctl/k3ctl" chat --max-tokens 48 'Say something.'
printf '\n'
done_step

[[ -z $once ]] || exit 0

cat <<URLS

k3d runs. Try, in another terminal:
  curl http://127.0.0.1:8000/v1/models
  curl -N http://127.0.0.1:8000/v1/chat/completions -H 'Content-Type: application/json' \\
       -d '{"model": "batch", "stream": true, "max_tokens": 32, "messages": [{"role": "user", "content": "Hello"}]}'
  export K3D_URL=$K3D_URL
  $build/api/k3ctl/k3ctl status
  $build/api/k3ctl/k3ctl up interactive
  curl -H "Authorization: Bearer \$(cat $state/token)" http://127.0.0.1:7300/api/v1/status
The daemon's log: $log
Ctrl-C ends it.
URLS
wait "$k3d_pid" || die "k3d ended by itself; see $log"
