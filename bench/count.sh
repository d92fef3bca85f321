#!/bin/sh
# Usage: bench/count.sh PROGRAM WORK
# Runs a program of bench/ once under callgrind, and prints the instructions of each of its cases: label, tab, count of a thousand
# operations. WORK is a folder for what callgrind writes; callgrind.log there says why, when the status is 1.
set -eu
program=$1
work=$2
name=$(basename "$program")

mkdir -p "$work"
rm -f "$work/callgrind.$name"*
valgrind --tool=callgrind --callgrind-out-file="$work/callgrind.$name" "$program" --count >/dev/null 2>"$work/callgrind.log" || exit 1
for dump in "$work/callgrind.$name".*; do
    [ -f "$dump" ] || continue
    sed -n 's/^desc: Trigger: Client Request: //p; s/^summary: //p' "$dump" | paste - -
done
rm -f "$work/callgrind.$name"*
