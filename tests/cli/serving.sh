#!/usr/bin/env bash
# A service under load: what hangs together in one answer, and what changes the answer which way.
. "$(dirname "$0")/lib.bash"
closed_forms

llama=(serving --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --engine vllm --input_tokens 2048
  --output_tokens 512)
answer() { "$napkin" "${llama[@]}" "$@" --json; }

# same <what> <expression of an answer's keys> <expected> <relative tolerance> <answer>
# The expression is awk's; each key of the answer is a variable.
same() {
  local value
  value=$(value_of "$2" "$5")
  near "$1" "$value" "$3" "$(awk -v e="$3" -v t="$4" 'BEGIN { print (e < 0 ? -e : e) * t }')"
}
# holds <what> <condition on an answer's keys> <answer>
holds() { [[ $(value_of "$2" "$3") == 1 ]] || fail "$1: not $2 in $3"; }
value_of() {
  local keys
  keys=$(grep -oE '"[a-z0-9_]+":-?[0-9][0-9.eE+-]*' <<<"$2" | sed -E 's/"([a-z0-9_]+)":(.*)/-v \1=\2/' | sort -u -t= -k1,1)
  # shellcheck disable=SC2086
  awk $keys "BEGIN { printf \"%.15g\", $1 }"
}

steady=$(answer --concurrency 64)
same "Little's law" 'requests_per_s * e2e_s' 64 1e-9 "$steady"
same 'a request is its first token and the gaps after it' '(ttft_s + 511 * itl_s) / e2e_s' 1 1e-9 "$steady"
same 'an answer has 512 tokens' 'output_tokens_per_s / requests_per_s' 512 1e-9 "$steady"
same 'without limits every request counts' 'goodput_requests_per_s / requests_per_s' 1 1e-12 "$steady"
holds 'percentiles' \
  'ttft_p50_s <= ttft_p90_s && ttft_p90_s <= ttft_p99_s && itl_p50_s <= itl_p90_s && itl_p90_s <= itl_p99_s' "$steady"
holds 'percentiles' 'e2e_s < e2e_p99_s && itl_p50_s < itl_s && itl_s < itl_p99_s' "$steady"
holds 'a prediction is no better than its bound' 'bound_ttft_s < ttft_s && bound_time_s < itl_s' "$steady"
# Intervals lie around their times, alike by ratio; the one without a name is that of itl_s.
ends() { sed -nE "s/.*\"$1\":\[([^]]*)\].*/\1/p" <<<"$steady"; }
for of in ttft itl; do
  near "the interval of $of" "$(awk -F, -v t="$(number "$steady" ${of}_s)" '{ print $1 * $2 / t / t }' <<<"$(ends ${of}_interval_80_s)")" 1 1e-9
done
[[ $(ends interval_80_s) == "$(ends itl_interval_80_s)" ]] || fail 'interval_80_s is not that of itl_s'

# Goodput: at least nine of ten requests are within the 90th percentile; none where every ITL is too
# long.
limit=$(number "$steady" ttft_p90_s)
holds 'within the 90th percentile' '0.9 * requests_per_s * (1 - 1e-6) <= goodput_requests_per_s' \
  "$(answer --concurrency 64 --ttft_limit_s "$limit")"
itl=$(number "$steady" itl_s)
for factor in 0.99 1.01; do
  limit=$(awk -v x="$itl" -v f=$factor 'BEGIN { printf "%.12g", x * f }')
  same "an ITL limit of $factor" 'goodput_requests_per_s / requests_per_s' "$(awk -v f=$factor 'BEGIN { print (f > 1) }')" 1e-9 \
    "$(answer --concurrency 64 --itl_limit_s "$limit")"
done

# A bound has no distribution and no engine.
bound=$(answer --concurrency 64 --mode bound)
same "Little's law of the bound" 'requests_per_s * e2e_s' 64 1e-9 "$bound"
[[ $bound != *_p[0-9]* && $bound != *interval* && $bound != *goodput* ]] || fail "a bound has a distribution: $bound"

