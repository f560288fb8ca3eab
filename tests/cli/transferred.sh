#!/usr/bin/env bash
# Transferred profiles: which accelerators answer calibrated by default, and the source GPU that the answer names.
. "$(dirname "$0")/lib.bash"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mode_of() { "$napkin" "$@" --json 2>/dev/null | grep -o '"mode":"[a-z]*"' | head -n 1; }
pass=(step --model llama_3_8b --batch 4 --context 1000)
service=(serving --model llama_3_8b --input_tokens 100 --output_tokens 100 --concurrency 4)

# A model on any accelerator of the catalogue is calibrated exactly where --mode calibrated has an answer.
calibrated=0 bounds=0
while read -r chip; do
  [[ $chip != rubin_ultra_nvl576 && $chip != rubin_cpx ]] || continue  # do not compute in bf16
  for query in pass service; do
    declare -n asked=$query
    if "$napkin" "${asked[@]}" --accelerator "$chip" --mode calibrated >/dev/null 2>&1; then
      expected='"mode":"calibrated"'
      calibrated=$((calibrated + 1))
    else
      expected='"mode":"bound"'
      bounds=$((bounds + 1))
    fi
    [[ $(mode_of "${asked[@]}" --accelerator "$chip") == "$expected" ]] || fail "$query on $chip is not $expected"
  done
done < <("$napkin" gpus --json | grep -oE '"name":"[a-z0-9_]+"' | cut -d'"' -f4 | some 6)
[[ $calibrated -gt 0 && $bounds -gt 0 ]] || fail "of the catalogue $calibrated are calibrated and $bounds are bounds"
for chip in b300_sxm gb200 gb300 rtx_pro_6000 mi300x mi355x h20 rtx_4090 l4 jetson_thor; do
  [[ $(mode_of "${pass[@]}" --accelerator $chip) == '"mode":"calibrated"' ]] || fail "$chip is not predicted"
done
# Bounds where they are asked for, and nowhere a silent one: the text says why there is no prediction.
[[ $(mode_of "${pass[@]}" --accelerator h20 --mode bound) == '"mode":"bound"' ]] || fail '--mode bound'
[[ $("$napkin" "${pass[@]}" --accelerator m3_ultra) == *'No prediction for m3_ultra: no profile of this kind of machine, Apple GPU'* ]] ||
  fail 'a bound of m3_ultra does not say why'
refuses 'PM-E031: nothing was fitted to a machine like m3_ultra' "${pass[@]}" --accelerator m3_ultra --mode calibrated
# A single operator stays a bound on an accelerator that nobody measured.
[[ $(mode_of gemm --m 8 --n 4096 --k 4096 --accelerator h20) == '"mode":"bound"' ]] || fail 'a GEMM of h20'

# The source GPU of each part; a profile of its own has none.
answer=$("$napkin" "${pass[@]}" --accelerator h20 --json)
[[ $answer == *'"transferred_from":{"GEMM":"h100_sxm","attention":"h100_sxm"}'* ]] || fail "the source GPU of h20: $answer"
answer=$("$napkin" "${pass[@]}" --accelerator mi300x --json)
[[ $answer == *'"transferred_from":{"attention":"h100_sxm"}'* ]] || fail "the source GPU of mi300x: $answer"
[[ $("$napkin" "${pass[@]}" --accelerator h100_sxm --json) == *'"transferred_from":{}'* ]] || fail 'h100_sxm has a source GPU'
text=$("$napkin" "${pass[@]}" --accelerator h20)
[[ $text == *'prediction by a transferred profile (GEMM, attention: source GPU h100_sxm)'* ]] || fail "the text of h20: $text"
[[ $("$napkin" "${pass[@]}" --accelerator h100_sxm) == *'This is a prediction, from fitted parameters'* ]] || fail 'the text of h100_sxm'

# A file: calibrated where it states what is needed, a bound with the reason where it does not.
cat >"$scratch/stated.json" <<'END'
{"name": "stated", "architecture": "hopper", "sms": 120, "vector.clock": "1.7 GHz", "l2.capacity": "50 MiB",
 "matrix.peak.bf16": "900 TFLOP/s", "dram.bandwidth": "4 TB/s", "dram.capacity": "96 GB"}
END
sed 's/"l2.capacity": "50 MiB",//; s/"stated"/"unstated"/' "$scratch/stated.json" >"$scratch/unstated.json"
answer=$("$napkin" "${pass[@]}" --accelerator "$scratch/stated.json" --json)
[[ $answer == *'"mode":"calibrated"'*'"transferred_from":{"GEMM":"h100_sxm"'* ]] || fail "a file that states all: $answer"
[[ $("$napkin" "${pass[@]}" --accelerator "$scratch/unstated.json") == *'No prediction for unstated: missing facts: l2.capacity'* ]] ||
  fail 'a file without an L2'
# A changed chip is no longer the measured one: the profile is transferred, from that one.
answer=$("$napkin" "${pass[@]}" --accelerator h100_sxm --set dram.bandwidth=4TB/s --json)
[[ $answer == *'"mode":"calibrated"'*'"transferred_from":{"GEMM":"h100_sxm","attention":"h100_sxm"}'* ]] || fail "a changed chip: $answer"
[[ $(mode_of advise --model llama_3_8b --input_tokens 100 --output_tokens 100 --concurrency 4 --accelerator h20) == '"mode":"calibrated"' ]] ||
  fail 'advice for h20'

# Attention multiplies in the wider of its queries' and its cache's format: weights of 8 or 4 bits leave a 16-bit cache, and
# attention as it is. No step of any chip is predicted below its bound.
attention_of() { "$napkin" step --model qwen_2_5_7b --batch 0 --prefill_tokens 16000 "$@" --json | sed -E 's/.*"attention":([^,}]*).*/\1/'; }
for chip in h100_sxm b200_sxm rtx_5090; do
  wide=$(attention_of --accelerator $chip --weight_format bf16)
  for format in fp8 int8 fp4; do
    near "attention of $format on $chip" "$(attention_of --accelerator $chip --weight_format $format)" "$wide" 1e-9
  done
done
"$napkin" gpus --json | grep -oE '"name":"[a-z0-9_]+","title"' | cut -d'"' -f4 | while read -r chip; do
  for format in bf16 fp8 int8 fp4; do
    echo "{\"query\":\"step\",\"model\":\"qwen_2_5_7b\",\"accelerator\":\"$chip\",\"batch\":0,\"prefill_tokens\":17780,\"weight_format\":\"$format\",\"mode\":\"calibrated\"}"
  done
done | "$napkin" batch | awk '
  /"error"/ { next }
  { match($0, /"time_s":[0-9.e+-]+/); time = substr($0, RSTART + 9, RLENGTH - 9)
    match($0, /"bound_time_s":[0-9.e+-]+/); bound = substr($0, RSTART + 15, RLENGTH - 15)
    ++n; if (time + 0 < bound + 0) { print "below its bound: " $0; ++below } }
  END { exit !(n > 150 && below == 0) }' || fail 'a step is predicted below its bound'
finish
