#!/usr/bin/env bash
# run_example.sh <program> <expected> [arguments]: the program succeeds, and prints what the file holds, where
# there is such a file.
set -euo pipefail

program=$1
expected=$2
shift 2

actual=$("$program" "$@")
printf '%s\n' "$actual"
if [[ -f $expected ]]; then
  diff -u --label "$expected" --label 'what it printed' "$expected" <(printf '%s\n' "$actual")
fi
