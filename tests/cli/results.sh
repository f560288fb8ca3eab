#!/usr/bin/env bash
# Numbers that are known from elsewhere: data sheets, textbooks, a calculation by hand. Times here are
# bounds; calibrated.sh has the others.
. "$(dirname "$0")/lib.bash"
closed_forms

# Ridge points: dense peak over bandwidth of the makers' sheets.
ask ridge flop_per_byte 295.2 0.2 --accelerator h100_sxm --format bf16
ask ridge flop_per_byte 590.7 0.2 --accelerator h100_sxm --format fp8
ask ridge flop_per_byte 206.1 0.2 --accelerator h200_sxm
ask ridge flop_per_byte 292.2 0.1 --accelerator b200_sxm
ask ridge flop_per_byte 153 0.2 --accelerator a100_sxm_80gb
ask ridge flop_per_byte 37.0 0.1 --accelerator h20

# 2 n^3 / (3 n^2 2) = n / 3.
ask gemm flop_per_byte 1365.3 0.1 --accelerator h100_sxm --m 4096 --n 4096 --k 4096 --format bf16
ask gemm flop 137438953472 0 --accelerator h100_sxm --m 4096 --n 4096 --k 4096
ask gemm bytes 100663296 0 --accelerator h100_sxm --m 4096 --n 4096 --k 4096
# Weights alone in 4 bits with 16 more for each 128: 4.125 bits of 4096 x 4096, and 2 x 4096 values of 16 bits.
ask gemm bytes $((4096 * 4096 * 4125 / 8000 + 2 * 2 * 4096)) 0 --accelerator h100_sxm --m 1 --n 4096 --k 4096 --weight_format int4
ask gemm bytes $((4096 * 4096 * 4125 / 8000 + 2 * 2 * 4096)) 0 --accelerator h100_sxm --m 1 --n 4096 --k 4096 \
  --format int4 --activation_format bf16
# A block of 128 x 128 fp8 weights has a scale of 4 bytes; operands and results are of a byte.
ask gemm bytes $((4096 * 4096 + 32 * 32 * 4 + 2 * 4096)) 0 --accelerator h100_sxm --m 1 --n 4096 --k 4096 --format fp8 \
  --weight_scales block
# MXFP4: 4 bits and 8 more for each 32, 4.25 bits of 4096 x 4096.
ask gemm bytes $((4096 * 4096 * 425 / 800 + 2 * 2 * 4096)) 0 --accelerator h100_sxm --m 1 --n 4096 --k 4096 --weight_format fp4 \
  --weight_scales mx
# An FFN gate product over the tokens in a batch.
expected=(1.0 2.0 4.0 8.0 15.9 31.4 61.7 119.2 222.9 394.9 642.8 936.9)
for i in "${!expected[@]}"; do
  ask gemm flop_per_byte "${expected[$i]}" 0.0501 --accelerator h100_sxm --m $((1 << i)) --n 11008 --k 2048
done
# Weights of 8192 x 8192 at 3.35 TB/s: 134.25e6 / 3.35e12.
ask gemm time_s 40.07e-6 0.01e-6 --mode bound --accelerator h100_sxm --m 1 --n 8192 --k 8192

# 140e9 bytes at 3.35 TB/s.
ask elementwise time_s 0.0418 0.00005 --mode bound --accelerator h100_sxm --elements 70e9 --inputs 1 --outputs 0 --format bf16

# RMSNorm: 4 operations an element, read and written once, and gamma. A softmax: 5, and three reads
# where no row stays on the chip.
norm=(--accelerator h100_sxm --rows 4096 --width 8192)
ask norm flop $((4 * 4096 * 8192)) 0 "${norm[@]}"
ask norm flop $((8 * 4096 * 8192)) 0 "${norm[@]}" --kind layer
ask norm bytes $((2 * 2 * 4096 * 8192 + 2 * 8192)) 0 "${norm[@]}"
ask norm bytes $((4 * 2 * 4096 * 8192 + 2 * 8192)) 0 "${norm[@]}" --residual true
ask softmax flop $((5 * 64 * 1000)) 0 --accelerator h100_sxm --rows 64 --width 1000
ask softmax bytes $((4 * 2 * 64 * 1000)) 0 --accelerator h100_sxm --rows 64 --width 1000 --passes 3

# One layer of a 70B model: 2 x 8 heads x 128 x 2 bytes a token.
ask attention_decode bytes $((4096 * 4096 + 2 * 64 * 128 * 2 + 4096)) 0 --accelerator h100_sxm --batch 1 \
  --context 4096 --query_heads 64 --kv_heads 8 --head_dim 128
