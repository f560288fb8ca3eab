#!/usr/bin/env bash
# A plan: the cheapest deployment, the Pareto front, costs, and infeasible configurations.
. "$(dirname "$0")/lib.bash"

config=$source_dir/examples/data/llama-3.1-70b/config.json
load=(--input-tokens 2048 --output-tokens 512 --concurrency 64)
json=$("$napkin" plan --model "$config" --accelerator h100_sxm,h200_sxm --gpus 8 "${load[@]}" --ttft 2s --itl 50ms --json) ||
  fail 'plan'
[[ $(wc -l <<<"$json") -eq 1 && $json == '{"mode":"calibrated","evaluated":'*'}' ]] || fail "plan --json: ${json:0:100}"
for key in '"best":{' '"frontier":[{' '"limiter":"' '"usd_per_million_tokens":' '"derivation":{"inputs":[{' \
  '"reason":"weights and KV cache exceed the usable memory of a device, and so do the weights alone: ' '"accelerator":"h100_sxm"' '"accelerator":"h200_sxm"'; do
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
for expected in 'Cheapest: ' 'Predicted mean ITL ' 'USD/Mtok' 'Pareto front' 'Infeasible configurations' 'GB usable (' ' % of 151 GB)' 'Asked for: ' '--wide' '--row 1'; do
  [[ $text == *"$expected"* ]] || fail "plan as text has no '$expected'"
done
[[ -z $(awk 'length > 100' <<<"$text") ]] || fail "a plan wider than 100 columns"
[[ $(wc -l <<<"$text") -lt 40 ]] || fail "a plan takes $(wc -l <<<"$text") lines to read"
text=$("$napkin" plan --model "$config" --gpu h200_sxm "${load[@]}" --wide 2>&1) || fail 'plan --wide'
for expected in 'ITL bound' 'binding' 'Cost sensitivity of row 1' 'Engines on h200_sxm: vllm, sglang, trtllm' \
  'Predictions from fitted parameters' 'h200_sxm (measured: fitted to the GEMM' 'Memory of row 1'; do
  [[ $text == *"$expected"* ]] || fail "plan as text has no '$expected'"
