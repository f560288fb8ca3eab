#!/usr/bin/env bash
# napkin calibrate on published measurements: the error on shapes held out.
. "$(dirname "$0")/lib.bash"
needs_measurements

published=$measured/aic_gemm_bf16_public.csv
refuses 'select it by --gpu' calibrate --accelerator h100_sxm --data "$published"
for pair in h100_sxm:H100-SXM5-80GB:8 b200_sxm:B200-SXM:12; do
  IFS=: read -r accelerator gpu most <<<"$pair"
  json=$("$napkin" calibrate --accelerator "$accelerator" --data "$published" --gpu "$gpu" --json) || fail "$pair"
  awk -v e="$(number "$json" mean_error)" -v most="$most" 'BEGIN { exit !(e > 0 && 100 * e < most) }' ||
    fail "$pair: held-out error $(number "$json" mean_error)"
done
finish
