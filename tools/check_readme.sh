#!/bin/sh
# Usage: check_readme.sh [ROOT]
# What a reader copies is built and run by the tests: every ```c, ```cpp and ```python block of README.md is, byte for
# byte, a file of docs/snippets/; a block of a page in docs/ is such a file, or whole lines of one or of a demo, and so are
# its ```cmake and ```toml blocks. A ```text block is what a program printed, lines of a docs/snippets/*.out; not so in the pages
# whose ```text is a table of times or a grammar, and in those that tools/guides.py follows.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
enter "${1:-$here/..}"

# The blocks go to files of their own, named by number and language; an index says where each was.
for page in README.md $(c_files docs '*.md' | grep -v '^docs/snippets/'); do
    [ -f "$page" ] || continue
    awk -v page="$page" -v out="$work/block" -v base="$(find "$work" -name 'block.*' | wc -l)" '
        !inside && (/^```(c|cpp|python)[ \t]*$/ || page != "README.md" && /^```(cmake|toml)[ \t]*$/ ||
            page !~ /README.md$|(performance|extension|signature|start-[a-z]*)\.md$/ && /^```text[ \t]*$/) {
            language = $0
            gsub(/[` \t]/, "", language)
            file = out "." (base + ++count) "." language
            printf "" >file
            print file, page ":" NR, language
            inside = 1
            opened = NR
            next
        }
        !inside && /^```/ { inside = 2; next }
        inside && /^```[ \t]*$/ {
            if (inside == 1) close(file)
            inside = 0
            next
        }
        inside == 1 { print >file }
        END { if (inside == 1) print "- " page ":" opened " unclosed" }
    ' "$page"
done >"$work/index"

# same_as BLOCK FILE...: the file with the same bytes.
same_as()
{
    block=$1
    shift
    for file in "$@"; do
        if [ -f "$file" ] && cmp -s "$block" "$file"; then echo "$file"; fi
    done
}

# part_of BLOCK FILE...: the file that has the block's lines, one after the other.
part_of()
{
    awk '
        FILENAME == ARGV[1] { block = block "\n" $0; next }
        { text[FILENAME] = text[FILENAME] "\n" $0 }
        END { for (file in text) if (index(text[file] "\n", block "\n")) print file }
    ' "$@" /dev/null
}

while read -r block place language; do
    if [ "$block" = - ]; then
        echo "$place: a code block is never closed"
        continue
    fi
    case $language in
    python) ending=py ;;
    cmake) ending=txt ;;
    text) ending=out ;;
    *) ending=$language ;;
    esac
    case $place in
    README.md:*)
        found=$(same_as "$block" docs/snippets/*."$ending")
        [ -n "$found" ] || echo "$place: no file docs/snippets/*.$ending has exactly this text"
        ;;
    *)
        found=$(part_of "$block" $(c_files docs/snippets "*.$ending") $(c_files demos "*.$ending"))
        [ -n "$found" ] || echo "$place: no file *.$ending of docs/snippets or demos has these lines"
        ;;
    esac
done <"$work/index" >"$work/faults"
verdict
