#!/usr/bin/env bash
# Bring your own accelerator: files, --set, --price; what they change, and what they refuse.
. "$(dirname "$0")/lib.bash"
closed_forms
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# --- what --export writes is the accelerator: the same answers, and the same file again ---------------
same() { # <name> <query> <arguments...>
  local a=$1 named filed
  shift
  named=$("$napkin" "$@" --accelerator "$a" --json 2>&1)
  filed=$("$napkin" "$@" --accelerator "$scratch/$a.json" --json 2>&1)
  [[ $named == "$filed" ]] || fail "napkin $* of the file of $a: ${filed:0:300}, not ${named:0:300}"
}
all=$("$napkin" gpus --json | grep -oE '"name":"[a-z0-9_]+","title"' | cut -d'"' -f4)
for a in $all; do "$napkin" gpus --export "$a" >"$scratch/$a.json" || fail "gpus --export $a"; done
for a in $(some 8 <<<"$all"); do
  "$napkin" gpus --export "$scratch/$a.json" | cmp -s - "$scratch/$a.json" || fail "the file of $a is not exported alike"
  [[ $("$napkin" gpus "$a" --json | sed 's/.*"values"://; s/,"alternatives".*//') == \
    $("$napkin" gpus "$scratch/$a.json" --json | sed 's/.*"values"://; s/,"alternatives".*//') ]] ||
    fail "gpus says something else of the file of $a"
  same "$a" step --model llama_3_8b --batch 4 --context 1000
  same "$a" collective --operation all_reduce --ranks 2 --bytes 1MiB
done
for a in h100_sxm rtx_4090 mi300x; do
  same $a gemm --m 8 --n 4096 --k 4096 --mode calibrated
  same $a plan --model llama_3_8b --gpus 1
done

# --- a file of one's own ------------------------------------------------------------------------------
own=$scratch/own_chip.json
cat >"$own" <<'END'
{"matrix.peak.bf16": {"value": "1.2 PFLOP/s", "source": "our own sheet", "basis": "announced"},
 "dram.bandwidth": 6e12, "dram.capacity": "128 GB",
 "fabric.kind": "nvlink", "fabric.bandwidth": "1800 GB/s two way", "fabric.ranks": 8}
END
gemm=(gemm --m 1 --n 8192 --k 8192)
# By hand: (8192 x 8192 + 2 x 8192) x 2 bytes at 6 TB/s.
ask gemm time_s 2.2375083e-05 1e-11 --m 1 --n 8192 --k 8192 --accelerator "$own" --mode bound
# By hand: a buffer of 900 MB on two ranks crosses a link of 900 GB/s, one way.
ask collective time_s 1e-3 1e-9 --operation all_reduce --ranks 2 --bytes 900MB --accelerator "$own"
explained=$("$napkin" explain "${gemm[@]}" --accelerator "$own" --all)
[[ $explained == *'own_chip.dram.bandwidth'*'[given: stated in '* && $explained == *'[announced: our own sheet]'* ]] ||
  fail "explain of a file does not say the sources: $explained"
# What is not stated costs something, and each answer that lacks it says so.
said=$("$napkin" gpus "$own")
for fact in vector.peak.fp32 price 'architecture, sms, vector.clock, l2.capacity'; do
  [[ $said == *"  $fact "* ]] || fail "gpus does not say what the absence of $fact costs: $said"
done
[[ $("$napkin" "${gemm[@]}" --accelerator "$own") == *'No prediction for own_chip: missing facts: architecture, sms'* ]] ||
  fail 'a bound does not say what a prediction needs'
[[ $("$napkin" gemm --m 1 --n 1 --k 1 --accelerator mi210) == *'No prediction for mi210: no profile of this kind of machine'* ]] ||
  fail 'a bound of mi210 does not say why there is no prediction'
[[ $("$napkin" "${gemm[@]}" --accelerator h20) == *'--mode calibrated, by a transferred profile, source GPU h100_sxm'* ]] ||
  fail 'a bound of h20 does not say how a prediction is had'
