#!/usr/bin/env bash
# What people ask of an engine beyond its layout: LoRA adapters, weights in host memory, steps without CUDA graphs, CPU
# times, images, releases, and capacity under data, expert and pipeline parallelism.
# engine_options.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
closed_forms
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

value() { # <key> <query> <arguments...>
  local key=$1
  shift
  number "$("$napkin" "$@" --json)" "$key"
}
difference() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.10g", a - b }'; }

# Llama 3 8B: an adapter of rank 16 on all linear layers has 41,943,040 values, as PEFT prints.
room=(kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 --engine vllm)
near 'LoRA slots' "$(difference "$(value weight_bytes_per_gpu "${room[@]}" --lora-rank 16 --lora-adapters 4)" \
  "$(value weight_bytes_per_gpu "${room[@]}")")" $((4 * 2 * 41943040)) 1
near 'offloaded weights' "$(difference "$(value kv_bytes_available "${room[@]}" --cpu-offload-bytes 8GB)" \
  "$(value kv_bytes_available "${room[@]}")")" 8e9 10
decode=(step --model llama_3_8b --gpu h100_sxm --batch 8 --context 1000 --engine vllm)
near 'adapters of a batch' "$(difference "$(value time_s "${decode[@]}" --mode bound --lora-rank 16 --lora-adapters 4 --lora-active 2)" \
  "$(value time_s "${decode[@]}" --mode bound)")" "$(awk 'BEGIN { print 2 * 2 * 41943040 / 3.35e12 }')" 1e-9
# 8 GB of 16.06 GB of weights, of which a step reads 15.01, over 63.015 GB/s.
ask step time_s 0.118644 1e-6 "${decode[@]:1}" --mode bound --cpu-offload-bytes 8GB
refuses 'lora_rank' "${decode[@]}" --lora-adapters 4
refuses 'lora_active is 9 and lora_adapters is 4' "${decode[@]}" --lora-rank 8 --lora-adapters 4 --lora-active 9
refuses 'cpu_offload_bytes is 17000000000' "${decode[@]}" --cpu-offload-bytes 17GB
refuses 'latent attention' kv_capacity --model deepseek_v3 --gpu h200_sxm --tensor_parallel 8 --context 4096 --lora-rank 8

# Adapters of routed experts, by hand: 48 layers of 128 experts of 768 and hidden 2048. vLLM reserves them from 0.11.2 on.
experts=(kv_capacity --model qwen_3_30b_a3b --gpu h100_sxm --context 4096 --lora-rank 8)
by_hand=$((2 * 8 * 48 * 128 * (2 * (2048 + 768) + 768 + 2048)))
near 'adapters of experts' "$(difference "$(value weight_bytes_per_gpu "${experts[@]}" --lora-experts true)" \
  "$(value weight_bytes_per_gpu "${experts[@]}")")" $by_hand 1
near 'adapters that vLLM reserves' "$(difference "$(value weight_bytes_per_gpu "${experts[@]}" --engine vllm)" \
  "$(value weight_bytes_per_gpu "${experts[@]}" --engine vllm --engine-version 0.10)")" $by_hand 1
# Measured (vllm-project/vllm#28761): Qwen3-Coder-30B-A3B on 4 GPUs with 16 slots of rank 32 has 53.98 GiB a GPU, no adapter loaded.
# There the slots of attention are sharded, 0.2 GiB less than here.
near 'slots that vLLM logs' "$(value weight_bytes_per_gpu "${experts[@]:0:6}" 4096 --tensor_parallel 4 --engine vllm --lora-rank 32 --lora-adapters 16)" \
  $((539761 * 1073741824 / 10000)) 3e8
refuses 'has no routed experts' "${room[@]}" --lora-rank 8 --lora-experts true
refuses 'lora_rank' "${room[@]}" --lora-experts true

# Launches of 45 us: 10 kernels in each of 32 layers, and 4; and vLLM's 601.4 us.
ask step time_s "$(awk 'BEGIN { print 324 * 63e-6 + 601.4e-6 }')" 1e-6 "${decode[@]:1}" --mode calibrated --cuda-graphs false
near 'a stated CPU time' "$(difference "$(value time_s "${decode[@]}" --mode calibrated --step-cpu-s 5ms --sequence-cpu-s 20us)" \
  "$(value time_s "${decode[@]}" --mode calibrated)")" "$(awk 'BEGIN { print 5e-3 + 8 * 20e-6 - 601.4e-6 }')" 1e-9

