#!/usr/bin/env bash
# Writes a CDI spec of GPUs that are not there: what a container asks for shows in its environment.
# Owns: DIR/nvidia.yaml.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: write_cdi_spec.sh DIR [--gpus N] [--names both|index|uuid] [--uuid UUID]...

  --gpus N      how many (2)
  --names both  devices by index, by UUID, and `all`: what newer nvidia-ctk versions write (default)
          index indexes and `all` alone: what nvidia-ctk writes by default
          uuid  UUIDs and `all` alone
  --uuid UUID   of GPU 0, 1, ...; the others get GPU-00000000-0000-4000-8000-00000000000I

A container that got GPU I, by whichever name, has FAKE_GPU_I=UUID and FAKE_GPU=NAME (the last name asked for),
and the file /dev/fake-nvidiaI, which is /dev/null. Asked for as
  "DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0"]}]
The file appears whole: an Engine that watches DIR never reads half of it.
HELP
}

names=both gpus=2 uuids=() dir=''
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --gpus | --names | --uuid)
      (($# >= 2)) || { usage >&2; exit 2; }
      case $1 in
        --gpus) gpus=$2 ;;
        --names) names=$2 ;;
        --uuid) uuids+=("$2") ;;
      esac
      shift 2
      ;;
    -*) usage >&2; exit 2 ;;
    *) dir=$1; shift ;;
  esac
done
[[ -n $dir && $gpus =~ ^[1-9][0-9]*$ && $names =~ ^(both|index|uuid)$ ]] || { usage >&2; exit 2; }
for ((i = ${#uuids[@]}; i < gpus; i++)); do uuids+=("GPU-00000000-0000-4000-8000-$(printf '%012x' "$i")"); done

device() { # NAME INDEX...
  local name=$1 i env='' nodes=''
  shift
  for i in "$@"; do
    env+=", \"FAKE_GPU_$i=${uuids[i]}\""
    nodes+="${nodes:+, }{path: /dev/fake-nvidia$i, hostPath: /dev/null}"
  done
  printf -- '- {name: "%s", containerEdits: {env: ["FAKE_GPU=%s"%s], deviceNodes: [%s]}}\n' "$name" "$name" "$env" "$nodes"
}

mkdir -p "$dir"
file=$(mktemp "$dir/.nvidia.XXXXXX") # not .yaml: not read as a spec
chmod 0644 "$file"
{
  printf 'cdiVersion: "0.6.0"\nkind: nvidia.com/gpu\ndevices:\n'
  for ((i = 0; i < gpus; i++)); do
    [[ $names == uuid ]] || device "$i" "$i"
    [[ $names == index ]] || device "${uuids[i]}" "$i"
  done
  mapfile -t every < <(seq 0 $((gpus - 1)))
  device all "${every[@]}"
} >"$file"
mv "$file" "$dir/nvidia.yaml"