[[ $("$napkin" "${gemm[@]}" --accelerator h20 --mode bound) != *'rediction'* ]] || fail 'a hint that nobody needs'
refuses 'these facts are missing: architecture, sms, vector.clock, l2.capacity of own_chip' step --model llama_3_8b --batch 1 \
  --context 1 --accelerator "$own" --mode calibrated

# --- another fact: the same as in a file, the caller is its source, the prediction is no more certain ----
changed=(--set matrix.peak.bf16=1.2PFLOP/s --set 'dram.bandwidth=6 TB/s' --set dram.capacity=128GB
  --set 'fabric.bandwidth=900GB/s')
ask gemm time_s 2.2375083e-05 1e-11 --m 1 --n 8192 --k 8192 --accelerator h100_sxm --set dram.bandwidth=6TB/s --mode bound
ask gemm time_s 2.2375083e-05 1e-11 --m 1 --n 8192 --k 8192 --accelerator h100_sxm --set dram.bandwidth=6e12 --mode bound
[[ $("$napkin" explain "${gemm[@]}" --accelerator h100_sxm "${changed[@]}" --all) == *'dram.bandwidth '*'= 6 TB/s '*'[given: given by the caller]'* ]] ||
  fail 'explain does not say that --set is the caller'\''s'
spread() { # the upper over the lower end of the interval
  "$napkin" "$@" --json | sed -nE 's/.*"interval_80_s":\[([^,]*),([^]]*)\].*/\1 \2/p' | awk '{ print $2 / $1 }'
}
step=(step --model llama_3_70b --tensor_parallel 8 --batch 16 --context 4096)
# A loan within a generation was seen to be no further off than shapes that the fit of the donor has not seen, so
# a machine nearby may be as certain, never more; one further away is less.
for query in "${gemm[*]}" "${step[*]}" 'attention_decode --batch 4 --context 999 --query_heads 32 --kv_heads 8 --head_dim 128' \
  'moe_ffn --tokens 64 --hidden 4096 --intermediate 2048 --experts 64 --top_k 4'; do
  read -ra asked <<<"$query --mode calibrated --accelerator h100_sxm"
  awk -v own="$(spread "${asked[@]}")" -v near="$(spread "${asked[@]}" "${changed[@]}")" \
    -v far="$(spread "${asked[@]}" --set dram.bandwidth=12TB/s)" \
    'BEGIN { exit !(own > 1 && near > 0.999 * own && far > 1.1 * own) }' || fail "$query: a changed chip is more certain than h100_sxm, or a far one as certain"
done
answer=$("$napkin" "${step[@]}" --mode calibrated --accelerator h100_sxm "${changed[@]}" --json)
[[ $answer == *'"profile":{"name":"h100_sxm_changed","basis":"transferred"'* ]] || fail "whose profile: $answer"
# Further away is less certain: 0.15 ln(12 / 3.35) is 0.19.
awk -v near="$(spread "${gemm[@]}" --accelerator h100_sxm --mode calibrated --set dram.bandwidth=4TB/s)" \
  -v far="$(spread "${gemm[@]}" --accelerator h100_sxm --mode calibrated --set dram.bandwidth=12TB/s)" \
  'BEGIN { exit !(far > 1.2 * near) }' || fail 'a machine far away is as certain as one nearby'
# A changed chip keeps its original's profile, and 1 ppm of a fact moves a time by about as much; another architecture
# is another chip.
mode_of() { "$napkin" "$@" --json | grep -o '"mode":"[a-z]*"'; }
for fact in dram.bandwidth=3350.00335GB/s matrix.peak.tf32=494.7004947TFLOP/s l2.capacity=52428852.4288 tdp=700.0007W; do
  answer=$("$napkin" "${gemm[@]}" --accelerator h100_sxm --set $fact --json)
  now=$(number "$("$napkin" "${gemm[@]}" --accelerator h100_sxm --json)" time_s)
  near "$fact" "$(number "$answer" time_s)" "$now" "$(awk -v t="$now" 'BEGIN { print 2e-6 * t }')"
done
[[ $(mode_of "${gemm[@]}" --accelerator h100_sxm --set architecture=ampere) == '"mode":"bound"' ]] || fail 'another architecture'
for fact in dram.bandwidth=4TB/s sms=100 'price=1 USD/h' dram.capacity=70GB fabric.bandwidth=100GB/s fabric.ranks=4 fabric.in_network_reduction=false; do
  [[ $(mode_of "${gemm[@]}" --accelerator h100_sxm --set "$fact") == '"mode":"calibrated"' ]] || fail "$fact makes it another"
