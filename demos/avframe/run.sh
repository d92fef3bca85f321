#!/bin/sh
# Installs dlpark with its adapter and its kit into build/demo/avframe, builds the extension against it, has FFmpeg encode
# four seconds of its test picture as H.264, and runs the demo.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/demo/avframe
mkdir -p "$work"

. "$here/../quietly.sh"

quietly configure cmake -S "$root" -B "$work/dlpark" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
    -DDLPARK_AVFRAME=ON -DDLPARK_KIT=ON -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_RPATH="\$ORIGIN"
quietly build cmake --build "$work/dlpark" --parallel 2 --target install
quietly configure-video cmake -S "$here" -B "$work/video" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DPython_EXECUTABLE="$(command -v python3)"
quietly build-video cmake --build "$work/video"
quietly encode ffmpeg -nostdin -y -f lavfi -i testsrc2=size=640x360:rate=25:duration=4 -c:v libx264 -pix_fmt yuv420p \
    "$work/clip.mp4"
PYTHONPATH=$work/video exec python3 "$here/contact_sheet.py" "$work"
