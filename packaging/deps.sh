#!/usr/bin/env bash
# Installs what building and running k3d need on Debian 12, if it is missing.
# Owns: the list of Debian packages. Nothing else may assume a package that is not in it.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: deps.sh [--tests] [--list]

  --tests  also what the tests need
  --list   prints the packages instead, one a line

Needs root only if something is missing. Starts no service where systemd doesn't run.
HELP
}

build=(
  clang-19 libclang-rt-19-dev lld-19 cmake ninja-build ccache pkg-config
  libboost1.81-dev nlohmann-json3-dev libyaml-cpp-dev libspdlog-dev libfmt-dev libsystemd-dev
  libcli11-dev libssl-dev libcurl4-openssl-dev libsqlite3-dev
  libgtest-dev libgmock-dev # the top CMakeLists.txt builds the unit tests by default
)
run=(iptables debootstrap curl ca-certificates git)
tests=(
  python3-pytest python3-yaml python3-jsonschema python3-requests # the end-to-end tests
  netcat-openbsd iproute2 libfaketime                             # sockets, network namespaces, clocks that jump
  libbenchmark-dev
  shellcheck valgrind
  busybox-static # the image that the tests of the Docker driver run
)

say() { printf 'deps: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

with_tests='' list=''
while (($#)); do
  case $1 in
    --tests) with_tests=1 ;;
    --list) list=1 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done

wanted=("${build[@]}" "${run[@]}")
[[ -z $with_tests ]] || wanted+=("${tests[@]}")
# Docker's own packages (docker-ce) conflict with Debian's; whichever brought dockerd will do.
if [[ -n $list ]] || ! command -v dockerd >/dev/null; then wanted+=(docker.io); fi
if [[ -n $list ]]; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

missing_packages() {
  # Packages that dpkg never heard of are complained about on standard error and printed nowhere.
  # shellcheck disable=SC2016 # dpkg's own placeholders
  comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort -u)
}

mapfile -t missing < <(missing_packages)
if ((${#missing[@]} == 0)); then
  exit 0
fi
[[ $EUID == 0 ]] || die "must be root to install: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive

# Without systemd a package's scripts would start its service by way of /etc/init.d.
policy=/usr/sbin/policy-rc.d
log=$(mktemp)
made_policy=
cleanup() {
  rm -f "$log"
  [[ -z $made_policy ]] || rm -f "$policy"
}
trap cleanup EXIT
if [[ ! -d /run/systemd/system && ! -e $policy ]]; then
  made_policy=1
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 0755 "$policy"
fi

apt() { # retried with an old Release file only if apt says that it is one
  apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 && return 0
  if grep -Eq 'Release file for .* is expired' "$log"; then
    say "the mirror's Release file is past its date (a frozen mirror); going on without that check"
    apt-get -q -o Acquire::Check-Valid-Until=false "$@" >"$log" 2>&1 && return 0
  fi
  grep -E '^(E|W|Err|The following|.* : )' "$log" >&2 || tail -n 20 "$log" >&2
  return 1
}

say "installing ${missing[*]}"
apt update || say "apt-get update had errors; trying all the same"
if dpkg-query -W -f '${db:Status-Status}' libboost1.74-dev 2>/dev/null | grep -qx installed; then
  say "libboost1.81-dev takes the place of libboost1.74-dev: the two can't be installed together"
fi
apt install -y --no-install-recommends "${missing[@]}" || die "apt-get install failed"
# From Debian 13 on the docker command is a package of its own.
if ! command -v docker >/dev/null; then apt install -y --no-install-recommends docker-cli || die "no docker command"; fi
say "done in $SECONDS s"