# In a run of one wave decoding waits for all prefills: the mean ITL has the rest of them in the first.
wave=$(answer --concurrency 64 --requests 64 --scheduler prefill_first)
simulated=$(answer --concurrency 64 --requests 64 --scheduler prefill_first --method simulation)
near 'ITL of one wave' "$(number "$wave" itl_s)" "$(number "$simulated" itl_s)" 1e-3

# less <what> <key> <answer> <answer>: of the first it is less.
less() {
  awk -v a="$(number "$3" "$2")" -v b="$(number "$4" "$2")" 'BEGIN { exit !(a < b) }' ||
    fail "$1: $2 is $(number "$3" "$2"), not less than $(number "$4" "$2")"
}
run=$(answer --concurrency 64 --requests 640)
less 'a first wave waits' ttft_p99_s "$steady" "$run"
less 'longer runs forget it' ttft_s "$(answer --concurrency 64 --requests 64000)" "$run"
hit=$(answer --concurrency 64 --prefix_hit 0.5)
less 'half of the prompt from the cache' ttft_s "$hit" "$steady"
less 'half of the prompt from the cache' itl_s "$hit" "$steady"
less 'half of the prompt from the cache' bound_ttft_s "$hit" "$steady"
alike=$(answer --concurrency 4000 --prefix_hit 0.75)
once=$(answer --concurrency 4000 --prefix_hit 0.75 --shared_tokens 1536)
less 'what all share is held once' ttft_s "$once" "$alike"
same 'what is found of it' prefix_hit 0.75 1e-9 "$(answer --concurrency 4 --shared_tokens 1536)"
less 'of many prefixes less' prefix_hit "$(answer --concurrency 4 --shared_tokens 1536 --shared_prefixes 4000)" "$once"
# 1024 tokens of 327,680 B, an eighth on each GPU, at 1 GB/s: 42 ms; at 0.05 GB/s computing them is quicker.
host=(--concurrency 1 --prefix_hit 0.75 --host_hit 0.5)
same 'a transfer' fetch_s $((1024 * 327680 / 8))e-9 1e-9 "$(answer "${host[@]}" --host_link_bytes_per_s 1GB/s)"
same 'a transfer before the first token' 'ttft_s - fetch_s' "$(number "$(answer --concurrency 1 --prefix_hit 0.75)" ttft_s)" 1e-6 \
  "$(answer "${host[@]}" --host_link_bytes_per_s 1GB/s)"
"$napkin" "${llama[@]}" "${host[@]}" --host_link_bytes_per_s 50MB/s | grep -q 'recomputation is faster' ||
  fail 'a slow host is not called slow'
# More requests than fit: those that are evicted have long gaps, and all the others fewer seconds to wait for a place.
less 'evicted sequences wait in their gaps' itl_s "$(answer --concurrency 3000)" "$(answer --concurrency 3000 --preemption recompute)"
same 'a loop in which all fit' e2e_s "$(number "$steady" e2e_s)" 1e-12 "$(answer --concurrency 64 --preemption swap --host_link_bytes_per_s 25GB/s)"
# By hand O / (I + O / 10); none where all fit, or where the engine keeps room for whole answers; refused where they are not counted.
same 'evictions' evictions "$(awk 'BEGIN { print 512 / (2048 + 51.2) }')" 1e-5 "$(answer --concurrency 3000 --preemption recompute)"
[[ $(answer --concurrency 64 --preemption recompute) == *'"evictions":0,'* ]] || fail 'evictions where all fit'
[[ $("$napkin" "${llama[@]/#vllm/trtllm}" --concurrency 3000 --preemption recompute --json) == *'"evictions":0,'* ]] || fail 'evictions of TensorRT-LLM'
within=(--concurrency 3000 --ttft_limit_s 5)
[[ $(answer "${within[@]}" --preemption recompute) == *'"largest_rate_leaves_out":["preemption"]'* ]] || fail 'a largest rate does not say what it leaves out'
same 'the largest rate has no evictions' largest_rate_requests_per_s "$(number "$(answer "${within[@]}")" largest_rate_requests_per_s)" 1e-12 \
  "$(answer "${within[@]}" --preemption recompute)"
