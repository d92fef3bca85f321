#!/bin/sh
# Installs dlpark with its image adapter and its kit into build/demo/opencl, builds the extension against it, and runs the demo.
# PoCL compiles the kernel at the first run, and keeps it in the same folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/demo/opencl
mkdir -p "$work/kernels"

. "$here/../quietly.sh"

quietly configure cmake -S "$root" -B "$work/dlpark" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DDLPARK_IMAGE=ON -DDLPARK_KIT=ON -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_RPATH="\$ORIGIN"
quietly build cmake --build "$work/dlpark" --parallel 2 --target install
quietly configure-miniature cmake -S "$here" -B "$work/miniature" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DPython_EXECUTABLE="$(command -v python3)"
quietly build-miniature cmake --build "$work/miniature"
POCL_CACHE_DIR=$work/kernels PYTHONPATH=$work/miniature exec python3 "$here/show.py" "$work"
