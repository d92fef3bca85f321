#!/bin/sh
# Proves that the checks can fail: builds a small tree that passes them all, then breaks one thing at a time and wants
# the right check to say so. Usage: selftest.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
tree=$work/tree
good=$work/good
failures=0
cases=0

make_good_tree()
{
    mkdir -p "$good/src/core" "$good/src/adapters/one" "$good/src/adapters/two" "$good/include/dlpark" "$good/tests/unit" \
        "$good/docs/reference" "$good/docs/snippets" "$good/tools"
    cat >"$good/include/dlpark/version.h" <<'END'
#include <stdint.h>
/** The version of these headers. */
#define DLPARK_VERSION_MAJOR 3
#define DLPARK_VERSION_MINOR 7
#define DLPARK_VERSION_PATCH 1
END
    cat >"$good/src/core/version.c" <<'END'
#include <dlpark/version.h>

static const int version_numbers[] = {3, 7, 1};

/* Not a function: {
 */
static int version_major(void)
{
    return version_numbers[0];
}

__attribute__((cold)) int dlpark__version_first(int (*of)(int),
                                                const char *text)
{
    if (of) {
        return of(text[0] == '{');
    }
    return version_major();
}
END
    printf '#include "one.h"\n#include <dlpark/version.h>\n#include <zlib.h>\n' >"$good/src/adapters/one/wrap.c"
    printf '#define ONE_SIZE 4\n' >"$good/src/adapters/one/one.h"
    printf '#define TWO_SIZE 4\n' >"$good/src/adapters/two/two.h"
    printf '# version\n' >"$good/docs/reference/version.md"
    printf '# Changes\n\n## [Unreleased]\n' >"$good/CHANGELOG.md"
    printf '[project]\ndynamic = ["version"]\n' >"$good/pyproject.toml"
    printf 'int main(void)\n{\n    return 0;\n}\n' >"$good/docs/snippets/nothing.c"
    mkdir -p "$good/tests/python" "$good/tests/compile"
    cat >"$good/tests/unit/version_test.c" <<'END'
static void one_proof(void **state)
{
    (void)state;
}

static void two_proofs(void **state)
{
    (void)state;
}

static void never_run(void **state)
{
    (void)state;
}

static void no_test(int x)
{
    (void)x;
}

    cmocka_unit_test(one_proof), cmocka_unit_test_setup(two_proofs, reset), TEST(no_test),
END
    printf 'def test_proof(x):\n    assert x\n\n\ndef helper():\n    pass\n' >"$good/tests/python/test_proof.py"
    printf '\n' >"$good/tests/compile/proof.cmake"
    proofs '`version_test.c: one_proof`, `version_test.c: two_proofs`' '`test_proof.py::test_proof`, `proof.cmake`' \
        >"$good/docs/pitfalls.md"
    printf '# name\n\n```c\nint main(void)\n{\n    return 0;\n}\n```\n' >"$good/README.md"
}

# proofs CELL...: a page that names these tests, and a table that need not.
proofs()
{
    printf '# Pitfalls\n\n| # | report | proof |\n|---|---|---|\n'
    for cell in "$@"; do printf '| 7 | them/it#1 | %s |\n' "$cell"; done
    printf '\n| # | why |\n|---|---|\n| 8 | not ours |\n'
}

# lines COUNT: that many statements.
lines()
{
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    x++;" }'
}

# expect pass|fail CHECK TEXT: runs the check on the tree; a failure has to say TEXT. Then the tree is whole again.
expect()
{
    cases=$((cases + 1))
    if "$here/check_$2.sh" "$tree" >"$work/said" 2>&1; then got=pass; else got=fail; fi
    if [ $got != "$1" ] || { [ $got = fail ] && ! grep -q -- "$3" "$work/said"; }; then
        echo "selftest: check_$2 should $1${3:+ and say '$3'}; it did $got, and said:"
        sed 's/^/    /' "$work/said"
        failures=$((failures + 1))
    fi
    whole
}

whole()
{
    rm -rf "$tree"
    cp -R "$good" "$tree"
}

make_good_tree
whole
for check in sizes names tree includes version readme pitfalls comments; do expect pass $check ''; done

{ printf 'void dlpark__long(int x)\n{\n'; lines 68; printf '}\n'; } >"$tree/src/core/long.c"
expect fail sizes 'dlpark__long() has 71 lines'
{ printf 'void dlpark__long(int x)\n{\n'; lines 67; printf '}\n'; } >"$tree/src/core/long.c"
expect pass sizes ''
lines 501 >"$tree/src/core/long.c"
expect fail sizes 'long.c: 501 lines'
lines 700 >"$tree/tests/long.c"
expect pass sizes ''
lines 701 >"$tree/tests/long.c"
expect fail sizes 'long.c: 701 lines'
lines 351 >"$tree/include/dlpark/long.h"
expect fail sizes 'long.h: 351 lines'

