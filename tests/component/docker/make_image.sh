#!/usr/bin/env bash
# Imports the image that the tests of the Docker driver run: busybox alone. Owns: the tag k3d-test-busybox:1.
# Does nothing if it is there. Needs the package busybox-static and the docker command.
set -euo pipefail

tag=k3d-test-busybox:1
if docker image inspect "$tag" >/dev/null 2>&1; then exit 0; fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/mnt" "$folder/tmp"
linkage=$(ldd /bin/busybox 2>&1 || true)
if [[ $linkage != *'not a dynamic executable'* && $linkage != *'statically linked'* ]]; then
  echo 'make_image: /bin/busybox is not static: install busybox-static (packaging/deps.sh --tests)' >&2
  exit 1
fi
cp /bin/busybox "$folder/bin/"
for name in sh cat head tr seq sleep echo printf awk id touch grep kill true yes; do ln -s busybox "$folder/bin/$name"; done
tar -C "$folder" -c . | docker import --change 'ENV PATH=/bin' --change 'ENTRYPOINT ["/bin/sh", "-c"]' - "$tag" >/dev/null
