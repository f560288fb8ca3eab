#!/usr/bin/env bash
# A plan: what is worth having, what limits it, what it costs, what cannot be and why.
. "$(dirname "$0")/lib.bash"

config=$source_dir/examples/data/llama-3.1-70b/config.json
load=(--input-tokens 2048 --output-tokens 512 --concurrency 64)
json=$("$napkin" plan --model "$config" --accelerator h100_sxm,h200_sxm --gpus 8 "${load[@]}" --ttft 2s --itl 50ms --json) ||
  fail 'plan'
[[ $(wc -l <<<"$json") -eq 1 && $json == '{"mode":"calibrated","evaluated":'*'}' ]] || fail "plan --json: ${json:0:100}"
for key in '"best":{' '"frontier":[{' '"limiter":"' '"usd_per_million_tokens":' '"derivation":{"inputs":[{' \
  '"reason":"weights and KV cache exceed the memory of a device, and so do the weights alone: ' '"accelerator":"h100_sxm"' '"accelerator":"h200_sxm"'; do
  [[ $json == *"$key"* ]] || fail "plan --json has no $key"
done
awk -v t="$(number "$json" ttft_s)" -v i="$(number "$json" itl_s)" 'BEGIN { exit !(t <= 2 && i <= 0.05) }' ||
  fail 'a point misses its targets'
# The frontier: each point dearer than the one before, and quicker.
frontier=$(sed 's/.*"frontier":\[//; s/\],"rejected".*//' <<<"$json" | sed 's/},{"accelerator"/}\n{"accelerator"/g')
sed -nE 's/.*"itl_s":([^,]*),.*"usd_per_million_tokens":([^,]*),.*/\1 \2/p' <<<"$frontier" |
  awk 'NR > 1 && !($2 >= cost && $1 <= itl) { bad = 1 } { itl = $1; cost = $2 } END { exit !(NR > 1 && !bad) }' ||
  fail 'a point of the frontier beats another'

text=$("$napkin" plan --model "$config" --gpu h200_sxm "${load[@]}" 2>&1) || fail 'plan as text'
for expected in 'USD/Mtok' 'limited by' 'Worth having' 'What cannot be' 'How the first of these' 'ITL    bound' 'held by' 'One per cent more of it' \
  'Engines on h200_sxm: vllm, sglang, trtllm' 'feed-forward' 'predictions from fitted parameters' 'h200_sxm (measured: fitted to the GEMM'; do
  [[ $text == *"$expected"* ]] || fail "plan as text has no '$expected'"
done
[[ $(wc -l <<<"$text") -lt 130 ]] || fail "a plan takes $(wc -l <<<"$text") lines to read"
# Each point has its bound, its interval and its profile; the bound is what serving answers.
points=$(grep -o '"itl_s":' <<<"$json" | wc -l)
for key in '"bound_time_s":' '"bound_ttft_s":' '"interval_80_s":\[' '"profile":{"name":"h'; do
  [[ $(grep -o "$key" <<<"$json" | wc -l) -eq $points ]] || fail "not every point of a plan has its $key"
done
best_of() { sed 's/.*"best":{//; s/"meets_targets".*//' <<<"$1"; }
engine_of() { sed -E 's/.*"engine":"([^"]*)".*/\1/' <<<"$1"; }
best=$(best_of "$json")
tensor=$(number "$best" tensor_parallel) limit=$(number "$best" batch_limit)
chip=$(sed -E 's/.*"accelerator":"([^"]*)".*/\1/' <<<"$best")
[[ $best == *'"precision":"fp8 + fp8 KV"'* && $limit == 64 ]] || fail "the best point is now $best"
serving=$("$napkin" serving --model "$config" --accelerator "$chip" --tensor_parallel "$tensor" --input_tokens 2048 \
  --output_tokens 512 --concurrency 64 --weight_format fp8 --activation_format fp8 --kv_format fp8 --engine "$(engine_of "$best")" --json)
near 'ITL of the best point' "$(number "$best" itl_s)" "$(number "$serving" itl_s)" 1e-12
near 'the bound of it' "$(number "$best" bound_time_s)" "$(number "$serving" bound_time_s)" 1e-12
# The wire counts: a point of several ranks is what serving answers, too.
several=$(best_of "$("$napkin" plan --model "$config" --accelerator h200_sxm "${load[@]}" --itl 25ms --formats fp8 --json)")
tensor=$(number "$several" tensor_parallel) replicas=$(number "$several" replicas)
[[ $tensor -gt 1 ]] || fail "the cheapest point within 25 ms has $tensor ranks"
kv=$(sed -E 's/.*"kv_format":"([^"]*)".*/\1/' <<<"$several")
budget=()
[[ -z $(number "$several" chunk_tokens) ]] || budget=(--chunk_tokens "$(number "$several" chunk_tokens)")
serving=$("$napkin" serving --model "$config" --accelerator h200_sxm --tensor_parallel "$tensor" --input_tokens 2048 \
  --output_tokens 512 --concurrency 64 --data_parallel "$replicas" --pipeline_parallel "$(number "$several" pipeline_parallel)" --weight_format fp8 --activation_format fp8 \
  --kv_format "$kv" --engine "$(engine_of "$several")" "${budget[@]}" --json)
