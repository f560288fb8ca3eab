#!/usr/bin/env bash
# A batch has the same output for any number of threads: results, errors, their line numbers, and their order.
. "$(dirname "$0")/lib.bash"

lines() { # <how many>
  awk -v n="$1" 'BEGIN { srand(11); for (i = 1; i <= n; ++i) {
    m = int(rand() * 4096) + 1
    if (i % 97 == 0) print "{\"query\":\"gemm\",\"m\":"
    else if (i % 89 == 0) print ""
    else if (i % 83 == 0) printf "{\"query\":\"gemm\",\"id\":\"line %d\",\"accelerator\":\"none\",\"m\":1,\"n\":1,\"k\":1}\n", i
    else if (i % 7 == 0) printf "{\"query\":\"step\",\"id\":%d,\"accelerator\":\"b200\",\"model\":\"gpt_oss_120b\",\"batch\":%d,\"context\":%d}\n", i, m % 256 + 1, m
    else if (i % 11 == 0) printf "{\"query\":\"serving\",\"id\":%d,\"accelerator\":\"h100_sxm\",\"model\":\"llama_3_70b\",\"tp\":8,\"engine\":\"vllm\",\"isl\":%d,\"osl\":64,\"concurrency\":8,\"method\":\"closed_form\"}\n", i, m
    else printf "{\"query\":\"gemm\",\"id\":%d,\"accelerator\":\"h100_sxm\",\"m\":%d,\"n\":8192,\"k\":8192}\n", i, m
  } }'
}
# Claims, of which the second is computed from the wrong value of the first.
claims() {
  echo '{"query":"audit","quantity":"ridge","key":"flop_per_byte","value":590,"unit":"FLOP/B","accelerator":"h100_sxm","format":"bf16"}'
  echo '{"query":"\u0061udit","quantity":"ridge","key":"flop_per_byte","value":295,"unit":"FLOP/B","accelerator":"h100_sxm","format":"bf16"}'
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
count=4000
if [[ $sanitized ]]; then count=400; fi
{ lines $count; claims; lines 100; claims; } >"$folder/lines"
run() { # <threads>
  "$napkin" batch --threads "$1" <"$folder/lines" >"$folder/of_$1"
  [[ $? -eq 1 ]] || fail "exit status of a batch with errors on $1 threads"
}
run 1
[[ $(wc -l <"$folder/of_1") -eq $(wc -l <"$folder/lines") ]] || fail 'lines without a result'
[[ $(grep -c '"error"' "$folder/of_1") -gt $((count / 60)) ]] || fail 'few lines with an error'
for threads in 0 2 5; do
  run $threads
  cmp -s "$folder/of_1" "$folder/of_$threads" ||
    fail "1 and $threads threads: $(diff "$folder/of_1" "$folder/of_$threads" | head -4)"
done
# Threads beyond a few for each core would each have memory of its own: 4096 of them needed more than 4 GB.
if [[ -z $sanitized ]]; then
  (ulimit -v 4000000 && "$napkin" batch --threads 4096 <"$folder/lines" >"$folder/of_4096")
  cmp -s "$folder/of_1" "$folder/of_4096" || fail '4096 threads in 4 GB'
fi
"$napkin" batch --threads -1 </dev/null 2>"$folder/refusal" && fail 'a number of threads below 0'
finish
