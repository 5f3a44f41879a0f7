#!/usr/bin/env bash
# Makes a Docker image of a Debian suite and some packages, out of a Debian mirror alone (no image registry).
# Owns: the image with the given tag, and the root tarballs in the cache folder.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: debian_image.sh --tag NAME:TAG --suite SUITE [--change INSTRUCTION]... [--setup FILE] [--rebuild] PACKAGE...

Does nothing if the image is there and was made by the same recipe (suite, packages, setup, changes).
Else imports the cached root of that recipe; makes the root (debootstrap, apt) only if that is missing too.

  --tag NAME:TAG        name of the image
  --suite SUITE         bookworm, sid, ...
  --change INSTRUCTION  Dockerfile instruction for the image: ENTRYPOINT, ENV, CMD, ... (repeatable)
  --setup FILE          shell script, run with /bin/sh inside the root after the packages are in
  --rebuild             make root and image anew, with the packages as they are now

Needs a Docker Engine at $DOCKER_HOST or the default socket; to make a root also debootstrap and root's rights.
The mirror is the one that this machine's apt uses; K3D_DEBIAN_MIRROR=URL names another.
The cache is ${XDG_CACHE_HOME:-/var/cache}/k3d.
HELP
}

say() { printf 'debian_image: [%3d s] %s\n' "$SECONDS" "$*" >&2; }
die() { say "$*"; exit 1; }

# The mirror of Debian proper among apt's sources. apt itself reads its files here, in whichever format.
find_mirror() {
  if [[ -n ${K3D_DEBIAN_MIRROR:-} ]]; then
    printf '%s\n' "${K3D_DEBIAN_MIRROR%/}"
    return 0
  fi
  local codename uri first=''
  # shellcheck disable=SC1091
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-sid}")
  # shellcheck disable=SC2016 # apt's own placeholders
  while read -r uri; do
    uri=${uri%/}
    if [[ $uri == mirror+file:* ]]; then
      uri=$(awk '/^(https?|file):/ { print $1; exit }' "/${uri#mirror+file:/}" 2>/dev/null) || continue
    fi
    [[ $uri =~ ^(https?|file): ]] || continue
    uri=${uri%/}
    # Others may call their suites by Debian's names, but not their folder.
    if [[ $uri == */debian ]]; then
      printf '%s\n' "$uri"
      return 0
    fi
    : "${first:=$uri}"
  done < <(apt-get indextargets --no-release-info --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v c="$codename" '($1 == c || $1 ~ /^(stable|oldstable|testing|unstable|sid)$/) && $2 == "main" { print $3 }')
  [[ -n $first ]] || die "apt knows no Debian mirror here; set K3D_DEBIAN_MIRROR to one"
  printf '%s\n' "$first"
}

# What makes this machine's apt reach its mirror: proxies and certificates.
write_apt_conf() { # ROOT
  apt-config dump | grep -E '^Acquire::(http|https)::(Proxy|Verify-Peer|Verify-Host|Pipeline-Depth)' >"$1/etc/apt/apt.conf.d/90k3d-host" || true
  if [[ -r /etc/ssl/certs/ca-certificates.crt ]]; then
    cp /etc/ssl/certs/ca-certificates.crt "$1/var/tmp/k3d-host-ca.crt"
    echo 'Acquire::https::CAInfo "/var/tmp/k3d-host-ca.crt";' >>"$1/etc/apt/apt.conf.d/90k3d-host"
  fi
}

in_root() { # ROOT COMMAND...
  local root=$1
  shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} \
    chroot "$root" "$@"
}

