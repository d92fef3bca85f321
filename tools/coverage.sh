#!/bin/sh
# Usage: coverage.sh
# Line and branch coverage of src/ by the C tests: a summary here, a page a file in build/coverage/report.
set -eu
cd "$(dirname "$0")/.."
cmake --preset coverage >/dev/null
cmake --build --preset coverage --parallel 2
find build/coverage -name '*.gcda' -exec rm -f {} +
ctest --test-dir build/coverage -LE 'compile|install' --output-on-failure
mkdir -p build/coverage/report
gcovr --root . --filter 'src/' --filter 'include/' --exclude-throw-branches \
    --html-details build/coverage/report/index.html --txt build/coverage/report/summary.txt \
    --json-summary build/coverage/report/summary.json build/coverage
cat build/coverage/report/summary.txt
gcovr --root . --filter 'src/' --filter 'include/' --branches build/coverage | sed -n '/^TOTAL/s/^/branches: /p'