for query in serving advise 'explain serving'; do
  # shellcheck disable=SC2086
  asked=($query "${llama[@]:1}" --preemption recompute)
  refuses 'PM-E031: preemption is recompute; allowed: none; preemption is modelled at a concurrency only' "${asked[@]}" --requests_per_s 4
  refuses 'PM-E031: preemption is recompute; allowed: none with static_batches' "${asked[@]}" --concurrency 3000 --scheduler static_batches
  refuses 'PM-E031: preemption is recompute; allowed: none with speculative decoding' "${asked[@]}" --concurrency 3000 --draft_length 3 --acceptance 0.7
done
refuses 'PM-E031: preemption is swap; allowed: none; preemption is modelled at a concurrency only' plan --model llama_3_8b --gpu h100_sxm --requests_per_s 4 --preemption swap
refuses 'PM-E031: preemption is swap; allowed: none with static_batches' plan --model llama_3_8b --gpu h100_sxm --scheduler static_batches --preemption swap
refuses 'PM-E004: ttft_limit_s is missing; serving needs it: limit_share is the share of requests within it' "${llama[@]}" --concurrency 4 --limit_share 0.5
[[ $(answer --concurrency 64 --mode bound --output_cv 1 --requests 640 --stream_interval 10) == *'"left_out":["output_cv","stream_interval"]'* ]] ||
  fail 'a bound does not say what it leaves out'
less 'who is started for few lets few in' batch "$(answer --concurrency 64 --max_sequences 8)" "$steady"
same 'all requests open' requests_per_s 4 1e-12 "$(answer --requests_per_s 4)"
less 'a clock queues less than chance' ttft_s "$(answer --requests_per_s 4 --arrival_cv 0)" "$(answer --requests_per_s 4)"
less 'chance less than bursts' ttft_s "$(answer --requests_per_s 4)" "$(answer --requests_per_s 4 --arrival_cv 3)"
less 'prompts of one length' ttft_s "$(answer --requests_per_s 4)" "$(answer --requests_per_s 4 --input_cv 2)"
less 'answers of one length' e2e_p99_s "$steady" "$(answer --concurrency 64 --output_cv 1)"
less 'static batches meet no prompts' itl_p99_s "$(answer --concurrency 64 --scheduler static_batches)" "$steady"
# Prompts of 64k: a stall for the whole of one, or for 2048 tokens of it.
book=(--input_tokens 64000 --output_tokens 500 --concurrency 8 --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8)
whole=$("$napkin" serving "${book[@]}" --chunk_tokens 64000 --json)
cut=$("$napkin" serving "${book[@]}" --chunk_tokens 2048 --json)
holds 'what chunks buy' "itl_p99_s < $(number "$whole" itl_p99_s) / 10" "$cut"
less 'what they cost' ttft_s "$whole" "$cut"

# What cannot keep up is an answer, with the largest rate that can. Copies have it each.
for copies in 1 2; do
  full=$(answer --requests_per_s 40 --data_parallel $copies)
  [[ $full == *'"feasible":false'* ]] || fail "40 requests/s are feasible: $full"
  most=$(sed -nE 's/.*, ([0-9.e+-]+) req\/s available.*/\1/p' <<<"$full")
  for factor in 0.99 1.01; do
    rate=$(awk -v x="$most" -v f=$factor 'BEGIN { print x * f }')
    [[ $(answer --requests_per_s "$rate" --data_parallel $copies) == *"\"feasible\":$([[ $factor == 0.99 ]] && echo true || echo false)"* ]] ||
      fail "of $copies copies: $factor of the rate that is said to be available"
  done
done

# Tokens that are sent ten at a time, and requests that are held back, come later.
less 'tokens sent together' ttft_s "$steady" "$(answer --concurrency 64 --stream_interval 10)"
less 'requests held back' ttft_s "$steady" "$(answer --concurrency 64 --held_iterations 5)"