near 'ITL of a point of several ranks' "$(number "$several" itl_s)" "$(number "$serving" itl_s)" 1e-12
# Bounds where they are asked for, or where an accelerator has no profile.
text=$("$napkin" plan --model "$config" --gpu h200_sxm "${load[@]}" --mode bound 2>&1) || fail 'plan --mode bound'
[[ $text == *'nothing runs faster'* && $text != *'ITL    bound'* ]] || fail 'plan --mode bound: no bounds'
[[ $("$napkin" plan --model llama_3_8b --gpu h100_sxm,h20 --gpus 1 --json) == '{"mode":"bound"'* ]] ||
  fail 'a plan with an accelerator that has no profile'
[[ $("$napkin" plan --model llama_3_8b --gpu h20 --gpus 1 --mode calibrated --json) == *'"basis":"assumed"'* ]] ||
  fail 'a calibrated plan for an accelerator that has no profile'
# Targets that nothing meets, memory that nothing fits: results, not errors.
json=$("$napkin" plan --model llama_3_8b --gpu h100_sxm --gpus 1 --itl 1us --json)
[[ $? -eq 3 ]] || fail 'targets that nothing meets: exit status'
[[ $json == *'"meets_targets":false,"best":null,"frontier":[{'*'"nearest":{'*'"nearest_miss":'* ]] || fail "targets that nothing meets: ${json:0:200}"
[[ $("$napkin" plan --model llama_3_8b --gpu h100_sxm --gpus 1 --itl 1us) == *'Nearest: 1 x TP1 of h100_sxm with '*'missed by a factor of '* ]] ||
  fail 'which point came nearest'
json=$("$napkin" plan --model deepseek_v3 --gpu l4 --gpus 1 --json)
[[ $? -eq 3 ]] || fail 'a model that fits nowhere: exit status'
[[ $json == *'"best":null,"frontier":[],"rejected":[{'* ]] || fail "a model that fits nowhere: ${json:0:200}"
# Each target rules out what misses it: 15 ms between tokens, then 200 ms to the first one.
for target in itl:15ms:0.015 ttft:200ms:0.2; do
  IFS=: read -r name text_value limit <<<"$target"
  json=$("$napkin" plan --model "$config" --accelerator h200_sxm "${load[@]}" --"$name" "$text_value" --json)
  [[ $json == *'"meets_targets":true,"best":{'* ]] || fail "--$name $text_value: nothing meets it"
  sed 's/.*"frontier":\[//; s/\],"rejected".*//; s/"'"$name"'_s":/\n&/g' <<<"$json" |
    awk -F'[:,]' -v limit="$limit" 'NR > 1 && $2 > limit { bad = 1 } END { exit !(NR > 1 && !bad) }' ||
    fail "--$name $text_value: a point misses it"
done
# Only the formats that are asked for.
json=$("$napkin" plan --model llama_3_8b --gpu h100_sxm --gpus 1 --formats bf16 --json)
[[ $json == *'"weight_format":"bf16"'* && $json != *'"weight_format":"fp8"'* ]] || fail '--formats bf16'
# Formats apart: fp8 weights with a bf16 cache, 16-bit operands beside them.
json=$("$napkin" plan --model llama_3_8b --gpu h100_sxm --gpus 1 --weight-format fp8 --activation-format bf16 --kv-format bf16,fp8 --json)
for key in '"weight_format":"fp8"' '"activation_format":"bf16"' '"kv_format":"fp8"'; do
  [[ $json == *"$key"* ]] || fail "formats apart: no $key"