done
# So does the file of h100_sxm with another fact.
sed 's/3.35 TB/4 TB/' "$scratch/h100_sxm.json" >"$scratch/edited.json"
[[ $(mode_of "${gemm[@]}" --accelerator "$scratch/edited.json") == '"mode":"calibrated"' ]] || fail 'an edited file has lost the profile of h100_sxm'

# --- everywhere: batch, plan, prices ------------------------------------------------------------------
line() { "$napkin" batch <<<"$1"; }
product='"query":"gemm","m":1,"n":8192,"k":8192'
near 'set in a batch' "$(number "$(line "{$product,\"mode\":\"bound\",\"accelerator\":\"h100_sxm\",\"set\":{\"dram.bandwidth\":6e12}}")" time_s)" 2.2375083e-05 1e-11
near 'set as text in a batch' "$(number "$(line "{$product,\"mode\":\"bound\",\"accelerator\":\"h100_sxm\",\"set\":{\"dram.bandwidth\":\"6 TB/s\"}}")" time_s)" \
  2.2375083e-05 1e-11
near 'a file in a batch' "$(number "$(line "{$product,\"accelerator\":\"$own\"}")" time_s)" 2.2375083e-05 1e-11
plan=(plan --model llama_3_8b --gpus 1 --formats bf16 --mode bound --json)
usd() { sed -nE 's/.*"best":\{[^}]*"usd_per_million_tokens":([0-9.e-]+).*/\1/p' <<<"$1"; }
one=$(usd "$("$napkin" "${plan[@]}" --accelerator h100_sxm --price 2)")
two=$(usd "$("$napkin" "${plan[@]}" --accelerator h100_sxm --set 'price=4 USD/h')")
near 'twice the price' "$(awk -v a="$one" -v b="$two" 'BEGIN { print b / a }')" 2 1e-6
answer=$("$napkin" plan --model llama_3_8b --gpus 1 --formats bf16 --accelerator "$own,h100_sxm" --price 2) || fail 'a plan of a file'
[[ $answer == *own_chip* && $answer == *'No prediction for own_chip'* ]] || fail "a plan of a file: $answer"

# --- units ------------------------------------------------------------------------------------------
for itl in 20ms '20 ms' 0.02s '0.02 s' 20000us; do
  [[ $("$napkin" plan --model llama_3_8b --accelerator h100_sxm --gpus 1 --formats bf16 --mode bound --itl "$itl" | tr -s '\n ' ' ') == *'ITL within 20 ms'* ]] || fail "--itl $itl"
done
"$napkin" plan --help | tr -s '\n ' ' ' | grep -qE -e '--itl,--tpot .*with its unit \(ns, us, ms, s, min, h\), such as 20ms' || fail 'plan --help does not say the unit of --itl'
refuses '--itl is 0.02, without a unit: 0.02 ms or 0.02 s?' plan --model llama_3_8b --accelerator h100_sxm --itl 0.02
refuses 'itl is "20 parsec"' plan --model llama_3_8b --accelerator h100_sxm --itl '20 parsec'
refuses 'itl is "20 GB"' plan --model llama_3_8b --accelerator h100_sxm --itl '20 GB'
ask collective wire_bytes 80e9 0 --accelerator h100_sxm --operation all_reduce --ranks 2 --bytes '80 GB'

