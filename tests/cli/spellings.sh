#!/usr/bin/env bash
# Other spellings: short keys, counts with a suffix, formats in any case, checkpoints by their suffix, replicas.
# spellings.sh <napkin> <source folder>
source "$(dirname "$0")/lib.bash"

same() { # <what> <line of a batch> <another>
  local one two
  one=$("$napkin" batch <<<"$2") two=$("$napkin" batch <<<"$3")
  [[ $one == "$two" && $one != *'"error"'* ]] || fail "$1: ${one:0:200}, not ${two:0:200}"
}
service='"query":"serving","model":"qwen_3_32b","accelerator":"h100_sxm","engine":"vllm"'
same 'tp, isl, osl, users' "{$service,\"tp\":2,\"isl\":3000,\"osl\":500,\"users\":16}" \
  "{$service,\"tensor_parallel\":2,\"input_tokens\":3000,\"output_tokens\":500,\"concurrency\":16}"
same 'qps, max_num_seqs, max_num_batched_tokens, gpu_memory_utilization' \
  "{$service,\"input_tokens\":3000,\"output_tokens\":500,\"tp\":2,\"qps\":0.5,\"max_num_seqs\":64,\"max_num_batched_tokens\":2048,\"gpu_memory_utilization\":0.85}" \
  "{$service,\"input_tokens\":3000,\"output_tokens\":500,\"tp\":2,\"requests_per_s\":0.5,\"max_sequences\":64,\"chunk_tokens\":2048,\"utilization\":0.85}"
same 'counts' "{$service,\"tp\":2,\"isl\":\"3k\",\"osl\":\"0.5k\",\"users\":16}" "{$service,\"tp\":2,\"isl\":3000,\"osl\":500,\"users\":16}"
for format in FP8 e4m3 float8_e4m3fn; do
  same "$format" "{$service,\"isl\":3000,\"osl\":500,\"users\":16,\"dtype\":\"$format\"}" \
    "{$service,\"isl\":3000,\"osl\":500,\"users\":16,\"weight_format\":\"fp8\"}"
done
same 'replicas' "{$service,\"tp\":2,\"isl\":3000,\"osl\":500,\"users\":16,\"replicas\":2}" \
  "{$service,\"tp\":2,\"isl\":3000,\"osl\":500,\"users\":16,\"data_parallel\":2}"
same 'a sensitivity' "{\"query\":\"sensitivity\",\"of\":{\"query\":\"gemm\",\"gpu\":\"h100_sxm\",\"m\":64,\"n\":\"4Ki\",\"k\":4096,\"precision\":\"BF16\"}}" \
  "{\"query\":\"sensitivity\",\"of\":{\"query\":\"gemm\",\"accelerator\":\"h100_sxm\",\"m\":64,\"n\":4096,\"k\":4096,\"format\":\"bf16\"}}"
answer=$("$napkin" batch <<<"{$service,\"tp\":2,\"tensor_parallel\":2,\"isl\":3000,\"osl\":500,\"users\":16}")
[[ $answer == *'"error"'*'another spelling of'* ]] || fail "two spellings of one key: $answer"
[[ $("$napkin" batch <<<'{"query":"gemm","gpu":"h100_sxm","m":"4096","n":1,"k":1}') == *'"error"'* ]] || fail 'a number as text'

# On the command line, with '-' or '_'.
load=(--model qwen_3_32b --gpu h100_sxm --isl 3000 --osl 500 --users 16)
[[ $("$napkin" serving "${load[@]}" --tp 2 --max-num-seqs 64 --json) == "$("$napkin" serving "${load[@]}" --tensor_parallel 2 --max_sequences 64 --json)" ]] ||
  fail 'options'
[[ $("$napkin" serving "${load[@]}" --dp 2) == *'counted as replicas'* ]] || fail 'no note on data_parallel'
[[ $("$napkin" serving "${load[@]}" --replicas 2) != *'counted as replicas'* ]] || fail 'a note on replicas'
[[ $("$napkin" kv-capacity --model qwen_3_32b --gpu h100_sxm --context 32Ki --json) == "$("$napkin" kv_capacity --model qwen_3_32b --gpu h100_sxm --context 32768 --json)" ]] ||
  fail 'kv-capacity'
[[ $("$napkin" help) == "$("$napkin" --help)" && $("$napkin" version) == "$("$napkin" --version)" ]] || fail 'help and version'
refuses '20 ms or 20 s' plan --model qwen_3_32b --gpu h100_sxm --tpot 20
refuses '20 ms or 20 s' serving "${load[@]}" --itl 20
for query in plan serving gemm; do
  [[ -z $("$napkin" $query --help | awk 'length > 100') ]] || fail "$query --help is wider than 100 columns"
  [[ $("$napkin" $query --help) != *'--input_tokens'* ]] || fail "$query --help has an option twice"
done

# A checkpoint's suffix is its weight format.
for name in Qwen/Qwen3-32B-FP8:fp8 Qwen3-32B-AWQ:int4 Qwen3-32B-GPTQ-Int4:int4 nvidia/Qwen3-32B-NVFP4:fp4 RedHatAI/Qwen3-32B-FP8-dynamic:fp8 Qwen3-32B-INT8:int8; do
  [[ $("$napkin" model "${name%:*}" --json) == *"\"weight_format\":\"${name#*:}\""* ]] || fail "${name%:*} is not in ${name#*:}"
done
near 'weights in fp8' "$(number "$("$napkin" model Qwen/Qwen3-32B-FP8 --json)" weight_bytes)" 34.3e9 0.1e9
finish