done
[[ $json != *'"activation_format":"fp8"'* && $json != *'"weight_format":"bf16"'* ]] || fail 'formats that nobody asked for'
refuses 'kv_format has "fp9"; allowed: ' plan --model llama_3_8b --gpu h100_sxm --kv-format fp9
refuses 'formats is another name of weight_format' plan --model llama_3_8b --gpu h100_sxm --formats fp8 --weight-format fp8
# Engines: those that are asked for; of a bound none.
one=(plan --model llama_3_8b --gpu h100_sxm --gpus 1)
json=$("$napkin" "${one[@]}" --engine vllm,sglang --json)
[[ $json == *'"engine":"'* && $json != *'"engine":"trtllm"'* && $json != *'"engine":"none"'* ]] || fail '--engine vllm,sglang'
[[ $("$napkin" "${one[@]}" --json) != *'"engine":"none"'* ]] || fail 'a prediction of no engine that nobody asked for'
[[ $("$napkin" "${one[@]}" --mode bound --json) == *'"engine":"none"'* ]] || fail 'the bound of an engine'
refuses 'engine is "tgi"; allowed: none, vllm, sglang, trtllm' "${one[@]}" --engine tgi
# Targets on percentiles, and what has none.
json=$("$napkin" "${one[@]}" --ttft 200ms --ttft-percentile 90 --e2e 3s --e2e-percentile 99 --json) || fail 'targets on percentiles'
sed 's/.*"frontier":\[//; s/\],"rejected".*//; s/"ttft_p90_s":/\n&/g' <<<"$json" |
  awk -F'[:,]' 'NR > 1 && $2 > 0.2 { bad = 1 } END { exit !(NR > 1 && !bad) }' || fail 'a point misses its p90 TTFT'
sed 's/.*"frontier":\[//; s/\],"rejected".*//; s/"e2e_p99_s":/\n&/g' <<<"$json" |
  awk -F'[:,]' 'NR > 1 && $2 > 3 { bad = 1 } END { exit !(NR > 1 && !bad) }' || fail 'a point misses its p99 E2E'
[[ $("$napkin" "${one[@]}" --ttft 200ms --ttft-percentile 90 --itl 50ms) == *', p90 TTFT within 200 ms, mean ITL within 50 ms'* ]] ||
  fail 'the text does not say which part of requests a target is of'
[[ $("$napkin" "${one[@]}" --ttft 9s --ttft-percentile 99.9) == *', p99.9 TTFT within 9 s'* ]] || fail 'a target on the largest share'
refuses 'ttft is missing' "${one[@]}" --ttft-percentile 90
refuses 'percentiles, drafts and disaggregated are of predictions' "${one[@]}" --ttft 1s --ttft-percentile 90 --mode bound
refuses 'ttft_percentile is 20; allowed: a number, 50 to 99.9' "${one[@]}" --ttft 1s --ttft-percentile 20
# Nobody waits for minutes, unless they may.
json=$("$napkin" "${one[@]}" --concurrency 4096 --input-tokens 8192 --output-tokens 1024 --json)
[[ $? -eq 3 && $json == *'requests wait longer for a place than the longest wait: '* ]] || fail 'queues of minutes'
"$napkin" "${one[@]}" --concurrency 4096 --input-tokens 8192 --output-tokens 1024 --longest-wait 100000s --json >/dev/null ||
  fail 'a wait that is allowed'
# Pools, drafts, and what a hit in the cache saves.
large=(plan --model llama_3_70b --gpu h200_sxm "${load[@]}" --weight-format fp8 --kv-format fp8)
json=$("$napkin" "${large[@]}" --disaggregated --json) || fail 'pools'
[[ $json == *'"prefill":{"accelerator":"h200_sxm","tensor_parallel":'*'"replicas":'* ]] || fail 'no point with pools'
json=$("$napkin" "${large[@]}" --disaggregated --draft-length 3 --acceptance 0.8 --json) || fail 'pools and drafts'
[[ $json == *'"draft_length":3'* ]] || fail 'no point with drafts'
points=$(grep -o '"itl_s":' <<<"$json" | wc -l)
[[ $(grep -o '"bound_time_s":' <<<"$json" | wc -l) -eq $points ]] || fail 'not every point with pools or drafts has its bound'
refuses 'kv_link_bytes_per_s is between pools' "${large[@]}" --kv-link-bandwidth 50GB/s
"$napkin" "${large[@]}" --disaggregated --kv-link-bandwidth 50GB/s --json >/dev/null || fail '--kv-link-bandwidth'
# Pools of two kinds of chip: four GPUs each of 3.78 and 4.54 USD/h answer two requests of 512 tokens a second.
two=(plan --model llama_3_70b --gpu h200_sxm --gpus 16 --input-tokens 8192 --output-tokens 512 --requests-per-s 2 --itl 15ms
  --itl-percentile 99 --weight-format fp8 --kv-format fp8 --disaggregated)
json=$("$napkin" "${two[@]}" --prefill-gpu h100_sxm --json) || fail 'pools of two kinds of chip'
[[ $(best_of "$json") == '"accelerator":"h200_sxm"'*'"prefill":{"accelerator":"h100_sxm","tensor_parallel":4,'*'"profile":{"name":"h100_sxm",'* ]] ||
  fail 'which chip does what'
near 'USD of two kinds of chip' "$(number "$(best_of "$json")" usd_per_million_tokens)" \
  "$(awk 'BEGIN { print (4 * 3.78 + 4 * 4.54) / 3600 / (2 * 512) * 1e6 }')" 1e-4