# --- what is refused: the field, its value, what is allowed -------------------------------------------
gemm+=(--accelerator h100_sxm)
refuses 'PM-E003: set.dram.bandwith is not an accelerator fact; did you mean dram.bandwidth' "${gemm[@]}" --set dram.bandwith=6TB/s
refuses 'PM-E003: set.dram is not an accelerator fact' "${gemm[@]}" --set dram=1
refuses 'PM-E003: set.name is not an accelerator fact' "${gemm[@]}" --set name=h200_sxm
refuses 'PM-E005: set.dram.bandwidth is "6 TB"; allowed: a number in B/s, or one with its unit: 1 GB/s' "${gemm[@]}" --set 'dram.bandwidth=6 TB'
refuses 'PM-E005: set.dram.bandwidth is "nan"' "${gemm[@]}" --set dram.bandwidth=nan
refuses 'PM-E005: set.price is "2"; allowed: a price with its unit: 2.5 USD/h' "${gemm[@]}" --set price=2
refuses 'PM-E005: set.l2.capacity is "50 MiB one way"' "${gemm[@]}" --set 'l2.capacity=50 MiB one way'
refuses 'PM-E005: set is "dram.bandwidth"; allowed: fact=value' "${gemm[@]}" --set dram.bandwidth
refuses 'PM-E005: set is "dram.bandwidth="' "${gemm[@]}" --set dram.bandwidth=
refuses 'PM-E010: set.dram.bandwidth is "-6 TB/s"; allowed: more than 0' "${gemm[@]}" --set 'dram.bandwidth=-6 TB/s'
refuses 'PM-E010: set.sms is "0"; allowed: more than 0' "${gemm[@]}" --set sms=0
refuses 'PM-E010: set.tdp is "1e31"; allowed: at most 1e30' "${gemm[@]}" --set tdp=1e31
refuses 'PM-E010: set.fabric.ranks is "2.5"; allowed: a whole number' "${gemm[@]}" --set fabric.ranks=2.5
refuses 'PM-E014: set.fabric.kind is "token ring"; allowed: none, NVLink' "${gemm[@]}" --set 'fabric.kind=token ring'
refuses 'PM-E014: set.architecture is "hoper"; allowed: unknown, Volta' "${gemm[@]}" --set architecture=hoper
refuses 'PM-E031: set has "sms" twice' "${gemm[@]}" --set sms=1 --set sms=2
refuses 'PM-E010: price is -1; allowed: a number, more than 0' "${plan[@]}" --accelerator h100_sxm --price -1
refuses 'PM-E005: price is "cheap"' "${plan[@]}" --accelerator h100_sxm --price cheap
refuses 'PM-E003: unknown key "price" of gemm' "${gemm[@]}" --price 2

# Several chips: by name, and only by name where some compute prompts alone.
both=(--accelerator h100_sxm,h200_sxm)
[[ $("$napkin" "${plan[@]}" "${both[@]}" --price 2) == "$("$napkin" "${plan[@]}" "${both[@]}" --price h100_sxm=2,h200_sxm=2)" ]] ||
  fail 'one price of two chips is not that of each'
for change in '--price h200_sxm=0.5' '--set h200_sxm.dram.capacity=60GB'; do
  # shellcheck disable=SC2086
  [[ $("$napkin" "${plan[@]}" "${both[@]}" $change) != "$("$napkin" "${plan[@]}" "${both[@]}")" ]] || fail "$change changes nothing"
done
pools=(plan --model llama_3_70b --gpu h200_sxm --gpus 16 --input-tokens 8192 --output-tokens 512 --requests-per-s 2 --itl 15ms
  --itl-percentile 99 --weight-format fp8 --kv-format fp8 --engine vllm --disaggregated --prefill-gpu h100_sxm --json)