printf 'static int version_major(void)\n{\n    return 2;\n}\n' >"$tree/src/core/again.c"
expect fail names 'version_major is taken'
printf 'static int version_numbers;\n' >"$tree/src/core/again.c"
expect fail names 'version_numbers is taken'
printf 'static char *dlpark__version_first;\n' >"$tree/src/core/again.c"
expect fail names 'dlpark__version_first is taken'
printf 'int loose(void)\n{\n    return 2;\n}\n' >"$tree/src/core/again.c"
expect fail names 'loose() is visible'
printf 'int dlpack_load(void)\n{\n    return 2;\n}\n' >"$tree/src/core/again.c"
expect fail names 'dlpack_load is a name of the DLPack project'
printf '#define DLPACK_OURS 1\n' >>"$tree/include/dlpark/version.h"
expect fail names 'DLPACK_OURS is a name of the DLPack project'
printf '#define _DLPARK_OURS 1\n' >>"$tree/include/dlpark/version.h"
expect fail names '_DLPARK_OURS is reserved'
printf 'typedef struct _tag {\n    int x;\n} tag;\n' >>"$tree/include/dlpark/version.h"
expect fail names '_tag is reserved'
cp "$tree/src/core/version.c" "$tree/src/adapters/one/version.c"
expect fail names 'more than one file is called version.c'

rm "$tree/tests/unit/version_test.c"
expect fail tree 'has no tests/\*\*/version_test.c'
rm "$tree/docs/reference/version.md"
expect fail tree 'has no docs/reference/version.md'
printf '\n' >"$tree/include/dlpark/alone.h"
expect fail tree 'has no src/\*\*/alone.c'
printf '\n' >"$tree/tests/unit/alone_test.c"
expect fail tree 'is about no src/\*\*/alone.c'
printf '\n' >"$tree/docs/reference/alone.md"
expect fail tree 'is about no include/dlpark/alone.h'
printf 'test version not needed\n' >"$tree/tools/tree_exceptions.txt"
expect fail tree 'drop the exception'
rm "$tree/tests/unit/version_test.c"
printf 'test version\n' >"$tree/tools/tree_exceptions.txt"
expect fail tree 'has no reason'
rm "$tree/tests/unit/version_test.c"
printf 'test version said elsewhere\n' >"$tree/tools/tree_exceptions.txt"
expect pass tree ''

printf '#include "../adapters/one/one.h"\n' >>"$tree/src/core/version.c"
expect fail includes 'core includes'
printf '#include "two.h"\n' >>"$tree/src/adapters/one/wrap.c"
expect fail includes 'adapters/one includes two.h of adapters/two'
printf '#include <zlib.h>\n' >>"$tree/src/core/version.c"
expect fail includes 'needs libc alone'
printf '#include <Python.h>\n' >>"$tree/src/adapters/one/wrap.c"
expect fail includes 'only python may'
printf '#include "wrap.c"\n' >>"$tree/src/adapters/one/one.h"
expect fail includes 'a source is included'
printf '#include "wrap.h"\n' >>"$tree/include/dlpark/version.h"
printf '\n' >"$tree/include/dlpark/wrap.h"
expect fail includes 'core includes wrap.h of adapters/one'
mkdir -p "$tree/src/python/kit" "$tree/src/python/module"
printf '#include "kit.h"\n#include <Python.h>\n#include <dlpark/py_wrap.h>\n' >"$tree/src/python/module/module.h"
printf '#include "version.h"\n#include <Python.h>\n' >"$tree/include/dlpark/py_wrap.h"
printf '#include <dlpark/py_wrap.h>\n' >"$tree/src/python/kit/kit.h"
expect pass includes ''
mkdir -p "$tree/src/python/kit" "$tree/src/python/module"
printf '#define MODULE 1\n' >"$tree/src/python/module/module.h"
printf '#include "module.h"\n' >"$tree/src/python/kit/kit.h"
expect fail includes 'python/kit includes module.h of python/module'
printf '#include <Python.h>\n' >"$tree/include/dlpark/py_wrap.h"
printf '#include <dlpark/py_wrap.h>\n' >>"$tree/src/core/version.c"
expect fail includes 'core includes dlpark/py_wrap.h of python/kit'
mkdir -p "$tree/cli" "$tree/src/python/module"
printf '#define CLI 1\n' >"$tree/cli/cli.h"
printf '#include "cli.h"\n' >"$tree/src/python/module/module.h"
expect fail includes 'python/module includes cli.h of cli'

# declares TEXT FAULT: a header with these lines, and the fault that has to be found in it.
declares()
{
    printf "$1" >"$tree/include/dlpark/thing.h"
    if [ -n "$2" ]; then expect fail comments "$2"; else expect pass comments ''; fi
}

