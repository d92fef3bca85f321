#!/bin/sh
# Usage: check_sizes.sh [ROOT]
# No function over 70 lines, no .c file over 500, no header over 350, no test over 700: its length is a list of cases,
# and one file proves one source. Functions over 35 lines are listed, and pass.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
enter "${1:-$here/..}"

c_files . '*.c' '*.h' >"$work/files"
xargs awk -f "$here/c_names.awk" <"$work/files" | awk '
    $1 != "function" { next }
    $4 > 70 { print $2 ":" $3 ": " $5 "() has " $4 " lines, at most 70 are allowed"; next }
    $4 > 35 { long = long "\n    " $4 " lines: " $5 "() in " $2 }
    END { if (long != "") print "functions over 35 lines (allowed, look for a seam):" long >"/dev/stderr" }
' >"$work/faults"
while read -r file; do
    case $file in
    *.h) limit=350 ;;
    tests/*) limit=700 ;;
    *) limit=500 ;;
    esac
    lines=$(wc -l <"$file")
    [ "$lines" -le $limit ] || echo "$file: $lines lines, at most $limit are allowed"
done <"$work/files" >>"$work/faults"
verdict