# 2 (128 + 128) heads S (S + 1) / 2, and all S^2 of them without a mask.
ask attention_prefill flop $((2 * 256 * 64 * (2048 * 2049 / 2))) 0 --accelerator h100_sxm --batch 1 --tokens 2048 \
  --query_heads 64 --kv_heads 8 --head_dim 128
ask attention_prefill flop $((2 * 256 * 64 * 2048 * 2048)) 0 --accelerator h100_sxm --batch 1 --tokens 2048 \
  --query_heads 64 --kv_heads 8 --head_dim 128 --causal false

# 256 (1 - (1 - 8/256)^32).
ask moe_ffn experts_touched 163.31 0.01 --accelerator h200_sxm --tokens 32 --hidden 7168 --intermediate 2048 \
  --experts 256 --top_k 8
ask moe_ffn experts_touched 20.41 0.01 --accelerator h200_sxm --tokens 32 --hidden 7168 --intermediate 2048 \
  --experts 256 --top_k 8 --expert_parallel 8

# Without switches that add: 2 (N-1)/N of the message over 300 GB/s one way; busbw is then the link's.
# 32 x 2048 x 8192 bf16 values: seven quarters of 1.074 GB on the wire, 812 ms for 160 of them
ask collective wire_bytes 1879048192 1 --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 1073741824 \
  --algorithm ring --link_bytes_per_s 370e9
ask collective time_s 5.0785e-3 1e-6 --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 1073741824 \
  --algorithm ring --link_bytes_per_s 370e9
ask collective time_s 5.8333e-3 1e-6 --mode bound --accelerator a100_sxm_80gb --operation all_reduce --ranks 8 --bytes 1e9
ask collective busbw_bytes_per_s 300e9 1e3 --mode bound --accelerator a100_sxm_80gb --operation all_reduce --ranks 8 --bytes 1e9
ask collective algbw_bytes_per_s 171.43e9 1e7 --mode bound --accelerator a100_sxm_80gb --operation all_reduce --ranks 8 --bytes 1e9
# With them each rank sends its message once, at 450 GB/s.
ask collective time_s 36.41e-9 0.01e-9 --mode bound --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 16KiB
ask collective time_s 63.72e-9 0.01e-9 --mode bound --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 16KiB \
  --implementation two_shot
ask collective time_s 0 0 --accelerator h100_sxm --operation all_reduce --ranks 1 --bytes 16KiB

# Two nodes of eight: 2 x 7/8 of 1 GB inside at 300 GB/s take 5.83 ms, and 2 x 1/2 of an eighth of it
# between at 50 GB/s 2.5 ms: the slower fabric is the bound.
nodes=(--accelerator a100_sxm_80gb --operation all_reduce --ranks 16 --bytes 1e9 --node_ranks 8 --network_bytes_per_s 50e9)
ask collective time_s 5.8333e-3 1e-6 --mode bound "${nodes[@]}"
ask collective network_wire_bytes 125e6 1 "${nodes[@]}"
ask collective wire_bytes 1.75e9 1 "${nodes[@]}"

# 2 x 80 layers x 8 heads x 128 x 2 bytes; 8 x 80e9 - 140e9 bytes hold 372 times 4096 tokens.
kv=(--model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --context 4096 --memory_bytes 80GB)
ask kv_capacity kv_bytes_per_token 327680 0 "${kv[@]}" --weight_bytes 140e9
ask kv_capacity sequences 372 0 "${kv[@]}" --weight_bytes 140e9
ask kv_capacity kv_bytes_available 62.5e9 0 "${kv[@]}" --weight_bytes 140e9
ask kv_capacity sequences 901 0 "${kv[@]}" --weight_bytes 35e9 --kv_format int8
# 95,367 blocks, 250 of them full of the 4000 tokens that all share, 6 for the rest of each.
ask kv_capacity sequences $(((95367 - 250) / 6)) 0 "${kv[@]}" --weight_bytes 140e9 --shared_tokens 4000
# Eight KV heads over sixteen ranks: each holds one, so the share of a rank is still 1/8.
ask kv_capacity tokens $(((80000000000 - 8750000000) / (40960 * 16) * 16)) 0 --model llama_3_70b --tensor_parallel 16 \
  --context 4096 --memory_bytes 80e9 --weight_bytes 140e9
# MLA: every rank holds the whole latent, 61 x 576 x 2 bytes.
ask kv_capacity kv_bytes_per_token 70272 0 --model deepseek_v3 --tensor_parallel 8 --memory_bytes 200e9 \
  --weight_bytes 671e9 --context 4096
