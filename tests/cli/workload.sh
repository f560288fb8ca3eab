#!/usr/bin/env bash
# Published workloads give their lengths where a request states none.
. "$(dirname "$0")/lib.bash"

service=(serving --model qwen_3_32b --accelerator h100_sxm --tensor_parallel 2 --engine vllm --concurrency 32)
# InferenceX draws uniformly from 0.8 L to L: mean 0.9 x 1024, deviation 0.2 L / sqrt(12).
cv=$(awk 'BEGIN { printf "%.9g", 0.2 / sqrt(12) / 0.9 }')
stated=$("$napkin" "${service[@]}" --input_tokens 921.6 --output_tokens 921.6 --input_cv "$cv" --output_cv "$cv" --json)
named=$("$napkin" "${service[@]}" --workload inferencex_1k1k --json)
for key in ttft_s ttft_p99_s itl_s itl_p99_s e2e_s; do
  near "$key of a workload" "$(number "$named" $key)" "$(number "$stated" $key)" 1e-5
done
# What is stated overrides; random leaves the lengths to the request, and is fixed lengths.
fixed=$("$napkin" "${service[@]}" --input_tokens 1000 --output_tokens 500 --json)
random=$("$napkin" "${service[@]}" --input_tokens 1000 --output_tokens 500 --workload random --json)
override=$("$napkin" "${service[@]}" --input_tokens 1000 --output_tokens 500 --input_cv 0 --output_cv 0 \
  --workload sharegpt --json)
for key in ttft_s itl_s itl_p99_s; do
  near "$key of random" "$(number "$random" $key)" "$(number "$fixed" $key)" 0
  near "$key of lengths stated" "$(number "$override" $key)" "$(number "$fixed" $key)" 0
done
# A run that is simulated draws the spread of its workload, as where the request states it.
run=(serving --model llama_3_1_8b --accelerator h100_sxm --engine vllm --concurrency 300 --requests 300)
named=$("$napkin" "${run[@]}" --workload sharegpt --json)
stated=$("$napkin" "${run[@]}" --input_tokens 331.8 --input_cv 1.595 --output_tokens 213.4 --output_cv 1.103 --json)
for key in ttft_s itl_s output_tokens_per_s; do
  near "$key of a run of a workload" "$(number "$named" $key)" "$(number "$stated" $key)" 1e-9
done
refuses 'input_tokens, output_tokens are missing' "${service[@]}" --workload random
refuses 'workload is "shareGPT5"; allowed: random' "${service[@]}" --workload shareGPT5
"$napkin" "${service[@]}" --workload sharegpt | grep -q 'ShareGPT_V3' || fail 'the source of a workload is not said'
"$napkin" plan --model llama_3_1_8b --gpu h100_sxm --concurrency 32 --workload azure_code |
  grep -q '2048 input and 27.9 output' || fail 'plan does not take a workload'
many=$("$napkin" simulate "${service[@]:1}" --requests 200 --workload azure_conversation --seed 1 --json)
awk -v n="$(number "$many" output_tokens_per_s)" 'BEGIN { exit !(n > 0) }' || fail "simulate: $many"
finish
