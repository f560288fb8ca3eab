#!/usr/bin/env bash
# run_emulated.sh <program>: the program's own checks hold on the emulated device, and notice each of
# its faults.
set -euo pipefail
"$1" --reduced >/dev/null
while read -r fault; do
  status=0
  said=$("$1" --reduced --break "$fault" 2>&1 >/dev/null) || status=$?
  if [[ $status -ne 1 || $said != *'check failed'* ]]; then
    echo "broken by $fault: status $status: $said"
    exit 1
  fi
  echo "broken by $fault: $said"
done < <("$1" --faults)
