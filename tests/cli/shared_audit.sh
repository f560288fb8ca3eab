#!/usr/bin/env bash
# Published GEMM latencies as claims: none that lies above its bound is impossible, in either mode.
. "$(dirname "$0")/lib.bash"
needs_measurements
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# claims <mode>: every 7th row, of the chips and formats that the catalogue has.
claims() {
  awk -F, -v mode="$1" '
    BEGIN { chip["A100-SXM4-80GB"] = "a100_sxm_80gb"; chip["B200-SXM"] = "b200_sxm"; chip["H100-SXM5-80GB"] = "h100_sxm"
            chip["H200-SXM"] = "h200_sxm"; chip["L40S"] = "l40s"; format["bfloat16"] = "bf16"; format["fp8"] = "fp8" }
    !($1 in chip) || !($3 in format) || ++rows % 7 { next }
    { engine = $2; sub(/-.*/, "", engine)
      printf "{\"quantity\":\"gemm\",\"mode\":\"%s\",\"value\":%s,\"unit\":\"us\",\"accelerator\":\"%s\",\"m\":%d,\"n\":%d,\"k\":%d,\"format\":\"%s\",\"engine\":\"%s\"}\n", mode, $7, chip[$1], $4, $5, $6, format[$3], engine }' \
    "$measured"/aic_gemm_*_public.csv
}
for mode in bound calibrated; do
  claims "$mode" | some 10 >"$work/claims"
  "$napkin" audit <"$work/claims" >"$work/verdicts" || fail "a claim that cannot be read: $(grep -m1 '"error"' "$work/verdicts")"
  n=$(wc -l <"$work/verdicts") impossible=$(grep -c '"verdict":"impossible"' "$work/verdicts")
  echo "$mode: $impossible of $n published latencies impossible"
  [[ $n -ge $((sanitized ? 80 : 800)) && $impossible -eq 0 ]] || fail "$mode: $(grep -m3 '"impossible"' "$work/verdicts")"
done
# The interval of 80 % holds most of those that were fitted.
within=$(grep -cE '"verdict":"(reproduced|rounding|expected)"' "$work/verdicts")
[[ $((within * 100)) -ge $((n * 70)) ]] || fail "$within of $n within the interval"
finish
