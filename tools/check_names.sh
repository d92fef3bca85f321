#!/bin/sh
# Usage: check_names.sh [ROOT]
# Function and static variable names are unique over src/, static ones too, so that the sources can be compiled as one;
# file names are unique over src/ and include/; a function of a library that is not static begins with dlpark_; nothing
# of ours begins with dlpack_, DLPACK_ or an underscore.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
enter "${1:-$here/..}"

{ c_files src '*.c' '*.h'; c_files include '*.h'; c_files cli '*.c' '*.h'; } >"$work/files"
[ ! -s "$work/files" ] || xargs awk -f "$here/c_names.awk" <"$work/files" >"$work/names"
[ -f "$work/names" ] || : >"$work/names"

awk '
    ($1 == "function" || $1 == "variable") && $2 ~ /^src\/.*\.c$/ {
        # Twice in one file are the two sides of an #if; the compiler sees to the rest.
        if (!($5 in first)) { first[$5] = $2 ":" $3; file[$5] = $2 }
        else if (file[$5] != $2) print $2 ":" $3 ": the name " $5 " is taken, by " first[$5]
    }
    $1 == "function" && $6 == "extern" && $2 ~ /^src\// && $5 !~ /^(dlpark_|PyInit_)/ {
        print $2 ":" $3 ": " $5 "() is visible to the linker and does not begin with dlpark_"
    }
    $5 ~ /^(dlpack_|DLPACK_)/ && $2 !~ /(^|\/)include\/dlpark\/dlpack\.h$/ {
        print $2 ":" $3 ": " $5 " is a name of the DLPack project, ours begin with dlpark"
    }
    $5 ~ /^_/ && $5 !~ /^_(GNU|POSIX_C|DEFAULT|XOPEN)_SOURCE$/ && $5 !~ /^(_FILE_OFFSET_BITS|__SANITIZE_ADDRESS__)$/ {
        print $2 ":" $3 ": " $5 " is reserved, it begins with an underscore"
    }
    $5 == "?" { print $2 ":" $3 ": cannot tell the name of this function" }
' "$work/names" >"$work/faults"

# The same file name on both sides of the header-source pair is the pair itself.
sed 's|.*/||' "$work/files" | LC_ALL=C sort | uniq -d | while read -r name; do
    echo "more than one file is called $name: $(grep "/$name\$" "$work/files" | tr '\n' ' ')"
done >>"$work/faults"
verdict
