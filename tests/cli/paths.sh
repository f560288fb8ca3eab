#!/usr/bin/env bash
# Queries of data paths and schedules, against numbers by hand.
. "$(dirname "$0")/lib.bash"

# 2 x 4096^3 x 2 B / 128 and the result; a step of 64: (128 + 128) x 128 B by 512 B of a warp, and two boxes of TMA.
tile=(--m 4096 --n 4096 --k 4096)
ask gemm_tile bytes 2181038080 1 "${tile[@]}"
ask gemm_tile flop_per_byte 64 1e-9 "${tile[@]}"
ask gemm_tile registers 128 0 "${tile[@]}"
ask gemm_tile loads 64 0 "${tile[@]}"
ask gemm_tile bulk_transfers 2 0 "${tile[@]}"
ask gemm_tile tensor_memory_columns 128 0 "${tile[@]}"
# 256 registers where 255 are allowed: 1 x 8 B x 128 threads.
ask gemm_tile spilled_bytes 1024 0 "${tile[@]}" --tile_m 128 --tile_n 256
# A TPU multiplies one row as 128; rows of 4,097 halves are aligned to 2 bytes of 16.
ask padded_gemm padding 0.9921875 1e-12 --accelerator tpu_v5e --m 1 --n 8192 --k 8192
ask padded_gemm load_bytes 2 0 --accelerator h100_sxm --m 4096 --n 4096 --k 4097
ask padded_gemm load_ratio 8 1e-9 --accelerator h100_sxm --m 4096 --n 4096 --k 4097
ask padded_gemm load_ratio 1 1e-9 --accelerator h100_sxm --m 4096 --n 4096 --k 4104
# (8192^2 + 2 x 8192) x 2 B at 3.35 TB/s are 40.08 us; 66.9 TFLOP/s do 134 MFLOP a row: 42.56 us are 21.2 rows.
wide=(--accelerator h100_sxm --n 8192 --k 8192)
ask gemv vector_s 4.2575e-5 2e-8 "${wide[@]}" --m 1
ask gemv matrix_s 4.5075e-5 2e-8 "${wide[@]}" --m 1
ask gemv switch_m 21.2 0.05 "${wide[@]}" --m 1
for m in 16 32; do
  answer=$("$napkin" gemv "${wide[@]}" --m $m --json)
  awk -v v="$(number "$answer" vector_s)" -v x="$(number "$answer" matrix_s)" -v m=$m \
    'BEGIN { exit !((v < x) == (m < 21.2)) }' || fail "gemv at $m rows: $answer"
done
ask l2_window hits 0.5 1e-12 --accelerator h100_sxm --hot_bytes 40MB --set_aside_bytes 20MB --moved_bytes 2GB
refuses() { # <text> <arguments...>
  local text=$1 said
  shift
  said=$("$napkin" "$@" 2>&1 >/dev/null)
  [[ $said == *"$text"* ]] || fail "'$*' says: $said"
}
refuses 'three quarters of the L2' l2_window --accelerator h100_sxm --hot_bytes 1GB --set_aside_bytes 500MB --moved_bytes 2GB
# PCIe 5 x16 carries 63.0154 GB/s.
# nvbandwidth on H200: 55.43 GB/s to it; validation/recordings/h200_sxm: 1.9 and 2.4 us of 4 KiB.
ask host_copy time_s 1.13657 5e-3 --accelerator h200_sxm --bytes 63GB
ask host_copy pageable_s 7.43657 5e-3 --accelerator h200_sxm --bytes 63GB
ask host_copy time_s 2.15e-6 0.3e-6 --accelerator h200_sxm --bytes 4KiB
ask selection bytes 515036 50 --n 128256
ask selection sort_bytes 4104192 0.5 --n 128256
ask special_functions time_s 2.3915e-4 1e-7 --accelerator h100_sxm --n 1e9
ask special_functions matrix_s 5.1749e-4 1e-7 --accelerator h100_sxm --n 1e9
# nvidia-smi mig -lgip of an A100: 14 SMs a slice, 98 of 108 in all.
ask mig_slice sms 42 1e-9 --accelerator a100_sxm_80gb --compute_slices 3 --memory_slices 4
ask mig_slice idle_sms 10 1e-9 --accelerator a100_sxm_80gb --compute_slices 3 --memory_slices 4
ask mig_slice bytes_per_s 1.675e12 1 --accelerator h100_sxm --compute_slices 3 --memory_slices 4 --sms 60
refuses 'sms is 133' mig_slice --accelerator h100_sxm --compute_slices 7 --memory_slices 8 --sms 133
ask dependent_launch gap_left_s 7e-7 1e-15 --gap_s 1.2us --prologue_s 0.5us
ask dependent_launch saved_s 5e-5 1e-12 --gap_s 1.2us --prologue_s 0.5us --kernels 100
ask graph_breaks regions 51 0 --breaks 50
ask graph_breaks time_s 1.02e-3 1e-12 --breaks 50
ask graph_breaks exposed_s 2e-5 1e-12 --breaks 50 --step_s 1ms
ask gpu_util gpu_util 0.89 1e-12 --kernel_s 0.89s --elapsed_s 1s --sm_share 0.0127
ask gpu_util sm_active 0.0113 1e-4 --kernel_s 0.89s --elapsed_s 1s --sm_share 0.0127
ask mixed_kv bytes 1100 1e-9 --kv_bytes_per_token 2 --context 1000 --recent 100 --memory_bytes 2200
ask mixed_kv sequences 2 1e-9 --kv_bytes_per_token 2 --context 1000 --recent 100 --memory_bytes 2200
ask mixed_kv sequences_large 1.1 1e-9 --kv_bytes_per_token 2 --context 1000 --recent 100 --memory_bytes 2200

line() { # <key> <expected> <tolerance> <request>: lists, in JSON
  near "$4: $1" "$(number "$("$napkin" batch <<<"$4")" "$1")" "$2" "$3"
}
lists='{"query":"persistent_kernel","lists_s":[0.003,0.001,0.001,0.001],"launch_s":5e-6,"launches":4}'
line time_s 3.005e-3 1e-12 "$lists"
line imbalance 2 1e-12 "$lists"
line separate_s 1.52e-3 1e-12 "$lists"
line time_s 1e-3 1e-12 '{"query":"streams","times_s":[0.001,0.001],"filled":[0.333,0.333]}'
line time_s 2e-3 1e-12 '{"query":"streams","times_s":[0.001,0.001],"filled":[1,1]}'
line bytes 2e6 1e-3 '{"query":"memory_plan","bytes":[1e6,1e6,1e6],"first":[0,1,2],"last":[1,2,3]}'
line sum_bytes 3e6 1e-3 '{"query":"memory_plan","bytes":[1e6,1e6,1e6],"first":[0,1,2],"last":[1,2,3]}'
runs='{"query":"profiler","read_s":[0.1,0.01,0.01],"warm_up":1,"overhead":0.15}'
line time_s 8.6957e-3 1e-6 "$runs"
line mean_s 0.04 1e-12 "$runs"
[[ $("$napkin" batch <<<'{"query":"streams","times_s":[0.001,0.001],"filled":[1]}') == *'filled has 1 values; allowed: 2'* ]] ||
  fail 'lists of unequal length'
finish