done
# A profile is named once.
profiles=$(awk '/^  [a-z]/ { if (on) print line; on = /^  h200_sxm \(measured/; line = $0; next } /^      / { line = line $0; next }
  { if (on) print line; on = 0 }' <<<"$text")
[[ $profiles == *'  h200_sxm (measured'* && $(sort <<<"$profiles" | uniq -d | wc -l) -eq 0 ]] || fail 'a plan names a profile twice'
# Each point has its bound, its interval and its profile; the bound is what serving answers.
points=$(grep -o '"limiter":' <<<"$json" | wc -l)
for key in '"bound_time_s":' '"bound_ttft_s":' '"interval_80_s":\[' '"profile":{"name":"h'; do
  [[ $(grep -o "$key" <<<"$json" | wc -l) -eq $points ]] || fail "not every point of a plan has its $key"
done
best_of() { sed 's/.*"best":{//; s/"meets_targets".*//' <<<"$1"; }
engine_of() { sed -E 's/.*"engine":"([^"]*)".*/\1/' <<<"$1"; }
best=$(best_of "$json")
tensor=$(number "$best" tensor_parallel) limit=$(number "$best" batch_limit)
chip=$(sed -E 's/.*"accelerator":"([^"]*)".*/\1/' <<<"$best")
[[ $best == *'"precision":"bf16"'* && $limit == 64 ]] || fail "the best point is now $best"
serving=$("$napkin" serving --model "$config" --accelerator "$chip" --tensor_parallel "$tensor" --input_tokens 2048 \
  --output_tokens 512 --concurrency 64 --engine "$(engine_of "$best")" \
  $(sed -nE 's/.*"chunk_tokens":([0-9]+).*/--chunk_tokens \1/p' <<<"$best") --json)
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
# Bounds where they are asked for; an accelerator without a profile of its own has a transferred one.
text=$("$napkin" plan --model "$config" --gpu h200_sxm "${load[@]}" --mode bound 2>&1) || fail 'plan --mode bound'
[[ $text == *'no engine step runs faster; latencies may be lower'* && $text != *'ITL    bound'* ]] || fail 'plan --mode bound: no bounds'
[[ $("$napkin" plan --model llama_3_8b --gpu h100_sxm,h20 --gpus 1 --json) == '{"mode":"calibrated"'* ]] ||
  fail 'a plan with an accelerator that has a transferred profile'
[[ $("$napkin" plan --model llama_3_8b --gpu h20 --gpus 1 --json) == *'"basis":"transferred"'* ]] ||
  fail 'a plan of an accelerator that has a transferred profile'
# Targets that nothing meets, memory that nothing fits: results, not errors.
json=$("$napkin" plan --model llama_3_8b --gpu h100_sxm --gpus 1 --itl 1us --json)
[[ $? -eq 3 ]] || fail 'targets that nothing meets: exit status'
[[ $json == *'"meets_targets":false,"best":null,"frontier":[{'*'"nearest":{'*'"nearest_miss":'* ]] || fail "targets that nothing meets: ${json:0:200}"
[[ $("$napkin" plan --model llama_3_8b --gpu h100_sxm --gpus 1 --itl 1us) == *'Nearest (row 1): 1 x h100_sxm (1 replica of TP1, '*' misses'*'ITL by '*x:* ]] ||
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
json=$("$napkin" "${one[@]}" --weight-format fp8 --ttft 200ms --ttft-percentile 90 --e2e 3s --e2e-percentile 99 --json) || fail 'targets on percentiles'
sed 's/.*"frontier":\[//; s/\],"rejected".*//; s/"ttft_p90_s":/\n&/g' <<<"$json" |
  awk -F'[:,]' 'NR > 1 && $2 > 0.2 { bad = 1 } END { exit !(NR > 1 && !bad) }' || fail 'a point misses its p90 TTFT'
sed 's/.*"frontier":\[//; s/\],"rejected".*//; s/"e2e_p99_s":/\n&/g' <<<"$json" |
  awk -F'[:,]' 'NR > 1 && $2 > 3 { bad = 1 } END { exit !(NR > 1 && !bad) }' || fail 'a point misses its p99 E2E'
[[ $("$napkin" "${one[@]}" --ttft 200ms --ttft-percentile 90 --itl 50ms | tr -s '\n ' ' ') == *', p90 TTFT within 200 ms, mean ITL within 50 ms'* ]] ||
  fail 'the text does not say which part of requests a target is of'
[[ $("$napkin" "${one[@]}" --ttft 9s --ttft-percentile 99.9 | tr -s '\n ' ' ') == *', p99.9 TTFT within 9 s'* ]] || fail 'a target on the largest share'
refuses 'ttft is missing' "${one[@]}" --ttft-percentile 90
refuses 'percentiles, speculative decoding and disaggregated need predictions' "${one[@]}" --ttft 1s --ttft-percentile 90 --mode bound
refuses 'ttft_percentile is 20; allowed: a number, 50 to 99.9' "${one[@]}" --ttft 1s --ttft-percentile 20
# Nobody waits for minutes, unless they may.
json=$("$napkin" "${one[@]}" --concurrency 4096 --input-tokens 8192 --output-tokens 1024 --json)
[[ $? -eq 3 && $json == *'the mean queueing time exceeds its limit: '* ]] || fail 'queues of minutes'
"$napkin" "${one[@]}" --concurrency 4096 --input-tokens 8192 --output-tokens 1024 --longest-wait 100000s --json >/dev/null ||
  fail 'a wait that is allowed'
# Pools, drafts, and what a hit in the cache saves.
large=(plan --model llama_3_70b --gpu h200_sxm "${load[@]}" --weight-format fp8 --kv-format fp8)
json=$("$napkin" "${large[@]}" --disaggregated --json) || fail 'pools'
[[ $json == *'"prefill":{"accelerator":"h200_sxm","tensor_parallel":'*'"replicas":'* ]] || fail 'no point with pools'
json=$("$napkin" "${large[@]}" --disaggregated --draft-length 3 --acceptance 0.8 --json) || fail 'pools and drafts'
[[ $json == *'"draft_length":3'* ]] || fail 'no point with drafts'
points=$(grep -o '"limiter":' <<<"$json" | wc -l)
[[ $(grep -o '"bound_time_s":' <<<"$json" | wc -l) -eq $points ]] || fail 'not every point with pools or drafts has its bound'
refuses 'kv_link_bytes_per_s is the link between pools' "${large[@]}" --kv-link-bandwidth 50GB/s
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
[[ $("$napkin" "${two[@]}" --prefill-gpu h100_sxm --wide) == *'prefill on h100_sxm: 1 x TP4'*'the row names the one that decodes'* ]] ||
  fail 'pools of two kinds of chip, as text'
text=$("$napkin" explain "${two[@]}" --prefill-gpu h100_sxm --row 1) || fail 'a row of two kinds of chip'
for expected in '(1 x 4 h200_sxm)' '(1 x 4 h100_sxm)' 'DRAM bandwidth 4.8 TB/s' 'DRAM bandwidth 3.35 TB/s' 'prefill: h100_sxm (measured'; do
  [[ $text == *"$expected"* ]] || fail "a row of two kinds of chip has no '$expected'"
done
refuses 'prefill_accelerator is an accelerator of the prefill pool; it needs disaggregated' "${large[@]}" --prefill-gpu h100_sxm
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
# One deployment has one capacity, whoever is asked, and whatever engine keeps the memory. The bound of a service
# admits those that fit at their mean context, 3072 + 1024 / 2.
ask=(--model llama_3_8b --accelerator h100_sxm --mode bound --json)
crowd=(--input_tokens 3072 --output_tokens 1024 --concurrency 1000)
patient=(--longest_wait 10000s)  # of a thousand requests most wait
for engine in none vllm sglang trtllm; do
  room=$("$napkin" kv_capacity "${ask[@]}" --context 4096 --engine $engine)
  sequences=$(number "$room" sequences)
  near "serving: batch with $engine" "$(number "$("$napkin" serving "${ask[@]}" "${crowd[@]}" --engine $engine)" batch)" \
    "$(number "$("$napkin" kv_capacity "${ask[@]}" --context 3584 --engine $engine)" sequences)" 0
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
  "$(number "$("$napkin" kv_capacity "${ask[@]}" --context 3584 "${stated[@]}")" sequences)" 0

# For a decision about money. What a row costs an hour is what its GPUs do: 3.78 and 4.54 USD each.
deal=(plan --model "$config" --gpus 8 "${load[@]}" --ttft 2s --itl 40ms)
json=$("$napkin" "${deal[@]}" --accelerator h100_sxm,h200_sxm --json)
text=$("$napkin" "${deal[@]}" --accelerator h100_sxm,h200_sxm --wide)
rows=$(sed 's/.*"frontier":\[//; s/\],"rejected".*//; s/},{"accelerator"/}\n{"accelerator"/g' <<<"$json")
while read -r row; do
  price=3.78
  [[ $row != *'"accelerator":"h200_sxm"'* ]] || price=4.54
  near 'USD an hour of a row' "$(number "$row" usd_per_hour)" "$(awk -v n="$(number "$row" gpus)" -v p=$price 'BEGIN { print n * p }')" 1e-9
done <<<"$rows"
for expected in 'Price of h100_sxm: 3.78 USD/h; vendor' '2026-05-07' 'Price of h200_sxm: 4.54 USD/h' ' USD/h  USD/Mtok '; do
  [[ $text == *"$expected"* ]] || fail "what a plan costs: no '$expected'"
done
[[ $("$napkin" "${deal[@]}" --accelerator h100_sxm --price 2) == *'Price of h100_sxm: 2.00 USD/h'* ]] || fail 'a price of the caller'
# Rows that agree in cost and ITL within 1 % are one in the table: no two of those shown do, and each left out does.
shown=$(sed -nE '/^Pareto front/,/^  [(C]/s/^ +([0-9]+)\*? +[0-9]+ x h[12]00.*/\1/p' <<<"$text" | xargs)
[[ -n $shown ]] || shown=$(seq "$(wc -l <<<"$rows")" | xargs)
sed -nE 's/.*"itl_s":([^,]*),.*"usd_per_million_tokens":([^,]*),.*/\1 \2/p' <<<"$rows" | awk -v shown="$shown" '
  function alike(a, b) { return (itl[a] - itl[b]) ^ 2 <= 1e-4 * itl[a] * itl[b] * 1.0001 && (usd[a] - usd[b]) ^ 2 <= 1e-4 * usd[a] * usd[b] * 1.0001 }
  { itl[NR] = $1; usd[NR] = $2 }
  END {
    n = split(shown, row, " ")
    for (i = 1; i <= n; ++i) { is[row[i]] = 1; if (i > 1 && alike(row[i], row[i - 1])) bad = 1 }
    for (i = 1; i <= NR; ++i) { near = is[i]; for (k = 1; k <= n; ++k) near = near || alike(i, row[k]); if (!near) bad = 1 }
    exit bad || row[1] != 1
  }' || fail "rows $shown of: $rows"
# The cheapest of another engine, and of other weights, are those of the plan that may use nothing else.
choice() { sed -nE 's/.*"choice":"'"$1"'"[^}]*"cost_over_best":(-?[0-9.e-]+)[,}].*/\1/p' <<<"$json"; }
usd=$(usd_of "$json")
for only in 'vllm --engine vllm' 'fp8 --formats fp8' 'int8 --formats int8'; do
  read -ra words <<<"$only"
  alone=$(usd_of "$("$napkin" "${deal[@]}" --accelerator h100_sxm,h200_sxm "${words[@]:1}" --json)")
  near "what ${words[0]} costs beside the best" "$(choice "${words[0]}")" "$(awk -v a="$alone" -v b="$usd" 'BEGIN { print a / b - 1 }')" 1e-5
done
grep -qE '^    vllm \(.*\): [0-9.]+ USD/Mtok \(\+[0-9]+ %\), [0-9]+ x TP' <<<"$text" || fail 'no line of vllm'
# An engine that only one of the chips runs is tried there.
json_of_two=$("$napkin" "${deal[@]}" --accelerator h100_sxm,mi300x --mode calibrated --json) || fail 'a plan of chips with different engines'
[[ $json_of_two == *'"alternatives":[{'*'"by":"engine"'* ]] || fail 'engines of two chips'
# Headroom: the same deployment within the targets at so many, and not 1 % above, as serving answers.
first=$(best_of "$json")
factor=$(sed -nE 's/.*"headroom":\{"factor":([0-9.]+),.*/\1/p' <<<"$json")
served_at() {
  number "$("$napkin" serving --model "$config" --accelerator "$(sed -E 's/.*"accelerator":"([^"]*)".*/\1/' <<<"$first")" \
    --tensor_parallel "$(number "$first" tensor_parallel)" --data_parallel "$(number "$first" replicas)" --input_tokens 2048 --output_tokens 512 \
    --engine "$(engine_of "$first")" $(sed -nE 's/.*"chunk_tokens":([0-9]+).*/--chunk_tokens \1/p' <<<"$first") \
    --concurrency "$(awk -v f="$factor" -v more="$1" 'BEGIN { print 64 * f * more }')" --json)" itl_s
}
awk -v within="$(served_at 0.999)" -v beyond="$(served_at 1.01)" 'BEGIN { exit !(within <= 0.04 && beyond > 0.04) }' ||
  fail "headroom of $factor: $(served_at 0.999) and $(served_at 1.01) s"
[[ $text == *'Headroom: '*' concurrent requests (+'*'), then ITL misses its target.'* ]] || fail 'headroom as text'
[[ $("$napkin" "${one[@]}" --requests 100 --itl 50ms) != *'Headroom: '[0-9]* ]] || fail 'more concurrent requests than a run has in total'
# Means have tails, which a target on p99 is held against.
tail=$(number "$first" itl_p99_s)
[[ $(tr -s '\n ' ' ' <<<"$text") == *"Targets apply to means; p99: TTFT "*", ITL $(awk -v t="$tail" 'BEGIN { printf "%.3g", 1e3 * t }') ms. --ttft-percentile 99 --itl-percentile 99 sets"* ]] ||
  fail "the tail of $tail s is not told"
[[ $(usd_of "$("$napkin" "${deal[@]}" --accelerator h100_sxm,h200_sxm --itl-percentile 99 --json)") != "$usd" ]] || fail 'a target on p99 rules nothing out'
[[ $(wc -l <<<"$text") -le 95 ]] || fail "a plan on two kinds of chip takes $(wc -l <<<"$text") lines"
# One output token has no inter-token latency, and requests beyond the model's context are named.
# One output token has no ITL, in any table or text.
short=(--model llama_3_1_8b --gpu h100_sxm --isl 1000 --osl 1 --users 8)
json=$("$napkin" plan "${short[@]}" --gpus 1 --json) || fail 'one output token'
[[ $json == *'"itl_s":null'* && ! $json =~ \"itl_[a-z0-9_]*s\":[0-9] ]] || fail "a plan of one output token: $json"
text=$("$napkin" plan "${short[@]}" --gpus 1)
[[ $text != *'mean ITL'* && $text == *' none '* ]] || fail "a plan of one output token: $text"
for method in closed_form simulation; do
  json=$("$napkin" serving "${short[@]}" --method $method --json)
  [[ $json == *'"itl_s":null'* && $json == *'"itl_p99_s":null'* && $json == *'"bound_time_s":null'* &&
    $json == *'"interval_80_s":null'* && $json == *'"ttft_interval_80_s":['* ]] || fail "one output token, $method: $json"
  [[ $("$napkin" serving "${short[@]}" --method $method) == *'none: one output token'* ]] || fail "text of one output token, $method"
done
text=$("$napkin" explain serving "${short[@]}")
[[ $text == *'none: one output token'* && $text != *'decode: ITL'* ]] || fail "explain of one output token: $text"
json=$("$napkin" simulate "${short[@]}" --requests 20 --json)
[[ $json == *'"itl_s":null'* && $json == *'"tpot_s":null'* ]] || fail "a simulation of one output token: $json"
refuses 'one token has no inter-token latency' plan --model llama_3_1_8b --gpu h100_sxm --isl 1000 --osl 1 --rate 5 --itl 20ms
context=(plan --model llama_3_1_8b --gpu h100_sxm --isl 200000 --osl 100 --users 1)
[[ $("$napkin" "${context[@]}" | tr -s '\n ' ' ') == *"Requests have 200100 tokens, and the model's limit is 131072;"* ]] || fail 'beyond the context'
[[ $("$napkin" "${context[@]}" --json) == *'"context_limit":131072'* ]] || fail 'beyond the context, as JSON'
finish
