#!/bin/sh
# Installs dlpark with its adapter for ONNX Runtime into a folder, builds the demo against that as a stranger would, and
# runs it. SOUND=FILE takes another sound: raw, 16 bits, 16 kHz, one channel.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/demo/onnxruntime
sound=${SOUND:-/usr/share/pocketsphinx/test/data/goforward.raw}
[ -f "$sound" ] || {
    echo "there is no $sound (Debian package pocketsphinx-testdata); SOUND names another" >&2
    exit 1
}
runtime=$("$root/tools/partner" onnxruntime)
models=$("$root/tools/partner" models)
mkdir -p "$work"

. "$here/../quietly.sh"

quietly configure cmake -S "$root" -B "$work/library" -DCMAKE_BUILD_TYPE=Release -DDLPARK_ONNXRUNTIME=ON \
    -DCMAKE_PREFIX_PATH="$runtime" -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_LIBDIR=lib
quietly build cmake --build "$work/library" --parallel 2
quietly install cmake --install "$work/library" --component development
flags=$(PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig" pkg-config --cflags --libs dlpark-onnxruntime)
# shellcheck disable=SC2086 # a list of words
quietly compile cc -std=c11 -O2 -Wall -Wextra -Werror -isystem "$runtime/include" "$here/voice.c" -o "$work/voice" $flags -lm
LD_LIBRARY_PATH=$runtime/lib exec "$work/voice" "$models/silero_vad.onnx" "$sound"
