#!/usr/bin/env bash
# Plans of several accelerators: bounds never among predictions, a line for the best of each, disaggregated prefill; and
# one deployment behind the headline, row 1 and the breakdown.
. "$(dirname "$0")/lib.bash"

best_of() { sed 's/.*"best":{//; s/"meets_targets".*//' <<<"$1"; }
usd_of() { number "$(best_of "$1")" usd_per_million_tokens; }
frontier_of() { sed 's/.*"frontier":\[//; s/\],"rejected".*//; s/\],"nearest".*//' <<<"$1"; }
chips_in() { grep -oE '"accelerator":"[a-z0-9_]+"' <<<"$1" | cut -d'"' -f4 | sort -u | xargs; }
bounds_in() { sed 's/.*"bounds_only":\[//; s/\],"\(no_prediction\|disaggregated\|derivation\)".*//' <<<"$1"; }
each_of() { sed -nE 's/.*"best_of_each":\[(.*)\],"bounds_only".*/\1/p' <<<"$1" | sed 's/{"accelerator":"[a-z0-9_]*","mode"/\n&/g' | grep "^{\"accelerator\":\"$2\","; }

# --- predictions and bounds ---------------------------------------------------------------------------
load=(--input-tokens 3000 --output-tokens 500 --concurrency 200)
deal=(plan --model qwen_3_32b --weight-format fp8 "${load[@]}" --itl 20ms --ttft 2s --gpus 32)
h100=$("$napkin" "${deal[@]}" --gpu h100_sxm --json) || fail 'a plan of h100_sxm'
mi300x=$("$napkin" "${deal[@]}" --gpu mi300x --mode calibrated --json) || fail 'a plan of mi300x'
both=$("$napkin" "${deal[@]}" --gpu h100_sxm,mi300x --json) || fail 'a plan of both'
[[ $both == '{"mode":"calibrated"'* ]] || fail "another accelerator turns predictions into ${both:0:20}"
near 'the best of both' "$(usd_of "$both")" \
  "$(awk -v a="$(usd_of "$h100")" -v b="$(usd_of "$mi300x")" 'BEGIN { print a < b ? a : b }')" 1e-9
for chip in h100_sxm mi300x; do
  declare -n alone=${chip%_sxm}
  near "the best of $chip in the comparison" "$(number "$(each_of "$both" $chip)" usd_per_million_tokens)" "$(usd_of "$alone")" 1e-9
done
[[ $(each_of "$both" mi300x) == *'"transferred_from":{"attention":"h100_sxm"'* ]] || fail 'mi300x names no source GPU'
text=$("$napkin" "${deal[@]}" --gpu h100_sxm,mi300x)
grep -qE '^ +[0-9]*\*? +[0-9]+ x mi300x ~ ' <<<"$text" || fail 'the rows of mi300x have no mark'
! grep -qE '^ +[0-9]*\*? +[0-9]+ x h100_sxm ~ ' <<<"$text" || fail 'the rows of h100_sxm have a mark'
[[ $text == *'~: another GPU'*'mi300x (attention: source GPU h100_sxm)'* ]] || fail 'no line of the source GPUs'
# An accelerator that can only be bounded has a block of its own, with the rows of its bound.
small=(plan --model llama_3_8b --gpus 2 --input-tokens 1000 --output-tokens 200 --concurrency 8)
mixed=$("$napkin" "${small[@]}" --gpu m3_ultra,h100_sxm --json) || fail 'a plan with m3_ultra'
alone=$("$napkin" "${small[@]}" --gpu m3_ultra --mode bound --json)
[[ $mixed == '{"mode":"calibrated"'* && $(chips_in "$(frontier_of "$mixed")") == h100_sxm ]] || fail 'm3_ultra among predictions'
[[ $(chips_in "$(best_of "$mixed")") == h100_sxm ]] || fail 'a bound is the best'
near 'the best beside a bound' "$(usd_of "$mixed")" "$(usd_of "$("$napkin" "${small[@]}" --gpu h100_sxm --json)")" 1e-9
rows() { grep -oE '"(itl_s|ttft_s|gpu_s_per_million_tokens)":[0-9.e-]+' <<<"$1"; }
[[ -n $(rows "$(bounds_in "$mixed")") && $(rows "$(bounds_in "$mixed")") == "$(rows "$(frontier_of "$alone")")" ]] ||
  fail 'the block of bounds is not the bound'