# The largest rate within limits: goodput is nine tenths there, and fewer just above. Without limits none is said.
[[ $steady != *largest_rate* ]] || fail 'a largest rate without limits'
[[ $(answer --requests_per_s 1 --ttft_limit_s 0.5 --method simulation) == *'"largest_rate_method":"closed_form"'* ]] ||
  fail 'a largest rate beside a simulation does not say that it is of the closed form'
limits=(--ttft_limit_s 0.5 --itl_limit_s 0.1)
rate=$(number "$(answer --requests_per_s 1 "${limits[@]}")" largest_rate_requests_per_s)
same 'at the largest rate' '(goodput_requests_per_s / requests_per_s >= 0.8999)' 1 0 "$(answer --requests_per_s "$rate" "${limits[@]}")"
above=$(awk -v x="$rate" 'BEGIN { print x * 1.01 }')
same 'above it' '(goodput_requests_per_s / requests_per_s < 0.9)' 1 0 "$(answer --requests_per_s "$above" "${limits[@]}")"
less 'more requests within the limit' largest_rate_requests_per_s "$(answer --concurrency 1 "${limits[@]}" --limit_share 0.99)" \
  "$(answer --concurrency 1 "${limits[@]}")"

# A measurement beside the answer, and beside the bound.
measured=$(awk -v x="$itl" 'BEGIN { printf "%.12g", x * 1.1 }')
held=$(answer --concurrency 64 --measured_s "$measured")
same 'measured over predicted' measured_over_predicted 1.1 1e-9 "$held"
same 'measured over bound' 'measured_over_bound * bound_time_s / itl_s' 1.1 1e-9 "$held"
[[ $held == *'"possible":true'* && $(answer --concurrency 64 --measured_s 1us) == *'"possible":false'* ]] || fail 'what is possible'
[[ $("$napkin" gemm --accelerator h100_sxm --m 1 --n 8192 --k 8192 --measured_s 1ms --mode bound --json) == *'"measured_over_bound":'* ]] ||
  fail 'gemm takes no measurement'

# Drafts: every accepted token shortens the gaps; a bound has them too, and is never above.
lookup=$(answer --concurrency 8 --draft_length 4 --acceptance 0.7,0.6,0.5)
# 1 + 0.7 (1 + 0.6 (1 + 0.5 (1 + 0.5)))
same 'tokens of a round' emitted_tokens 2.435 1e-9 "$lookup"
less 'drafts that are kept' itl_s "$lookup" "$(answer --concurrency 8)"
holds 'the bound of drafts' 'bound_time_s < itl_s && bound_ttft_s < ttft_s' "$lookup"
# With a measurement the whole bound is evaluated, else what is stated of it.
bounds() { grep -oE '"bound_[a-z0-9_]+":[^,]+' <<<"$1"; }
for load in '--concurrency 8' '--requests_per_s 2' '--concurrency 300 --prefix_hit 0.5 --replicas 2' \
  '--concurrency 8 --pipeline_parallel 2' '--concurrency 8 --draft_length 2 --acceptance 0.5'; do
  # shellcheck disable=SC2086
  stated=$(bounds "$(answer $load)") whole=$(bounds "$(answer $load --measured_s 0.02)")
  [[ $(wc -l <<<"$stated") -eq 3 && $stated == "$whole" ]] || fail "bounds of $load: $stated, not $whole"
done
less 'a model that drafts costs its passes' itl_s "$lookup" "$(answer --concurrency 8 --draft_length 4 --acceptance 0.7,0.6,0.5 --draft_model llama_3_8b)"
deepseek=(serving --model deepseek_v3 --accelerator h200_sxm --tensor_parallel 8 --engine sglang --input_tokens 2048
  --output_tokens 512 --concurrency 8 --json)
heads=$("$napkin" "${deepseek[@]}" --mtp 1)
same 'a head of its own, kept 85 of 100 times' emitted_tokens 1.85 1e-9 "$heads"
less 'a head of its own' itl_s "$heads" "$("$napkin" "${deepseek[@]}")"

