#!/usr/bin/env bash
# Makes the image in which engine_figures.py asks the real llama.cpp: the demo engine with its sizing tools.
# Owns: the image k3d-testbed-fit; the work and the cache are make_demo_image.sh's.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$here/../../packaging/engine/make_demo_image.sh" --full --tag k3d-testbed-fit:latest "$@"
