#!/bin/sh
# Usage: coverage.sh
# Branch coverage of src/core, src/devices and src/formats by the C tests, in build/coverage/report: a page for each source. The last line sums up:
#   core, devices and formats, branches: 99.19 % (1234 of 1244), excluded 3, kernels not on this CPU: avx512.c
# The exit status is 1 when that is less than REQUIRED. A branch that no test can take is excluded where it stands, by a
# comment "GCOVR_EXCL_BR_LINE: reason" in its line; at most EXCLUDED_AT_MOST of all branches may be. Functions that
# the public headers define inline are their callers' code and not counted here.
set -eu
cd "$(dirname "$0")/.."
REQUIRED=100
EXCLUDED_AT_MOST=1 # percent
build=build/coverage
report=$build/report

cmake --preset coverage >/dev/null
cmake --build --preset coverage --parallel 2
find $build -name '*.gcda' -exec rm -f {} +
ctest --test-dir $build -LE 'compile|install' --output-on-failure --parallel 2

# A processor without an instruction set cannot run its kernels.
absent=
for kernel in avx2:avx2 avx512:avx512bw ssse3:ssse3 neon:asimd cast_avx2:avx2 cast_avx512:avx512dq \
    cast_avx512vbmi:avx512vbmi cast_avx512bf16:avx512_bf16 cast_neon:asimd; do
    file=src/core/kernels/${kernel%:*}.c
    [ -f "$file" ] || continue
    grep -E '^(flags|Features)' /proc/cpuinfo | head -n 1 | grep -qw "${kernel#*:}" || absent="$absent ${file##*/}"
done

# counted OPTION...: gcovr over them, without those kernels and what only they include.
counted()
{
    for file in $absent; do
        set -- "$@" --exclude ".*/kernels/${file%.c}(_[a-z]+)?\.[ch]"
    done
    gcovr --root . --filter 'src/(core|devices|formats)/' "$@" $build
}

mkdir -p $report
counted --html-details $report/index.html --json-summary $report/summary.json --txt $report/summary.txt --branches
counted --no-markers --json-summary $report/everything.json >/dev/null
cat $report/summary.txt

# An exclusion without a reason is not one.
if grep -rn 'GCOVR_EXCL' src/core src/devices src/formats | grep -vE 'GCOVR_EXCL_BR_LINE: [a-zA-Z].{6}'; then
    echo "only GCOVR_EXCL_BR_LINE is used, followed by a colon and the reason"
    exit 1
fi
python3 - "$report" "$REQUIRED" "$EXCLUDED_AT_MOST" "${absent# }" <<'END'
import json, sys

report, required, excluded_at_most, absent = sys.argv[1:]
counts = json.load(open(f"{report}/summary.json"))
total, covered = counts["branch_total"], counts["branch_covered"]
excluded = json.load(open(f"{report}/everything.json"))["branch_total"] - total
if 100 * excluded > float(excluded_at_most) * (total + excluded):
    print(f"{excluded} branches are excluded, more than {excluded_at_most} %")
    required = "101"
percent = 100 * covered / total
print(f"core, devices and formats, branches: {int(percent * 100) / 100:.2f} % ({covered} of {total}), excluded {excluded}, "
      f"kernels not on this CPU: {absent.replace(' ', ', ') or 'none'}")
sys.exit(percent < float(required))
END
