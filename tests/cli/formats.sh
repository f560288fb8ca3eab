#!/usr/bin/env bash
# What the names of number formats stand for, and which formats an engine runs where none is stated.
# usage: formats.sh <napkin> <source folder>
# shellcheck source=tests/cli/lib.bash
source "$(dirname "$0")/lib.bash"
closed_forms

has() { [[ $2 == *"$3"* ]] || fail "$1: no $3 in $2"; }
word() { sed -nE "s/.*\"$2\":\"([^\"]*)\".*/\1/p" <<<"$1"; }

# Bytes by hand. Llama 3 70B has 80 (2 x 8192^2 + 2 x 8192 x 1024 + 3 x 8192 x 28672) = 68,451,041,280
# weights in matrices and 2,102,665,216 others, which stay in 16 bits. NVFP4 has 4.5 bits a weight, MXFP4
# 4.25, int4 in groups of 128 4.125.
matrices=68451041280 others=2102665216
bytes() { awk -v bits="$1" -v m=$matrices -v o=$others 'BEGIN { printf "%.0f", m * bits / 8 + 2 * o }'; }
while read -r chip format bits; do
  weights=(--model llama_3_70b --accelerator "$chip" --weight_format "$format")
  ask kv_capacity weight_bytes_per_gpu "$(bytes "$bits")" 1 "${weights[@]}" --context 1000
  ask serving weight_bytes_per_gpu "$(bytes "$bits")" 1 "${weights[@]}" --input_tokens 100 --output_tokens 100 --concurrency 1
done <<'CHIPS'
b200_sxm fp4 4.5
h200_sxm fp4 4.5
mi355x fp4 4.25
h200_sxm int4 4.125
mi355x int4 4.125
h200_sxm fp8 8
CHIPS
# One token of 70B on GB10, 273 GB/s: the bytes above less the input embedding of 128,256 x 8192 are
# 40.61 GB, and a cache of one token: 148.7 ms.
ask step time_s 0.1487 0.0002 --model llama_3_70b --accelerator gb10 --weight_format fp4 --batch 1 --context 1 --mode bound

# A cache in NVFP4 has 4.5 bits a value: of 80 layers x 2 x 8 heads x 128.
ask kv_capacity kv_bytes_per_token "$(awk 'BEGIN { print 80 * 2 * 8 * 128 * 4.5 / 8 }')" 0 --model llama_3_70b \
  --accelerator b200_sxm --tensor_parallel 2 --kv_format fp4 --context 1000

# Every row of a plan is what `serving` answers of the same words.
rows=0
row_again() { # <model> <row> <concurrency>
  local model=$1 row=$2 replicas groups question answer key
  replicas=$(number "$row" replicas) groups=$(number "$row" data_parallel)
  [[ $replicas -eq 1 || $groups -eq 1 ]] || return 0 # `serving` has one number for both
  [[ $row != *'"prefill":{'* ]] || return 0
  # A limit of the batch is not always a whole number, and then no key of `serving`.
  awk -v limit="$(number "$row" batch_limit)" -v n="$replicas" -v users="$3" 'BEGIN { exit !(limit * n >= users) }' || return 0
  question=(--model "$model" --accelerator "$(word "$row" accelerator)" --engine "$(word "$row" engine)"
    --weight_format "$(word "$row" weight_format)" --activation_format "$(word "$row" activation_format)"
    --kv_format "$(word "$row" kv_format)" --tensor_parallel "$(number "$row" tensor_parallel)"
    --pipeline_parallel "$(number "$row" pipeline_parallel)" --expert_parallel "$(number "$row" expert_parallel)"
    --data_parallel "$((replicas > groups ? replicas : groups))"
    --input_tokens 1024 --output_tokens 256 --concurrency "$3")
  [[ -z $(number "$row" chunk_tokens) ]] || question+=(--chunk_tokens "$(number "$row" chunk_tokens)")
  answer=$("$napkin" serving "${question[@]}" --json) || fail "serving ${question[*]}: exit status not 0"
  for key in ttft_s itl_s weight_bytes_per_gpu bound_time_s; do
    [[ -n $(number "$row" $key) ]] || continue # a bound has no bound of its own
    near "serving ${question[*]}: $key" "$(number "$answer" $key)" "$(number "$row" $key)" \
      "$(awk -v x="$(number "$row" $key)" 'BEGIN { print 1e-9 * x }')"
  done
  rows=$((rows + 1))
}
rows_of() { # <model> <plan arguments...>: a row a line
  "$napkin" plan --model "$1" "${@:2}" --input_tokens 1024 --output_tokens 256 --json |
    sed -E 's/.*"frontier":\[//; s/"rejected":.*//' | sed 's/{"accelerator":"[^"]*","engine"/\n&/g' | grep '^{"accelerator"'
}
while read -r model chip gpus; do
  for format in $(printf '%s\n' bf16 fp8 int4 fp4 | some 3); do
    for users in $(printf '%s\n' 16 1 64 | some 3); do
      while read -r row; do row_again "$model" "$row" $users; done < \
        <(rows_of "$model" --gpu "$chip" --gpus "$gpus" --formats $format --concurrency $users | some 4)
    done
  done
