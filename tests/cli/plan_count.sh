#!/usr/bin/env bash
# How many GPUs a plan needs, how many of its requests queue, and how far it reaches before they do.
. "$(dirname "$0")/lib.bash"
answers=$(mktemp)

best_of() { sed 's/.*"best":{//; s/"meets_targets".*//' <<<"$1"; }
# 200 users of Qwen3-32B in fp8, 3000 tokens in and 500 out, 20 ms between tokens.
users=(plan --model Qwen/Qwen3-32B --gpu h100_sxm --weight-format fp8 --concurrency 200 --input-tokens 3000 --output-tokens 500 --itl 20ms)
json=$("$napkin" "${users[@]}" --json) || fail 'a plan without --gpus'
best=$(best_of "$json")
# 6 replicas of TP2: 12 GPUs at 3.78 USD/h each, and nobody queues.
near 'GPUs for 200 users' "$(number "$best" gpus)" 12 0
near 'replicas' "$(number "$best" replicas)" 6 0
near 'tensor-parallel degree' "$(number "$best" tensor_parallel)" 2 0
[[ $best == *'"engine":"trtllm"'* ]] || fail "the engine of the cheapest: ${best:0:80}"
near 'USD an hour' "$(number "$best" usd_per_hour)" "$(awk 'BEGIN { print 12 * 3.78 }')" 1e-9
near 'requests that queue' "$(number "$best" queued_requests)" 0 0
near 'the ceiling of the search' "$(number "$json" ceiling)" 1024 0
[[ $json == *'"gpu_search":{"limits":[1,2,4,8,16,32],'* || $json == *'"limits":[1,2,4,8,16,32]'* ]] || fail 'the limits that were searched'
# A second method: each deployment of up to 12 GPUs, served one by one. Those that admit all users within 20 ms
# need 12, and none of them is cheaper.
for engine in vllm sglang trtllm; do
  for kv in bf16 fp8; do
    for tensor in 1 2 4 8; do
      for ((replicas = 1; replicas * tensor <= 12; ++replicas)); do
        echo "{\"id\":$((replicas * tensor)),\"query\":\"serving\",\"model\":\"Qwen/Qwen3-32B\",\"accelerator\":\"h100_sxm\",\"weight_format\":\"fp8\",\"kv_format\":\"$kv\"," \
          "\"engine\":\"$engine\",\"concurrency\":$(awk -v r="$replicas" 'BEGIN { printf "%.17g", 200 / r }'),\"tensor_parallel\":$tensor,\"input_tokens\":3000,\"output_tokens\":500}"
      done
    done
  done
done | "$napkin" batch | sed -nE 's/^\{"id":([0-9]+),.*/\1 &/p' >"$answers"
served=0 within=0
while read -r gpus answer; do
  served=$((served + 1))
  awk -v itl="$(number "$answer" itl_s)" -v ttft="$(number "$answer" ttft_s)" 'BEGIN { exit !(itl <= 0.02 && ttft < 2) }' || continue
  within=$((within + 1))
  [[ $gpus -eq 12 ]] || fail "$gpus GPUs serve 200 users within 20 ms: ${answer:0:200}"
done <"$answers"
rm -f "$answers"
[[ $served -eq 132 && $within -gt 0 ]] || fail "$served deployments served, $within within 20 ms"
near 'the fewest GPUs' "$(number "$json" fewest_gpus)" 12 0
text=$("$napkin" "${users[@]}")
[[ $(tr -s '\n ' ' ' <<<"$text") == 'Cheapest without disaggregation: 12 x h100_sxm (6 replicas of TP2, trtllm, fp8'*'): 45.36 USD/h, 1.1'?' USD/Mtok. Predicted mean ITL 1'*' ms ('*'; target 20 ms), mean TTFT 1'*' ms ('*').'*'Disaggregated: 8 x h100_sxm ('*' % cheaper (--disaggregated).'* ]] ||
  fail "the first sentence: ${text:0:150}"
for expected in 'Searched: up to 32 GPUs' 'the mean queueing time is limited to 1 s (--longest-wait), and 1 % of requests may queue' 'Without disaggregation, fewer than 12 GPUs miss a target or a limit.' 'up to 32 GPUs'; do
  [[ $(tr -s '\n ' ' ' <<<"$text") == *"$expected"* ]] || fail "a searched plan has no '$expected'"
done
# What is asked for 8 GPUs has 8, and its queue in words: of 200 users those beyond replicas x batch limit, who wait by Little's law.
json=$("$napkin" "${users[@]}" --gpus 8 --json)
best=$(best_of "$json")
[[ $json != *'"gpu_search"'* ]] || fail 'a search with --gpus'
near 'GPUs of --gpus 8' "$(number "$best" gpus)" 8 0
queued=$(awk -v r="$(number "$best" replicas)" -v b="$(number "$best" batch_limit)" 'BEGIN { print 200 - r * b }')
near 'users beyond the batch limits' "$(number "$best" queued_requests)" "$queued" 1e-6
near 'their share' "$(number "$best" queued_share)" "$(awk -v q="$queued" 'BEGIN { print q / 200 }')" 1e-9
near "Little's law" "$(number "$best" queue_wait_s)" \
  "$(awk -v q="$queued" -v x="$(number "$best" output_tokens_per_s)" 'BEGIN { printf "%.12g", q / (x / 500) }')" 1e-6
text=$("$napkin" "${users[@]}" --gpus 8)
wait=$(awk -v w="$(number "$best" queue_wait_s)" 'BEGIN { printf "%.3g", w }')
for expected in "Each request queues for $wait s on average, $queued of 200 at any time. Omit --gpus to search for a number of GPUs." '  queued' \
  "Headroom: none; each request queues for $wait s on average, $queued of 200 at any time."; do
  [[ $text == *"$expected"* || $(tr -s '\n ' ' ' <<<"$text") == *"$expected"* ]] || fail "a plan that queues has no '$expected'"
