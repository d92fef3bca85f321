#!/bin/sh
# Usage: check_tree.sh [ROOT]
# include/dlpark/x.h has src/**/x.c, tests/**/x_test.c and docs/reference/x.md; a test has the source that it is about
# (x.c, or x_read.c and x_write.c), and a page its header. tools/tree_exceptions.txt says what lacks a part, and why.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
enter "${1:-$here/..}"
exceptions=tools/tree_exceptions.txt

# lacks PART NAME WHAT: one fault, unless it is excused.
lacks()
{
    excused "$exceptions" "$1" "$2" || echo "$3"
}

exists()
{
    [ -n "$(c_files "$1" "$2")" ]
}

for header in include/dlpark/*.h; do
    [ -f "$header" ] || continue
    name=$(basename "$header" .h)
    exists src "$name.c" || lacks source "$name" "$header has no src/**/$name.c"
    exists tests "${name}_test.c" || lacks test "$name" "$header has no tests/**/${name}_test.c"
    [ -f "docs/reference/$name.md" ] || lacks page "$name" "$header has no docs/reference/$name.md"
done >"$work/faults"

c_files tests '*_test.c' | while read -r test; do
    name=$(basename "$test" _test.c)
    exists src "$name.c" || exists src "${name}_*.c" ||
        lacks subject "$name" "$test is about no src/**/$name.c, nor parts of it, ${name}_*.c"
done >>"$work/faults"

for page in docs/reference/*.md; do
    [ -f "$page" ] || continue
    name=$(basename "$page" .md)
    [ -f "include/dlpark/$name.h" ] || lacks header "$name" "$page is about no include/dlpark/$name.h"
done >>"$work/faults"

# An exception that is no longer needed hides the next fault.
if [ -f "$exceptions" ]; then
    grep -v -e '^#' -e '^[ ]*$' "$exceptions" | while read -r part name reason; do
        [ -n "$reason" ] || echo "$exceptions: $part $name has no reason"
        case $part in
        source | subject) path=$(c_files src "$name.c") ;;
        test) path=$(c_files tests "${name}_test.c") ;;
        page) path=$(c_files docs/reference "$name.md") ;;
        header) path=$(c_files include/dlpark "$name.h") ;;
        *) echo "$exceptions: '$part' is none of source test page subject header" && continue ;;
        esac
        [ -z "$path" ] || echo "$exceptions: $part $name is there, $path; drop the exception"
    done >>"$work/faults"
fi
verdict
