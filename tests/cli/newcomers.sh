#!/usr/bin/env bash
# What newcomers stumbled over: engine spellings, names without units, wide lines, and commands without keys.
# newcomers.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
same() { [[ $2 == "$3" ]] || fail "$1: '${2:0:300}', not '${3:0:300}'"; }
# narrow <what> <text>: no line of more than 100 columns.
narrow() { [[ -z $(awk 'length > 100' <<<"$2") ]] || fail "$1: wider than 100 columns: $(awk 'length > 100' <<<"$2" | head -n 2)"; }

# --- options of vLLM, SGLang, TensorRT-LLM and AIConfigurator are spellings of the keys ---
serving=(serving --model llama_3_1_70b --gpu h100)
own=$("$napkin" "${serving[@]}" --tensor_parallel 4 --input_tokens 1000 --output_tokens 200 --concurrency 8 --weight_format fp8 \
  --kv_format fp8 --max_sequences 64 --chunk_tokens 4096 --cuda_graphs false --json)
same 'options of vLLM' "$("$napkin" "${serving[@]}" --tensor-parallel-size 4 --random-input-len 1000 --random-output-len 200 --max-concurrency 8 \
  --quantization fp8 --kv-cache-dtype fp8 --max-num-seqs 64 --max-num-batched-tokens 4096 --enforce-eager --json)" "$own"
same 'options of SGLang' "$("$napkin" "${serving[@]}" --tp-size=4 --isl 1000 --osl 200 --max-concurrency 8 \
  --quantization fp8 --kv-cache-dtype fp8 --max-running-requests 64 --chunked-prefill-size 4096 --disable-cuda-graph --json)" "$own"
same 'the same in JSON' "$(echo '{"query":"serving","model":"llama_3_1_70b","accelerator":"h100","tensor_parallel_size":4,"random_input_len":1000,"random_output_len":200,"max_concurrency":8,"quantization":"fp8","kv_cache_dtype":"fp8","max_num_seqs":64,"max_num_batched_tokens":4096,"cuda_graphs":false}' |
  "$napkin" batch)" "$own"
same 'request_rate' "$("$napkin" "${serving[@]}" --tp 4 --isl 1000 --osl 200 --request-rate 1 --json)" "$("$napkin" "${serving[@]}" --tp 4 --isl 1000 --osl 200 --requests_per_s 1 --json)"
help=$("$napkin" serving --help)
[[ $help != *tensor-parallel-size* && $help == *--tensor-parallel,--tp* ]] || fail 'the help lists spellings of engines'

# --- names without their unit ---
same 'latency of latency_s' "$("$napkin" littles_law --latency 372ns --bytes-per-s 3.35TB/s --json)" "$("$napkin" littles_law --latency_s 372ns --bytes_per_s 3.35TB/s --json)"
# Little's law by hand: 372 ns x 3.35 TB/s = 1246200 bytes.
near 'bytes in flight' "$(number "$("$napkin" littles_law --latency 372ns --bytes_per_s 3.35TB/s --json)" bytes)" 1246200 1
same 'time of time_s' "$("$napkin" diagnose --model llama_3_1_70b --gpu h100 --tp 8 --batch 32 --context 4k --time 12ms --json)" \
  "$("$napkin" diagnose --model llama_3_1_70b --gpu h100 --tp 8 --batch 32 --context 4k --time_s 12ms --json)"

# --- unknown keys: similar ones, or where they are listed; never seventy names ---
refuses 'unknown key "tensor_parallel" of plan, which searches layouts; napkin serving takes tensor_parallel' plan --model llama_3_8b --gpu h100 --tensor-parallel 4
refuses 'unknown key "tp_size" of plan, which searches layouts; napkin serving takes tensor_parallel' plan --model llama_3_8b --gpu h100 --tp-size 4
refuses 'unknown key "ttft_percentile" of serving; did you mean ttft_limit_s? napkin serving --help lists them' "${serving[@]}" --ttft-percentile 99
text=$("$napkin" "${serving[@]}" --nonsense 1 2>&1)
[[ $text == *'unknown key "nonsense" of serving; napkin serving --help lists the '*' keys' ]] || fail "an unknown key: $text"
refuses 'context is "4,096"; allowed: a whole number' step --model llama_3_8b --gpu h100 --batch 8 --context 4,096
refuses 'flop is missing; utilisation needs it: or bytes' utilization

