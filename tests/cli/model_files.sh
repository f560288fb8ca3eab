#!/usr/bin/env bash
# Files of models in other words: what each is read as, what of it is named as not read, draft heads,
# given formats, copies of recurrent states. The files of ../shared/cases, where they are.
. "$(dirname "$0")/lib.bash"
closed_forms
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
has() { [[ $2 == *"$3"* ]] || fail "$1 has no $3: $2"; }
# file <name> <further fields>: 32 layers of 32 heads of 128, 8 KV heads: 4096 B a token and layer.
file() {
  local name=$1 fields=$2
  cat >"$scratch/$name.json" <<JSON
{"model_type": "newmodel", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
 "num_key_value_heads": 8, "intermediate_size": 12288, "vocab_size": 32000, "max_position_embeddings": 131072,
 "torch_dtype": "bfloat16"$fields}
JSON
}

# --- which layers have a window ---------------------------------------------------------------------
file pattern ', "sliding_window": 4096, "sliding_window_pattern": 4'
ask model kv_bytes_per_token 32768 0 "$scratch/pattern.json"
file letters ', "sliding_window": 4096, "sliding_window_pattern": "LG"'
ask model kv_bytes_per_token 65536 0 "$scratch/letters.json"

# --- what was not read is said by every query ----------------------------------------------------------
file unread ', "layer_stride_pattern": [1, 2], "talker_config": {"hidden_size": 8}'
on=(--accelerator h100_sxm --mode bound)
for query in "model $scratch/unread.json" "kv_capacity --model $scratch/unread.json ${on[*]}" \
  "step --model $scratch/unread.json ${on[*]} --batch 1 --context 100" \
  "serving --model $scratch/unread.json ${on[*]} --input_tokens 100 --output_tokens 10 --concurrency 2" \
  "plan --model $scratch/unread.json ${on[*]} --gpus 1"; do
  # shellcheck disable=SC2086
  has "$query --json" "$("$napkin" $query --json)" '"not_read":["layer_stride_pattern","talker_config"]'
  # shellcheck disable=SC2086
  has "$query" "$("$napkin" $query)" 'not read: layer_stride_pattern, talker_config'
done
[[ $("$napkin" model "$scratch/pattern.json" --json) != *not_read* ]] || fail 'a field that was read is named'

# --- formats: MLX, and a given one in place of a method that is not known ------------------------------
file mlx ', "quantization": {"bits": 4, "group_size": 64}'
total=$(number "$("$napkin" model "$scratch/mlx.json" --json)" parameters)
near 'MLX: bits per weight' "$(number "$("$napkin" model "$scratch/mlx.json" --json)" weight_bytes)" \
  "$(awk -v p="$total" 'BEGIN { print p * 4.5 / 8 }')" 4e6
file vptq ', "quantization_config": {"quant_method": "vptq"}'
refuses 'quant_method is "vptq"' model "$scratch/vptq.json"
refuses 'weight_format' step --model "$scratch/vptq.json" --accelerator h100_sxm --batch 1 --context 100
one=$("$napkin" model "$scratch/vptq.json" --weight_format fp8 --json) || fail 'a given format is no way round'
has 'a given format' "$one" '"weight_format":"fp8"'
"$napkin" step --model "$scratch/vptq.json" --weight_format fp8 --accelerator h100_sxm --batch 1 --context 100 \
  --json >/dev/null || fail 'step: a given format is no way round'

# --- draft heads: said, priced as such, and not served ---------------------------------------------------
cat >"$scratch/eagle3.json" <<'JSON'
{"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": 4096, "head_dim": 128,
 "intermediate_size": 12288, "num_hidden_layers": 1, "num_attention_heads": 32, "num_key_value_heads": 8,
 "vocab_size": 151936, "draft_vocab_size": 32000, "max_position_embeddings": 40960, "torch_dtype": "bfloat16"}
JSON
# fc 3 x 4096^2, q, k and v from 8192, o, the network, a head of 32000; three norms.
ask model parameters 399519744 0 "$scratch/eagle3.json"
has 'the page of a draft head' "$("$napkin" model "$scratch/eagle3.json")" 'EAGLE-3 draft head'
has 'a draft head' "$("$napkin" model "$scratch/eagle3.json" --json)" '"draft":"EAGLE-3"'
refuses 'draft_model' step --model "$scratch/eagle3.json" --accelerator h100_sxm --batch 1 --context 100
refuses 'draft_model' plan --model "$scratch/eagle3.json" --accelerator h100_sxm
load=(--accelerator h100_sxm --input_tokens 1000 --output_tokens 500 --concurrency 8 --mode bound)
drafted=$("$napkin" serving --model qwen_3_8b "${load[@]}" --draft_model "$scratch/eagle3.json" \
  --draft_length 3 --acceptance 0.7 --json) || fail 'a draft head is no draft_model'
layer=$("$napkin" serving --model qwen_3_8b "${load[@]}" --drafter layer --draft_length 3 --acceptance 0.7 --json)
awk -v a="$(number "$drafted" itl_s)" -v b="$(number "$layer" itl_s)" 'BEGIN { exit !(a > 0 && a < 1.2 * b) }' ||
  fail "an EAGLE-3 head drafts slower than a whole layer with the model's head"