# Pools: 80 layers x 4 KiB x 2048 tokens over 8 GPUs are 83.9 MB, at 50 GB/s.
pools() {
  "$napkin" serving --model llama_3_70b --accelerator h100_sxm --engine vllm --input_tokens 2048 --output_tokens 512 \
    --prefill_tensor_parallel 8 --decode_tensor_parallel 8 --kv_link_bytes_per_s 50GB/s "$@" --json
}
apart=$(pools --concurrency 64 --prefill_replicas 2)
same 'a transfer' transfer_s 0.0016777216 1e-9 "$apart"
same "Little's law of pools" 'requests_per_s * e2e_s' 64 1e-6 "$apart"
holds 'the bound of pools' 'bound_time_s < itl_s && bound_ttft_s < ttft_s' "$apart"
same 'tokens that are sent together, in pools' 'ttft_s - 9 * itl_s' "$(number "$apart" ttft_s)" 1e-9 "$(pools --concurrency 64 --prefill_replicas 2 --stream_interval 10)"
for key in 'preemption recompute' 'held_iterations 5' 'scheduler prefill_first'; do
  # shellcheck disable=SC2086
  refuses "PM-E031: ${key% *}" serving "${llama[@]:1:4}" --input_tokens 2048 --output_tokens 512 --prefill_tensor_parallel 8 \
    --decode_tensor_parallel 8 --kv_link_bytes_per_s 50GB/s --concurrency 64 --${key% *} ${key#* }
done
less 'no prompt stalls an answer' itl_p99_s "$apart" "$steady"
for binds in '1 prefill' '20 decode'; do
  [[ $(pools --concurrency 2000 --prefill_replicas ${binds% *}) == *"\"binding\":\"${binds#* }\""* ]] || fail "with $binds"
done
half=$(pools --concurrency 64 --prefill_replicas 2 --mode bound)
same "Little's law of the bound of pools" 'requests_per_s * e2e_s' 64 1e-6 "$half"
[[ $half != *_p[0-9]* ]] || fail "a bound of pools has a distribution: $half"
full=$(pools --requests_per_s 400)
most=$(sed -nE 's/.*, ([0-9.e+-]+) req\/s available.*/\1/p' <<<"$full")
for factor in 0.99 1.01; do
  rate=$(awk -v x="$most" -v f=$factor 'BEGIN { print x * f }')
  [[ $(pools --requests_per_s "$rate") == *"\"feasible\":$([[ $factor == 0.99 ]] && echo true || echo false)"* ]] ||
    fail "pools: $factor of the rate that is said to be available"
done
"$napkin" explain "${llama[@]}" --concurrency 8 --draft_length 2 --acceptance 0.5 >/dev/null || fail 'no derivation of drafts'

# plan takes the same load.
plan=(plan --model llama_3_8b --accelerator h100_sxm --gpus 1 --input_tokens 2048 --output_tokens 64 --concurrency 16)
price() {
  number "$(sed 's/.*"best":{//; s/"meets_targets".*//' <<<"$1")" usd_per_million_tokens
}
awk -v a="$(price "$("$napkin" "${plan[@]}" --prefix_hit 0.9 --json)")" -v b="$(price "$("$napkin" "${plan[@]}" --json)")" \
  'BEGIN { exit !(a > 0 && a < b) }' || fail 'plan: a prompt in the cache is not cheaper'
awk -v a="$(price "$("$napkin" "${plan[@]/%16/600}" --prefix_hit 0.9 --shared_tokens 1900 --json)")" \
  -v b="$(price "$("$napkin" "${plan[@]/%16/600}" --prefix_hit 0.9 --json)")" \
  'BEGIN { exit !(a > 0 && a < b) }' || fail 'plan: a prefix that is held once is not cheaper'
"$napkin" "${plan[@]}" --requests 160 --output_cv 0.5 --scheduler prefill_first --json >/dev/null || fail 'plan refuses the load of a run'
finish
