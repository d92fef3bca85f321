#!/bin/sh
# Usage: inside_test.sh
# dlpark as a part of another project: by add_subdirectory(), and fetched as an archive of its sources by FetchContent. Programs of
# that project link its targets, none of that project's settings change, and nothing of dlpark is installed with it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
CMAKE=${CMAKE:-cmake}

unset DESTDIR MAKEFLAGS MFLAGS MAKELEVEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

fail()
{
    echo "install.inside: $*" >&2
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
    said=$("$1") || fail "$1 failed"
    [ "$said" = "dlpark $DLPARK_EXPECTED: 2 x 3" ] || fail "$1 printed '$said'"
}

# A copy of the sources in the project's own tree.
as_subdirectory()
{
    quietly "$CMAKE" -S "$here/inside" -B "$work/inside" -DDLPARK_ROOT="$root" -DSTRANGER="$here/stranger" \
        -DDLPARK_ARROW=ON -DDLPARK_KIT=ON -DCMAKE_INSTALL_PREFIX="$work/installed" ${CC:+-DCMAKE_C_COMPILER="$CC"}
    quietly "$CMAKE" --build "$work/inside" --parallel 2
    for program in inside_c inside_cpp inside_arrow; do
        expect "$work/inside/$program"
    done
    quietly "$CMAKE" --install "$work/inside"
    installed=$(cd "$work/installed" && find . -type f)
    [ "$installed" = "./bin/inside_c" ] || fail "more is installed than the project's own: $installed"
    echo "add_subdirectory: three programs, and nothing of dlpark installed"
}

# An archive of what the manual says is read.
as_fetched()
{
    mkdir "$work/mine"
    cp "$root/docs/snippets/inside/CMakeLists.txt" "$work/mine"
    cp "$here/stranger/core.c" "$work/mine/mine.c"
    (cd "$root" && tar czf "$work/mine/dlpark-0.1.0.tar.gz" CMakeLists.txt LICENSE cmake include src)
    quietly "$CMAKE" -S "$work/mine" -B "$work/fetched" ${CC:+-DCMAKE_C_COMPILER="$CC"}
    quietly "$CMAKE" --build "$work/fetched" --parallel 2
    expect "$work/fetched/mine"
    echo "FetchContent: the program of the manual"
}

as_subdirectory
as_fetched
