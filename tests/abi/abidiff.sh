#!/bin/sh
# Usage: tests/abi/abidiff.sh [--update | --selftest]
# Whether programs that were linked with the last release still run with this tree's libdlpark: abidiff compares its functions and
# every struct that they are given with tests/abi/baseline.abi.xz. What is new is allowed; what changed or is gone fails.
# --update writes the baseline, at a release or where there has been none yet. --selftest proves that a change is found.
# BUILD names another folder than build/abi. Exit status 77: not compared, the reason is printed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-$root/build/abi}
baseline=$here/baseline.abi.xz
export LC_ALL=C

# dump LIBRARY HEADERS: its ABI as XML, without what differs from machine to machine.
dump()
{
    abidw --headers-dir "$2" --drop-private-types --drop-undefined-syms --no-corpus-path --no-comp-dir-path --no-show-locs \
        --no-parameter-names --type-id-style hash "$1"
}

# compatible BEFORE AFTER: prints what is not.
compatible()
{
    abidiff --no-added-syms --suppressions "$here/abidiff.supp" "$1" "$2"
}

attribute()
{
    sed -n "1s/.* $1='\([^']*\)'.*/\1/p" "$2"
}

build_library()
{
    mkdir -p "$build"
    "${CMAKE:-cmake}" -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON >"$build/log" 2>&1 &&
        "${CMAKE:-cmake}" --build "$build" --target dlpark_core --parallel 2 >>"$build/log" 2>&1 || {
        tail -n 40 "$build/log"
        exit 1
    }
}

compare()
{
    build_library
    dump "$build/src/core/libdlpark.so" "$root/include" >"$build/now.abi"
    if [ "${1:-}" = --update ]; then
        xz -9e -c "$build/now.abi" >"$baseline"
        echo "$baseline: $(attribute soname "$build/now.abi"), $(stat -c %s "$baseline") bytes"
        return
    fi
    xz -dc "$baseline" >"$build/baseline.abi"
    for what in architecture soname; do
        was=$(attribute $what "$build/baseline.abi")
        is=$(attribute $what "$build/now.abi")
        [ "$was" = "$is" ] || {
            echo "not compared: the baseline is of $was, this is $is"
            [ $what = architecture ] || echo "a new line of releases takes a new baseline: make abi-baseline"
            exit 77
        }
    done
    compatible "$build/baseline.abi" "$build/now.abi" || {
        echo "Programs linked with the last release of $(attribute soname "$build/now.abi") would not run with this one. A release that"
        echo "breaks them has another SONAME: docs/releasing.md. Where there has been no release: make abi-baseline."
        exit 1
    }
    echo "compatible with the baseline of $was"
}

# variant NAME SED-SCRIPT FILE: a small library of the view and the tensor, from a copy of the sources with one thing changed.
variant()
{
    mkdir "$work/$1"
    cp -R "$root/src/core" "$root/include" "$work/$1"
    sed -i "$2" "$work/$1/$3"
    [ "$1" = same ] || ! cmp -s "$work/$1/$3" "$work/same/$3" || fail "$1 changes nothing"
    (cd "$work/$1" && ${CC:-cc} -std=c11 -D_DEFAULT_SOURCE -DDLPARK_SHARED -DDLPARK_BUILDING -fvisibility=hidden -g -fPIC -shared \
        -I include -I core core/view.c core/tensor/tensor_alloc.c -o lib.so) || fail "$1 does not compile"
    dump "$work/$1/lib.so" "$work/$1/include" >"$work/$1.abi"
}

fail()
{
    echo "abi.abidiff: $*"
    exit 1
}

selftest()
{
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    variant same '' include/dlpark/view.h
    compatible "$work/same.abi" "$work/same.abi" >/dev/null || fail "a library is not compatible with itself"

    variant new '$a\
DLPARK_API int dlpark_view_later(void); int dlpark_view_later(void) { return 1; }' core/view.c
    variant grown 's/^} dlpark_tensor_desc;/    void *later;\n} dlpark_tensor_desc;/' include/dlpark/tensor_desc.h
    for name in new grown; do
        compatible "$work/same.abi" "$work/$name.abi" >"$work/said" || fail "$name is refused: $(cat "$work/said")"
    done

    variant gone 's/dlpark_view_allow_write(/dlpark_view_let_write(/' core/view.c
    variant field 's/^    uint64_t byte_offset;/    uint32_t byte_offset;/' include/dlpark/view.h
    variant moved 's/^    DLDataType dtype;/    void *between;\n    DLDataType dtype;/' include/dlpark/tensor_desc.h
    for name in gone field moved; do
        ! compatible "$work/same.abi" "$work/$name.abi" >"$work/said" || fail "$name is not found"
    done
    echo "found: a function gone, a field of another type, a field moved; allowed: a function more, a description that grows"
}

command -v abidw >/dev/null && command -v abidiff >/dev/null || {
    echo "not compared: there is no abidiff (Debian package abigail-tools)"
    exit 77
}
case ${1:-} in
'' | --update) compare "$@" ;;
--selftest) selftest ;;
*) sed -n '2,7s/^# //p' "$0" && exit 2 ;;
esac
