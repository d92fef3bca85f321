#!/bin/sh
# Usage: check_comments.sh [ROOT]
# Everything that a public header declares has a comment that says enough: types, fields, macros and functions; of a
# function, all its parameters or none, how it fails, who owns what, what sizes are counted in.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
enter "${1:-$here/..}"

# api.h has the attributes of declarations, of which nothing is for a caller.
c_files include/dlpark '*.h' | grep -v '/api\.h$' | while read -r header; do
    awk -f "$here/c_comments.awk" "$header"
done | LC_ALL=C sort >"$work/faults"
verdict
