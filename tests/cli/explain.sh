#!/usr/bin/env bash
# The derivation shows the number that the query answers, where each input comes from, and every step.
. "$(dirname "$0")/lib.bash"

same() { # <query> <arguments...>: `result` of the derivation is the answer, to the last digit.
  local answer derivation
  answer=$("$napkin" "$@" --json) || fail "napkin $*"
  derivation=$("$napkin" explain "$@" --json) || fail "napkin explain $*"
  [[ $derivation == *"\"result\":$answer}" ]] || fail "explain $*: not the number that the query answers"
  [[ $derivation == '{"query":"'"$1"'","inputs":[{"name":'* ]] || fail "explain $*: no inputs"
  [[ $derivation == *'"steps":[{"name":'* ]] || fail "explain $*: no steps"
  "$napkin" explain "$@" >/dev/null || fail "explain $* as text"
}
same ridge --accelerator h100_sxm
same gemm --accelerator h100_sxm --m 17 --n 8192 --k 4097
same elementwise --accelerator h100_sxm --elements 12345
same moe_ffn --accelerator h200_sxm --tokens 33 --hidden 7168 --intermediate 2048 --experts 256 --top_k 8
same attention_prefill --accelerator h100_sxm --batch 3 --tokens 1000 --query_heads 64 --kv_heads 8 --head_dim 128
same attention_decode --accelerator h100_sxm --batch 3 --context 1000 --query_heads 64 --kv_heads 8 --head_dim 128
same collective --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 12345
same kv_capacity --model llama_3_70b --accelerator h200_sxm --tensor_parallel 8 --context 4096 --utilization 0.9
same step --model llama_3_70b --accelerator h200_sxm --tensor_parallel 8 --batch 7 --context 4096
same serving --model llama_3_70b --accelerator h200_sxm --tensor_parallel 8 --input_tokens 1000 --output_tokens 100 \
  --concurrency 9
same speculation --acceptance 0.8,0.7,0.6 --draft_cost_ratio 0.05

# As a prediction: each parameter of the profile is an input with its source.
text=$("$napkin" explain gemm --accelerator h100_sxm --m 1 --n 8192 --k 8192)
for expected in '^  profile.dram_share *= .* \[measured: fitted to ' 'DRAM rate = .*profile.dram_share' 'matrix rate = ' \
  '^    bound +40.07 us'; do
  grep -qE "$expected" <<<"$text" || fail "explain gemm: no line with $expected"
done
for query in "attention_decode --batch 3 --context 1000 --query_heads 64 --kv_heads 8 --head_dim 128 --kv_format fp8" \
  "moe_ffn --tokens 33 --hidden 7168 --intermediate 2048 --experts 256 --top_k 8 --format fp8 --expert_parallel 4" \
  "collective --operation all_reduce --ranks 4 --bytes 12345 --implementation custom --launch stream --engine trtllm" \
  "gemm --m 64 --n 8192 --k 4096 --format fp8 --engine vllm"; do
  # shellcheck disable=SC2086
  same $query --accelerator h100_sxm
  # shellcheck disable=SC2086
  same $query --accelerator h100_sxm --mode bound
done

text=$("$napkin" explain gemm --accelerator h100_sxm --m 1 --n 8192 --k 8192 --mode bound)
for expected in 'dram.bandwidth *= 3.35 TB/s *\[vendor, by a copy: ' '^  m *= 1 *\[given\]' 'flop = 2 x m x n x k' \
  'memory = .* / h100_sxm.dram.bandwidth' '^  time +40.07 us'; do
  grep -qE "$expected" <<<"$text" || fail "explain gemm: no line with $expected"
done
finish
