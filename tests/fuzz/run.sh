#!/usr/bin/env bash
# run.sh <programs> <corpora> <found> [--seconds N] [--runs N] [--seed N] [target ...]: runs the fuzz
# targets one after another and prints a table. What is found is kept under <found>; exit 1 then.
set -euo pipefail
programs=$1 corpora=$2 found=$3
shift 3
seconds=60 runs='' seed=$RANDOM targets=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --seconds | --runs | --seed)
      [[ ${2:-} =~ ^[0-9]+$ ]] || { echo "fuzz: $1: how many? (a whole number)" >&2; exit 2; }
      case $1 in
        --seconds) seconds=$2 ;;
        --runs) runs=$2 ;;
        --seed) seed=$2 ;;
      esac
      shift
      ;;
    -*) echo "fuzz: $1: not an option; there are --seconds N, --runs N and --seed N" >&2; exit 2 ;;
    *)
      [[ -x $programs/fuzz_$1 ]] || { echo "fuzz: $1: no such target" >&2; exit 2; }
      targets+=("$1")
      ;;
  esac
  shift
done
if [[ ${#targets[@]} -eq 0 ]]; then
  for program in "$programs"/fuzz_*; do
    [[ -x $program && -f $program ]] && targets+=("${program##*/fuzz_}")
  done
fi

mkdir -p "$found"
cd "$found"
status=0 rows=()
for target in "${targets[@]}"; do
  program=$programs/fuzz_$target log=$found/$target.log
  corpus=$corpora/fuzz/corpus/$target
  [[ $target != config ]] || corpus=$corpora/data/configs
  result='no finding' executions='-' took='-' coverage='-'
  help=$("$program" -help=1 2>&1 || true)
  if [[ $help == *'-max_total_time'* ]]; then
    # libFuzzer: what it adds goes to a folder of its own, the corpus stays as it is.
    mkdir -p "$found/corpus_$target"
    limit=(-max_total_time="$seconds")
    [[ -z $runs ]] || limit=(-runs="$runs")
    ASAN_OPTIONS=detect_leaks=0 "$program" "${limit[@]}" -seed="$seed" -timeout=60 -rss_limit_mb=4096 \
      -max_len=65536 -artifact_prefix="$found/crash_${target}_" -print_final_stats=1 \
      "$found/corpus_$target" "$corpus" >"$log" 2>&1 || { result=FOUND status=1; }
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    took=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$log")
    coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  else
    limit=(--seconds "$seconds")
    [[ -z $runs ]] || limit=(--runs "$runs")
    "$program" "$corpus" "${limit[@]}" --seed "$seed" >"$log" 2>&1 || { result=FOUND status=1; }
    executions=$(sed -n 's/^fuzz_[a-z]*: \([0-9]*\) inputs in .*/\1/p' "$log")
    took=$(sed -n 's/^fuzz_[a-z]*: [0-9]* inputs in \([0-9]*\) s.*/\1/p' "$log")
  fi
  [[ $result == 'no finding' ]] || { tail -n 20 "$log" >&2; }
  rows+=("$(printf '%-12s %12s %8s %9s  %s' "$target" "${executions:--}" "${took:--}" "${coverage:--}" "$result")")
  echo "fuzz: $target: ${executions:--} inputs, $result" >&2
done
printf '%-12s %12s %8s %9s  %s\n' target executions seconds 'edges' result
printf '%s\n' "${rows[@]}"
[[ $status -eq 0 ]] || echo "fuzz: what ended a target is in $found (seed $seed)" >&2
exit "$status"
