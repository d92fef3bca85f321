#!/bin/sh
# Usage: [ADAPTERS="zlib ..." CMAKE_PREFIX_PATH=...] install_test.sh static|shared [PYTHON]
# Installs dlpark as a package would, moves the prefix elsewhere, and is then a stranger: builds programs outside of
# the source tree by find_package and by pkg-config, in C and C++17, runs them and compares what they print.
# Of shared libraries it also reads which symbols they export and which libraries they need. With PYTHON, which needs its
# headers, the extension kit is installed with the shared libraries, and an extension of CPython built by it.
set -eu

kind=$1
python=${2:-}
adapters=${ADAPTERS:-}
# Where libraries of adapters lie that are not packages: CMake reads this itself, pkg-config and the loader have their own
# words.
partners=$(echo "${CMAKE_PREFIX_PATH:-}" | sed 's|[^:][^:]*|&/lib/pkgconfig|g')
libraries=$(echo "${CMAKE_PREFIX_PATH:-}" | sed 's|[^:][^:]*|&/lib|g')
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
CC=${CC:-cc}
CXX=${CXX:-c++}
CMAKE=${CMAKE:-cmake}
minor_version=$(echo "$DLPARK_EXPECTED" | cut -d. -f1-2)

unset DESTDIR MAKEFLAGS MFLAGS MAKELEVEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cp -R "$here/stranger" "$work/stranger"

fail()
{
    echo "install.$kind: $*" >&2
    exit 1
}

quietly()
{
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "failed: $*"
    }
}

# expect PROGRAM: it says the version and the shape.
expect()
{
    said=$(LD_LIBRARY_PATH=${run_path:-}:$libraries "$1") || fail "$1 failed"
    [ "$said" = "dlpark $DLPARK_EXPECTED: 2 x 3" ] || fail "$1 printed '$said'"
    echo "$1 printed: $said"
}

install_and_move()
{
    shared=OFF
    [ "$kind" = static ] || shared=ON
    with_kit=OFF
    [ -z "$python" ] || with_kit=ON
    # shellcheck disable=SC2046 # a list of words
    quietly "$CMAKE" -S "$root" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$CC" \
        -DBUILD_SHARED_LIBS=$shared -DDLPARK_KIT=$with_kit -DCMAKE_INSTALL_PREFIX="$work/first" \
        -DCMAKE_INSTALL_LIBDIR=lib $(for name in $adapters; do echo "-DDLPARK_$name=ON"; done | tr a-z A-Z)
    quietly "$CMAKE" --build "$work/build" --parallel 2
    quietly "$CMAKE" --install "$work/build"
    mv "$work/first" "$work/prefix"
    rm -rf "$work/build"
    if grep -rIl -e "$work/first" -e "$root" "$work/prefix"; then
        fail "installed files name the place where they were built"
    fi
    if [ -z "$adapters" ] && [ -e "$work/prefix/include/dlpark/image.h" ]; then
        fail "image.h is installed although its library is not built"
    fi
    if [ "$with_kit" = OFF ] && [ -e "$work/prefix/include/dlpark/python.h" ]; then
        fail "python.h is installed although nobody asked for the kit"
    fi
}

# by_cmake COMPONENT SOURCE...
by_cmake()
{
    component=$1
    shift
    programs=$(echo "$*" | tr ' ' ';')
    rm -rf "$work/by-cmake"
    quietly "$CMAKE" -S "$work/stranger" -B "$work/by-cmake" -DCMAKE_PREFIX_PATH="$work/prefix" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DWANTED="$component" \
        -DWANTED_VERSION="$minor_version" -DPROGRAMS="$programs"
    quietly "$CMAKE" --build "$work/by-cmake"
    for source in "$@"; do
        expect "$work/by-cmake/$(echo "$source" | tr . _)"
    done
}

# by_pkgconfig PACKAGE SOURCE
by_pkgconfig()
{
    case $2 in
    *.cpp) compile="$CXX -std=c++17" ;;
    *) compile="$CC -std=c11" ;;
    esac
    flags=$(PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig:$partners" pkg-config --cflags --libs "$1")
    # shellcheck disable=SC2086 # both are lists of words
    quietly $compile -Wall -Wextra -Werror "$work/stranger/$2" -o "$work/by-pkgconfig" $flags
    run_path="$work/prefix/lib"
    expect "$work/by-pkgconfig"
    run_path=
}

