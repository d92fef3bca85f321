#!/bin/sh
# Usage: tests/abi/symbols.sh [--update]
# The names that the shared libdlpark exports are those of tests/abi/symbols.txt: nothing internal gets out, nothing of
# the interface is lost. Builds the library as it is packaged; --update writes the list. BUILD names another folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-$root/build/shared}
list=$here/symbols.txt
now=$build/symbols.txt

mkdir -p "$build"
"${CMAKE:-cmake}" -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON >"$build/symbols.log" 2>&1 &&
    "${CMAKE:-cmake}" --build "$build" --target dlpark_core >>"$build/symbols.log" 2>&1 || {
    tail -n 40 "$build/symbols.log"
    exit 1
}
library=$(find "$build/src/core" -name 'libdlpark.so' | head -n 1)
nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort >"$now"
[ -s "$now" ] || {
    echo "$library exports nothing"
    exit 1
}
if [ "${1:-}" = --update ]; then
    cp "$now" "$list"
    echo "tests/abi/symbols.txt: $(wc -l <"$list") names"
elif ! diff -u "$list" "$now"; then
    echo "the exported names are not those of tests/abi/symbols.txt; if that is meant, make symbols"
    exit 1
fi