# --- at most 100 columns, the conclusion first ---
for asked in 'model deepseek-ai/DeepSeek-V3.2 --gpu h200 --context 32k' 'model Qwen/Qwen3-32B' 'trust --model Qwen/Qwen3-32B --gpu h200 --engine vllm' \
  'serving --model llama-3.1-70b --gpu h100 --tp 4 --engine vllm --isl 2000 --osl 500 --qps 4' 'gemm --gpu h100 --m 4096 --n 8192 --k 8192 --measured 310us' \
  'serving --model llama-3.1-70b --gpu h100 --tp 4 --engine vllm --isl 2000 --osl 500 --qps 2' 'step --model llama-3.1-70b --gpu h100 --batch 32 --context 4k' \
  'kv_capacity --model deepseek-ai/DeepSeek-V3.2 --gpu h200 --dp 8 --ep 8 --context 32k' \
  'diagnose --model llama_3_1_70b --gpu h100 --tp 8 --batch 32 --context 4k --time 12ms --shares launch=0.35,gemm=0.4' \
  'require step --model llama-3.1-70b --gpu h100 --tp 2 --batch 32 --context 4k --itl 20ms' \
  'thresholds --model llama-3.1-70b --gpu h100 --tp 4 --isl 2000 --osl 500' \
  'plan --model llama-3.1-70b --gpu l40s --users 8 --isl 2000 --osl 500 --gpus 1'; do
  # shellcheck disable=SC2086
  narrow "$asked" "$("$napkin" $asked)"
done
[[ $("$napkin" require step --model llama-3.1-70b --gpu h100 --tp 2 --batch 32 --context 4k --itl 20ms) == 'Infeasible as asked: '* ]] || fail 'require of an infeasible step'
[[ $("$napkin" thresholds --model llama-3.1-70b --gpu h100 --tp 4 --isl 2000 --osl 500) == 'Compared: mean end-to-end latency (e2e_s) over concurrency'* ]] || fail 'thresholds say not what they compare'

# --- MLA is replicated by tensor parallelism: the model page says what data-parallel attention holds, as kv_capacity does ---
held=$(number "$("$napkin" kv_capacity --model deepseek-ai/DeepSeek-V3.2 --gpu h200 --dp 8 --ep 8 --context 32k --json)" sequences)
page=$("$napkin" model deepseek-ai/DeepSeek-V3.2 --gpu h200 --context 32k)
[[ $page == *"(with data-parallel attention, DP8 EP8: $held)"* ]] || fail "not $held sequences with data-parallel attention: $(sed -n 1,4p <<<"$page")"
[[ $("$napkin" model llama-3.1-70b --gpu h100) != *'data-parallel'* ]] || fail 'data-parallel attention of a dense model'

# --- an overloaded service: latencies near saturation by the method that the service has there ---
over=$("$napkin" serving --model llama-3.1-70b --gpu h100 --tp 4 --engine vllm --isl 2000 --osl 500 --qps 4 --json)
near_it=$(sed -nE 's/.*"near_saturation":\{([^}]*)\}.*/{\1}/p' <<<"$over")
[[ $near_it == *'"method":"simulation"'* ]] || fail "near saturation: $near_it"
there=$("$napkin" serving --model llama-3.1-70b --gpu h100 --tp 4 --engine vllm --isl 2000 --osl 500 --qps "$(number "$near_it" requests_per_s)" --json)
for key in ttft_s ttft_p99_s itl_s e2e_s; do
  near "$key near saturation" "$(number "$near_it" $key)" "$(number "$there" $key)" 1e-12
done

# --- facts of a model are swept as those of a chip ---
sweep=$("$napkin" sweep step --model llama_3_1_70b --gpu h100 --tp 8 --batch 1 --context 1 --mode bound --over model.layers=40,80 --csv)
# Half of the layers: half of the weights but the embedding and the head. 70.55e9 parameters, of which 2.1e9 tables.
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "terms.weights") at = i } NR > 1 { t[$1] = $at } END { r = t[40] / t[80]; exit !(r > 0.5 && r < 0.52) }' <<<"$sweep" ||
  fail "half of the layers: $sweep"
sweep=$("$napkin" sweep model --model gpt_oss_20b --over model.kv_heads=1..8:x2 --csv)
# KV bytes per token grow with the KV heads.
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "kv_bytes_per_token") at = i } NR > 1 { t[$1] = $at } END { exit !(t[8] == 8 * t[1] && t[2] == 2 * t[1] && t[1] > 0) }' <<<"$sweep" ||
  fail "KV heads: $sweep"
refuses 'model: llama_3_8b has no number "nonsense"; allowed: ' step --model 'llama_3_8b{nonsense=3}' --gpu h100 --batch 1 --context 1
refuses 'model is missing; over model.layers changes it' sweep step --gpu h100 --batch 1 --context 1 --over model.layers=1,2

# --- a model that does not fit names the format in which it does; --weight-format holds it to that ---
[[ $("$napkin" model GLM-5 --gpu h200) == *$'\nDoes not fit on 8 x h200_sxm. With fp8 weights it fits on 8 x h200_sxm (--weight-format fp8).'* ]] ||
  fail 'no format in which GLM-5 fits on H200'
[[ $("$napkin" model GLM-5 --gpu h200 --weight-format fp8) == *$'\nFits on 8 x h200_sxm: '* ]] || fail 'GLM-5 in fp8 on H200'
[[ $("$napkin" model GLM-5 --gpu l4) == *$'\nDoes not fit on 8 x l4.\n'* ]] || fail 'GLM-5 fits on 8 L4 in no format: 372 GB in int4, of 192 GB'
refuses 'set.dram is not an accelerator fact but a group; allowed: single facts, such as dram.' step --model llama_3_8b --gpu h100 --batch 1 --context 1 --set dram=1
finish
