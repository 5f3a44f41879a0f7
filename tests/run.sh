#!/usr/bin/env bash
# Builds k3d and runs its tests. Owns: which tests belong to which run.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: run.sh [all|unit|e2e|soak|asan|tsan|bench|fuzz|lint]

  all    (default) installs, builds, lint, unit, component and end-to-end tests; under 20 minutes
  unit   only the unit and component tests
  e2e    only the end-to-end tests (real Docker, real llama-server); arguments go to pytest
  soak   the long counts of the end-to-end tests
  asan   the unit and component tests under AddressSanitizer and UBSan
  tsan   the same under ThreadSanitizer
  fuzz   each fuzz target for K3D_FUZZ_SECONDS (60)
  bench  speed, side by side with the peer

Run it as root on a fresh machine: it installs what is missing and starts Docker if none answers.
HELP
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
docker_id=''
# A checkout in another folder finds what was compiled in this one.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

say() { printf '\n=== %s (%s s so far)\n' "$1" "$SECONDS"; }

clean_up() {
  local status=$?
  [[ -z $docker_id ]] || packaging/engine/start_docker.sh --stop "$docker_id" || true
  exit "$status"
}
trap clean_up EXIT

install() {
  say 'what is missing is installed'
  packaging/deps.sh --tests
}

build() { # VARIANT TARGETS...
  local variant=$1
  shift
  say "build $variant"
  cmake -C "packaging/cmake/$variant.cmake" -B "build/$variant" -G Ninja -DK3D_TESTS=ON >"build-$variant.log" 2>&1 ||
    { cat "build-$variant.log"; exit 1; }
  rm -f "build-$variant.log"
  ninja -C "build/$variant" "$@"
}

engine() {
  say 'Docker, the engine image, the tiny models'
  [[ -n $docker_id ]] || docker_id=$(packaging/engine/start_docker.sh --start)
  packaging/engine/make_demo_image.sh
}

ctests() { # VARIANT
  say "unit and component tests ($1)"
  ctest --test-dir "build/$1" --output-on-failure -j2 -L 'unit|component|docker'
}

lint() {
  say 'lint'
  /usr/bin/python3 tests/lint/arrows.py
  /usr/bin/python3 tests/lint/faults.py
  shellcheck -x packaging/*.sh packaging/engine/*.sh tests/*.sh tests/testbed/*.sh
}

e2e() {
  say 'end-to-end tests'
  K3D_BUILD="$root/build/dev" /usr/bin/python3 -m pytest tests/e2e -p no:cacheprovider -q "$@"
}

mode=${1:-all}
(($# == 0)) || shift
case $mode in
  all) install && build dev && lint && engine && ctests dev && e2e "$@" ;;
  lint) install && lint ;;
  unit) install && build dev && engine && ctests dev ;;
  e2e) install && build dev k3d k3ctl fake_nvml && engine && e2e "$@" ;;
  soak) install && build dev k3d k3ctl fake_nvml && engine && K3D_SOAK=1 e2e "$@" ;;
  asan | tsan) install && build "$mode" && engine && ctests "$mode" ;;
  fuzz)
    targets=()
    for source in tests/fuzz/*_fuzz.cpp; do targets+=("$(basename "$source" .cpp)"); done
    install && build fuzz "${targets[@]}"
    for name in "${targets[@]%_fuzz}"; do
      target=build/fuzz/tests/fuzz/${name}_fuzz
      say "fuzz $name"
      corpus=$(mktemp -d)
      "$target" -max_total_time="${K3D_FUZZ_SECONDS:-60}" -rss_limit_mb=1024 -max_len=65536 "$corpus" "tests/fuzz/corpus/$name"
      rm -rf "$corpus"
    done
    ;;
  bench)
    install
    if ! command -v nginx wrk >/dev/null; then apt-get install -qy --no-install-recommends nginx-light wrk; fi
    build release proxy_server gguf_headers plan_accuracy k3d k3ctl
    tests/bench/headers.sh
    build/release/tests/bench/plan_accuracy
    tests/bench/run.sh
    engine
    model=$(packaging/engine/make_tiny_model.sh /var/tmp/k3d-test/tiny.gguf)
    K3D_BUILD="$root/build/release" /usr/bin/python3 tests/bench/latency.py 7 "$model"
    ;;
  -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