done <<'PLANS'
llama_3_70b b200_sxm 2
llama_3_70b h200_sxm 2
llama_3_8b mi355x 1
qwen_3_30b_a3b b200_sxm 2
mixtral_8x7b h100_sxm 4
PLANS
[[ -n $sanitized || $rows -ge 60 ]] || fail "only $rows rows of plans were asked again"

# The gain of int4 in `advise` is that of asking for it.
while read -r model chip ranks engine; do
  service=(--model "$model" --accelerator "$chip" --tensor_parallel "$ranks" --engine "$engine" --input_tokens 1024
    --output_tokens 256 --concurrency 16)
  now=$("$napkin" serving "${service[@]}" --json) int4=$("$napkin" serving "${service[@]}" --weight_format int4 --json)
  gain=$("$napkin" advise "${service[@]}" --json | sed 's/.*"name":"weight_only_int4"//')
  near "advise ${service[*]}: int4" "$(number "{${gain%%\}*}}" gain)" \
    "$(awk -v a="$(number "$now" e2e_s)" -v b="$(number "$int4" e2e_s)" 'BEGIN { printf "%.12f", a / b }')" 1e-9
done <<'SERVICES'
llama_3_70b h100_sxm 4 vllm
llama_3_8b h100_sxm 1 sglang
llama_3_8b b200_sxm 1 trtllm
SERVICES

# CDNA 4 multiplies MXFP4. MLPerf Inference 6.0 has 100,282 tokens/s of Llama 2 70B in fp4 on 8 MI355X
# (Server), which no bound may be below. Prompts are taken to be as long as outputs, 294 tokens.
bound=$("$napkin" serving --model llama_2_70b --accelerator mi355x --data_parallel 8 --weight_format fp4 --kv_format fp8 \
  --input_tokens 294 --output_tokens 294 --concurrency 16384 --max_sequences 2048 --mode bound --json)
awk -v x="$(number "$bound" output_tokens_per_s)" 'BEGIN { exit !(x > 100282) }' ||
  fail "8 MI355X serve at most $(number "$bound" output_tokens_per_s) tokens/s by the bound, and served 100,282"
# MLPerf Inference 6.0, Offline: 49,580 tokens/s of Llama 3.1 8B in NVFP4 by TensorRT-LLM on 8 RTX PRO 6000 (HPE ProLiant
# DL380A): 129 tokens for prompts of 778 (CNN/DailyMail). Matrix units apply NVFP4's scales.
served=$("$napkin" serving --model llama_3_1_8b --accelerator rtx_pro_6000 --engine trtllm --weight_format fp4 --kv_format fp8 \
  --input_tokens 778 --input_cv 0.4 --output_tokens 129 --concurrency 29000 --requests 29000 --json)
near '8B in NVFP4 on RTX PRO 6000' "$(number "$served" output_tokens_per_s)" 6198 600
formats() { "$napkin" step "$@" --batch 1 --context 1000 --json; }
has 'fp4 on mi355x' "$(formats --model llama_3_70b --accelerator mi355x --weight_format fp4)" \
  '"layers":{"weights":"fp4 in groups of 32","activations":"fp4"'
has 'fp4 on mi350x' "$(formats --model llama_3_70b --accelerator mi350x --weight_format fp4 --engine sglang)" '"activations":"fp4"'
has 'fp4 on mi300x' "$(formats --model llama_3_70b --accelerator mi300x --weight_format fp4)" '"activations":"bf16"'
has 'bf16 stated on mi355x' "$(formats --model llama_3_70b --accelerator mi355x --weight_format fp4 --activation_format bf16)" \
  '"activations":"bf16","why":"given"'

# TensorRT-LLM runs fp8 and NVFP4 checkpoints of Model Optimizer, whose KV cache is fp8; other engines and DeepSeek's own
# checkpoint keep 16 bits.
cache() { formats --model "$1" --accelerator "$2" --weight_format "$3" --engine "$4" --tensor_parallel 8 | sed 's/.*"kv":{//; s/}.*//'; }
has 'fp8 by trtllm' "$(cache llama_3_70b h100_sxm fp8 trtllm)" '"format":"fp8"'
has 'fp4 by trtllm' "$(cache llama_3_70b b200_sxm fp4 trtllm)" '"format":"fp8"'
has 'bf16 by trtllm' "$(cache llama_3_70b h100_sxm bf16 trtllm)" '"format":"bf16"'
has 'int4 by trtllm' "$(cache llama_3_70b h100_sxm int4 trtllm)" '"format":"bf16"'
for engine in none vllm sglang; do has "fp8 by $engine" "$(cache llama_3_70b h100_sxm fp8 $engine)" '"format":"bf16"'; done
has 'blocks of fp8 by trtllm' "$(formats --model deepseek_v3 --accelerator h200_sxm --tensor_parallel 8 --engine trtllm)" '"kv":{"format":"bf16"'
has 'a stated cache' "$(formats --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --weight_format fp8 --engine trtllm \
  --kv_format bf16)" '"kv":{"format":"bf16","why":"given"}'
sixteen=$("$napkin" kv_capacity --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --weight_format fp8 --engine vllm --context 8192 --json)
eight=$("$napkin" kv_capacity --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --weight_format fp8 --engine trtllm --context 8192 --json)
near 'bytes of a token in an fp8 cache' "$(number "$eight" kv_bytes_per_token)" "$(($(number "$sixteen" kv_bytes_per_token) / 2))" 0

finish
