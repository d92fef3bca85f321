#!/bin/sh
# Installs dlpark and its kit into build/demo/metal-python, builds the extension against it, and runs the demo with MLX.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/demo/metal-python
mkdir -p "$work"

. "$here/../quietly.sh"

quietly configure cmake -S "$root" -B "$work/dlpark" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DDLPARK_KIT=ON -DCMAKE_INSTALL_PREFIX="$work/prefix"
quietly build cmake --build "$work/dlpark" --parallel 2 --target install
quietly configure-extension cmake -S "$here" -B "$work/extension" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$work/prefix" -DPython_EXECUTABLE="$(command -v python3)"
quietly build-extension cmake --build "$work/extension"
PYTHONPATH=$work/extension exec python3 "$here/metal_python.py"
