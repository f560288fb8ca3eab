#!/usr/bin/env bash
# score.py: scores the committed lines of PyTorch's kernels; docs/validation/library_kernels.md has its figures.
# shellcheck disable=SC2016  # backquotes of Markdown
. "$(dirname "$0")/lib.bash"

needs_python
predictions=$source_dir/validation/predictions
recordings=$source_dir/validation/recordings
page=$(<"$source_dir/docs/validation/library_kernels.md")

score() { PYTHONDONTWRITEBYTECODE=1 python3 "$predictions/score.py" "$@"; }
h100=$(score "$predictions/h100_sxm.jsonl" "$recordings/h100_sxm/library_kernels.jsonl") || fail 'h100: no score'
h200=$(score "$predictions/h200_sxm.jsonl" "$recordings/h200_sxm_2/"*.jsonl) || fail 'h200: no score'
for out in "$h100" "$h200"; do
  [[ $out == *'0 points without a prediction, 0 not measured'* ]] || fail "points without a prediction: $out"
done

# shows <row of the page> <group of score.py>: points, errors, ratio and share in the interval of both devices.
shows() {
  local row=$1 group=$2 out cells all=()
  for out in "$h100" "$h200"; do
    cells=$(grep -F "| $group |" <<<"$out" | awk -F' *[|] *' '{ printf "%s / %s %% | %s | %.0f %%", $4, $5, $6, $7 }')
    all+=("$cells")
  done
  local n
  n=$(grep -F "| $group |" <<<"$h100" | awk -F' *[|] *' '{ print $3 }')
  [[ $page == *"| $row | $n | ${all[0]} | ${all[1]} |"* ]] || fail "the page lacks: | $row | $n | ${all[0]} | ${all[1]} |"
}
shows 'GEMM, bf16, `torch.mm`' 'GEMM bf16'
shows 'GEMM, fp8, fast accumulation' 'GEMM fp8, fast accumulation'
shows 'GEMM, fp8, exact accumulation' 'GEMM fp8, exact accumulation'
shows 'experts, `torch._grouped_mm`, equal routing' 'experts, equal routing'
shows 'experts, skewed routing' 'experts, skewed routing'
shows 'decode attention, cuDNN' 'attention decode, cudnn'
shows 'decode attention, FlashAttention-2' 'attention decode, flash_attention_2'
shows 'prefill attention, cuDNN' 'attention prefill, cudnn'
shows 'prefill attention, FlashAttention-2' 'attention prefill, flash_attention_2'
shows 'copy, `torch.copy_`' 'copy'
shows 'SiLU x up, Inductor, cold' 'silu_mul, cold'
shows 'RMSNorm, Inductor, cold' 'rms_norm, cold'
shows 'quantisation to fp8, Inductor, cold' 'quantise, cold'
shows 'softmax of 28672 columns, Inductor, cold' 'softmax, cold'
[[ $h200 == *'| llama_3_1_8b, 1 x 512 | 36.2 | 13.7 | 70.6 | 72.2 | 4.7 | 5.3 | 67.5 |'* ]] || fail 'the engine'
# A third card: kernels and loads predicted before they ran, and an engine calibrated on three of its loads.
third=$(score "$predictions/h200_sxm_3.jsonl" "$recordings/h200_sxm_3/"*.jsonl) || fail 'h200_sxm_3: no score'
for group in 'GEMM fp8, scales by block | 15 | 16.8 | 36.5 | 0.83 | 40.0' 'GEMM, int4 weights, 16 rows | 3 | 81.0 | 81.2 | 0.19 | 0.0' \
  'fp8 experts, equal routing | 15 | 11.9 | 26.4 | 0.94 | 33.3' 'fp8 experts, skewed routing | 15 | 10.6 | 25.4 | 1.00 | 86.7'; do
  [[ $third == *"| $group |"* ]] || fail "h200_sxm_3: not | $group |"
  cells=$(awk -F' *[|] *' '{ printf "| %s | %s / %s %% | %s | %.0f %% |", $2, $3, $4, $5, $6 }' <<<"$group")
  [[ $page == *"$cells"* ]] || fail "the page lacks $cells"
done
calibrated=$(PYTHONDONTWRITEBYTECODE=1 python3 "$predictions/calibrate_loads.py" "$napkin" \
  "$recordings/h200_sxm_3/whole_model.jsonl" h200_sxm) || fail 'calibrate_loads.py'
read -r itl ttft < <(sed -nE 's/^mean error of ITL ([0-9.]+) %, median error of TTFT ([0-9]+) %$/\1 \2/p' <<<"$calibrated")
below_limit() { awk -v x="$1" -v limit="$2" 'BEGIN { exit !(x != "" && x <= limit) }'; }
below_limit "$itl" 10 || fail "an engine calibrated on three loads: $calibrated"
below_limit "$ttft" 42 || fail "an engine calibrated on three loads: $calibrated"
score >/dev/null 2>&1 && fail 'no arguments are accepted'
finish
