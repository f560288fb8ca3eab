#!/usr/bin/env bash
# instruction_limits.sh [--table] <bench_instructions> [<napkin>]: instructions that callgrind counts for one result,
# held to limits. Two runs differ by 0.1 %. --table prints the rows of docs/benchmarks.md. Limits are 1 to 5 % above the
# counts of GCC 12 at -O2, napkin's too. Exit 77 without valgrind or with another compiler.
set -euo pipefail

table=0
if [[ ${1:-} == --table ]]; then
  table=1
  shift
fi
bench=$1 napkin=${2:-}
if ! command -v valgrind >/dev/null; then
  echo "instruction_limits.sh: skipped: valgrind is not installed"
  exit 77
fi
if grep -aq 'clang version' "$bench" || ! grep -aq 'GCC: ([^)]*) 12\.' "$bench"; then
  echo "instruction_limits.sh: skipped: the limits are those of GCC 12"
  exit 77
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

count() { # <program> [arguments]; stdin goes to the program
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >/dev/null 2>"$scratch/log" || {
    cat "$scratch/log" >&2
    return 1
  }
  awk '/Collected *:/ { print $NF }' "$scratch/log"
}

status=0
# held <name> <instructions> <limit> <in words>
held() {
  if [[ $table -eq 1 ]]; then
    awk -v words="$4" -v n="$2" 'BEGIN { printf "| %s | %s |\n", words, n < 1000 ? n : sprintf("%.1f k", n / 1000) }'
  else
    printf '%-16s %8d instructions, at most %8d\n' "$1" "$2" "$3"
  fi
  if [[ $2 -gt $3 ]]; then
    echo "$1 takes $2 instructions, more than its limit of $3" >&2
    status=1
  fi
}

start=$(count "$bench" no_service </dev/null)
# mode, results of one run, limit, what it is
while IFS='|' read -r mode results limit words; do
  all=$(count "$bench" "$mode" </dev/null)
  held "$mode" $(((all - start) / results)) "$limit" "$words"
done <<'MODES'
bound|10000|320|a prepared bound of a decode step, its time alone
step|100000|1815|a prepared decode step, its time alone
steps|100000|860|a prepared decode step in a block of them
passes|100|5000|a decode step of a service
closed|100|60600|a service in a closed loop of 64
open|100|210000|a service in an open loop of 4 requests a second
prepared_closed|1000|39000|a service in a closed loop, of a prepared deployment
prepared_open|1000|140500|a service in an open loop, of a prepared deployment
drafts|100|65700|a service with 3 draft tokens
pools|100|83100|a service of a prefill and a decode replica
plan|3815|19800|a plan, each candidate
open_plan|2904|26600|a plan of an open loop, each candidate
MODES

if [[ -n $napkin ]]; then
  lines=500  # of one pattern, as in a sweep of requests
  requests() { # <query>
    awk -v n=$lines -v query="$1" 'BEGIN { for (i = 1; i <= n; ++i) {
      printf "{\"query\":\"%s\",\"id\":%d,\"accelerator\":\"h100_sxm\",", query, i
      if (query == "gemm") { printf "\"m\":%d,\"n\":8192,\"k\":8192,\"format\":\"bf16\"}\n", i; continue }
      printf "\"model\":\"llama_3_70b\",\"tensor_parallel\":8,\"engine\":\"vllm\","
      if (query == "step") printf "\"batch\":%d,\"context\":4096}\n", i % 256 + 1
      else printf "\"input_tokens\":%d,\"output_tokens\":256,\"concurrency\":64}\n", 1024 + i
    } }'
  }
  start=$(count "$napkin" batch --threads 1 </dev/null)
  while IFS='|' read -r query limit words; do
    requests "$query" >"$scratch/requests"
    all=$(count "$napkin" batch --threads 1 <"$scratch/requests")
    held "batch_$query" $(((all - start) / lines)) "$limit" "$words"
  done <<'QUERIES'
gemm|29900|napkin batch: a calibrated GEMM
step|56400|napkin batch: a calibrated step
serving|140000|napkin batch: a calibrated service in a closed loop
QUERIES
fi
exit "$status"
