#!/usr/bin/env bash
# Speed, side by side with nginx in one run, as ratios of medians. Owns: the comparison; asserts nothing.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: bench/run.sh [ROUNDS]

Small JSON answers over keep-alive connections through k3d's proxy and through nginx (keep-alive upstream, no
buffering, no log), in turns, ROUNDS (5) times each: requests per second and CPU time per request, medians and ratio.
Needs nginx and wrk (installed by tests/run.sh bench).
HELP
}

case ${1:-} in -h | --help) usage; exit 0 ;; esac
rounds=${1:-5}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${K3D_BUILD:-$root/build/release}
server=$build/tests/bench/proxy_server
dir=$(mktemp -d)
pids=()
clean_up() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$dir"
}
trap clean_up EXIT

upstream_conf() {
  cat <<CONF
worker_processes 1; daemon off; pid $dir/up.pid; error_log /dev/null;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000;
  server { listen unix:$dir/up.sock; location / { default_type application/json; return 200 '{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there, this is an answer of an ordinary length for a short question."},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":17,"total_tokens":29}}'; } } }
CONF
}
proxy_conf() {
  cat <<CONF
worker_processes 1; daemon off; pid $dir/proxy.pid; error_log /dev/null;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000;
  upstream up { server unix:$dir/up.sock; keepalive 64; }
  server { listen 127.0.0.1:18081; location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }
CONF
}

upstream_conf >"$dir/up.conf"
proxy_conf >"$dir/proxy.conf"
nginx -c "$dir/up.conf" & pids+=($!)
nginx -c "$dir/proxy.conf" & pids+=($!)
"$server" 18082 "$dir/up.sock" & pids+=($!)
k3d_pid=$!
until curl -so /dev/null http://127.0.0.1:18081/ && curl -so /dev/null http://127.0.0.1:18082/; do :; done
nginx_pid=$(pgrep -P "${pids[1]}" | head -n 1)

# CPU time of all threads in nanoseconds.
cpu_of() { awk '{t += $1} END {print t}' /proc/"$1"/task/*/schedstat; }
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

measure() { # NAME PORT PID CONNECTIONS
  local before after out requests
  before=$(cpu_of "$3")
  out=$(wrk -t1 -c"$4" -d2s "http://127.0.0.1:$2/v1/chat/completions")
  after=$(cpu_of "$3")
  requests=$(awk '/requests in/ {print $1}' <<<"$out")
  awk '/Requests\/sec/ {print $2}' <<<"$out" >>"$dir/$1.$4.rps"
  awk -v a="$after" -v b="$before" -v r="$requests" 'BEGIN {printf "%.2f\n", (a - b) / r / 1000}' >>"$dir/$1.$4.cpu"
}

for ((i = 0; i < rounds; ++i)); do
  for connections in 1 32; do
    measure nginx 18081 "$nginx_pid" "$connections"
    measure k3d 18082 "$k3d_pid" "$connections"
  done
done

printf '%-14s %12s %12s %8s\n' 'JSON' nginx k3d ratio
for connections in 1 32; do
  for figure in rps cpu; do
    n=$(median <"$dir/nginx.$connections.$figure")
    k=$(median <"$dir/k3d.$connections.$figure")
    label=$([[ $figure == rps ]] && echo 'requests/s' || echo 'CPU µs/req')
    printf '%-14s %12s %12s %8s\n' "c=$connections $label" "$n" "$k" "$(awk -v k="$k" -v n="$n" 'BEGIN {printf "%.2f", k / n}')"
  done
done