done
grep -qE "^ .* $queued\$" <<<"$text" || fail "no row with $queued queued requests"
# Rows of one layout show the batch limit that differs: no two rows are the same deployment to the reader.
rows=$(sed -nE 's/^ +[0-9*]* +(8 x .*[^ ]) +[0-9.]+ m?s +[0-9.]+ m?s .*/\1/p' <<<"$text")
[[ $text == *' max_num_seqs '* && $(wc -l <<<"$rows") -gt 2 && -z $(sort <<<"$rows" | uniq -d) ]] || fail "rows that look alike: $rows"
near 'headroom of a plan that queues' "$(sed -nE 's/.*"headroom":\{"factor":([0-9.]+),.*/\1/p' <<<"$json")" 1 0
[[ $text != *'Headroom: '[0-9]* ]] || fail 'a plan that queues holds more'
# Headroom ends where requests begin to queue: no TTFT of a minute at its end.
one=(plan --model llama_3_8b --gpu h100_sxm --gpus 1 --engine vllm --concurrency 64 --input-tokens 3000 --output-tokens 500)
json=$("$napkin" "${one[@]}" --json)
best=$(best_of "$json")
most=$(sed -nE 's/.*"headroom":\{.*"concurrency":([0-9]+).*/\1/p' <<<"$json")
[[ -n $most ]] || fail 'no headroom'
served_at() {
  number "$("$napkin" serving --model llama_3_8b --accelerator h100_sxm --engine vllm --input_tokens 3000 --output_tokens 500 --concurrency "$1" \
    $(sed -nE 's/.*"chunk_tokens":([0-9]+).*/--chunk_tokens \1/p' <<<"$best") --json)" "$2"
}
# At the end almost all are in service (1 % may queue); half as many again are no more in service, and wait.
awk -v most="$most" -v x="$(served_at "$most" requests_per_s)" -v e="$(served_at "$most" e2e_s)" -v t="$(served_at "$most" ttft_s)" \
  'BEGIN { exit !(most > 64 && t < 0.2 * e) }' || fail "headroom of $most: TTFT $(served_at "$most" ttft_s) s of $(served_at "$most" e2e_s) s"
beyond=$(awk -v m="$most" 'BEGIN { print int(1.5 * m) }')
awk -v a="$(served_at "$most" output_tokens_per_s)" -v b="$(served_at "$beyond" output_tokens_per_s)" 'BEGIN { exit !(b < 1.02 * a) }' ||
  fail "$beyond requests at a time are served faster than $most"
[[ $("$napkin" "${one[@]}" | tr -s '\n ' ' ') == *"Headroom: $most concurrent requests (+"*'), then requests queue for KV memory or a running-request slot.'* ]] ||
  fail 'headroom to the queue, as text'
# A TTFT target or a longest wait of the request's own is the limit instead.
[[ $("$napkin" "${one[@]}" --ttft 10s --json | sed -nE 's/.*"headroom":\{.*"concurrency":([0-9]+).*/\1/p') -gt $most ]] ||
  fail 'headroom with a TTFT target'
json=$("$napkin" "${users[@]}" --longest-wait 60s --json)
awk -v q="$(number "$(best_of "$json")" queued_requests)" 'BEGIN { exit !(q > 10) }' || fail 'a longest wait of the request is not kept'
[[ $json == *'"queued_limit":null'* ]] || fail 'the queue is limited beside a longest wait'
# An open loop: the number of GPUs grows with the rate, and few arrivals queue.
last=0
for rate in 5 50; do
  json=$("$napkin" plan --model llama_3_8b --gpu h100_sxm --requests-per-s "$rate" --input-tokens 2000 --output-tokens 300 --json) || fail "$rate requests a second"
  best=$(best_of "$json")
  awk -v s="$(number "$best" queued_share)" -v g="$(number "$best" gpus)" -v l="$last" 'BEGIN { exit !(s <= 0.01 && g > l) }' ||
    fail "$rate requests a second: $(number "$best" gpus) GPUs, $(number "$best" queued_share) queue"
  last=$(number "$best" gpus)
done
# With pools fewer GPUs may be cheaper than more, and both pools are in the first sentence.
pools=(plan --model llama_3_70b --gpu h200_sxm --disaggregated --requests-per-s 8 --input-tokens 8192 --output-tokens 512 --itl 22ms --longest-wait 1s)
usd_of() { number "$(best_of "$1")" usd_per_million_tokens; }
searched=$(usd_of "$("$napkin" "${pools[@]}" --json)")
for gpus in 32 64; do
  awk -v a="$searched" -v b="$(usd_of "$("$napkin" "${pools[@]}" --gpus $gpus --json)")" 'BEGIN { exit !(a > 0 && a <= b * (1 + 1e-9)) }' ||
    fail "a searched plan with pools costs $searched, and one of $gpus GPUs less"
done
[[ $("$napkin" "${pools[@]}" | tr -s '\n ' ' ') == 'Cheapest'*': '*' for decode, '*' for prefill, trtllm, bf16): '* ]] || fail 'pools in the first sentence'
# Out of reach at any number of GPUs: the search ends, and the exit status is 3.
json=$("$napkin" plan --model llama_3_8b --gpu h100_sxm --concurrency 4 --itl 10us --json)
[[ $? -eq 3 && $json == *'"best":null'*'"fewest_gpus":null'* || $json == *'"fewest_gpus":null'*'"best":null'* ]] || fail 'a target out of reach'
refuses 'gpus is 0; allowed: ' plan --model llama_3_8b --gpu h100_sxm --gpus 0
finish
