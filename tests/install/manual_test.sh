#!/bin/sh
# Usage: manual_test.sh PYTHON
# The manual pages of the C calls: every exported function has one, each is roff that mandoc and man find nothing wrong with (where
# they are there), and a page says what its header's comment says. A header that says something wrong is found.
set -eu

python=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

fail()
{
    echo "install.manual: $*" >&2
    exit 1
}

lint()
{
    cd "$work/man/man3"
    grep -L '^\.so ' -- *.3 >"$work/pages"
    if command -v mandoc >/dev/null; then
        xargs -n 1 mandoc -T lint -W warning <"$work/pages" >"$work/said" 2>&1 || fail "mandoc: $(head -5 "$work/said")"
        linted="mandoc"
    fi
    if command -v man >/dev/null && command -v groff >/dev/null; then
        for page in $(cat "$work/pages"); do
            man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null
        done >"$work/said"
        [ ! -s "$work/said" ] || fail "man: $(head -5 "$work/said")"
        linted="${linted:+$linted and }man"
    fi
}

has()
{
    grep -qF -- "$2" "$work/man/man3/$1.3" || fail "$1(3) does not say '$2'"
}

"$python" "$root/tools/man_pages.py" "$work/man"
grep -v '^dlpark__' "$root/tests/abi/symbols.txt" | while read -r name; do
    [ -f "$work/man/man3/$name.3" ] || fail "$name has no page"
done
for page in $(sed -n 's/^\.so man3\///p' "$work"/man/man3/*.3 | sort -u); do
    [ -f "$work/man/man3/$page" ] || fail "a page leads to $page, which is not there"
    ! grep -q '^\.so ' "$work/man/man3/$page" || fail "a page leads to $page, which leads on"
done
for section in SYNOPSIS DESCRIPTION "RETURN VALUE" ERRORS THREADS "SEE ALSO"; do
    has dlpark_copy ".SH $section"
done
has dlpark_copy '.B DLPARK_E_SHAPE'
has dlpark_copy 'Host accessible'
has dlpark_tensor_share '.SH OWNERSHIP'
has dlpark_image_load '(\-ldlpark\-image, dlpark::image)'
has dlpark_tensor_new_sized '.so man3/dlpark_tensor_new.3'
linted=
lint
echo "linted by ${linted:-nobody: neither mandoc nor man is there}"

# The check can fail: a broken request is found where there is somebody to find it.
echo '.SH' >>"$work/man/man3/dlpark_copy.3"
echo '.nonsense' >>"$work/man/man3/dlpark_copy.3"
[ -z "$linted" ] || ! (lint) 2>/dev/null || fail "a page that is wrong is not found"