"$napkin" models --export "$scratch/eagle3.json" >"$scratch/own.json" || fail 'a draft head is not exported'
ask model parameters 399519744 0 "$scratch/own.json"

# --- recurrent states: a copy per draft token, the engine's format and pools -------------------------------
fits() { number "$("$napkin" kv_capacity --model "$1" --accelerator h100_sxm --context 1500 --engine vllm "${@:2}" --json)" sequences; }
near 'Qwen3.5-27B with 4 draft tokens' "$(fits qwen_3_5_27b --mtp 4)" 14 2
awk -v a="$(fits qwen_3_5_27b)" -v b="$(fits qwen_3_5_27b --mtp 4)" 'BEGIN { exit !(a > 3 * b) }' ||
  fail 'draft tokens have no states'
near 'n-grams with a model that only attends' "$(fits qwen_3_8b --draft_length 4)" "$(fits qwen_3_8b)" 0

# Tokens and blocks with a drafter: 65536 B a token and a sixteenth more for the MTP layer; states of 153.9 MB, one and one
# per draft token. SGLang has room for them apart, 0.9 to 1, and logs the tokens of its pool of KV cache.
drafts() { number "$("$napkin" kv_capacity --model qwen_3_5_27b --accelerator h200_sxm --context 8192 --engine "$1" "${@:3}" --json)" "$2"; }
token=$((65536 * 17 / 16))
near 'tokens with MTP' "$(drafts vllm tokens --mtp 1)" \
  "$(awk -v b="$(drafts vllm kv_bytes_available --mtp 1)" -v t=$token 'BEGIN { print b / (8192 * t + 2 * 153.9e6) * 8192 }')" 400
near 'blocks with MTP' "$(drafts vllm blocks --mtp 1)" "$(awk -v t="$(drafts vllm tokens --mtp 1)" 'BEGIN { print int(t / 16) }')" 0
near 'tokens in SGLang' "$(drafts sglang tokens)" \
  "$(awk -v b="$(drafts sglang kv_bytes_available)" 'BEGIN { print b / 1.9 / 65536 }')" 2
near 'tokens with MTP in SGLang' "$(drafts sglang tokens --mtp 3)" \
  "$(awk -v b="$(drafts sglang kv_bytes_available --mtp 3)" -v t=$token 'BEGIN { print b / 1.9 / t }')" 2
for asked in 'vllm' 'vllm --mtp 1' 'vllm --mtp 4' 'sglang'; do
  read -ra words <<<"$asked"
  awk -v n="$(drafts "${words[0]}" sequences "${words[@]:1}")" -v t="$(drafts "${words[0]}" tokens "${words[@]:1}")" \
    'BEGIN { exit !(n > 0 && n <= t / 8192 && n > t / 8192 - 3) }' || fail "sequences and tokens differ: $asked"
done
# Four states of a sequence fill SGLang's pool of them first.
near 'sequences with MTP in SGLang' "$(drafts sglang sequences --mtp 3)" \
  "$(awk -v b="$(drafts sglang kv_bytes_available --mtp 3)" 'BEGIN { print int(b * 0.9 / 1.9 / (4 * 153.9e6)) }')" 1
# A model that only attends: the same share of blocks, tokens and sequences.
plain() { number "$("$napkin" kv_capacity --model deepseek_v3 --accelerator h200_sxm --tp 8 --engine vllm --context 4096 "${@:2}" --json)" "$1"; }
awk -v t="$(plain tokens --mtp 1)" -v n="$(plain sequences --mtp 1)" -v b="$(plain blocks --mtp 1)" \
  'BEGIN { exit !(n > 0 && n <= t / 4096 && n > t / 4096 - 3 && b * 16 == t) }' || fail 'tokens with a drafter'

# --- images of a model that the catalogue has without its tower: as of its config.json -------------------------
# 27,432,406,640 parameters in the checkpoint, 27,009,346,304 of them the text's; 64 x 64 patches, 256 tokens an image.
seen=(--accelerator h100_sxm --input_tokens 200 --output_tokens 100 --concurrency 4 --engine vllm --mode bound --images 2)
whole=$("$napkin" serving --model gemma_3_27b "${seen[@]}" --json) || fail 'gemma_3_27b has no images'
read_from_file=$("$napkin" serving --model "$source_dir/tests/data/configs/gemma_3_27b.json" "${seen[@]}" --json)
near 'weights with the tower' "$(number "$whole" weight_bytes_per_gpu)" 54.865e9 1e6
near 'as of its file' "$(number "$whole" ttft_s)" "$(number "$read_from_file" ttft_s)" 1e-5
stated=$("$napkin" serving --model gemma_3_27b "${seen[@]}" --image_tokens 256 --image_patches 4096 --json)
near 'tokens and patches of an image' "$(number "$whole" ttft_s)" "$(number "$stated" ttft_s)" 0
refuses 'llama_3_8b has no image encoder' serving --model llama_3_8b "${seen[@]}"

