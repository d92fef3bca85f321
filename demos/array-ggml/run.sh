#!/bin/sh
# Installs dlpark with its ggml adapter into a prefix, builds the demo against that as its user would, and runs it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/demo/array-ggml
mkdir -p "$work"

. "$here/../quietly.sh"

ggml=$("$root/tools/partner" ggml)
quietly configure cmake -S "$root" -B "$work/library" -DCMAKE_BUILD_TYPE=Release -DDLPARK_GGML=ON \
    -DCMAKE_PREFIX_PATH="$ggml" -DCMAKE_INSTALL_PREFIX="$work/prefix"
quietly build cmake --build "$work/library" --parallel 2
quietly install cmake --install "$work/library" --component development
quietly demo-configure cmake -S "$here" -B "$work/demo" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$work/prefix;$ggml"
quietly demo-build cmake --build "$work/demo"
exec "$work/demo/array_ggml"