# An extension of CPython, by find_package alone: it says the same, and shows its init function only.
as_extension()
{
    quietly "$CMAKE" -S "$work/stranger/extension" -B "$work/extension" -DCMAKE_PREFIX_PATH="$work/prefix" \
        -DCMAKE_CXX_COMPILER="$CXX" -DPython_EXECUTABLE="$python" -DWANTED_VERSION="$minor_version"
    quietly "$CMAKE" --build "$work/extension" --parallel 2
    for name in stranger both; do
        said=$(cd "$work/extension" && LD_LIBRARY_PATH=$work/prefix/lib "$python" -c "import $name
print($name.describe(memoryview(bytearray(6)).cast('B', (2, 3))))") || fail "the extension $name failed"
        [ "$said" = "dlpark $DLPARK_EXPECTED: 2 x 3" ] || fail "the extension $name printed '$said'"
        shown=$(nm -D --defined-only "$work/extension/$name.so" | awk '{ print $NF }')
        [ "$shown" = "PyInit_$name" ] || fail "the extension $name shows $shown"
        echo "extension $name printed: $said"
    done
}

# What find_package must refuse, with the reason.
refuses()
{
    rm -rf "$work/refused"
    if "$CMAKE" -S "$work/stranger" -B "$work/refused" -DCMAKE_PREFIX_PATH="$work/prefix" \
        -DWANTED="$1" -DWANTED_VERSION="$2" >"$work/log" 2>&1; then
        fail "find_package(dlpark $2 COMPONENTS $1) was satisfied"
    fi
    grep -q "$3" "$work/log" || {
        cat "$work/log" >&2
        fail "find_package(dlpark $2 COMPONENTS $1) does not say '$3'"
    }
}

# exports_only_ours LIBRARY: dlpark_ is public; dlpark__ is internal and hidden, but for what public headers call inline. Each
# name carries a version; of type A are the versions themselves.
exports_only_ours()
{
    nm -D --with-symbol-versions --defined-only "$1" | awk '$2 != "A" { print $3 }' >"$work/versioned"
    if grep -v '@@DLPARK_[0-9]*\.[0-9]*$' "$work/versioned"; then
        fail "$1 exports the names above without a version"
    fi
    sed 's/@.*//' "$work/versioned" >"$work/symbols"
    grep -q '^dlpark_[a-z]' "$work/symbols" || fail "$1 exports nothing of ours"
    grep -v '^dlpark_[a-z]' "$work/symbols" | while read -r symbol; do
        case $symbol in
        dlpark__*) grep -rqw "$symbol" "$work/prefix/include" || echo "$symbol" ;;
        *) echo "$symbol" ;;
        esac
    done >"$work/others"
    if [ -s "$work/others" ]; then
        cat "$work/others"
        fail "$1 exports the symbols above, which are not public names"
    fi
}

needs_only_libc()
{
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
    if grep -v -e '^libc\.so' -e '^ld-linux' "$work/needed"; then
        fail "$1 needs the libraries above; the core promises libc alone"
    fi
}

# Threads may be a library of their own: an archive says that it needs them, a shared library has seen to it.
archive_asks_for_threads()
{
    PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig" pkg-config --libs dlpark | grep -q -e '-pthread' ||
        fail "dlpark.pc does not say -pthread"
    grep -q 'Threads::Threads' "$work/prefix/lib/cmake/dlpark/dlpark-core-targets.cmake" ||
        fail "the CMake target of the archive does not link threads"
}

install_and_move
[ "$kind" = shared ] || archive_asks_for_threads
by_cmake core core.c core.cpp
by_pkgconfig dlpark core.c
by_pkgconfig dlpark core.cpp
refuses nonsense "$minor_version" "has no dlpark::nonsense"
refuses core 99.0 "not accepted\|compatible with requested version"
for name in $adapters; do
    by_cmake "$name" "$name.c"
    by_pkgconfig "dlpark-$name" "$name.c"
done
if [ "$kind" = shared ]; then
    exports_only_ours "$work/prefix/lib/libdlpark.so"
    needs_only_libc "$work/prefix/lib/libdlpark.so"
    for name in $adapters; do
        exports_only_ours "$work/prefix/lib/libdlpark-$name.so"
    done
fi
if [ -n "$python" ]; then
    as_extension
else
    refuses python "$minor_version" "has no dlpark::python"
fi
