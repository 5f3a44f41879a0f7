#!/usr/bin/env bash
# Makes a tiny random Kimi-K3 for demos and tests, with make_tiny_k3.py inside the demo engine image.
# Owns: OUT.gguf, or the shards OUT-00001-of-0000N.gguf. Whole or absent, never half written.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: make_tiny_model.sh OUT.gguf [ARGUMENTS of make_tiny_k3.py]

Does nothing if OUT.gguf (or, with --split-max-tensors N, a first shard OUT-00001-of-*.gguf) is there.
Prints the path to give to llama-server: the file or the first shard.

  make_tiny_model.sh tiny.gguf                                       19 MB, loads in under a second
  make_tiny_model.sh big.gguf --layers 10 --experts 64 --ff 1024 --latent 512 --embd 256    3.7 GB
  make_tiny_model.sh split/tiny.gguf --split-max-tensors 60          five shards

K3D_ENGINE_IMAGE names the image (k3d-engine-debian:latest; packaging/engine/make_demo_image.sh makes it).
The folder of OUT must be one that the Docker Engine at $DOCKER_HOST sees under the same path.
All of the maker's arguments: make_tiny_model.sh --maker-help
HELP
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
image=${K3D_ENGINE_IMAGE:-k3d-engine-debian:latest}
die() { printf 'make_tiny_model: %s\n' "$*" >&2; exit 1; }

# The script comes by standard input: the Engine needs to see no folder but the one to write to.
maker() { # DOCKER_ARGUMENTS... -- ARGUMENTS...
  local options=()
  while [[ $1 != -- ]]; do options+=("$1"); shift; done
  shift
  docker run --rm -i --network none --user "$(id -u):$(id -g)" "${options[@]}" --entrypoint python3 "$image" - "$@" \
    <"$here/make_tiny_k3.py"
}

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  --maker-help) maker -- --help; exit 0 ;;
  '' | -*) usage >&2; exit 2 ;;
esac
[[ $1 == *.gguf ]] || die "the name must end in .gguf: $1"
mkdir -p "$(dirname "$1")"
folder=$(cd "$(dirname "$1")" && pwd)
name=$(basename "$1" .gguf)
shift

found() {
  local file
  if [[ " $* " == *" --split-max-tensors"* ]]; then
    for file in "$folder/$name"-00001-of-?????.gguf; do
      [[ -e $file ]] && printf '%s\n' "$file" && return 0
    done
    return 1
  fi
  [[ -e $folder/$name.gguf ]] && printf '%s\n' "$folder/$name.gguf"
}

found "$@" && exit 0
docker image inspect "$image" >/dev/null 2>&1 ||
  die "no image $image at ${DOCKER_HOST:-the default socket}: run packaging/engine/make_demo_image.sh"
work=$(mktemp -d "$folder/.$name.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
maker --volume "$work:$work" -- "$work/$name.gguf" "$@" >&2
# The first shard comes last: whoever sees it sees the set.
files=("$work"/*.gguf)
chmod 0644 "${files[@]}"
for ((i = ${#files[@]} - 1; i >= 0; i--)); do mv -n "${files[i]}" "$folder/"; done
found "$@" || die "the maker wrote no file"
