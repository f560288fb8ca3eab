#!/usr/bin/env bash
# napkin model: what a model needs, from each way to name one; our own model files; bad files.
. "$(dirname "$0")/lib.bash"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# has <what> <answer> <text>
has() { [[ $2 == *"$3"* ]] || fail "$1 has no $3: $2"; }

# --- numbers that follow from the shapes by hand -------------------------------------------------------
# Llama 3 70B: 80 layers of 2 x 8 x 128 elements of 2 bytes; 2 bytes for each parameter.
ask model parameters 70553706496 0 llama_3_70b
ask model active_parameters 70553706496 0 --model llama_3_70b
ask model layers 80 0 llama_3_70b
ask model weight_bytes 141107412992 0 llama_3_70b
ask model kv_bytes_per_token 327680 0 llama_3_70b
ask model kv_bytes_per_token 163840 0 llama_3_70b --kv_format fp8
ask model state_bytes_per_sequence 0 0 llama_3_70b
ask model context_limit 8192 0 llama_3_70b
# gpt-oss: every other layer has a window of 128 tokens, so 18 of 36 grow; published 5.1e9 active.
ask model kv_bytes_per_token 36864 0 gpt_oss_120b
ask model active_parameters 5.13e9 0.01e9 gpt_oss_120b
ask model weight_bytes 65.2e9 0.2e9 gpt_oss_120b
one=$("$napkin" model gpt_oss_120b --json)
for part in '"weight_format":"fp4"' '"kv_format":"bf16"' '"activation_format":"bf16"' '"experts":{"count":' \
  '"layer_kinds":["18 x ' '"over_context":[{"context":1024,' '"fits_on":[{"accelerator":"h100_sxm","devices":1,"fits":true'; do
  has 'model gpt_oss_120b' "$one" "$part"
done
text=$("$napkin" model gpt_oss_120b)
for part in '18 x grouped-query attention' 'MoE, top-4 of 128 experts' 'fp4 in groups of 32' '128Ki' 'rtx_5090' 'Fits on 1 x '; do
  has 'the page of gpt_oss_120b' "$text" "$part"
done
[[ $(grep -c '70b' <<<"$("$napkin" model llama_3_70b)") -ge 1 ]] || fail 'the page does not name the model'

# --- names as a hub writes them --------------------------------------------------------------------------
same() {
  [[ $("$napkin" model "$1" --json) == "$("$napkin" model "$2" --json)" ]] || fail "$1 is not $2"
}
same Qwen/Qwen3-32B qwen_3_32b
same qwen/QWEN3_32b qwen_3_32b
same meta-llama/Llama-3.1-70B-Instruct llama_3_1_70b
same meta-llama/Meta-Llama-3-8B-Instruct llama_3_8b
same openai/gpt-oss-120b gpt_oss_120b
same Qwen3-235B-A22B-Instruct-2507 qwen_3_235b_a22b_2507
same deepseek-ai/DeepSeek-R1-0528 deepseek_r1
same google/gemma-3-27b-it gemma_3_27b
same mistralai/Mistral-7B-Instruct-v0.1 mistral_7b_v0_1
[[ $("$napkin" step --model Qwen/Qwen3-32B --accelerator h100_sxm --batch 1 --context 100 --json) == *time_s* ]] ||
  fail 'step does not take a name as a hub writes it'
refuses PM-E012 model meta-llama/Llama-3.3-70B-Chat-X
refuses 'similar: llama_3_70b' model meta-llama/Llama-3.9-70B
refuses 'qwen_2_5_7b' model Qwen/Qwen4-7B
refuses 'no similar name' model tiiuae/falcon-180b
[[ $("$napkin" model Qwen/Qwen4-7B 2>&1) != *llama* ]] || fail 'a llama is no relative of a qwen'

# --- a directory, and what Python writes -------------------------------------------------------------------
mkdir "$scratch/tiny-llama"
cat >"$scratch/tiny-llama/config.json" <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096,
 "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000,
 "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "time_step_limit": [0.0, Infinity],
 "note": "-Infinity and NaN in a text stay"}
JSON
# 4 layers of 2 x 4 x 64 elements of 2 bytes.
for given in "$scratch/tiny-llama" "$scratch/tiny-llama/" "$scratch/tiny-llama/config.json"; do
  ask model kv_bytes_per_token 4096 0 "$given"
  ask model context_limit 4096 0 "$given"
done
[[ $(cd "$scratch" && "$napkin" model tiny-llama) == tiny-llama:* ]] || fail 'a directory without a / is not found'
echo '{"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}' >"$scratch/tiny-llama/hf_quant_config.json"
ask model kv_bytes_per_token 2048 0 "$scratch/tiny-llama"
one=$("$napkin" model "$scratch/tiny-llama" --json)
for part in '"weight_format":"fp8"' '"kv_format":"fp8"' '"activation_format":"fp8"'; do has 'fp8 beside' "$one" "$part"; done

