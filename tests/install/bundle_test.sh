#!/bin/sh
# Usage: bundle_test.sh PYTHON
# The core as two files, made by tools/bundle: compiles without a warning as C11, by gcc and clang where they are, shows no name of
# its own in a shared library unless it is told to, is what the snippets that need the core alone run with, in C and C++, and
# passes the unit tests of the core.
set -eu

python=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
CC=${CC:-cc}
CXX=${CXX:-c++}
CMAKE=${CMAKE:-cmake}
strict="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Werror"

unset DESTDIR MAKEFLAGS MFLAGS MAKELEVEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

fail()
{
    echo "install.bundle: $*" >&2
    exit 1
}

quietly()
{
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "failed: $*"
    }
}

exported()
{
    nm -D --defined-only "$1" | awk '$2 ~ /[TDBRW]/ { print $3 }' | sort
}

# The two files are all that is copied.
make_bundle()
{
    quietly "$python" "$root/tools/bundle" "$work/bundle"
    [ "$(cd "$work/bundle" && echo *)" = "dlpark.c dlpark.h" ] || fail "it is not two files: $(ls "$work/bundle")"
    for compiler in "$CC" gcc clang; do
        command -v "$compiler" >/dev/null || continue
        # shellcheck disable=SC2086 # a list of flags
        quietly "$compiler" -std=c11 -O1 $strict -fPIC -c "$work/bundle/dlpark.c" -o "$work/dlpark.o"
        echo "compiled by $compiler"
    done
}

check_names()
{
    quietly "$CC" -shared "$work/dlpark.o" -pthread -o "$work/hidden.so"
    [ -z "$(exported "$work/hidden.so")" ] || fail "shows $(exported "$work/hidden.so" | head -3)"
    quietly "$CC" -std=c11 -DDLPARK_SHARED -fPIC -shared "$work/bundle/dlpark.c" -pthread -o "$work/shown.so"
    exported "$work/shown.so" >"$work/shown"
    comm -23 "$work/shown" "$root/tests/abi/symbols.txt" >"$work/strange"
    [ ! -s "$work/strange" ] || fail "exports what the library does not: $(head -3 "$work/strange")"
    grep -qx dlpark_tensor_new_sized "$work/shown" || fail "DLPARK_SHARED does not show dlpark_tensor_new_sized"
    echo "names: none, and with DLPARK_SHARED $(wc -l <"$work/shown")"
}

# A user's program finds <dlpark/x.h> nowhere: the bundle's header is all there is.
run_snippet()
{
    source=$1
    compiler=$2
    sed 's|#include <dlpark/[a-z_]*\.h>|#include "dlpark.h"|' "$source" >"$work/bundle/snippet.${source##*.}"
    # shellcheck disable=SC2086 # a list of flags
    quietly $compiler -O1 -Wall -Wextra -Werror "$work/bundle/snippet.${source##*.}" "$work/dlpark.o" -pthread -o "$work/program"
    "$work/program" >"$work/said" || fail "$source failed"
    cmp -s "$work/said" "${source%.*}.out" || fail "$source prints something else"
    snippets=$((snippets + 1))
}

run_snippets()
{
    headers=$(sed -n 's/.*HEADERS//p; /HEADERS/,/THREADS/p' "$root/src/core/CMakeLists.txt" | tr -s ' ' '\n' | grep '\.h$' | sort -u)
    snippets=0
    for source in "$root"/docs/snippets/*.c "$root"/docs/snippets/*.cpp; do
        [ -f "${source%.*}.out" ] && grep -q 'main *(' "$source" || continue
        for header in $(sed -n 's|.*#include <dlpark/\(.*\)>.*|\1|p' "$source"); do
            echo "$headers" | grep -qx "$header" || continue 2
        done
        case $source in
        *.cpp) run_snippet "$source" "$CXX -std=c++17" ;;
        *) run_snippet "$source" "$CC -std=c11" ;;
        esac
    done
    [ "$snippets" -ge 15 ] || fail "only $snippets snippets need the core alone"
    echo "$snippets snippets print what they should"
}

run_unit_tests()
{
    quietly "$CMAKE" -S "$root" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-g0 -DCMAKE_C_COMPILER="$CC" \
        -DDLPARK_TESTS=ON -DDLPARK_BUNDLE="$work/bundle/dlpark.c"
    quietly "$CMAKE" --build "$work/build" --parallel 2 --target core_tests
    quietly ctest --test-dir "$work/build" -L core --no-tests=error -j 2
    grep '% tests passed' "$work/log"
}

make_bundle
check_names
run_snippets
run_unit_tests