# --- names that mean one thing ------------------------------------------------------------------------------
long=$("$napkin" kv_capacity --model gpt_oss_120b --accelerator h200_sxm --json)
near 'gpt_oss_120b: KV per token' "$(number "$long" kv_bytes_per_token)" 36864 0
near 'gpt_oss_120b: KV per token below the window' "$(number "$long" kv_bytes_per_short_token)" 73728 0

# --- the files of others ---------------------------------------------------------------------------------------
cases=${PERFMODEL_SHARED:-$source_dir/../shared}/cases/configs
[[ -d $cases ]] || finish
of() { ls "$cases/"*"$1"*_config.json; }
parameters() { ask model parameters "$2" "$3" "$(of "$1")"; }
parameters c4ai-command-a 111057580032 0
parameters EXAONE-4.0-32B 32003216384 0
parameters Qwen3-32B-AWQ 32762123264 0
parameters Qwen3-Next 79674391296 0
parameters MiMo-V2.5-Pro 1021.2e9 0.1e9
parameters Jamba-1.5-Mini 51570315264 0
parameters Olmo-3.1 32233522176 0
parameters AFM-4.5B 4619184640 0
parameters granite-4.0-h-small 32207337984 0
parameters LongCat 560.6e9 0.1e9
parameters Devstral-2 125025988608 0
parameters Kimi-Linear 49122681728 1e5
parameters SALA 9.477e9 0.001e9
parameters eagle3 0.40e9 0.005e9
parameters Hunyuan-A13B 80393183232 0
parameters Hunyuan-Large 389e9 0.5e9
parameters Falcon-H1 7585925216 3e5
parameters GLM-4.7-Flash 29.943e9 0.001e9
# total <stem> <parameters with towers> <tolerance>: of 2 bytes each
total() { ask model weight_bytes "$(awk -v p="$2" 'BEGIN { print 2 * p }')" "$3" "$(of "$1")"; }
total EXAONE-4.5 33.814e9 0.02e9
total LFM2.5-VL 1.586e9 0.01e9
total Llama-3.2-90B 88.6e9 0.1e9
total Voxtral 4.68e9 0.02e9
total GLM-4.5V 107710933120 0.2e9
kv() { ask model kv_bytes_per_token "$2" 0 "$(of "$1")"; }
kv c4ai-command-a 65536
kv EXAONE-4.0 65536
kv EXAONE-4.5 65536
kv LFM2.5-VL 12288
kv Qwen3-Next 24576
kv Omni 98304
kv MiMo-V2.5-Pro 51200
kv Jamba 16384
kv Olmo 65536
kv Llama-3.2-90B 327680
kv Kimi-Linear 8064
kv SALA 8192
kv Falcon-H1 45056
kv GLM-4.5V 188416
kv GLM-4.7 54144
states() { ask model state_bytes_per_sequence "$2" 0 "$(of "$1")"; }
states LFM2.5-VL 81920
states Qwen3-Next 39518208
states Jamba 16056320
states granite 77322240
states Kimi-Linear 43417600
states SALA 50331648
states Falcon-H1 70152192
ask model layers 44 0 "$(of Falcon-H1)"
ask model weight_bytes 19.325e9 0.01e9 "$(of Qwen3-32B-AWQ)"
ask model weight_bytes 6.615e9 0.01e9 "$(of SALA)"
# MiMo: fp8 but for o_proj, 14.09 GB in bf16: attention 25.76 GB.
mimo=$("$napkin" model "$(of MiMo-V2.5-Pro)" --json)
near 'MiMo: attention' "$(sed -E 's/.*"attention":\{[^}]*"bytes":([0-9.e+]*).*/\1/' <<<"$mimo")" 25.76e9 0.05e9
ask model weight_bytes "$(awk 'BEGIN { print 426175973760 * 33 / 32 }')" 4e9 "$(of M3-MXFP8)"
has 'Qwen3-Omni' "$("$napkin" model "$(of Omni)" --json)" '"not_read":["code2wav_config","talker_config"]'
has 'GLM-5.1-w8a8' "$("$napkin" model "$(of w8a8)")" 'its name says w8a8'
has 'Qwen3-Embedding' "$("$napkin" model "$(of Embedding)")" 'may have no LM head'
for draft in inkling-dspark kimi-k3-dspark dflash; do
  has "$draft" "$("$napkin" model "$(of "$draft")" --json)" '"draft":"DFlash"'
done
refuses 'encoder-only' model "$(of bge-m3)"
refuses 'encoder' model "$(of whisper)"
# Command A on 4 H100: 3 sequences of 131072 tokens.
near 'Command A at 131072 tokens' "$(number "$("$napkin" kv_capacity --model "$(of command-a)" --accelerator h100_sxm \
  --tensor_parallel 4 --context 131072 --engine vllm --utilization 0.9 --json)" sequences)" 3 0
next=$(number "$("$napkin" kv_capacity --model "$(of Qwen3-Next)" --accelerator h200_sxm --tensor_parallel 2 \
  --context 1500 --engine sglang --json)" sequences)
awk -v n="$next" 'BEGIN { exit !(n > 100 && n <= 659) }' || fail "Qwen3-Next under SGLang: $next sequences, at most 659"
finish
