#!/usr/bin/env bash
# How long the headers of a full-size quant in 20 shards take to read, and how much memory. Ends with 1 if a gate is missed.
set -euo pipefail

case ${1:-} in -h | --help) echo 'usage: bench/headers.sh [ROUNDS]'; exit 0 ;; esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
/usr/bin/python3 "$root/tests/testbed/make_sparse_k3.py" UD-Q2_K_XL "$dir" --merges 163328
"${K3D_BUILD:-$root/build/release}/tests/bench/gguf_headers" "$dir/Kimi-K3-UD-Q2_K_XL-00001-of-00020.gguf" "${1:-7}"
