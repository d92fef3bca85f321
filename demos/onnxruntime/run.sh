#!/bin/sh
# Installs dlpark with its adapter for ONNX Runtime into a folder, builds the demo against that as a stranger would, and
# runs it. SOUND=FILE takes another sound: raw, 16 bits, 16 kHz, one channel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$root/build/demo/onnxruntime
sound=${SOUND:-/usr/share/pocketsphinx/test/data/goforward.raw}
[ -f "$sound" ] || {
    echo "there is no $sound (Debian package pocketsphinx-testdata); SOUND names another" >&2
    exit 1
}
runtime=$("$root/tools/partner" onnxruntime)
models=$("$root/tools/partner" models)
mkdir -p "$build"

quietly()
{
    "$@" >"$build/log" 2>&1 || {
        tail -n 40 "$build/log" >&2
        exit 1
    }
}

quietly cmake -S "$root" -B "$build/library" -DCMAKE_BUILD_TYPE=Release -DDLPARK_ONNXRUNTIME=ON \
    -DCMAKE_PREFIX_PATH="$runtime" -DCMAKE_INSTALL_PREFIX="$build/prefix" -DCMAKE_INSTALL_LIBDIR=lib
quietly cmake --build "$build/library" --parallel 2
quietly cmake --install "$build/library" --component development
flags=$(PKG_CONFIG_PATH="$build/prefix/lib/pkgconfig" pkg-config --cflags --libs dlpark-onnxruntime)
# shellcheck disable=SC2086 # a list of words
quietly cc -std=c11 -O2 -Wall -Wextra -Werror -isystem "$runtime/include" "$here/voice.c" -o "$build/voice" $flags -lm
LD_LIBRARY_PATH=$runtime/lib exec "$build/voice" "$models/silero_vad.onnx" "$sound"
