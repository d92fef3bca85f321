#!/bin/sh
# Usage: check.sh [--tools-only]
# The inner ring: the checks of tools/, then the core built with every warning an error, then its tests. Needs a C
# compiler and CMake; the unit tests join when cmocka is there. The last line says how many passed.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build/check
log=$build/check.log
passed=0
failed=0
skipped=0
mkdir -p $build

# step NAME COMMAND...: one check that passes or fails; its output is shown when it fails, and its warnings always.
step()
{
    name=$1
    shift
    if "$@" >$log 2>&1; then
        passed=$((passed + 1))
        echo "passed  $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        tail -n 60 $log | sed 's/^/    /'
        return 1
    fi
}

# attribute NAME: a number from the head of CTest's JUnit file.
attribute()
{
    sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" $build/junit.xml | head -n 1
}

run_tests()
{
    rm -f $build/junit.xml
    (cd $build && ctest -LE install --parallel 2 --output-on-failure --output-junit junit.xml) >$log 2>&1
    status=$?
    tests=$(attribute tests)
    if [ "${tests:-0}" = 0 ]; then
        failed=$((failed + 1))
        echo "FAILED  tests: none ran"
        return
    fi
    bad=$(attribute failures)
    left=$(($(attribute skipped) + $(attribute disabled)))
    [ $status = 0 ] || [ "$bad" != 0 ] || bad=1
    passed=$((passed + tests - bad - left))
    failed=$((failed + bad))
    skipped=$((skipped + left))
    if [ "$bad" != 0 ]; then
        echo "FAILED  tests: $bad of $tests"
        tail -n 60 $log | sed 's/^/    /'
    else
        echo "passed  tests: $tests"
    fi
    grep -q 'cmocka was not found' $build/configure.log && echo "        without the unit tests: cmocka was not found"
}

for script in sizes names tree includes version readme pitfalls comments; do
    step "tools/check_$script.sh" "tools/check_$script.sh"
done
step "tools/selftest.sh" tools/selftest.sh
if [ "${1:-}" != --tools-only ]; then
    if step "configure" sh -c "cmake --preset check >$build/configure.log 2>&1 || { cat $build/configure.log; exit 1; }" &&
        step "build, warnings are errors" cmake --build --preset check --parallel 2; then
        run_tests
    fi
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
