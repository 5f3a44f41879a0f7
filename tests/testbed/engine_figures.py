#!/usr/bin/env python3
"""Asks the real llama.cpp what it would place where, on GPUs that aren't there, and writes its answers down.

engine_figures.py FILE...   runs every case of the files again and rewrites them; --missing only those without an answer

A case is a line `quant | MiB of each device | arguments | answer`. With `-fitp on` among the arguments the answer is
`DEVICE model context compute` in MiB for each device and the host; without it, the arguments that the engine's fit
chose, then ` => ` and the same figures for them. One ggml RPC server per device plays a GPU of that size; weights are
holes in files, so a full-size model takes some MB. The recurrent state is real memory: 443 MiB a slot.

Needs Docker and tests/testbed/fit_image.sh's image. Owns /var/tmp/k3d-fit (models, shim).
"""
import argparse
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path("/var/tmp/k3d-fit")
IMAGE = "k3d-testbed-fit:latest"
SERVER = "/usr/libexec/x86_64-linux-gnu/llama/bin/ggml-rpc-server"
# Quants that the maker of Kimi-K3 knows by another name, and the architectures of the other maker.
QUANTS = {"REAP770": ["UD-Q2_K_XL", "--experts", "770"]}
PLAIN = ["llama", "qwen3moe", "deepseek2", "kimi-linear"]
RUN = r"""
port=50100 list=
for mib in $SIZES; do
  port=$((port + 1))
  LD_PRELOAD=/fit/fake_gpu_memory.so FAKE_MIB=$mib $SERVER -H 127.0.0.1 -p $port >/dev/null 2>&1 &
  list="$list,127.0.0.1:$port"
done
for p in $(seq 50101 $port); do
  until (: </dev/tcp/127.0.0.1/$p) 2>/dev/null; do read -rt 0.1 <> <(:) || :; done
done
export LD_PRELOAD=/fit/fake_gpu_memory.so FAKE_MIB=1048576
ask() { llama-fit-params -m "$MODEL" --rpc "${list#,}" "$@" 2>/tmp/log || { tail -n 5 /tmp/log >&2; exit 1; }; }
if [[ " $* " == *" -fitp on "* ]]; then ask "$@"; exit; fi
chosen=$(ask "$@" | tail -n 1)
echo "$chosen"
echo '=>'
eval "set -- $(printf '%q ' "$@") $chosen"
ask "$@" -fitp on
"""


def sh(*command, **more):
    return subprocess.run(command, check=True, text=True, **more)


def model_of(quant: str) -> str:
    folder = WORK / quant
    if not folder.exists():
        maker = HERE / ("make_sparse_plain.py" if quant in PLAIN else "make_sparse_k3.py")
        sh("docker", "run", "--rm", "-i", "--network", "none", "-v", f"{WORK}:/fit", "--entrypoint", "python3", IMAGE, "-",
           *QUANTS.get(quant, [quant]), f"/fit/{quant}", stdin=open(maker))
    return f"/fit/{quant}/{next(folder.glob('*-00001-of-*')).name}"


def answer_of(quant: str, sizes: str, arguments: str) -> str:
    """The engine's, on one line; raises if it has none."""
    run = sh("docker", "run", "--rm", "--network", "none", "-v", f"{WORK}:/fit:ro", "-e", f"SIZES={sizes}",
             "-e", f"MODEL={model_of(quant)}", "-e", f"SERVER={SERVER}", "--entrypoint", "bash", IMAGE,
             "-c", RUN, "bash", *shlex.split(arguments), stdout=subprocess.PIPE)
    lines = [line for line in run.stdout.splitlines() if line.strip()]
    if "=>" not in lines:
        return ";".join(lines) + ";"
    cut = lines.index("=>")
    return " ".join(lines[:cut]) + " => " + ";".join(lines[cut + 1:]) + ";"


def renew(path: pathlib.Path, missing: bool):
    """Writes after every case: a run that is broken off has lost nothing."""
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        fields = [field.strip() for field in line.split(" | ")]
        if line.startswith("#") or len(fields) < 3 or (missing and len(fields) > 3):
            continue
        lines[number] = " | ".join(fields[:3] + [answer_of(*fields[:3])])
        print(lines[number], flush=True)
        path.write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--missing", action="store_true", help="only cases without an answer")
    asked = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    sh("cc", "-shared", "-fPIC", "-O2", "-o", str(WORK / "fake_gpu_memory.so"), str(HERE / "fake_gpu_memory.c"), "-ldl")
    for path in asked.files:
        renew(path, asked.missing)
    return 0


if __name__ == "__main__":
    sys.exit(main())
