#!/bin/sh
# Usage: check_pitfalls.sh [ROOT]
# Every line of docs/pitfalls.md below a heading that ends in "proof" names its tests in the last cell, and each of them
# is in tests/: `x.py::test`, `x_test.c: name` for a function that cmocka is given to run, or a script by its name.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
enter "${1:-$here/..}"
page=docs/pitfalls.md

c_files tests '*.py' '*.c' '*.cmake' '*.sh' | while read -r file; do
    awk -v name="$(basename "$file")" '
        name !~ /\.(py|c)$/ { exit }
        name ~ /\.py$/ && /^(async )?def test_[a-z0-9_]+\(/ {
            sub(/^(async )?def /, "")
            sub(/\(.*/, "")
            print name "::" $0
        }
        name ~ /\.c$/ && /^static void [a-z0-9_]+\(void \*\*/ {
            written = $3
            sub(/\(.*/, "", written)
            defined[written] = 1
        }
        name ~ /\.c$/ {
            while (match($0, /(TEST|cmocka_unit_test[a-z_]*)\([a-z0-9_]+/)) {
                call = substr($0, RSTART, RLENGTH)
                $0 = substr($0, RSTART + RLENGTH)
                sub(/.*\(/, "", call)
                given[call] = 1
            }
        }
        END {
            if (name !~ /\.(py|c)$/) print name
            for (test in defined) if (test in given) print name ": " test
        }
    ' "$file"
done >"$work/tests"

[ -f "$page" ] || echo "$page is missing" >"$work/faults"
[ ! -f "$page" ] || awk -v page="$page" '
    FILENAME != page { count[$0]++; next }
    !/^\|/ { inside = 0; next }
    /\| proof \|$/ { inside = 1; next }
    !inside || /^\|[-|]*$/ { next }
    {
        cells = split($0, cell, "|")
        gsub(/^ +| +$/, "", cell[cells - 1])
        if (cell[cells - 1] == "") print page ":" FNR ": number" cell[2] "names no test"
        names = split(cell[cells - 1], name, ", ")
        for (i = 1; i <= names; i++) {
            named++
            if (name[i] !~ /^`[^`]+`$/) { print page ":" FNR ": not the name of a test: " name[i]; continue }
            test = substr(name[i], 2, length(name[i]) - 2)
            if (!(test in count)) print page ":" FNR ": tests/ has no " test
            else if (count[test] > 1) print page ":" FNR ": tests/ has more than one " test
        }
    }
    END { if (!named) print page ": no test is named" }
' "$work/tests" "$page" >"$work/faults"
verdict
