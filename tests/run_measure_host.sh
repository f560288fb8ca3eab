#!/usr/bin/env bash
# run_measure_host.sh <measure_host> <folder>: it measures and records, on sizes too small to mean
# anything, and its checks notice each of its faults.
set -euo pipefail
program=$1 out=$2
rm -rf "$out"
"$program" --out "$out" --reduced >/dev/null
for experiment in memory_stream pointer_chase arithmetic_peak roofline gemm_sweep littles_law launch overlap; do
  [[ -s $out/$experiment.json ]] || { echo "no recording of $experiment"; exit 1; }
done
for fault in swap_bytes drop_read drop_hop drop_fma drop_term drop_thread drop_copy; do
  status=0
  said=$("$program" --reduced --break "$fault" 2>&1 >/dev/null) || status=$?
  if [[ $status -ne 1 || $said != *'check failed'* ]]; then
    echo "broken by $fault: status $status: $said"
    exit 1
  fi
  echo "broken by $fault: $said"
done
status=0
"$program" --no-such-option >/dev/null 2>&1 || status=$?
[[ $status -eq 2 ]]