# Two nodes of 8 H100: 32 rows of 16 kB need S / 400e9 s of 50 GB/s adapters in each of 160 all-reduces, and 32 rows
# of logits 7/8 S / 450e9 s on NVLink. The adapters' usual rate is named, and the network where none is needed refused.
nodes=(step --model llama_3_70b --gpu h100_sxm --tensor-parallel 16 --batch 32 --context 1024 --mode bound)
near 'links of two nodes' "$("$napkin" "${nodes[@]}" --json | sed 's/.*"communication":\([0-9.e-]*\).*/\1/')" \
  "$(awk 'BEGIN { print 160 * 32 * 16384 / 400e9 + 7 / 8 * 32 * 256512 / 450e9 }')" 1e-9
[[ $("$napkin" "${nodes[@]}") == *'50 GB/s of each GPU: 8 ConnectX-7'* ]] || fail 'the network is not named'
[[ $("$napkin" "${nodes[@]}" --network-bytes-per-s 25GB/s) != *ConnectX-7* ]] || fail 'a given network has a source'
refuses 'network_bytes_per_s is 50000000000 and one node holds the 8 GPUs' step --model llama_3_70b --gpu h100_sxm \
  --tensor-parallel 8 --batch 32 --context 1024 --network-bytes-per-s 50GB/s
[[ $("$napkin" step --model llama_3_70b --gpu rtx_4090 --tensor-parallel 16 --batch 1 --context 10) == \
  'Infeasible: the parallel group has more ranks than the fabric joins'* ]] || fail 'a board has a network'

# Gemma 4 has an encoder of 572.8e6 parameters and 280 tokens an image.
service=(serving --model gemma_4_26b_a4b --gpu h100_sxm --engine vllm --mode bound --input-tokens 1000 --output-tokens 100 --concurrency 1)
seen=$(value ttft_s "${service[@]}" --images 2)
text=$(value ttft_s serving --model gemma_4_26b_a4b --gpu h100_sxm --engine vllm --mode bound --input-tokens 1560 --output-tokens 100 --concurrency 1)
awk -v a="$seen" -v b="$text" 'BEGIN { exit !(a > b) }' || fail "two images take $seen, their tokens alone $text"
refuses 'has no image encoder' serving --model llama_3_8b --gpu h100_sxm --input-tokens 1000 --output-tokens 100 --concurrency 1 --images 1
refuses 'image_tokens' serving --model qwen_3_vl_8b --gpu h100_sxm --input-tokens 1000 --output-tokens 100 --concurrency 1 --images 1
refuses 'prefill_tokens is 0' step --model gemma_4_26b_a4b --gpu h100_sxm --batch 1 --context 10 --image-patches 100