ask kv_capacity blocks $(((200000000000 - 671000000000 / 8) / (70272 * 16))) 0 --model deepseek_v3 \
  --tensor_parallel 8 --memory_bytes 200e9 --weight_bytes 671e9 --context 4096

# Leviathan et al. 2023.
ask speculation emitted_tokens 3.3616 1e-9 --acceptance 0.8 --draft_length 4
ask speculation emitted_tokens 3.3616 1e-9 --acceptance 0.8,0.8,0.8,0.8 --draft_length 4
ask speculation emitted_tokens 2.04 1e-9 --acceptance 0.8,0.3,0.9 --draft_length 2
ask speculation emitted_tokens 1.392 1e-9 --acceptance 0.2 --later_acceptance 0.6 --draft_length 3
ask speculation break_even_acceptance 0.167 0.0005 --acceptance 0.8 --draft_length 4 --draft_cost_ratio 0.05
ask speculation best_draft_length 10 0 --acceptance 0.8 --draft_cost_ratio 0.025
ask speculation best_draft_length 6 0 --acceptance 0.8 --draft_cost_ratio 0.08

# A step reads the weights that a token is multiplied with: (70.55e9 - 1.05e9) x 2 / 3.35e12 / 4 GPUs.
ask step weights 0.010373 0.000005 --mode bound --model llama_3_70b --accelerator h100_sxm --tensor_parallel 4 --batch 1 --context 1
# 256 sequences that verify three drafted tokens each are 1024 rows, as 1024 sequences are; they read their caches once.
rows=(--model llama_3_8b --accelerator h100_sxm --context 256)
one=$("$napkin" step "${rows[@]}" --batch 1024 --json)
four=$("$napkin" step "${rows[@]}" --batch 256 --tokens_per_sequence 4 --json)
near 'step: linear of four tokens a sequence' "$(number "$four" linear)" "$(number "$one" linear)" 0
awk -v x="$(number "$four" attention)" -v y="$(number "$one" attention)" 'BEGIN { exit !(x < 0.5 * y) }' ||
  fail 'step: four tokens of a sequence do not share its cache'
# One request at a time: tokens per second are one over the mean time between tokens, near enough.
ask serving batch 1 0 --model llama_3_70b --accelerator h200_sxm --tensor_parallel 8 --input_tokens 100 \
  --output_tokens 1000 --concurrency 1
answer=$("$napkin" serving --model llama_3_70b --accelerator h200_sxm --tensor_parallel 8 --input_tokens 100 \
  --output_tokens 1000 --concurrency 1 --json)
near 'serving: tokens/s x ITL' "$(awk -v x="$(number "$answer" output_tokens_per_s)" -v t="$(number "$answer" itl_s)" \
  'BEGIN { print x * t }')" 1 0.001
# Copies of a model share the load and add up their tokens.
one=$("$napkin" serving --model llama_3_8b --accelerator h100_sxm --input_tokens 100 --output_tokens 100 \
  --concurrency 8 --json)
two=$("$napkin" serving --model llama_3_8b --accelerator h100_sxm --input_tokens 100 --output_tokens 100 \
  --concurrency 16 --data_parallel 2 --json)
near 'serving: itl_s of two copies' "$(number "$two" itl_s)" "$(number "$one" itl_s)" 1e-12
near 'serving: tokens/s of two copies' "$(number "$two" output_tokens_per_s)" \
  "$(awk -v x="$(number "$one" output_tokens_per_s)" 'BEGIN { print 2 * x }')" 0.05

# A config.json serves as well as a name, and the bytes of its weights count.
config=$source_dir/examples/data/llama-3.1-70b/config.json
ask kv_capacity kv_bytes_per_token 327680 0 --model "$config" --accelerator h200_sxm --tensor_parallel 8 --context 4096
ask kv_capacity sequences 0 0 --model "$config" --accelerator h100_sxm --context 4096

# --gpu is --accelerator, of every query that has one.
for query in $("$napkin" --help | sed -nE 's/^  ([a-z_]+) .*/\1/p' | grep -vxE 'explain|sensitivity|audit|batch|calibrate|gpus|models'); do
  keys=$("$napkin" "$query" --help)
  ! grep -qE -e '^ +--accelerator' <<<"$keys" || grep -qE -e '^ +--accelerator,--gpu ' <<<"$keys" || fail "$query has no --gpu"
done
[[ $("$napkin" ridge --gpu h100_sxm --json) == $("$napkin" ridge --accelerator h100_sxm --json) ]] || fail 'ridge --gpu'
finish
