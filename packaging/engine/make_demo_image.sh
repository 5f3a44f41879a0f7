#!/usr/bin/env bash
# Makes the demo engine: Debian's own llama-server for the CPU, which knows the kimi-k3 architecture.
# Owns: which packages are in it and how it starts. debian_image.sh does the work.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: make_demo_image.sh [--tag NAME:TAG] [--full] [--rebuild]

  --tag NAME:TAG  name of the image (k3d-engine-debian:latest; with --full k3d-engine-debian:full)
  --full          also llama-perplexity, llama-imatrix, llama-fit-params, llama-gguf-split and the RPC server
  --rebuild       make it anew, with Debian's packages as they are now

Does nothing if the image is there; takes it from the cache if only Docker lost it (see debian_image.sh --help).
The image starts /usr/bin/llama-server; python3 with gguf is in it for make_tiny_k3.py.
HELP
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tag='' full='' options=()
while (($#)); do
  case $1 in
    --tag)
      (($# >= 2)) || { usage >&2; exit 2; }
      tag=$2
      shift 2
      ;;
    --full) full=1; shift ;;
    --rebuild) options+=(--rebuild); shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

# The newest Debian only: stable has no llama.cpp that knows the model.
packages=(llama.cpp-tools python3-gguf)
if [[ -n $full ]]; then
  packages+=(llama.cpp-tools-extra libggml0-backend-rpc)
  : "${tag:=k3d-engine-debian:full}"
fi
: "${tag:=k3d-engine-debian:latest}"

exec "$here/debian_image.sh" --tag "$tag" --suite sid --change 'ENTRYPOINT ["/usr/bin/llama-server"]' \
  "${options[@]}" "${packages[@]}"
