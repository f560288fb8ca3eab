#!/usr/bin/env bash
# draw.sh <napkin> [folder]: draws the figures of docs/laws that napkin draws itself, into this folder or
# another one. tests/cli/plots.sh compares the files here with what the program draws.
set -euo pipefail
napkin=$(realpath "$1")
to=$(realpath "${2:-$(dirname "${BASH_SOURCE[0]}")}")
draw() {
  local name=$1
  shift
  "$napkin" "$@" --plot "$to/$name.svg" >/dev/null
}
llama=(--model llama_3_1_70b --gpu h100_sxm --tp 4 --engine vllm)

draw advise serving "${llama[@]}" --isl 2000 --osl 500 --qps 2 --method closed_form
draw audit gemm --gpu h100_sxm --m 4096 --n 4096 --k 4096 --measured 120us
draw calibrated_amd roofline --model qwen_3_32b --gpu mi300x --batch 32 --context 4096
draw calibrated_moe roofline --model qwen_3_235b_a22b --gpu h200_sxm --tp 8 --batch 64 --context 4096 --engine vllm
draw calibrated_workstation gemm --gpu rtx_pro_6000 --m 64 --n 28672 --k 8192
draw data_paths roofline --gpu h100_sxm --format fp16 --flop_per_byte 64
draw diagnose step "${llama[@]}" --batch 32 --context 4096 --measured_s 26ms
draw engine_memory serving "${llama[@]}" --isl 4000 --osl 1000 --users 64 --method closed_form
draw explain step "${llama[@]}" --batch 16 --context 8192 --prefill_tokens 1024
draw fusion sweep attention_fusion --over head_dim=64,128,256 --over tokens=64..65536:x2
draw launch sweep launch --layers 80 --launches 10 --cpu_s 2.9us --synchronise_s 4.9us --replay_s 2.2us --node_s 0.5us \
  --gap_s 1.25us --over how=stream,graph,synchronised --over kernels_s=0.2ms..25.6ms:x2
draw metrics roofline --gpu h100_sxm --m 4096 --n 4096 --k 4096 --measured_s 310us
draw operators roofline "${llama[@]}" --batch 0 --prefill_tokens 2048
draw overlap sweep training_step --forward_s 83.14ms --backward_s 166.28ms --communication_s 62.46ms \
  --over buckets=1,2,3,4,6,8,12,16,25,32,50
draw plan plan --model llama_3_1_70b --gpu h100_sxm,h200_sxm --gpus 16 --isl 2048 --osl 512 --users 64 --weight_format bf16,fp8
draw simulation serving "${llama[@]}" --isl 2048 --osl 512 --users 32 --method closed_form
draw transformer model llama_3_1_70b
