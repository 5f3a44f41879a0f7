#!/usr/bin/env bash
# Writes a tree like /proc/driver/nvidia/gpus for GPUs that are not there.
# Owns: the folders PCI_ADDRESS/ with their file `information` below DIR.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: write_nvidia_proc.sh DIR [--gpus N] [--model NAME] [--uuid UUID]... [--pci ADDRESS]... [--minor N]...

  --gpus N       how many (2)
  --model NAME   (NVIDIA RTX PRO 6000 Blackwell Server Edition)
  --uuid UUID    of GPU 0, 1, ...; the others get GPU-00000000-0000-4000-8000-00000000000I, as in write_cdi_spec.sh
  --pci ADDRESS  of GPU 0, 1, ... like 0000:0b:00.0; the others follow in the order of their index
  --minor N      of GPU 0, 1, ...: /dev/nvidiaN; the others get their index. On real machines the two may differ:
                 indexes follow the PCI addresses, minor numbers the order in which the driver found the GPUs
HELP
}

model='NVIDIA RTX PRO 6000 Blackwell Server Edition' gpus=2 uuids=() addresses=() minors=() dir=''
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --gpus | --model | --uuid | --pci | --minor)
      (($# >= 2)) || { usage >&2; exit 2; }
      case $1 in
        --gpus) gpus=$2 ;;
        --model) model=$2 ;;
        --uuid) uuids+=("$2") ;;
        --pci) addresses+=("$2") ;;
        --minor) minors+=("$2") ;;
      esac
      shift 2
      ;;
    -*) usage >&2; exit 2 ;;
    *) dir=$1; shift ;;
  esac
done
[[ -n $dir && $gpus =~ ^[1-9][0-9]*$ ]] || { usage >&2; exit 2; }

for ((i = 0; i < gpus; i++)); do
  uuid=${uuids[i]:-GPU-00000000-0000-4000-8000-$(printf '%012x' "$i")}
  address=${addresses[i]:-$(printf '0000:%02x:00.0' $((0x10 + i)))}
  [[ $address =~ ^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$ ]] || { printf 'no PCI address: %s\n' "$address" >&2; exit 2; }
  mkdir -p "$dir/$address"
  {
    printf 'Model: \t\t %s\n' "$model"
    printf 'IRQ:   \t\t %d\n' $((100 + i))
    printf 'GPU UUID: \t %s\n' "$uuid"
    printf 'Video BIOS: \t 98.02.2e.00.03\n'
    printf 'Bus Type: \t PCIe\n'
    printf 'DMA Size: \t 52 bits\n'
    printf 'DMA Mask: \t 0xfffffffffffff\n'
    printf 'Bus Location: \t %s\n' "$address"
    printf 'Device Minor: \t %d\n' "${minors[i]:-$i}"
    printf 'GPU Firmware: \t 580.95.05\n'
    printf 'GPU Excluded:\t No\n'
  } >"$dir/$address/information"
done