[[ $(bounds_in "$mixed") == *'"mode":"bound"'* && $(chips_in "$(bounds_in "$mixed")") == m3_ultra ]] || fail 'rows of the block'
[[ $mixed == *'"no_prediction":["No prediction for m3_ultra: '* ]] || fail 'no reason'
text=$("$napkin" "${small[@]}" --gpu m3_ultra,h100_sxm)
[[ $text == *'m3_ultra: roofline bounds only, below'*'Roofline bounds only: m3_ultra.'*'No prediction for m3_ultra'* ]] || fail 'the block as text'
[[ $(sed '/^Roofline bounds only/,$d' <<<"$text" | grep -cE '^ +[0-9]*\*? +[0-9]+ x m3_ultra +none') -eq 0 ]] || fail 'm3_ultra in the table'
# Percentiles are of predictions; the block goes without them and says so. Of bounds alone they are refused.
text=$("$napkin" "${small[@]}" --gpu m3_ultra,h100_sxm --itl 50ms --itl-percentile 99) || fail 'percentiles beside a bound'
[[ $text == *'Targets on percentiles are compared with the bounds of means.'* ]] || fail 'percentiles of a bound'
refuses 'percentiles, speculative decoding and disaggregated need predictions' "${small[@]}" --gpu m3_ultra --itl 50ms --itl-percentile 99
# Of bounds alone the first lines say so, where nobody asked for bounds.
text=$("$napkin" "${small[@]}" --gpu m3_ultra)
[[ $(sed -n '1,2p' <<<"$text" | xargs) == 'Roofline bounds only: m3_ultra. '*'No prediction for m3_ultra: '* ]] || fail "bounds alone: ${text:0:400}"
[[ $("$napkin" "${small[@]}" --gpu m3_ultra --mode bound) != *'Roofline bounds only'* ]] || fail 'a headline that was not asked for'
[[ $("$napkin" "${small[@]}" --gpu h100_sxm,h200_sxm --mode bound --json) == '{"mode":"bound"'* ]] || fail '--mode bound'
refuses 'nothing was fitted to a machine like m3_ultra' "${small[@]}" --gpu h100_sxm,m3_ultra --mode calibrated
refuses 'nothing was fitted to a machine like m3_ultra' "${small[@]}" --gpu h100_sxm --disaggregated --prefill-gpu m3_ultra

