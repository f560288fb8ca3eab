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
# What cannot be used is said in one line, before anything is measured.
refuses() {  # <words> <arguments...>
  local words=$1 status=0 said
  shift
  said=$("$program" "$@" --reduced 2>&1) || status=$?
  if [[ $status -ne 2 || $said != *"$words"* || $(wc -l <<<"$said") -ne 1 ]]; then
    echo "$*: status $status: $said"
    exit 1
  fi
}
refuses 'usage: ' --no-such-option
refuses 'usage: '
refuses 'usage: ' --out ''
refuses '--only is "stream"; allowed: memory_stream, pointer_chase' --out "$out" --only stream
refuses '--break is "drop_everything"; allowed: swap_bytes' --break drop_everything
refuses '--revision is "HEAD"; allowed: 40 hexadecimal digits' --out "$out" --revision HEAD
refuses '--out is "/dev/null"; allowed: a folder' --out /dev/null
refuses 'a b' --out $'/dev/null/a\nb'
