#!/usr/bin/env bash
# Pools of serving have plan's default link: the fabric where it joins them, else the link to the host.
. "$(dirname "$0")/lib.bash"
closed_forms
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# pools <ranks of each> <arguments...>
pools() {
  "$napkin" serving --model llama_3_70b --engine vllm --input_tokens 2048 --output_tokens 512 --concurrency 64 \
    --prefill_tensor_parallel "$1" --decode_tensor_parallel "$1" "${@:2}"
}
# same <what> <answer> <answer>: but for whether the link was given.
same() {
  [[ $(sed -E 's/"kv_link":"[a-z]+"//' <<<"$2") == "$(sed -E 's/"kv_link":"[a-z]+"//' <<<"$3")" ]] || fail "$1: $2 and $3"
}

# --- the fabric of 8 H100: NVLink 4 of 18 links x 25 GB/s, and 0.805 us ------------------------------------------
# 80 layers x 4 KiB x 2048 tokens over 4 GPUs are 167.8 MB: 372.8 us, and the latency.
near_fabric=$(pools 4 --accelerator h100_sxm --json) || fail 'pools without a link: exit status not 0'
near 'a transfer over the fabric' "$(number "$near_fabric" transfer_s)" 373.63e-6 0.1e-6
near 'the bandwidth of the fabric' "$(number "$near_fabric" kv_link_bytes_per_s)" 450e9 0
[[ $near_fabric == *'"kv_link":"fabric"'* ]] || fail "the link is not stated: $near_fabric"
pools 4 --accelerator h100_sxm | tr -s ' \n' ' ' | grep -qE ' link between pools +450 GB/s of each GPU: the fabric \(.*\), which joins all 8 GPUs ' ||
  fail 'the text does not state the link'

# --- 16 GPUs: the fabric joins 8, so PCIe 5 x16: 16 x 32 GT/s x 128/130 / 8 = 63.02 GB/s -------------------------
# 83.9 MB: 1331.2 us.
near_host=$(pools 8 --accelerator h100_sxm --json)
near 'a transfer over the host' "$(number "$near_host" transfer_s)" 1331.2e-6 0.5e-6
[[ $near_host == *'"kv_link":"host"'* ]] || fail "the link is not stated: $near_host"
same 'the link to the host, and the same one given' "$near_host" \
  "$(pools 8 --accelerator h100_sxm --kv_link_bytes_per_s "$(number "$near_host" kv_link_bytes_per_s)" --json)"
pools 8 --accelerator h100_sxm | tr -s ' \n' ' ' | grep -qE '63.02 GB/s of each GPU: the link to the host \(.*\); the fabric joins 8 of 16 GPUs ' ||
  fail 'the text does not state the link to the host'
# Replicas count: two of four ranks and one of four are 12.
[[ $(pools 4 --accelerator h100_sxm --prefill_replicas 2 --json) == *'"kv_link":"host"'* ]] || fail '12 GPUs are not joined by a fabric of 8'

# --- a bound has the same link; a link that is given is stated too ------------------------------------------------
[[ $(pools 4 --accelerator h100_sxm --mode bound --json) == *'"kv_link":"fabric"'* ]] || fail 'a bound without a link'
given=$(pools 4 --accelerator h100_sxm --kv_link_bytes_per_s 50GB/s --json)
[[ $given == *'"kv_link":"given"'* ]] || fail "a link that is given: $given"
near 'a transfer over a link that is given' "$(number "$given" transfer_s)" 3355.44e-6 0.01e-6
"$napkin" explain serving --model llama_3_70b --accelerator h100_sxm --prefill_tensor_parallel 4 --decode_tensor_parallel 4 \
  --input_tokens 2048 --output_tokens 512 --concurrency 64 --all | grep -q 'h100_sxm.fabric.bandwidth' ||
  fail 'the derivation does not have the fabric as an input'

# --- plan's row of pools, asked again as a service --------------------------------------------------------------
load=(--model llama_3_8b --engine vllm --kv_format bf16 --input_tokens 2048 --output_tokens 256 --requests_per_s 4)
plan=$("$napkin" plan "${load[@]}" --gpu h100_sxm --gpus 2 --formats bf16 --itl 10ms --itl_percentile 99 --disaggregated --json) ||
  fail 'plan of pools'
row=$(sed -nE 's/.*(\{[^{}]*"prefill":\{[^{}]*"tensor_parallel":1,[^{}]*\}[^{}]*).*/\1/p' <<<"$plan" | head -n 1)
[[ -n $row ]] || fail "no row of pools: $plan"
service=$("$napkin" serving "${load[@]}" --accelerator h100_sxm --prefill_tensor_parallel 1 --decode_tensor_parallel 1 --json)
for key in ttft_s itl_s e2e_s; do near "a row of pools as a service: $key" "$(number "$service" $key)" "$(number "$row" $key)" 1e-12; done

# --- an accelerator that states no link between them ----------------------------------------------------------------
"$napkin" gpus --export h100_sxm | grep -vE '"(host|fabric)\.' >"$scratch/lone.json"
refuses 'PM-E004: kv_link_bytes_per_s is missing; serving needs it: bandwidth between the pools' serving --model llama_3_8b \
  --accelerator "$scratch/lone.json" --input_tokens 100 --output_tokens 10 --concurrency 1 --prefill_tensor_parallel 1 \
  --decode_tensor_parallel 1
finish
