#!/usr/bin/env bash
# A plan runs a checkpoint in its own formats; others where they are asked for, and among the alternatives.
. "$(dirname "$0")/lib.bash"

frontier_of() { sed 's/.*"frontier":\[//; s/\],"rejected".*//; s/},{"accelerator"/}\n{"accelerator"/g' <<<"$1"; }
best_of() { sed 's/.*"best":{//; s/"meets_targets".*//' <<<"$1"; }
text_of() { sed -nE 's/.*"'"$2"'":"([^"]*)".*/\1/p' <<<"$1" | head -n 1; }
# A row of a plan, asked as serving without a word of its formats, is the same.
same_as_serving() {
  local model=$1 best=$2 budget
  budget=$(sed -nE 's/.*"chunk_tokens":([0-9]+).*/--chunk_tokens \1/p' <<<"$best")
  near "$model: a row asked as serving" "$("$napkin" serving --model "$model" --accelerator "$(text_of "$best" accelerator)" \
    --engine "$(text_of "$best" engine)" --tensor_parallel "$(number "$best" tensor_parallel)" --pipeline_parallel "$(number "$best" pipeline_parallel)" \
    --expert_parallel "$(number "$best" expert_parallel)" --concurrency "$(awk -v r="$(number "$best" replicas)" 'BEGIN { printf "%.17g", 64 / r }')" \
    --input_tokens 2048 --output_tokens 512 $budget --json | sed -nE 's/.*"itl_s":([0-9.e-]+),.*/\1/p')" "$(number "$best" itl_s)" 1e-12
}
load=(--input-tokens 2048 --output-tokens 512 --concurrency 64)
# model, accelerator, format of the weights, and what their precision is called.
while read -r model gpu gpus format name; do
  json=$("$napkin" plan --model "$model" --gpu "$gpu" --gpus "$gpus" "${load[@]}" --engine vllm --json) || fail "plan of $model"
  rows=$(frontier_of "$json" | wc -l)
  own=$(frontier_of "$json" | grep -c '"weight_format":"'"$format"'"')
  [[ $rows -gt 0 && $own -eq $rows ]] || fail "$model: $own of $rows rows have $format weights"
  named=$(frontier_of "$json" | grep -cF "\"precision\":\"${name//_/ }\"")
  [[ $named -eq $rows ]] || fail "$model: $named of $rows rows are called ${name//_/ }: $(text_of "$json" precision)"
done <<END
llama_3_70b h100_sxm 8 bf16 bf16
deepseek_v3_2 h200_sxm 8 fp8 fp8_128x128
gpt_oss_120b h100_sxm 2 bf16 mxfp4_experts
END
for model in llama_3_70b gpt_oss_120b; do
  best=$(best_of "$("$napkin" plan --model "$model" --gpu h100_sxm --gpus 4 "${load[@]}" --engine vllm --json)")
  [[ $(number "$best" data_parallel) -ne 1 ]] || same_as_serving "$model" "$best"
done
# Volta computes in no bf16, and engines run the same checkpoint in fp16 there.
[[ $(best_of "$("$napkin" plan --model llama_3_8b --gpu v100_sxm_32gb --gpus 1 --mode bound --json)") == *'"weight_format":"fp16","activation_format":"fp16"'* ]] ||
  fail 'a bf16 checkpoint on V100'
# Others where they are asked for; a precision names its block scales.
asked() { "$napkin" plan --model llama_3_70b --gpu h100_sxm --gpus 4 "${load[@]}" --engine vllm "$@" --json; }
[[ $(best_of "$(asked --weight-format fp8)") == *'"weight_format":"fp8"'* ]] || fail '--weight-format fp8'
[[ $(best_of "$(asked --weight-format int4)") == *'"precision":"int4 g128"'* ]] || fail '--weight-format int4 does not name its groups'
[[ $(best_of "$(asked --kv-format fp8)") == *'"weight_format":"bf16",'*'"kv_format":"fp8"'* ]] || fail '--kv-format fp8'
# The alternatives are plans that may use nothing else.
json=$(asked)
usd=$(number "$(best_of "$json")" usd_per_million_tokens)
for format in fp8 int8 int4; do
  alone=$(number "$(best_of "$(asked --weight-format $format)")" usd_per_million_tokens)
  near "$format weights beside bf16" "$(sed -nE 's/.*"by":"weight_format","choice":"'$format'"[^}]*"cost_over_best":(-?[0-9.e-]+)[,}].*/\1/p' <<<"$(sed 's/},{"/}\n{"/g' <<<"$json")")" \
    "$(awk -v a="$alone" -v b="$usd" 'BEGIN { print a / b - 1 }')" 1e-5
done
[[ $json != *'"choice":"fp16"'* ]] || fail 'fp16 is an alternative to bf16'
alone=$(number "$(best_of "$(asked --kv-format fp8)")" usd_per_million_tokens)
near 'an fp8 KV cache' "$(sed -nE 's/.*"by":"kv_format","choice":"fp8"[^}]*"cost_over_best":(-?[0-9.e-]+)[,}].*/\1/p' <<<"$(sed 's/},{"/}\n{"/g' <<<"$json")")" \
  "$(awk -v a="$alone" -v b="$usd" 'BEGIN { print a / b - 1 }')" 1e-5
# 141 GB of bf16 weights do not fit on one H100 of 80 GB, in 4 bits they do: that is said first.
text=$("$napkin" plan --model llama_3_70b --gpu h100_sxm --gpus 1 --engine vllm --input-tokens 512 --output-tokens 128 --concurrency 4)
[[ $? -eq 3 ]] || fail 'a checkpoint that does not fit: exit status'
text=$(tr -s '\n ' ' ' <<<"$text" | sed 's/    / /g')
[[ $text == "No deployment fits in the checkpoint's own format (bf16); it fits on 1 x h100_sxm with int4 weights (--weight-format int4)."* ]] ||
  fail "a checkpoint that does not fit: ${text:0:160}"
[[ $text == *' int4 (vllm): '*' USD/Mtok, 1 x TP1 of h100_sxm, ITL '* ]] || fail 'the format that fits is no alternative'
# Within the targets in fp8 alone.
text=$("$napkin" plan --model llama_3_70b --gpu h100_sxm --gpus 2 "${load[@]}" --engine trtllm --ttft 2s --itl 50ms)
[[ $? -eq 3 && $(tr -s '\n ' ' ' <<<"$text") == "No deployment meets the targets in the checkpoint's own format (bf16); it does on 2 x h100_sxm with fp8 weights (--weight-format fp8)."* ]] ||
  fail "targets that fp8 meets: ${text:0:160}"
finish