# --- each thing compared ------------------------------------------------------------------------------
three=(plan --model qwen_3_32b --weight-format int8 "${load[@]}" --itl 30ms --ttft 2s --gpus 8)
json=$("$napkin" "${three[@]}" --gpu a100_sxm_80gb,h100_sxm --json) || fail 'a plan of a100 and h100'
a100=$("$napkin" "${three[@]}" --gpu a100_sxm_80gb --json)
[[ $? -eq 3 ]] || fail 'a100 meets the targets now: choose others'
miss=$(number "$a100" nearest_miss)
near 'what a100 misses by' "$(number "$(each_of "$json" a100_sxm_80gb)" factor)" "$miss" 1e-9
near 'by hand' "$(number "$(sed 's/.*"nearest":{//' <<<"$a100")" itl_s)" "$(awk -v m="$miss" 'BEGIN { printf "%.15g", 0.030 * m }')" 1e-12
text=$("$napkin" "${three[@]}" --gpu a100_sxm_80gb,h100_sxm)
[[ $text == *"a100_sxm_80gb: misses ITL by $(awk -v m="$miss" 'BEGIN { printf "%.3g", m }')x: "* ]] || fail "no line of a100: $text"
[[ $text == *'  h100_sxm: '*' GPUs ('*' USD/Mtok, ITL '*', TTFT '* ]] || fail 'no line of h100'
# What fits nowhere says the reason: Llama 3 70B's weights on one L4 of 24 GB.
text=$("$napkin" plan --model llama_3_70b --gpu l4,h200_sxm --gpus 1 --weight-format fp8)
[[ $text == *'  l4: infeasible: weights and KV cache exceed '*'(fp8'*', TP1)'* ]] || fail "no line of l4: $text"
# Disaggregated prefill: as cheap as the plan that may use it, with the engine and the weights of row 1.
for asked in "${deal[*]} --gpu h100_sxm" "plan --model llama_3_8b --gpu h100_sxm --gpus 2 --concurrency 4"; do
  read -ra words <<<"$asked"
  json=$("$napkin" "${words[@]}" --json)
  best=$(best_of "$json")
  engine=$(sed -E 's/.*"engine":"([^"]*)".*/\1/' <<<"$best") weights=$(sed -E 's/.*"weight_format":"([^"]*)".*/\1/' <<<"$best")
  [[ " $asked " == *' --weight-format '* ]] || words+=(--weight-format "$weights")
  pools=$("$napkin" "${words[@]}" --engine "$engine" --disaggregated --json)
  if [[ $(best_of "$pools") == *'"prefill":{'* ]]; then
    over=$(sed -nE 's/.*"disaggregated":\{.*"cost_over_best":(-?[0-9.e-]+).*/\1/p' <<<"$json")
    near "$asked: cheaper by" "$over" "$(awk -v a="$(usd_of "$pools")" -v b="$(usd_of "$json")" 'BEGIN { printf "%.15g", a / b - 1 }')" 1e-9
    [[ $("$napkin" $asked | tr -s ' \n' ' ') == *'Disaggregated ('*" $(awk -v x="$over" 'BEGIN { printf "%.0f", -100 * x }') % cheaper than the plan marked *"* ]] ||
      fail "$asked: no line of disaggregation"
    cheaper=1
  else
    [[ $json == *'"disaggregated":{'*'"gain":false'* && $("$napkin" $asked) == *'): no gain at this load.'* ]] || fail "$asked: no word of disaggregation"
    none=1
  fi
done
[[ -n ${cheaper:-} && -n ${none:-} ]] || fail 'one of the two loads should gain, and the other not'

# --- one deployment -----------------------------------------------------------------------------------
# Two loads: the nearest is not the cheapest; nothing serves without a wait of minutes.
for users in 200 2000; do
  missed=(plan --model qwen_3_32b --weight-format int8 --input-tokens 3000 --output-tokens 500 --concurrency $users --itl 20ms --ttft 2s
    --gpus $((users == 200 ? 8 : 2)) --gpu a100_sxm_80gb)
  text=$("$napkin" "${missed[@]}")
  json=$("$napkin" "${missed[@]}" --json)
  nearest=$(sed 's/.*"nearest":{//; s/"nearest_miss".*//' <<<"$json")
  row=$(frontier_of "$json" | sed 's/},{"accelerator"/}\n{"accelerator"/g' | head -n 1)
  for key in tensor_parallel pipeline_parallel replicas gpus batch_limit itl_s ttft_s; do
    [[ $(number "$row" $key) == "$(number "$nearest" $key)" ]] || fail "row 1 has $key $(number "$row" $key), the nearest $(number "$nearest" $key)"
  done
  layout="TP$(number "$nearest" tensor_parallel)" replicas=$(number "$nearest" replicas)
  itl=$(number "$nearest" itl_s)
  said=$(sed -n '/^Nearest/,/\.$/p' <<<"$text" | tr -s '\n ' ' ')
  [[ $said == "Nearest (row 1): "*" x a100_sxm_80gb ($replicas replica"*" of $layout"*' misses '$([[ $users == 200 ]] && echo ITL || echo TTFT)' by '* ]] || fail "the headline: $said"
  first=$(sed -n '/^ *GPUs /{n;p}' <<<"$text")
  [[ $first == *' a100_sxm_80gb '*" $layout "* ]] || fail "row 1 is not of $layout: $first"
  [[ $("$napkin" explain "${missed[@]}" --row 1) == *"decode: ITL $(awk -v t="$itl" 'BEGIN { printf "%.4g", 1e3 * t }') ms"* ]] || fail 'explain --row 1'
