#!/usr/bin/env bash
# What a measured pass suffers from: causes by what was measured, and bad input.
. "$(dirname "$0")/lib.bash"

llama=(diagnose --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --batch 32 --context 4096)
# causes <cause> <arguments...>: the answer names it.
causes() {
  local cause=$1 answer
  shift
  answer=$("$napkin" "${llama[@]}" "$@" --json) || fail "napkin diagnose $*: exit status not 0"
  [[ $answer == *"\"cause\":\"$cause\""* ]] || fail "napkin diagnose $*: no $cause in $answer"
  # Alternatives name their causes too, and come after.
  [[ ${answer%%\"alternatives\"*} == *"\"cause\":\"$cause\""* ]] || fail "napkin diagnose $*: $cause is an alternative only: $answer"
  for key in evidence lever check alternatives; do
    [[ $answer == *"\"$key\":"* ]] || fail "napkin diagnose $*: no $key in $answer"
  done
}

causes launch --time_s 12ms --shares launch=0.35,gemm=0.4
causes launch --time_s 0.012 --launch_gaps_s 0.005
causes communication --time_s 0.012 --shares communication=0.4
causes stragglers --time_s 0.012 --shares waiting=0.3
causes allocation --time_s 0.04 --shares allocation=0.6
causes input_pipeline --time_s 0.03 --shares input=0.5
causes host --time_s 0.02 --gpu_busy 0.5
causes memory_bandwidth --time_s 0.0082 --dram_bytes_per_s 2.8TB/s --achieved_flop_per_s 15e12
causes memory_latency --time_s 0.015 --sectors_per_request 4
causes access_pattern --time_s 0.015 --sectors_per_request 32
causes access_pattern --time_s 0.015 --sectors_per_request 4 --l2_hit 0.05 --dram_bytes_per_s 2.6e12
causes unfused_traffic --time_s 0.04 --dram_bytes_per_s 2e12
causes measurement --time_s 0.001
# 12.69 ms are predicted (11.1 to 14.5): as expected, with the largest terms; measured shares come first.
causes as_expected --time_s 12.69ms --engine vllm
causes as_expected --time_s 14ms --engine vllm
causes launch --time_s 12ms --shares launch=0.15
causes allocation --time_s 12ms --shares allocation=0.2
answer=$("$napkin" "${llama[@]}" --time_s 12.69ms --engine vllm)
[[ $answer == *'largest terms: '*' %, '*' %'* ]] || fail "no terms: $answer"
# Without a profile there is no prediction.
causes memory_latency --time_s 15ms --mode bound
# 230 GB in a step that has 17.6; 16.5 GB/s for 12 ms, where 6.2 GB of weights are read.
answer=$("$napkin" diagnose --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --batch 1 --context 4096 \
  --time_s 85ms --dram_bytes_per_s 2.7TB/s --json)
[[ $answer == *'"cause":"contradiction","evidence":"230 GB from DRAM'* ]] || fail "230 GB: $answer"
answer=$("$napkin" diagnose --model qwen_2_5_3b --accelerator h100_sxm --batch 1 --context 1024 --time_s 12ms \
  --dram_bytes_per_s 16.5GB/s --json)
[[ $answer == *'"cause":"contradiction","evidence":"198 MB from DRAM'* ]] || fail "16.5 GB/s: $answer"

object='{"query":"diagnose","model":"llama_3_70b","accelerator":"h100_sxm","tensor_parallel":8,"batch":32,"context":4096,"time_s":0.012'
by_object=$("$napkin" batch <<<"$object,\"shares\":{\"launch\":0.35,\"gemm\":0.4}}")
by_text=$("$napkin" batch <<<"$object,\"shares\":\"launch=0.35,gemm=0.4\"}")
[[ $by_object == "$by_text" && $by_object == *'"cause":"launch"'* ]] || fail "an object of shares: $by_object, $by_text"
for bad in '{"launch":"a"}' '{"nonsense":0.1}' '{"launch":1.5}' '{}' '[]' '3'; do
  answer=$("$napkin" batch <<<"$object,\"shares\":$bad}")
  [[ $answer == *'"error"'*PM-E* ]] || fail "shares $bad: $answer"
done

refuses PM-E "${llama[@]}"
refuses PM-E "${llama[@]}" --time_s 0
refuses PM-E "${llama[@]}" --time_s 0.01 --gpu_busy 1.1
refuses PM-E "${llama[@]}" --time_s 0.01 --shares launch
refuses PM-E "${llama[@]}" --time_s 0.01 --shares nonsense=0.1
refuses PM-E "${llama[@]}" --time_s 0.01 --shares launch=2
refuses PM-E "${llama[@]}" --time_s 0.01 --sectors_per_request 0
refuses PM-E diagnose
refuses PM-E explain "${llama[@]}" --time_s 0.01

# The prediction is that of `step`, with each option of the engine.
pass=(--model llama_3_8b --accelerator h100_sxm --engine vllm --batch 16 --context 1024)
for option in '--cpu_offload_bytes 8e9' '--cuda_graphs false' '--step_cpu_s 5ms' '--lora_rank 64'; do
  # shellcheck disable=SC2086
  expected=$(number "$("$napkin" step "${pass[@]}" $option --json)" time_s)
  # shellcheck disable=SC2086
  ask diagnose predicted_time_s "$expected" 1e-9 "${pass[@]}" $option --time_s 142ms
done

# Above the interval the difference comes first, then limits; DRAM below 60 % of its peak is not the cause.
slow=(diagnose --model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 4 --engine vllm --batch 32 --context 2000)
predicted=$(number "$("$napkin" "${slow[@]}" --time_s 27ms --json)" predicted_time_s)
for ms in 22 24 27 40; do
  answer=$("$napkin" "${slow[@]}" --time_s ${ms}ms --json)
  rest=$(awk -v p="$predicted" -v m="$ms" 'BEGIN { printf "%.3g", m - 1e3 * p }')
  [[ $answer == *"\"cause\":\"unexplained\",\"evidence\":\"$rest ms unexplained: "*'gpu_busy (nsys, DCGM)'* ]] || fail "$ms ms, $rest unexplained: $answer"
done
help=$("$napkin" diagnose --help)
[[ $(tr -s ' \n' ' ' <<<"$help") == *'--help'*'--runs '*'--batch '*'REQUIRED unless --runs is given'*'--time-s '*'REQUIRED unless --runs is given'* ]] ||
  fail "diagnose --help: $help"
refuses 'did you mean runs?' diagnose --runns 3
finish
