#!/bin/sh
# Usage: tests/abi/symbols.sh [--update]
# The names that the shared libdlpark exports are those of tests/abi/symbols.txt: nothing internal gets out, nothing of
# the interface is lost. Each carries the version of its line of releases, which the SONAME and Debian's packages are named after.
# Builds the library as it is packaged; --update writes the list. BUILD names another folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-$root/build/shared}
list=$here/symbols.txt
now=$build/symbols.txt
case ${1:-} in
'' | --update) ;;
*) sed -n '2,5s/^# //p' "$0" && exit 2 ;;
esac

fail()
{
    echo "abi.symbols: $*"
    exit 1
}

mkdir -p "$build"
"${CMAKE:-cmake}" -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON >"$build/symbols.log" 2>&1 &&
    "${CMAKE:-cmake}" --build "$build" --target dlpark_core >>"$build/symbols.log" 2>&1 || {
    tail -n 40 "$build/symbols.log"
    exit 1
}
library=$(find "$build/src/core" -name 'libdlpark.so' | head -n 1)
# Of type A are the versions themselves.
nm -D --with-symbol-versions --defined-only "$library" | awk '$2 != "A" { print $3 }' >"$build/exported.txt"
sed 's/@.*//' "$build/exported.txt" | LC_ALL=C sort >"$now"
[ -s "$now" ] || fail "$library exports nothing"
if [ "${1:-}" = --update ]; then
    cp "$now" "$list"
    echo "tests/abi/symbols.txt: $(wc -l <"$list") names"
    exit 0
fi
diff -u "$list" "$now" || fail "the exported names are not those of tests/abi/symbols.txt; if that is meant, make symbols"

# ---- Versions: where the linker knows them ----

line=$(sed -n 's/#define DLPARK_VERSION_M[A-Z]* \([0-9]*\)$/\1/p' "$root/include/dlpark/version.h" | paste -sd.)
symbols=${line%%.*}
case $line in
0.*) symbols=$line ;;      # one version for all of the line
*) line=${line%%.*} ;;     # one for each minor version: 1.0, 1.1
esac
grep -q '^DLPARK_HAVE_VERSION_SCRIPT:.*=1$' "$build/CMakeCache.txt" || {
    echo "versions not looked at: this linker has no --version-script"
    exit 0
}
strange=$(grep -v "@@DLPARK_$symbols" "$build/exported.txt" | head -n 3)
[ -z "$strange" ] || fail "not of version DLPARK_$symbols: $strange"
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = "libdlpark.so.$line" ] || fail "the SONAME is $soname, not libdlpark.so.$line"
for file in "$root"/packaging/debian/libdlpark*.symbols; do
    [ -e "$file" ] || continue # a source package may have no packaging
    package=$(basename "$file" .symbols)
    name=${package%"$line"}
    head -n 1 "$file" | grep -qx "$name.so.$line $package #MINVER#" ||
        fail "$file is not for $name.so.$line and its package"
    grep -q "^ (symver)DLPARK_$symbols" "$file" || fail "$file does not know DLPARK_$symbols"
    grep -qx "Package: $package" "$root/packaging/debian/control" || fail "Debian's control has no package $package"
done
echo "$(wc -l <"$now") names of version DLPARK_$symbols in $soname"