best_usd() { number "$("$napkin" "${pools[@]}" "$@" | sed 's/.*"best":{//; s/"frontier":.*//')" usd_per_million_tokens; }
known=$(best_usd)
near 'the price of the catalogue' "$(best_usd --price h100_sxm=3.78)" "$known" 1e-9
awk -v a="$(best_usd --price h100_sxm=1)" -v b="$known" 'BEGIN { exit !(a > 0 && a < b) }' || fail 'cheap chips for prompts cost as much'
[[ $("$napkin" "${pools[@]}" --set h100_sxm.dram.capacity=10GB) != *'"prefill":{"accelerator":"h100_sxm'* ]] || fail 'a fact of chips for prompts'
refuses 'PM-E031: price is 2 and the chips are h200_sxm, h100_sxm; allowed: by name, h100_sxm=2.5' "${pools[@]}" --price 2
refuses 'PM-E031: set is dram.capacity and the chips are h200_sxm, h100_sxm; allowed: by name, h100_sxm.dram.capacity' "${pools[@]}" --set dram.capacity=60GB
refuses 'PM-E014: price has "h20"; allowed: h100_sxm, h200_sxm' "${plan[@]}" "${both[@]}" --price h20=2
refuses 'PM-E031: price has "h100_sxm" twice' "${plan[@]}" "${both[@]}" --price h100_sxm=2,h100_sxm=3
refuses 'PM-E005: price is "h100_sxm=2,3"' "${plan[@]}" "${both[@]}" --price h100_sxm=2,3
refuses 'PM-E003: set.h20.tdp is not an accelerator fact' "${plan[@]}" "${both[@]}" --set h20.tdp=500
refuses 'PM-E003: unknown key "price" of speculation' speculation --acceptance 0.8 --price 2
refuses 'PM-E004: accelerator is missing' kv_capacity --model llama_3_8b --memory_bytes 80GB --set sms=1
refuses 'PM-E031: accelerator has two of the name h100_sxm' plan --model llama_3_8b --accelerator "h100_sxm,$scratch/h100_sxm.json"
[[ $(line "{$product,\"accelerator\":\"h100_sxm\",\"set\":{\"tdp\":null}}") == *'PM-E005","message":"set.tdp is null; allowed: a number in W'* ]] ||
  fail 'set of null in a batch'
[[ $(line "{$product,\"accelerator\":\"h100_sxm\",\"set\":[]}") == *'set is an array; allowed: an object'* ]] || fail 'set of an array'

bad() { # <what it says> <content of a file>
  printf '%s' "$2" >"$scratch/bad.json"
  refuses "$1" gemm --m 1 --n 1 --k 1 --accelerator "$scratch/bad.json"
}
whole='"matrix.peak.bf16": 1e15, "dram.bandwidth": 6e12'
bad 'bad.json": not JSON' '{"dram.bandwidth": '
bad 'bad.json": the file is an array; allowed: an object' '[]'
bad 'PM-E004: accelerator: ' '{}'
bad 'dram.bandwidth is missing' '{"matrix.peak.bf16": 1e15}'
bad 'matrix.peak.bf16 is missing; needed: a peak' '{"dram.bandwidth": 6e12}'
bad 'fabric.kind is missing' "{$whole, \"fabric.bandwidth\": 1e9}"
bad 'host.bandwidth is missing' "{$whole, \"host.kind\": \"PCIe\"}"
bad 'dram.speed is not an accelerator fact; did you mean' "{$whole, \"dram.speed\": 1}"
bad 'dram.bandwidth.unit is not a key; allowed: value, basis, source' '{"dram.bandwidth": {"value": 1, "unit": "TB/s"}}'
bad 'dram.bandwidth.value is missing' '{"dram.bandwidth": {"source": "x"}}'
bad 'dram.bandwidth is null' '{"dram.bandwidth": null}'
bad 'dram.bandwidth is -1; allowed: more than 0' '{"dram.bandwidth": -1}'
bad 'dram.bandwidth.value is "6 TFLOP/s"; allowed: a number in B/s' '{"dram.bandwidth": {"value": "6 TFLOP/s"}}'
bad 'dram.bandwidth.basis is "rumour"; allowed: vendor, ' '{"dram.bandwidth": {"value": 1, "basis": "rumour"}}'
bad 'dram.bandwidth.source is ""' '{"dram.bandwidth": {"value": 1, "source": ""}}'
bad 'price is 2; allowed: a price with its unit' "{$whole, \"price\": 2}"
bad 'appears twice' "{$whole, \"dram.bandwidth\": 1}"
bad 'schema is "perfmodel.profile"; allowed: perfmodel.accelerator' '{"schema": "perfmodel.profile"}'
bad 'version is 2; allowed: 1' '{"version": 2}'
bad 'fabric.in_network_reduction is 1; allowed: true or false' "{$whole, \"fabric.in_network_reduction\": 1}"
bad 'up to 47 characters' "{$whole, \"name\": \"$(printf '%060d' 7)\"}"
refuses PM-E040 gemm --m 1 --n 1 --k 1 --accelerator "$scratch/nowhere.json"
refuses PM-E040 gemm --m 1 --n 1 --k 1 --accelerator "$scratch/"
refuses PM-E011 gpus --export h99
finish
