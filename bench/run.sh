#!/bin/sh
# Usage: bench/run.sh [--quick]
# Builds what is measured and its peers, runs everything, prints a table each. `make bench` starts it in the environment
# of tools/setup. The rows also go to build/bench/results/*.json, and all of them as tables and plots to
# build/bench/report.html. --quick checks every result and measures nothing.
#
# Peers that are not there are left out aloud: the Rust crate needs cargo, instruction counts need valgrind, the exchange
# needs NumPy.
set -eu
cd "$(dirname "$0")/.."
build=build/bench
results=$build/results
quick=
[ "${1:-}" != --quick ] || quick=--quick

say()
{
    echo "bench: $*" >&2
}

python=OFF
if python3 -c 'import numpy' 2>/dev/null; then
    python=ON
else
    say "without the exchange with NumPy: it is not installed"
fi
# Pictures: bench_image and image_peers.py.
image=OFF
if pkg-config --exists libjpeg libpng libwebp 2>/dev/null; then
    image=ON
else
    say "without pictures: pkg-config does not find libjpeg, libpng and libwebp"
fi
# Adapters, by their pkg-config names, and those whose library tools/partner makes.
adapters=-DDLPARK_ARROW=ON
prefixes=
for pair in AVFRAME:libavutil GSL:gsl MPI:ompi-c VIPS:vips; do
    if pkg-config --exists "${pair#*:}" 2>/dev/null; then
        adapters="$adapters -DDLPARK_${pair%:*}=ON"
    else
        say "without the adapter of ${pair#*:}: pkg-config does not find it"
    fi
done
for name in ggml onnxruntime; do
    if folder=$(tools/partner $name); then
        adapters="$adapters -DDLPARK_$(echo $name | tr a-z A-Z)=ON"
        prefixes="$prefixes;$folder"
    else
        say "without the adapter of $name: tools/partner did not make it"
    fi
done

mkdir -p $results
# build SETTING...: configures and compiles; the log says why not.
build()
{
    cmake -S . -B $build -DCMAKE_BUILD_TYPE=Release -DDLPARK_BENCH=ON -DDLPARK_PYTHON=$python -DDLPARK_BENCH_PYTHON=$python \
        -DDLPARK_IMAGE=$image $adapters "-DCMAKE_PREFIX_PATH=${prefixes#;}" \
        "$@" >$build/build.log 2>&1 &&
        cmake --build $build --parallel 2 >>$build/build.log 2>&1
}

if ! build; then
    say "the build failed; trying without the Rust crate, which may need the network"
    build -DDLPARK_BENCH_RUST=OFF || {
        tail -n 40 $build/build.log >&2
        say "the build failed"
        exit 1
    }
fi
grep -- '-- benchmarks without' $build/build.log >&2 || true

status=0
for program in $build/bench/bench_* $build/bench/adapters/bench_*; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    name=$(basename "$program")
    : >$results/$name.counts
    if [ -n "$quick" ]; then
        "$program" --quick || status=1
        continue
    fi
    if command -v valgrind >/dev/null 2>&1; then
        bench/count.sh "$program" $build >$results/$name.counts ||
            say "no instruction counts for $name: valgrind failed, see $build/callgrind.log"
    else
        say "no instruction counts: valgrind was not found"
    fi
    "$program" --instructions $results/$name.counts --json $results/$name.json || status=1
done
if [ $python = ON ]; then
    for name in calls exchange copy_peers cast_peers image_peers file_peers; do
        [ $name != image_peers ] || [ $image = ON ] || continue
        PYTHONPATH=$build/python python3 bench/python/$name.py $quick --json $results/$name.json || status=1
    done
fi
[ -n "$quick" ] || python3 bench/report.py $results $build/report.html || status=1
exit $status