dearer=$("$napkin" "${two[@]}" --json)
[[ $(best_of "$dearer") == *'"prefill":{"accelerator":"h200_sxm"'* ]] || fail 'pools of one kind of chip'
awk -v a="$(number "$(best_of "$json")" usd_per_million_tokens)" -v b="$(number "$(best_of "$dearer")" usd_per_million_tokens)" \
  'BEGIN { exit !(a < b) }' || fail 'cheaper chips for prompts cost as much'
[[ $("$napkin" "${two[@]}" --prefill-gpu h100_sxm) == *'prefill on h100_sxm: 1 x TP4'*'the accelerator is the one that decodes'* ]] ||
  fail 'pools of two kinds of chip, as text'
text=$("$napkin" explain "${two[@]}" --prefill-gpu h100_sxm --row 1) || fail 'a row of two kinds of chip'
for expected in '(1 x 4 h200_sxm)' '(1 x 4 h100_sxm)' 'DRAM bandwidth 4.8 TB/s' 'DRAM bandwidth 3.35 TB/s' 'of prompts: h100_sxm (measured'; do
  [[ $text == *"$expected"* ]] || fail "a row of two kinds of chip has no '$expected'"
done
refuses 'prefill_accelerator is of pools; it needs disaggregated' "${large[@]}" --prefill-gpu h100_sxm
refuses 'prefill_accelerator has two of the name h100_sxm' "${two[@]}" --prefill-gpu h100_sxm,h100_sxm
refuses 'acceptance is missing' "${large[@]}" --draft-length 3
refuses 'llama_3_70b has no heads for it' "${large[@]}" --mtp 2
usd_of() { number "$(best_of "$1")" usd_per_million_tokens; }
awk -v a="$(usd_of "$("$napkin" "${large[@]}" --prefix-hit 0.5 --json)")" -v b="$(usd_of "$("$napkin" "${large[@]}" --json)")" \
  'BEGIN { exit !(a > 0 && a < b) }' || fail 'a prefix that is found costs as much'
# Money: a request costs what its tokens do; what its cost depends on.
json=$("$napkin" "${large[@]}" --json)
best=$(best_of "$json")
near 'USD of a request' "$(awk -v i="$(number "$best" usd_per_million_input_tokens)" -v o="$(number "$best" usd_per_million_output_tokens)" \
  'BEGIN { print 2048 * i + 512 * o }')" "$(awk -v t="$(number "$best" usd_per_million_tokens)" 'BEGIN { print 512 * t }')" 0.001
for key in '"binding":"' '"elasticities":{"cost":{"matrix.peak":' '"price":1' '"itl_interval_80_s":[' '"ttft_interval_80_s":['; do
  [[ $json == *"$key"* ]] || fail "plan --json has no $key"
done
# Experts spread over data-parallel attention are tried.
[[ $("$napkin" plan --model gpt_oss_120b --gpu h100_sxm --gpus 8 --concurrency 512 --mode bound --json) == *'"data_parallel":'[248]* ]] ||
  fail 'no data-parallel attention'
# One deployment has one capacity, whoever is asked, and whatever engine keeps the memory.
ask=(--model llama_3_8b --accelerator h100_sxm --mode bound --json)
crowd=(--input_tokens 3072 --output_tokens 1024 --concurrency 1000)
patient=(--longest_wait 10000s)  # of a thousand requests most wait
for engine in none vllm sglang trtllm; do
  room=$("$napkin" kv_capacity "${ask[@]}" --context 4096 --engine $engine)
  sequences=$(number "$room" sequences)
  near "serving: batch with $engine" "$(number "$("$napkin" serving "${ask[@]}" "${crowd[@]}" --engine $engine)" batch)" "$sequences" 0
  best=$(best_of "$("$napkin" plan "${ask[@]}" "${crowd[@]}" --gpus 1 --formats bf16 --engine $engine "${patient[@]}")")
  near "plan: batch with $engine" "$(number "$best" batch)" "$sequences" 0
  for kept in utilization activation_bytes runtime_bytes weight_bytes_per_gpu; do
    near "plan: $kept with $engine" "$(number "$best" $kept)" "$(number "$room" $kept)" 0
  done
done
# What is stated overrides it, everywhere: 0.8 of 85.5 GB less 16.06 GB of weights and 3 GB.
stated=(--utilization 0.8 --activation_bytes 2GB --runtime_bytes 1GB)
room=$("$napkin" kv_capacity "${ask[@]}" --context 4096 "${stated[@]}")
near 'kv_capacity: what is stated' "$(number "$room" kv_bytes_available)" 49356125491 1
near 'serving: what is stated' "$(number "$("$napkin" serving "${ask[@]}" "${crowd[@]}" "${stated[@]}")" batch)" \
  "$(number "$room" sequences)" 0
finish
