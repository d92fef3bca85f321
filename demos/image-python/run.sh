#!/bin/sh
# Builds the Python module and runs the demo with it. PyTorch takes part where it is installed; FRAMEWORK=torch demands it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build/demo/module
mkdir -p "$root/build/demo"

cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DDLPARK_PYTHON=ON -DDLPARK_PYTHON_IMAGE=ON \
    -DPython_EXECUTABLE="$(command -v python3)" >"$root/build/demo-configure.log" 2>&1 || {
    tail -n 20 "$root/build/demo-configure.log" >&2
    exit 1
}
cmake --build "$build" --parallel 2 >"$root/build/demo-build.log" 2>&1 || {
    tail -n 40 "$root/build/demo-build.log" >&2
    exit 1
}
PYTHONPATH=$build/python exec python3 "$here/image_python.py" "$root/build/demo"