declares 'DLPARK_API int dlpark_thing_size(const dlpark_thing *thing);\n' 'dlpark_thing_size has no comment'
declares '/* The size. */\nDLPARK_API int dlpark_thing_size(const dlpark_thing *thing);\n' 'has no comment'
declares '/** The size. */\nDLPARK_API int dlpark_thing_size(const dlpark_thing *thing);\n' ''
declares '/** The size. */\n\nDLPARK_API int dlpark_thing_size(const dlpark_thing *thing);\n' 'has no comment'
declares '/** Both. */\nDLPARK_API int dlpark_a(int x);\nDLPARK_API int dlpark_b(int x);\n' ''
declares '/** Opens. */\nDLPARK_API dlpark_status dlpark_open(const char *path);\n' 'does not say how it fails'
declares '/** Opens. DLPARK_OK; DLPARK_E_IO. */\nDLPARK_API dlpark_status dlpark_open(const char *path);\n' ''
declares '/** The name. */\nDLPARK_API const char *dlpark_name_of(int x);\n' 'whose the returned pointer is'
declares '/** Moves it. */\nDLPARK_API void dlpark_move(dlpark_tensor *thing, char **out);\n' 'who owns what'
declares '/** Both. */\nDLPARK_API int dlpark_add(int a, int b, int c);\n' 'names none of its parameters, b c'
declares '/**\n * Both.\n *\n * @param a  in.\n * @param b  in.\n */\nDLPARK_API int dlpark_add(int a, int b, int c);\n' 'every parameter but c'
declares '/**\n * Both.\n *\n * @param a  in.\n * @param d  in.\n */\nDLPARK_API int dlpark_add(int a);\n' 'a parameter d, which is not there'
declares '/** Waits. */\nDLPARK_API int dlpark_wait(int x, int timeout);\n' 'in what timeout is counted'
declares 'typedef struct dlpark_thing {\n    int x; /**< one */\n} dlpark_thing;\n' 'a type without a comment'
declares '/** A thing. */\ntypedef struct dlpark_thing {\n    int x;\n} dlpark_thing;\n' 'the field x has no comment'
declares '/** A thing. */\ntypedef struct dlpark_thing {\n    int x; /**< one */\n    dlpark_size y;\n} dlpark_thing;\n' ''
declares '#define DLPARK_THING 1\n' 'the macro DLPARK_THING has no comment'
declares '/** Things. */\n#define DLPARK_THING 1\n#define DLPARK_OTHER 2\n' ''

printf '[project]\nversion = "3.7.1"\n' >"$tree/pyproject.toml"
expect fail version 'it has to be dynamic'
printf '## [3.7.0]\n' >"$tree/CHANGELOG.md"
expect fail version 'the top entry is \[3.7.0\]'
printf '__version__ = "3.7.1"\n' >"$tree/init.py"
expect fail version 'init.py:1'
printf 'project(dlpark VERSION 3.7.1)\n' >"$tree/other.cmake"
expect fail version 'other.cmake:1'

printf '```c\nint main(void)\n{\n    return 1;\n}\n```\n' >>"$tree/README.md"
expect fail readme 'README.md:9: no file'
printf '```c\n    return 0;\n}\n```\n' >"$tree/docs/guide.md"
expect pass readme ''
printf '```c\n    return 0;\n}\n```\n' >>"$tree/README.md"
expect fail readme 'README.md:9: no file'
printf '```c\n    return 7;\n}\n```\n' >"$tree/docs/guide.md"
expect fail readme 'docs/guide.md:1: no file'
printf '```toml\nrequires = ["one"]\n```\n' >"$tree/docs/guide.md"
expect fail readme 'docs/guide.md:1: no file'
printf '```toml\nrequires = ["one"]\n```\n' >"$tree/docs/guide.md"
printf 'requires = ["one"]\n' >"$tree/docs/snippets/pyproject.toml"
expect pass readme ''
printf '```text\n2 apples\n```\n' >"$tree/docs/guide.md"
expect fail readme 'docs/guide.md:1: no file'
printf '```text\n2 apples\n```\n' >"$tree/docs/guide.md"
printf '1 pear\n2 apples\n' >"$tree/docs/snippets/nothing.out"
expect pass readme ''
printf 'text\n```c\nint x;\n' >>"$tree/README.md"
expect fail readme 'never closed'

# says TEXT CELL...: a page with these cells, and the fault that has to be found in it.
says()
{
    text=$1
    shift
    proofs "$@" >"$tree/docs/pitfalls.md"
    expect fail pitfalls "$text"
}

says 'pitfalls.md:5: tests/ has no version_test.c: gone' '`version_test.c: gone`'
says 'pitfalls.md:6: tests/ has no version_test.c: never_run' '`proof.cmake`' '`proof.cmake`, `version_test.c: never_run`'
says 'tests/ has no version_test.c: no_test' '`version_test.c: no_test`'
says 'tests/ has no gone_test.c: one_proof' '`gone_test.c: one_proof`'
says 'tests/ has no test_proof.py::test_gone' '`test_proof.py::test_gone`'
says 'tests/ has no test_proof.py::helper' '`test_proof.py::helper`'
says 'tests/ has no test_proof.py::test_pro' '`test_proof.py::test_pro`'
says 'tests/ has no gone.cmake' '`gone.cmake`'
says 'not the name of a test: proof.cmake' 'proof.cmake'
says 'number 7 names no test' ''
says 'no test is named'
cp "$tree/tests/unit/version_test.c" "$tree/tests/compile"
expect fail pitfalls 'more than one version_test.c: one_proof'
rm "$tree/docs/pitfalls.md"
expect fail pitfalls 'pitfalls.md is missing'

echo "selftest: $((cases - failures)) of $cases as they should be"
[ $failures = 0 ]