# --- our own model file: there and back ----------------------------------------------------------------------
for m in llama_3_70b gpt_oss_120b deepseek_v3 gemma_3_27b phi_3_5_moe "$scratch/tiny-llama"; do
  "$napkin" models --export "$m" >"$scratch/own.json" || fail "models --export $m"
  "$napkin" models --export "$scratch/own.json" >"$scratch/again.json" || fail "the file of $m is not read"
  cmp -s "$scratch/own.json" "$scratch/again.json" || fail "the file of $m is another one after reading"
  [[ $("$napkin" model "$m" --json) == "$("$napkin" model "$scratch/own.json" --json)" ]] ||
    fail "the file of $m is another model"
done

# --- bad files: one line with the file, the field and what is allowed ----------------------------------------
"$napkin" models --export gpt_oss_20b >"$scratch/good.json"
# bad <code> <words> <sed script on the good file>
bad() {
  sed -E "$3" "$scratch/good.json" >"$scratch/bad.json"
  cmp -s "$scratch/good.json" "$scratch/bad.json" && fail "nothing was broken by $3"
  refuses "$1" model "$scratch/bad.json"
  has "what $3 is refused with" "$("$napkin" model "$scratch/bad.json" 2>&1)" "$2"
  has "what $3 is refused with" "$("$napkin" model "$scratch/bad.json" 2>&1)" "bad.json"
}
bad PM-E010 'hidden is -2880; allowed: 1 or more' 's/"hidden": 2880/"hidden": -2880/'
bad PM-E010 'vocabulary is 0' 's/"vocabulary": [0-9]+/"vocabulary": 0/'
bad PM-E005 'hidden is null; allowed: a number' 's/"hidden": 2880/"hidden": null/'
bad PM-E005 'hidden is null' 's/"hidden": 2880/"hidden": Infinity/'
bad PM-E005 'hidden is "2880"' 's/"hidden": 2880/"hidden": "2880"/'
bad PM-E004 'hidden is missing' '/"hidden": 2880/d'
bad PM-E003 'hiden is not a key' 's/"hidden": 2880/"hiden": 2880/'
bad PM-E010 'layers.count is 1000000' 's/"count": 24/"count": 1000000/'
bad PM-E031 'layers.mixers are of 24 layers in total; allowed: at most layers.count, which is 20' 's/"count": 24/"count": 20/'
bad PM-E031 'kv_heads must divide query_heads' 's/"kv_heads": 8/"kv_heads": 7/'
bad PM-E010 'top_k is 40' 's/"top_k": 4/"top_k": 40/'
bad PM-E014 'layers.mixers[0].shape.kind is "attentoin"; allowed: attention, latent_attention' 's/"kind": "attention"/"kind": "attentoin"/'
bad PM-E014 'format is "fp6"' 's/"format": "fp4"/"format": "fp6"/'
bad PM-E010 'group is 0' 's/"group": 32/"group": 0/'
bad PM-E010 'version is 2' 's/"version": 1/"version": 2/'
bad PM-E014 'schema is "perfmodel.accelerator"' 's/perfmodel.model/perfmodel.accelerator/'
bad PM-E005 'tied_embeddings is 1' 's/"hidden": 2880/"hidden": 2880, "tied_embeddings": 1/'
head -c 700 "$scratch/good.json" >"$scratch/bad.json"
refuses PM-E040 model "$scratch/bad.json"
: >"$scratch/bad.json"
refuses PM-E040 model "$scratch/bad.json"
echo '[1, 2]' >"$scratch/bad.json"
refuses PM-E02 model "$scratch/bad.json"
echo null >"$scratch/bad.json"
refuses PM-E02 model "$scratch/bad.json"
printf '{"a":%.0s' {1..5000} >"$scratch/bad.json"
refuses PM-E040 model "$scratch/bad.json"
printf '[%.0s' {1..100000} >"$scratch/bad.json"
refuses PM-E040 model "$scratch/bad.json"
sed 's/"num_hidden_layers": 4/"num_hidden_layers": 1000000/' "$scratch/tiny-llama/config.json" >"$scratch/bad.json"
refuses num_hidden_layers model "$scratch/bad.json"
mkdir "$scratch/empty"
refuses PM-E040 model "$scratch/empty"
refuses PM-E040 model ./no/such/place
refuses PM-E004 model