done
# The nearest of each kind: of the formats that do not fit one RTX 4090, the one with the fewest bytes.
one=(plan --model llama_3_70b --gpu rtx_4090 --gpus 1)
needed_in() { # <format>: GB needed by that format alone
  "$napkin" "${one[@]}" --weight-format "$1" | grep -oE '[0-9.]+ GB needed' | sort -n | head -n 1 | cut -d' ' -f1
}
least=$(for f in bf16 fp8 int8 int4; do needed_in $f; done | sort -n | head -n 1)
text=$("$napkin" "${one[@]}" --weight-format bf16,fp8,int8,int4)
[[ $(grep -oE '[0-9.]+ GB needed' <<<"$text" | sort -u) == "$least GB needed" ]] || fail "not the nearest, $least GB: $(grep needed <<<"$text")"
# 70.6e9 parameters, of which 2 x 128256 x 8192 are of 16 bits: at 4.125 bits the others take 35.3 GB, with them 39.5.
awk -v gb="$least" 'BEGIN { w = ((70.6e9 - 2 * 128256 * 8192) * 4.125 / 8 + 2 * 128256 * 8192 * 2) / 1e9; exit !(gb > w && gb < w + 4) }' ||
  fail "$least GB for int4 weights"

# --- percentiles in the row ---------------------------------------------------------------------------
tails=(plan --model llama_3_8b --gpu h100_sxm --gpus 1 --engine vllm --formats bf16 --ttft 9s --ttft-percentile 95 --itl 100ms --itl-percentile 99)
json=$("$napkin" "${tails[@]}" --json) || fail 'percentiles'
best=$(best_of "$json")
near 'p99 ITL' "$(number "$best" itl_percentile_s)" "$(number "$best" itl_p99_s)" 0
awk -v p90="$(number "$best" ttft_p90_s)" -v p95="$(number "$best" ttft_percentile_s)" -v p99="$(number "$best" ttft_p99_s)" \
  'BEGIN { exit !(p90 <= p95 && p95 <= p99) }' || fail 'p95 TTFT'
text=$("$napkin" "${tails[@]}")
head=$(grep -E '^ +GPUs ' <<<"$text")
[[ $head == *' p95 TTFT '*' p99 ITL '* ]] || fail "no column of the percentiles: $head"
grep -E '^ +1?\* ' <<<"$text" | grep -qF " $(awk -v t="$(number "$best" itl_p99_s)" 'BEGIN { printf "%.3g", 1e3 * t }') ms" || fail 'the p99 is not in the row'

# --- the star is the cheapest of all that the answer lists, at any number of GPUs -------------------------------------
cheapest_listed() { # of each accelerator within the targets, and of each engine
  sed 's/},{/}\n{/g; s/"alternatives"/\n&/' <<<"$1" | awk '
    /"by":"engine"/ && match($0, /"cost_over_best":-?[0-9.e-]+/) { x = substr($0, RSTART + 17, RLENGTH - 17); if (x < least) least = x }
    END { print least + 0 }'
}
for load in 'gpt_oss_120b h200_sxm,rtx_4090 --input-tokens 200 --output-tokens 100 --requests-per-s 2' \
  'qwen_3_30b_a3b rtx_5090,rtx_pro_6000 --input-tokens 2000 --output-tokens 10 --concurrency 256'; do
  read -r model gpus rest <<<"$load"
  # shellcheck disable=SC2086
  json=$("$napkin" plan --model "$model" --gpu "$gpus" $rest --json)
  star=$(number "$(best_of "$json")" usd_per_million_tokens)
  near "an engine that is cheaper than the star ($model)" "$(cheapest_listed "$json")" 0 0.0011
  for one in ${gpus//,/ }; do
    # shellcheck disable=SC2086
    alone=$(number "$(best_of "$("$napkin" plan --model "$model" --gpu "$one" $rest --json)")" usd_per_million_tokens)
    awk -v a="$star" -v b="${alone:-1e9}" 'BEGIN { exit !(a > 0 && a <= 1.002 * b) }' || fail "$model: the star at $star, $one alone at $alone"
  done
done
# A bound of a load so light that less than one sequence decodes.
"$napkin" plan --model llama_3_1_8b --gpu h100_sxm,tpu_v6e --requests-per-s 0.1 --gpus 1 --input-tokens 200 --output-tokens 20 >/dev/null ||
  fail 'a light load with an accelerator that has bounds alone'
finish