# Llama 3.2 Vision caches an image of 4 tiles of 1601 tokens in 20 of 100 layers of 8 KV heads of 128, one head on each
# of 8 GPUs: 65.6 MB beside 4.194 MB of 1000 tokens in 80 layers. The text's prompt does not grow.
cat >"$work/vision.json" <<'JSON'
{"architectures": ["MllamaForConditionalGeneration"], "model_type": "mllama", "torch_dtype": "bfloat16",
 "text_config": {"model_type": "mllama_text_model", "hidden_size": 8192, "num_hidden_layers": 100, "num_attention_heads": 64,
  "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 128256, "max_position_embeddings": 131072,
  "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38, 43, 48, 53, 58, 63, 68, 73, 78, 83, 88, 93, 98]},
 "vision_config": {"model_type": "mllama_vision_model", "hidden_size": 1280, "attention_heads": 16, "image_size": 560,
  "intermediate_size": 5120, "max_num_tiles": 4, "num_hidden_layers": 32, "num_global_layers": 8, "patch_size": 14,
  "vision_output_dim": 7680}}
JSON
vision=(--model "$work/vision.json" --gpu h100_sxm --tensor_parallel 8 --engine vllm)
seen=(kv_capacity "${vision[@]}" --context 1000)
near 'images in the cache' "$(value sequences "${seen[@]}" --images 1)" \
  "$(awk -v b="$(value kv_bytes_available "${seen[@]}")" 'BEGIN { print int(b / (1000 * 80 * 512 + 20 * 6404 * 512)) }')" 0
near 'smaller images' "$(value sequences "${seen[@]}" --images 2 --image-tokens 1601)" \
  "$(awk -v b="$(value kv_bytes_available "${seen[@]}")" 'BEGIN { print int(b / (1000 * 80 * 512 + 2 * 20 * 1601 * 512)) }')" 0
service=(serving "${vision[@]}" --input-tokens 1000 --output-tokens 200 --concurrency 8 --mode bound)
more() { awk -v a="$(value "$1" "${@:3}" --images 1)" -v b="$(value "$1" "${@:3}")" -v m="$2" 'BEGIN { exit !(a > b && a < m * b) }'; }
more ttft_s 3 "${service[@]}" || fail 'an image of cross-attention is a prompt of its tokens, or nothing'
more itl_s 2 "${service[@]}" || fail 'decoding does not read an image, or reads a prompt of its tokens'
more ttft_s 3 simulate "${service[@]:1:12}" --requests 8 --concurrency 1 || fail 'simulate has no images of cross-attention'
near 'a step reads an image' "$(difference "$(value time_s step "${vision[@]}" --batch 8 --context 1000 --mode bound --images 1)" \
  "$(value time_s step "${vision[@]}" --batch 8 --context 1000 --mode bound)")" "$(awk 'BEGIN { print 8 * 20 * 6404 * 512 / 3.35e12 }')" 1e-9
refuses 'has no cross-attention' step --model gemma_4_26b_a4b --gpu h100_sxm --batch 1 --context 10 --images 1
refuses 'has no cross-attention' kv_capacity --model llama_3_8b --gpu h100_sxm --context 1000 --images 1

# Qwen3.5-27B: 65536 B a token and states of 153.9 MB. vLLM keeps two for a sequence whose prefix is cached, and one of the
# prefix itself.
hybrid=(kv_capacity --model qwen_3_5_27b --gpu h200_sxm --engine vllm --context 4096)
state=$(value state_bytes_per_sequence model qwen_3_5_27b)
near 'states of shared prefixes' "$(value sequences "${hybrid[@]}" --shared-tokens 1000)" \
  "$(awk -v b="$(value kv_bytes_available "${hybrid[@]}")" -v s="$state" \
    'BEGIN { print int((b - 1000 * 65536 - s) / (3096 * 65536 + 2 * s)) }')" 1
near 'a cache that is asked for' "$(value sequences "${hybrid[@]}" --shared-tokens 1000)" \
  "$(value sequences "${hybrid[@]}" --shared-tokens 1000 --prefix-caching true)" 0
refuses 'prefix_caching is false, and shared_tokens' "${hybrid[@]}" --shared-tokens 1000 --prefix-caching false

# Data-parallel attention: each of 8 GPUs has all of attention, and a cache of its own sequences.
deepseek=(--model deepseek_v3 --gpu h200_sxm --context 32768 --engine vllm)
one=$(value sequences kv_capacity "${deepseek[@]}" --tensor_parallel 8)
groups=$(value sequences kv_capacity "${deepseek[@]}" --data_parallel 8 --expert_parallel 8)
awk -v a="$one" -v b="$groups" 'BEGIN { exit !(a > 0 && b > 4 * a) }' || fail "sequences: $one with tensor parallelism, $groups with data-parallel attention"
# Two stages of two ranks: half of the weights and of the cache each.
ask kv_capacity tokens $(((80000000000 - 70000000000 / 2) / (163840 * 16) * 16)) 0 --model llama_3_70b --tensor_parallel 1 \
  --pipeline_parallel 2 --memory_bytes 80e9 --weight_bytes 70e9 --context 4096

# Releases of vLLM.
ask kv_capacity utilization 0.92 0 "${room[@]:1}"
ask kv_capacity utilization 0.9 0 "${room[@]:1}" --engine-version vllm-0.14
ask kv_capacity runtime_bytes $((64 * 1024 * 1024 * 1024 / 100)) 1 "${room[@]:1}"
ask kv_capacity runtime_bytes $((4 * 1024 * 1024 * 1024 / 100)) 1 "${room[@]:1}" --engine-version vllm-0.10
# A release has the defaults of the last one before it; the first engine of vLLM has no profile.
ask kv_capacity utilization 0.9 0 "${room[@]:1}" --engine-version 0.11.2
ask kv_capacity utilization 0.9 0 "${room[@]:1}" --engine-version v0.20
ask kv_capacity utilization 0.92 0 "${room[@]:1}" --engine-version 0.21.0
ask kv_capacity utilization 0.92 0 "${room[@]:1}" --engine-version 0.28.0rc1
ask kv_capacity utilization 0.92 0 "${room[@]:1}" --engine-version 0.21.0+cu128
refuses 'engine_version is "0.7.2", a release of vLLM: before 0.8 it ran its first engine (V0)' "${room[@]}" --engine-version 0.7.2
refuses 'engine_version is "-1.30"; allowed: vllm-0.10' "${room[@]}" --engine-version=-1.30
refuses 'engine_version is "new"; allowed: vllm-0.10' "${room[@]}" --engine-version new
# CUDA graphs: 7 of 51 sizes of 0.6 GiB to 32 tokens.
ask kv_capacity runtime_bytes "$(awk 'BEGIN { print (0.04 + 0.6 * 7 / 51) * 1024 ^ 3 }')" 1000 "${room[@]:1}" --cuda-graph-tokens 32
ask kv_capacity runtime_bytes "$(awk 'BEGIN { print (0.04 + 0.6 * 7 / 51) * 1024 ^ 3 }')" 1000 "${room[@]:1}" \
  --max-cudagraph-capture-size 32
served=(serving --model llama_3_8b --gpu h100_sxm --engine vllm --input-tokens 1000 --output-tokens 100 --concurrency 4)
ask serving runtime_bytes "$(value runtime_bytes "${room[@]}" --cuda-graph-tokens 104)" 0 "${served[@]:1}" --max-cudagraph-capture-size 104
[[ $(value runtime_bytes "${served[@]}") != "$(value runtime_bytes "${served[@]}" --cuda-graph-tokens 104)" ]] || fail 'serving has no graphs'
ask kv_capacity runtime_bytes $((4 * 1024 * 1024 * 1024 / 100)) 1 "${room[@]:1}" --cuda-graphs false
refuses 'sets the memory of CUDA graphs' "${decode[@]}" --max-cudagraph-capture-size 104
refuses 'cuda_graph_tokens is of vLLM from 0.21 on' kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 --cuda-graph-tokens 32
# GGUF types: 4.8944 bits of 8.03e9 weights.
ask model weight_bytes 4.913e9 0.002e9 --model llama_3_1_8b --weight-format Q4_K_M
# The mixture is the layers': a file of 70B has 42.52 GB. A tied table is in Q6_K, 17 % of Gemma 3 4B (llama.cpp prints
# 2.31 GiB, ggml-org/llama.cpp#22790) and 9 % of 12B (Q5_K_M, 7.86 GiB, #12352).
ask model weight_bytes 42.52e9 0.05e9 --model llama_3_1_70b --weight-format Q4_K_M
ask model weight_bytes 2.480e9 0.02e9 --model gemma_3_4b --weight-format Q4_K_M
ask model weight_bytes 8.440e9 0.03e9 --model gemma_3_12b --weight-format Q5_K_M
refuses 'weight_format is "q9_k"; allowed: fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4, int4, or a GGUF type' \
  model --model llama_3_1_8b --weight-format q9_k
# Options of engines that are no key say why.
refuses '"decode_context_parallel_size" is no key of step: the cache of one sequence divided among ranks is not modelled' \
  "${decode[@]}" --decode-context-parallel-size 2
refuses '"enable_dp_attention" is no key of step: give data_parallel' "${decode[@]}" --enable-dp-attention true
refuses 'engine_version is vllm-0.10 and engine is sglang' kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 \
  --engine sglang --engine-version vllm-0.10
# The latest release of another engine is no more this engine's than its older ones.
refuses 'engine_version is sglang-0.5.14 and engine is vllm; allowed: latest, or engine sglang' "${room[@]}" --engine-version sglang-0.5.14
refuses 'engine_version is vllm-0.28 and engine is sglang' kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 \
  --engine sglang --engine-version vllm-0.29
# A stated release is simulated like the latest; vLLM 0.11 has the scheduler of vllm-0.10.
[[ $("$1" serving --model llama_3_8b --gpu h100_sxm --engine vllm --engine-version 0.11.0 --isl 128 --osl 16 --concurrency 2 --json) == \
  *'"method":"simulation"'* ]] || fail 'a service of a stated release is not simulated'
[[ $("$1" simulate --model llama_3_8b --gpu h100_sxm --engine vllm --engine-version 0.11.0 --isl 128 --osl 16 --concurrency 2) == \
  *'scheduler vllm-0.10'* ]] || fail 'a simulation of vLLM 0.11 has another scheduler'
# Releases of SGLang and TensorRT-LLM: 1 - (9.5 + 1 / 2) GiB of an H100's 81559 MiB before 0.5.3.
old=(kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 --engine sglang)
ask kv_capacity utilization "$(awk 'BEGIN { print 1 - 10 * 1024 / 81559 }')" 0.00001 "${old[@]:1}" --engine-version sglang-0.5.2
ask kv_capacity utilization "$(awk 'BEGIN { print 1 - 10 * 1024 / 81559 }')" 0.00001 "${old[@]:1}" --engine-version 0.4.9
[[ $(value utilization "${old[@]}" --engine-version sglang-0.5.6) == $(value utilization "${old[@]}") ]] ||
  fail "the memory share of SGLang 0.5.6 is not today's"
[[ $(value utilization kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 --engine trtllm --engine-version trtllm-1.2.0rc6) == \
  $(value utilization kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 --engine trtllm) ]] ||
  fail "TensorRT-LLM 1.2 has not the defaults of 1.0"
refuses 'engine_version is "sglang-0.4.5", a release of SGLang' "${old[@]}" --engine-version sglang-0.4.5
[[ $said != *'of your own'* ]] || fail "SGLang 0.4.5 is no more answered with a utilization: $said"
# Before 0.24 vLLM had no sparse MLA on compute capability 12 (vllm-project/vllm#43477), and has it on others.
sparse=(step --model deepseek_v3_2 --tp 8 --batch 1 --context 4096 --engine vllm)
refuses 'before 0.24 vLLM had no kernels for the sparse attention of deepseek_v3_2' "${sparse[@]}" --gpu rtx_pro_6000 --engine-version 0.20
"$1" "${sparse[@]}" --gpu rtx_pro_6000 --engine-version 0.24 >/dev/null || fail 'DeepSeek-V3.2 on RTX PRO 6000 by vLLM 0.24'
"$1" "${sparse[@]}" --gpu b200_sxm --engine-version 0.20 >/dev/null || fail 'DeepSeek-V3.2 on B200 by vLLM 0.20'
"$1" step --model deepseek_v3 --tp 8 --batch 1 --context 4096 --engine vllm --gpu rtx_pro_6000 --engine-version 0.20 >/dev/null ||
  fail 'DeepSeek-V3, which is not sparse'
refuses 'engine_version is "trtllm-0.21", a release of TensorRT-LLM' kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 \
  --engine trtllm --engine-version trtllm-0.21
refuses 'engine_version is trtllm-1.0 and engine is sglang; allowed: latest, or engine trtllm' "${old[@]}" --engine-version trtllm-1.0
# SGLang before 0.5.14 has vLLM's all-reduce kernels, with a barrier before and after.
tp8=(serving --model llama_3_70b --gpu h200_sxm --tensor_parallel 8 --input_tokens 1000 --output_tokens 200 --concurrency 4
  --engine sglang --mode calibrated)
awk -v a="$(value itl_s "${tp8[@]}" --engine-version sglang-0.5.10)" -v b="$(value itl_s "${tp8[@]}")" \
  'BEGIN { exit !(a > 1.01 * b) }' || fail "ITL with SGLang 0.5.10's all-reduce kernels"
# By hand: 65,536 queries meet 1,601 image tokens in each of 20 layers, 8 of 64 heads of 128 on a GPU:
# 4 x 65,536 x 1,601 x 1,024 x 20 / 989.4e12 = 8.7 ms.
long=(step "${vision[@]}" --mode bound --batch 0 --prefill_tokens 65536)
awk -v a="$(value time_s "${long[@]}" --images 1 --image_tokens 1601)" -v b="$(value time_s "${long[@]}")" \
  'BEGIN { exit !(a - b > 8.6e-3 && a - b < 9.2e-3) }' || fail "the bound of a long prompt over an image"
# A plan counts, of the engines it tries, what vLLM reserves for the experts of adapters: 122 GB on one H100.
adapted=(plan --model qwen_3_30b_a3b --gpu h100 --isl 1000 --osl 200 --users 8 --lora-rank 64 --lora-adapters 8 --gpus 1)
[[ $("$napkin" "${adapted[@]}" --engine vllm,sglang) != *'TP1, vllm'* ]] || fail "a plan of two engines leaves out the experts' adapters"
[[ $("$napkin" "${adapted[@]}" --engine sglang) == *sglang* ]] || fail "a plan under SGLang"
# TensorRT-LLM runs on NVIDIA GPUs alone.
refuses 'TensorRT-LLM does not run on mi300x (AMD GPU)' step --model llama_3_8b --gpu mi300x --batch 1 --context 4096 --engine trtllm
refuses 'TensorRT-LLM does not run on mi300x (AMD GPU)' plan --model llama_3_8b --gpu h100,mi300x --isl 1000 --osl 200 --rate 5 --engine vllm,trtllm
"$1" step --model llama_3_8b --gpu mi300x --batch 1 --context 4096 --engine sglang >/dev/null || fail 'SGLang on MI300X'
# Options of SGLang and of clients that have a key, and options that have none.
[[ $(value utilization kv_capacity --model llama_3_8b --gpu h100_sxm --context 4096 --engine sglang --mem-fraction-static 0.8) == 0.8 ]] ||
  fail 'mem_fraction_static is not the utilization'
[[ $(value time_s "${decode[@]}") == "$(value time_s "${decode[@]/--batch/--batch-size}")" ]] || fail 'batch_size is not the batch'
for option in '--disable-overlap-schedule:that overlap with the GPU' '--speculative-config x:give draft_length with acceptance' \
  '--enable-chunked-prefill false:chunk_tokens is the token budget' '--free-gpu-memory-fraction 0.9:a share of the GPU' \
  '--enable-expert-parallel:give expert_parallel' '--block-size 16:those of the engine' '--cpu-offload-gb 10:with a unit: 10GiB'; do
  # shellcheck disable=SC2086
  refuses "${option#*:}" serving --model llama_3_8b --gpu h100 --isl 100 --osl 10 --users 1 ${option%:*}
done
# Lengths beyond the model's limit of 8192, which engines refuse; one output token has no ITL.
for asked in 'serving --isl 9000 --osl 10 --users 1' 'step --batch 1 --context 9000' 'kv_capacity --context 9000' \
  'simulate --isl 9000 --osl 10 --users 1 --requests 2'; do
  # shellcheck disable=SC2086
  json=$("$1" $asked --model llama_3_8b --gpu h100 --engine vllm --json) || fail "$asked"
  near "the limit of $asked" "$(number "$json" context_limit)" 8192 0
done
json=$("$1" serving --isl 8000 --osl 10 --users 1 --model llama_3_8b --gpu h100 --engine vllm --json)
[[ $json != *context_limit* ]] || fail 'lengths within the limit are named'
text=$("$1" serving --isl 1000 --osl 1 --users 4 --model llama_3_8b --gpu h100 --engine vllm | head -n 2)
[[ $text == 'Predicted: mean TTFT '* && $text != *ITL* ]] || fail "an ITL of one output token: $text"
# A number alone from 1.0 on is a release of the engine that is stated.
for of in 'trtllm 1.0' 'trtllm 1.2.0rc1' 'sglang 1.0' 'vllm 1.0'; do
  "$napkin" kv_capacity --model llama-3.1-8b --gpu h100 --engine "${of% *}" --engine-version "${of#* }" >/dev/null ||
    fail "a release of $of"
done
# NVFP4 experts by TensorRT-LLM on B200: TRTLLM with tensor-parallel attention, CUTLASS with data-parallel, as its
# configuration files state. CUTLASS's tiles are larger. Others have one library.
nvfp4=(serving --model deepseek_r1 --gpu b200_sxm --input-tokens 1024 --output-tokens 1024 --concurrency 64
  --weight-format fp4 --engine trtllm)
by_tensor=("${nvfp4[@]}" --tensor-parallel 8) by_data=("${nvfp4[@]}" --data-parallel 8 --expert-parallel 8)
ask serving itl_s "$(value itl_s "${by_tensor[@]}")" 0 "${by_tensor[@]:1}" --moe-backend trtllm
ask serving itl_s "$(value itl_s "${by_data[@]}")" 0 "${by_data[@]:1}" --moe-backend cutlass
for layout in by_tensor by_data; do
  declare -n asked=$layout
  awk -v a="$(value itl_s "${asked[@]}" --moe-backend trtllm)" -v b="$(value itl_s "${asked[@]}" --moe-backend cutlass)" \
    'BEGIN { exit !(a < b) }' || fail "TRTLLM is no faster $layout"
done
[[ $("$napkin" "${by_data[@]}" --json) == *"CUTLASS's numbers from RTX PRO 6000"* ]] || fail 'the source of NVFP4 experts'
refuses 'moe_backend is trtllm, which the time does not depend on here' "${nvfp4[@]/trtllm/sglang}" --tensor-parallel 8 --moe-backend trtllm
refuses 'allowed: auto, or experts in NVFP4 by engine trtllm on Blackwell' step --model gpt_oss_120b --gpu b200_sxm \
  --batch 8 --context 1024 --engine trtllm --moe-backend cutlass
refuses 'moe_backend is "triton"; allowed: auto, cutlass, trtllm' "${by_tensor[@]}" --moe-backend triton
# The releases behind a profile: of its kernels those that AIConfigurator's tables name, of its CPU times the versions of
# the services in InferenceX and AIConfigurator.
dense=(step --model llama_3_1_70b --gpu h100 --tp 4 --batch 8 --context 2000)
holds() { # <what> <text> <part of it>
  [[ $2 == *"$3"* ]] || fail "$1: no \"$3\" in $2"
}
holds 'releases' "$("$napkin" "${dense[@]}" --engine vllm --json)" \
  '"measured_with":{"GEMM":"vLLM 0.24, TensorRT-LLM 1.3","attention":"vLLM 0.24","collective":"NCCL 2.29, vLLM 0.14 and 0.24, SGLang 0.5.10 and 0.5.14, TensorRT-LLM 1.3","engine":"vLLM 0.11 to 0.18, until 2026-04"}'
holds 'releases' "$("$napkin" "${dense[@]}" --engine vllm | tr -s ' \n' ' ')" \
  'measured with GEMM: vLLM 0.24, TensorRT-LLM 1.3; attention: vLLM 0.24; collective:'
# A transferred profile keeps those of its source GPU; an assumed part has none.
holds 'transferred' "$("$napkin" "${dense[@]/h100/h20}" --json)" '"measured_with":{"GEMM":"vLLM 0.24, TensorRT-LLM 1.3"'
assumed=$("$napkin" "${dense[@]/h100/mi300x}" --engine sglang --json)
holds 'AMD' "$assumed" '"measured_with":{"GEMM":"AITER e4048607","engine":"SGLang 0.5.5 to 0.5.7, until 2026-01"}'
# A release beyond those with services, and how many of them lie between.
of_release() { "$napkin" "${dense[@]}" --engine "$1" --engine-version "$2" --json; }
holds 'newer' "$(of_release vllm 0.24.0)" \
  '"engine_version":{"asked":"0.24.0","nearest_measured":"0.18","newer":true,"releases_apart":6}'
holds 'older' "$(of_release vllm 0.8.5)" \
  '"engine_version":{"asked":"0.8.5","nearest_measured":"0.11","newer":false,"releases_apart":3}'
holds 'patches' "$(of_release sglang sglang-0.5.14)" '"nearest_measured":"0.5.9","newer":true,"releases_apart":5'
holds 'another series' "$(of_release sglang sglang-0.6.0)" '"nearest_measured":"0.5.9","newer":true,"releases_apart":null'
for known in 'vllm 0.15.1' 'vllm v0.11.2' 'vllm latest' 'sglang 0.5.6.post2' 'trtllm 1.2.0rc6'; do
  [[ $(of_release "${known% *}" "${known#* }") != *releases_apart* ]] || fail "$known has measured services"
done
served=$("$napkin" serving "${dense[@]:1:6}" --engine vllm --isl 2000 --osl 500 --users 4 --engine-version 0.24 | tr -s ' \n' ' ')
holds 'newer, in text' "$served" \
  'engine_version 0.24 6 releases after 0.18, the newest with fitted services; how its times differ is not known'
finish
