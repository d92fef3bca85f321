#!/bin/sh
# Usage: tests/gpu/run.sh
# Tries on this machine's GPU what the other tests prove on a fake driver, and leaves the report in build/gpu/report.md, for
# docs/devices.md. Exits with 77 where there is no GPU. DLPARK_CUDA_LIBRARY=fake: with the fake driver, which proves the checks.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/gpu
report=$work/report.md
mkdir -p "$work"

. "$root/demos/quietly.sh"

quietly configure cmake -S "$root" -B "$work/dlpark" -DCMAKE_BUILD_TYPE=Release -DDLPARK_TESTS=ON -DDLPARK_PYTHON=ON \
    -DPython_EXECUTABLE="$(command -v python3)"
quietly build cmake --build "$work/dlpark" --parallel 2 --target hardware
[ "${DLPARK_CUDA_LIBRARY:-}" != fake ] || export DLPARK_CUDA_LIBRARY="$work/dlpark/fakecuda/libcuda.so.1"

# 77: nothing was tried, and the program has said why. A check that fails is in the report.
status=0
"$work/dlpark/tests/gpu/hardware" >"$report" || status=$?
[ "$status" != 77 ] || exit 77
[ -s "$report" ] || exit 1

quietly build-module cmake --build "$work/dlpark" --parallel 2
PYTHONPATH=$work/dlpark/python python3 "$here/frameworks.py" >>"$report" || status=1

# NVIDIA's own checker of accesses and races, of the same program.
for tool in memcheck racecheck; do
    if [ -z "${DLPARK_CUDA_LIBRARY:-}" ] && command -v compute-sanitizer >/dev/null 2>&1; then
        if compute-sanitizer --tool "$tool" --error-exitcode 9 "$work/dlpark/tests/gpu/hardware" >"$work/$tool.log" 2>&1; then
            echo "| compute-sanitizer, $tool | passed | of the program that made the rows above |" >>"$report"
        else
            echo "| compute-sanitizer, $tool | **failed** | $(tail -n 1 "$work/$tool.log") |" >>"$report"
            status=1
        fi
    else
        echo "| compute-sanitizer, $tool | left out | no GPU, or it is not installed |" >>"$report"
    fi
done
cat "$report"
echo
echo "This report: build/gpu/report.md, for docs/devices.md" >&2
exit "$status"
