#!/usr/bin/env bash
# run_emulated.sh <program>: the program's own checks hold on the emulated device, and notice each of
# its faults.
set -euo pipefail
status=0
"$1" --reduced >/dev/null || status=$?
# 77: the emulated device lacks what it measures, such as a counter of energy; its checks run all the same.
[[ $status -eq 0 || $status -eq 77 ]] || exit 1
while read -r fault; do
  status=0
  said=$("$1" --reduced --break "$fault" 2>&1 >/dev/null) || status=$?
  if [[ $status -ne 1 || $said != *'check failed'* ]]; then
    echo "broken by $fault: status $status: $said"
    exit 1
  fi
  echo "broken by $fault: $said"
done < <("$1" --faults)