# --- formats left out are what engines run with the checkpoint ------------------------------------------------
formats() { "$napkin" step --batch 8 --context 1000 --tensor_parallel 8 --json "$@"; }
has 'deepseek_v3 on h100_sxm' "$(formats --model deepseek_v3 --accelerator h100_sxm)" '"formats":{'
has 'gpt_oss_120b on h100_sxm' "$(formats --model gpt_oss_120b --accelerator h100_sxm)" \
  '"experts":{"weights":"fp4 in groups of 32","activations":"bf16"'
has 'gpt_oss_120b on b200_sxm by trtllm' "$(formats --model gpt_oss_120b --accelerator b200_sxm --engine trtllm)" \
  '"experts":{"weights":"fp4 in groups of 32","activations":"fp8"'
has 'fp8 on a100_sxm_80gb' "$(formats --model llama_3_70b --accelerator a100_sxm_80gb --weight_format fp8)" '"activations":"bf16"'
has 'fp8 on h100_sxm' "$(formats --model llama_3_70b --accelerator h100_sxm --weight_format fp8)" '"activations":"fp8"'
has 'as given' "$(formats --model llama_3_70b --accelerator h100_sxm --weight_format fp8 --activation_format bf16)" \
  '"activations":"bf16","why":"given"'
has 'kv_capacity of gpt_oss_120b' "$("$napkin" kv_capacity --model gpt_oss_120b --accelerator h200_sxm --json)" \
  '"experts":{"weights":"fp4 in groups of 32","why":"the checkpoint'"'"'s"},"kv":{"format":"bf16"'
has 'plan of gpt_oss_120b' "$("$napkin" plan --model gpt_oss_120b --accelerator b200_sxm --gpus 1 --formats bf16 --mode bound --json)" \
  '"formats":{"experts":"fp4 in groups of 32 x fp8","kv":"bf16","layers":"bf16 x bf16"}'

# --- where it fits, on what and for how much context ------------------------------------------------------
# 671e9 bytes of weights: 8 x 85.5 GB are 684 GB in all, of which an engine takes 92 % at most.
text=$("$napkin" model deepseek_v3)
[[ $(grep "^Fits on" <<<"$text") == 'Fits on 8 x h200_sxm, '*'; not on 8 x h100_sxm.' ]] || fail "where deepseek_v3 fits: $text"
[[ $text == *'141 GB as sold = 151e9 B'* && $text == *'fp8 in 128 x 128 blocks'* ]] || fail "memory and blocks: $text"
[[ $("$napkin" serving --model deepseek_v3 --gpu h200 --tp 8 --isl 1000 --osl 100 --users 4) != *16384* ]] || fail 'groups of 16384'
[[ $(sed -n 2p <<<"$("$napkin" model llama_3_1_8b)") == 'Fits on 1 x h100_sxm, 1 x h200_sxm, 1 x b200_sxm, 1 x mi300x.' ]] ||
  fail 'where llama_3_1_8b fits'
text=$("$napkin" model llama_3_1_70b --gpu l40s --context 4096)
[[ $text == *'l40s'* && $text != *h200_sxm\ \ * && $text == *' 4Ki '* && $text != *' 8Ki  '*' 8Ki  '* ]] || fail "--gpu and --context: $text"
# 80 layers of 2 x 8 x 128 elements of 2 bytes: 1.342 GB for 4096 tokens, half of it with 2048.
of_context() { sed -nE 's/.*"devices":8,"fits":true,"sequences_at_context":\{"'"$1"'":([0-9]+)\}.*/\1/p' <<<"$("$napkin" model llama_3_1_70b --gpu h200_sxm --context "$1" --json)"; }
near 'sequences at half the context' "$(of_context 2048)" "$((2 * $(of_context 4096)))" 1
refuses PM-E010 model llama_3_1_70b --context 200000
refuses PM-E model llama_3_1_70b --gpu nothing

# --- prefixes and models with the shapes of another -------------------------------------------------------
same Qwen3.5-397B qwen_3_5_397b_a17b
same Qwen/Qwen3.5-397B-Instruct qwen_3_5_397b_a17b
same meta-llama/Llama-3.3-70B-Instruct llama_3_3_70b
same deepseek-ai/DeepSeek-V3.1 deepseek_v3_1
same deepseek-ai/DeepSeek-V3.1-Terminus deepseek_v3
same deepseek-ai/DeepSeek-V3.2-Exp deepseek_v3_2
near 'Llama 3.3 in fp8' "$(number "$("$napkin" model RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic --json)" weight_bytes)" 72.7e9 0.5e9
refuses 'is ambiguous; allowed: qwen_3_vl_8b, qwen_3_vl_30b_a3b' model Qwen/Qwen3-VL
refuses PM-E012 model Llama-3.1-4     # not a whole part of llama_3_1_405b
refuses PM-E012 model MiniMaxAI/MiniMax-M2.   # M2.5 is another model
finish