make_base() { # ROOT MIRROR: a minimal root of the suite, without documentation
  local root=$1 mirror=$2 script=
  # An older debootstrap may not know the suite's name; all suites since 2005 are made like sid.
  [[ -e /usr/share/debootstrap/scripts/$suite ]] || script=/usr/share/debootstrap/scripts/sid
  say "debootstrap $suite"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" ${script:+"$script"} >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; die "debootstrap failed"; }
  mkdir -p "$root/etc/dpkg/dpkg.cfg.d"
  cat >"$root/etc/dpkg/dpkg.cfg.d/k3d-lean" <<'CFG'
path-exclude=/usr/share/doc/*
path-include=/usr/share/doc/*/copyright
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
CFG
  find "$root/usr/share/doc" -type f ! -name copyright -delete
  rm -rf "$root"/usr/share/man/* "$root"/usr/share/info/* "$root"/usr/share/locale/*
  printf 'deb %s %s main\n' "$mirror" "$suite" >"$root/etc/apt/sources.list"
}

apt_in() { # ROOT ARGUMENTS...: retried with an old Release file only if apt says that it is one
  local root=$1 options=()
  shift
  if in_root "$root" apt-get -q "$@" >"$log" 2>&1; then return 0; fi
  if grep -Eq 'Release file for .* is expired' "$log"; then
    say "the mirror's Release file is past its date (a frozen mirror); going on without that check"
    options+=(-o Acquire::Check-Valid-Until=false)
  elif grep -Eq 'Release file for .* is not valid yet' "$log"; then
    say "the mirror's Release file is from the future (this machine's clock is behind); going on without that check"
    options+=(-o Acquire::Check-Date=false)
  fi
  if ((${#options[@]})) && in_root "$root" apt-get -q "${options[@]}" "$@" >"$log" 2>&1; then return 0; fi
  grep -E '^(E|W|Err):?' "$log" >&2 || tail -n 20 "$log" >&2
  die "apt-get $1 failed"
}

# Runs in a mount namespace of its own: what is mounted below ROOT can't survive it.
make_root() { # WORK_DIR
  local root=$1/root mirror base
  log=$1/log
  mirror=$(find_mirror)
  base=$cache/base-$suite.tar.gz
  mkdir "$root"
  if [[ -s $base && -z $rebuild ]]; then
    say "base root of $suite from the cache"
    tar -C "$root" -xzpf "$base"
    # The mirror may be another one than when the base was made.
    printf 'deb %s %s main\n' "$mirror" "$suite" >"$root/etc/apt/sources.list"
  else
    make_base "$root" "$mirror"
    tar -C "$root" -c . | gzip -1 >"$base.$$" && mv "$base.$$" "$base"
  fi
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  write_apt_conf "$root"
  # No service may start while packages are configured.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 0755 "$root/usr/sbin/policy-rc.d"
  mount -t proc proc "$root/proc"
  mount --bind /dev/pts "$root/dev/pts"
  say "apt-get update"
  apt_in "$root" update
  say "installing ${packages[*]}"
  apt_in "$root" install -y --no-install-recommends "${packages[@]}"
  if [[ -n $setup ]]; then
    say "setup: $(basename "$setup")"
    cp "$setup" "$root/var/tmp/k3d-setup"
    in_root "$root" /bin/sh -eu /var/tmp/k3d-setup >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "setup failed"; }
    rm "$root/var/tmp/k3d-setup"
  fi
  rm -f "$root/usr/sbin/policy-rc.d" "$root/etc/apt/apt.conf.d/90k3d-host" "$root/var/tmp/k3d-host-ca.crt"
  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/* "$root"/run/*
  : >"$root/etc/resolv.conf"
  : >"$root/etc/machine-id"
  rm -f "$root/etc/hostname"
  umount "$root/proc" "$root/dev/pts"
  say "packing the root ($(du -sm "$root" | cut -f1) MB)"
  tar -C "$root" -c . | gzip -1 >"$tarball.$$"
  mv "$tarball.$$" "$tarball"
}

tag='' suite='' setup='' rebuild='' changes=() packages=()
while (($#)); do
  case $1 in
    --tag | --suite | --change | --setup)
      (($# >= 2)) || { usage >&2; exit 2; }
      case $1 in
        --tag) tag=$2 ;;
        --suite) suite=$2 ;;
        --change) changes+=("$2") ;;
        --setup) setup=$2 ;;
      esac
      shift 2
      ;;
    --rebuild) rebuild=1; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) packages+=("$1"); shift ;;
  esac
done
[[ -n $tag && $suite =~ ^[a-z]+$ && ${#packages[@]} -gt 0 ]] || { usage >&2; exit 2; }
[[ -z $setup || -r $setup ]] || die "no such file: $setup"

cache=${XDG_CACHE_HOME:-/var/cache}/k3d
root_recipe=$( { printf '%s\n' "$suite" "${packages[@]}"; [[ -z $setup ]] || cat "$setup"; } | sha256sum | cut -c1-16)
recipe=$(printf '%s\n' "$root_recipe" "${changes[@]}" | sha256sum | cut -c1-16)
tarball=$cache/root-$suite-$root_recipe.tar.gz

command -v docker >/dev/null || die "no docker command: run packaging/deps.sh"
docker version >/dev/null 2>&1 || die "no Docker Engine answers at ${DOCKER_HOST:-the default socket}: see packaging/engine/start_docker.sh"

is_there() { [[ -z $rebuild && $(docker image inspect -f '{{index .Config.Labels "k3d.root"}}' "$tag" 2>/dev/null) == "$recipe" ]]; }

if is_there; then
  say "$tag is there"
  exit 0
fi
install -d -m 0755 "$cache"
exec 9>"$cache/lock"
flock 9
if is_there; then # made by someone else meanwhile
  say "$tag is there"
  exit 0
fi

if [[ ! -s $tarball || -n $rebuild ]]; then
  [[ $EUID == 0 ]] || die "must be root to make a root file system"
  command -v debootstrap >/dev/null || die "debootstrap is missing: run packaging/deps.sh"
  work=$(mktemp -d "$cache/work.XXXXXX")
  trap 'rm -rf --one-file-system -- "$work"' EXIT
  export -f say die find_mirror write_apt_conf in_root make_base apt_in make_root
  export cache suite setup rebuild tarball
  # Functions and arrays cross into the namespace's shell by name and by argument.
  # shellcheck disable=SC2016
  unshare --mount --propagation private -- bash -c \
    'set -euo pipefail; SECONDS=$1; work=$2; shift 2; packages=("$@"); make_root "$work"' bash "$SECONDS" "$work" "${packages[@]}"
fi

say "importing $tag"
arguments=(--change "LABEL k3d.root=$recipe")
for change in "${changes[@]}"; do arguments+=(--change "$change"); done
docker import "${arguments[@]}" - "$tag" <"$tarball" >/dev/null
say "$tag is ready"
