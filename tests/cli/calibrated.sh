#!/usr/bin/env bash
# Predictions: which mode answers, what stands beside a predicted time, and that it is what was measured.
. "$(dirname "$0")/lib.bash"

# mode <expected> <query> <arguments...>: the mode of the answer; a predicted time has its company.
mode() {
  local expected=$1 answer
  shift
  answer=$("$napkin" "$@" --json) || fail "napkin $*"
  [[ $answer == *"\"mode\":\"$expected\""* ]] || fail "napkin $*: not $expected: $answer"
  local company='"bound_time_s":[0-9.e-]+,.*"interval_80_s":\[[0-9.e-]+,[0-9.e-]+\],.*"profile":\{"name":"[^"]+","basis":"[a-z]+","source":"[^"]'
  if [[ $expected == calibrated ]]; then
    [[ $answer =~ $company ]] || fail "napkin $*: no bound, interval or profile: $answer"
  else
    [[ $answer != *interval_80_s* && $answer != *bound_time_s* ]] || fail "napkin $*: a bound with an interval"
  fi
}
gemm=(gemm --m 8 --n 4096 --k 4096)
heads=(--batch 4 --query_heads 32 --kv_heads 8 --head_dim 128)
moe=(moe_ffn --tokens 64 --hidden 4096 --intermediate 2048 --experts 64 --top_k 4)
all_reduce=(collective --operation all_reduce --ranks 2 --bytes 1MiB)
step=(step --model llama_3_8b --batch 4 --context 1000)
serving=(serving --model llama_3_8b --input_tokens 100 --output_tokens 100 --concurrency 4)
for a in a100_sxm_80gb h100_sxm h200_sxm b200_sxm l40s; do
  mode calibrated "${gemm[@]}" --accelerator $a
  mode calibrated elementwise --elements 1e6 --accelerator $a
  mode calibrated attention_prefill --tokens 1000 "${heads[@]}" --accelerator $a
  mode calibrated attention_decode --context 1000 "${heads[@]}" --accelerator $a
  mode calibrated "${moe[@]}" --accelerator $a
  mode calibrated "${all_reduce[@]}" --accelerator $a
  mode calibrated "${step[@]}" --accelerator $a
  mode calibrated "${serving[@]}" --accelerator $a
  mode bound "${gemm[@]}" --accelerator $a --mode bound
done
# Weights narrower than their activations were measured on A100 alone.
widened=("${gemm[@]}" --weight_format int4 --json)
[[ $("$napkin" "${widened[@]}" --accelerator a100_sxm_80gb) == *'"basis":"measured"'* ]] || fail 'int4 weights on A100: not measured'
[[ $("$napkin" "${widened[@]}" --accelerator h100_sxm) == *'"basis":"derived"'* ]] || fail 'int4 weights on H100: not derived'
# Without a profile a single operator has a bound, a model a prediction by a transferred profile, which says so.
for query in gemm moe all_reduce step serving; do
  declare -n asked=$query
  case $query in
    step | serving) mode calibrated "${asked[@]}" --accelerator h20 ;;
    *) mode bound "${asked[@]}" --accelerator h20 ;;
  esac
  mode calibrated "${asked[@]}" --accelerator h20 --mode calibrated
  [[ $("$napkin" "${asked[@]}" --accelerator h20 --mode calibrated --json) == *'"profile":{"name":"h20","basis":"transferred"'* ]] ||
    fail "napkin ${asked[*]}: the profile of h20 is not called transferred"
done
# Only the links of A100, H100 and H200 were measured by themselves. Every other profile of links is
# transferred, and names the tables it was fitted to.
links_of() { "$napkin" "${all_reduce[@]}" --mode calibrated --json --accelerator "$1"; }
for a in a100_sxm_80gb h100_sxm h200_sxm; do
  [[ $(links_of $a) == *'"basis":"measured"'* ]] || fail "the links of $a are measured"
done
for a in rtx_4090 rtx_5090 l4 l40s t4 h100_pcie rtx_pro_6000; do
  [[ $(links_of $a) == *'"basis":"transferred"'*'RTX PRO 6000, A100 and A800 PCIe and RTX 4090'* ]] ||
    fail "the links of $a: $(links_of $a)"
done
for a in gb300 b300_sxm gb200 b200_sxm; do
  [[ $(links_of $a) == *'"basis":"transferred"'*'B200, B300 and GB300'* ]] || fail "the links of $a: $(links_of $a)"
done
# The bound of a step holds; those of a service's latencies do not always, and do not claim to.
[[ $("$napkin" "${step[@]}" --accelerator h20 --mode bound) == *'nothing runs faster'* ]] || fail 'the bound of a step'
for verb in "" explain; do
  text=$("$napkin" $verb "${serving[@]}" --accelerator h20 --mode bound)
  [[ $text == *'bound from data sheets'* && $text != *'nothing runs faster'* ]] || fail "the bound of a service: $text"
done
# A link that the caller states has no profile.
mode bound "${all_reduce[@]}" --accelerator h100_sxm --link_bytes_per_s 370e9
# Laws without a machine in them are the same in both modes.
mode bound ridge --accelerator h100_sxm --mode calibrated
mode bound speculation --acceptance 0.8 --draft_length 4 --mode calibrated
mode bound kv_capacity --model llama_3_8b --accelerator h100_sxm --mode calibrated

# Rows of ai-dynamo/aiconfigurator 095f58a5 (H100, H200, L40S: vllm 0.24; A100: vllm 0.14; nccl-tests), in us.
# The profiles' 90th percentiles are 10 to 25 %.
measured() { # <us> <share> <query> <arguments...>
  local us=$1 share=$2 query=$3
  shift 3
  ask "$query" time_s "${us}e-6" "$(awk -v t="$us" -v s="$share" 'BEGIN { print t * s * 1e-6 }')" "$@"
}
measured 15.543 0.2 gemm --accelerator h100_sxm --m 16 --n 4096 --k 4096 --engine vllm
measured 154.812 0.15 gemm --accelerator h100_sxm --m 2048 --n 4096 --k 8192 --engine vllm
measured 297.557 0.25 gemm --accelerator l40s --m 512 --n 8192 --k 8192 --engine vllm
measured 146.281 0.25 gemm --accelerator b200_sxm --m 4096 --n 8192 --k 8192 --format fp4 --engine trtllm
measured 82.256 0.2 attention_decode --accelerator h200_sxm --batch 16 --context 4096 --query_heads 32 --kv_heads 8 \
  --head_dim 128
measured 272.923 0.2 attention_prefill --accelerator a100_sxm_80gb --batch 1 --tokens 2048 --query_heads 32 --kv_heads 8 \
  --head_dim 128
measured 420.384 0.2 moe_ffn --accelerator h100_sxm --tokens 16 --hidden 2048 --intermediate 768 --experts 128 --top_k 8
measured 958.005 0.2 moe_ffn --accelerator h100_sxm --tokens 16 --hidden 4096 --intermediate 14336 --experts 8 --top_k 2
measured 571.339 0.15 moe_ffn --accelerator rtx_pro_6000 --tokens 16 --hidden 6144 --intermediate 2048 --experts 256 \
  --top_k 8 --tensor_parallel 4 --format fp4 --engine vllm --mode calibrated
measured 735.1 0.1 moe_ffn --accelerator rtx_pro_6000 --tokens 16384 --hidden 3072 --intermediate 1024 --experts 256 \
  --top_k 8 --expert_parallel 16 --format fp4 --engine vllm --routing power_law --popularity_exponent 1.01 --mode calibrated
# 4-bit weights on a chip that does not compute in them run with 16-bit operands.
measured 234.4 0.4 moe_ffn --accelerator h200_sxm --tokens 80 --hidden 2880 --intermediate 2880 --experts 32 --top_k 4 \
  --format fp4 --engine vllm
# 8 experts of 3 x 7168 x 2048 weights of 4.5 bits (NVFP4's scales) and 28,672 B of activations at 3.35 TB/s.
ask moe_ffn time_s 5.91670e-5 1e-9 --accelerator h100_sxm --tokens 1 --hidden 7168 --intermediate 2048 --experts 256 \
  --top_k 8 --format fp4 --engine vllm --mode bound
# Experts with a scale per tensor and skewed routing (aiconfigurator 095f58a5); DeepEP on 8 H200, 512 tokens, fp8.
measured 4256.6 0.2 moe_ffn --accelerator h100_sxm --tokens 64 --hidden 4096 --intermediate 2048 --experts 256 --top_k 8 \
  --expert_parallel 2 --format fp8 --weight_scales tensor --routing power_law --popularity_exponent 1.01 --engine vllm
measured 68.663 0.2 collective --accelerator h200_sxm --operation all_to_all --ranks 8 --bytes 17301504 \
  --implementation deepep_low_latency
measured 1414.448 0.2 collective --accelerator h200_sxm --operation all_to_all --ranks 8 --bytes 469762048 \
  --implementation deepep --phase combine --top_k 8 --sms 12
measured 25.4 0.25 collective --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 1MiB --implementation nccl
measured 1092.1 0.2 collective --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 256MiB --implementation nccl
measured 4.788 0.25 collective --accelerator h200_sxm --operation all_reduce --ranks 4 --bytes 16KiB \
  --implementation custom --engine vllm
measured 2.895 0.25 collective --accelerator h200_sxm --operation all_reduce --ranks 4 --bytes 16KiB \
  --implementation custom --engine sglang
# The bound beside a prediction is what bound mode answers; the interval is around the prediction.
answer=$("$napkin" "${gemm[@]}" --accelerator h100_sxm --json)
bound=$("$napkin" "${gemm[@]}" --accelerator h100_sxm --json --mode bound)
near 'the bound beside a prediction' "$(number "$answer" bound_time_s)" "$(number "$bound" time_s)" 0
sed -nE 's/.*"time_s":([^,]*),.*"interval_80_s":\[([^,]*),([^]]*)\].*/\1 \2 \3/p' <<<"$answer" |
  awk '{ d = $2 * $3 / ($1 * $1) - 1; exit !($2 < $1 && $1 < $3 && d < 1e-9 && d > -1e-9) }' ||
  fail "not a geometric interval around the prediction: $answer"

# Engines quantise activations for narrow products; with none there is no such kernel.
time_of() { number "$("$napkin" "$@" --json)" time_s; }
less() { # <what> <smaller> <larger>
  awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && b != "" && a < b) }' || fail "$1: $2 is not less than $3"
}
fp8=("${gemm[@]}" --accelerator h100_sxm --format fp8)
less 'fp8 under vllm' "$(time_of "${fp8[@]}")" "$(time_of "${fp8[@]}" --engine vllm)"
# 8 MiB of weights stay in an L2 of 50 MB when one copy is read; cold ones never do.
warm=(gemm --m 8 --n 2048 --k 2048 --accelerator h100_sxm)
less 'weights in L2' "$(time_of "${warm[@]}" --weight_copies 1)" "$(time_of "${warm[@]}" --weight_copies 0)"
# An all-reduce replayed from a graph does not wait for the host; the custom one of two ranks beats NCCL's at 16 KiB.
small=(collective --accelerator h100_sxm --operation all_reduce --ranks 2 --bytes 16KiB)
less 'a captured all-reduce' "$(time_of "${small[@]}" --implementation custom)" \
  "$(time_of "${small[@]}" --implementation custom --launch stream)"
less 'a custom all-reduce' "$(time_of "${small[@]}" --implementation custom)" "$(time_of "${small[@]}" --implementation nccl)"
for operation in all_gather reduce_scatter all_to_all broadcast point_to_point; do
  mode calibrated collective --accelerator h100_sxm --operation $operation --ranks 2 --bytes 1MiB
done
# Over a network: two profiles behind one time.
answer=$("$napkin" collective --accelerator h100_sxm --operation all_reduce --ranks 16 --bytes 16MiB \
  --network_bytes_per_s 50e9 --json)
[[ $answer == *'"basis":"assumed"'*'"between":'* ]] || fail "an all-reduce over two nodes: $answer"
# More experts are touched where tokens are dealt out evenly than where they go at random.
few=(moe_ffn --accelerator h100_sxm --tokens 16 --hidden 4096 --intermediate 1536 --experts 128 --top_k 8)
less 'balanced experts' "$(time_of "${few[@]}" --routing random)" "$(time_of "${few[@]}")"
# The busiest of eight ranks has more rows where some experts are more popular.
many=("${few[@]/#16/4096}" --expert_parallel 8)
less 'skewed experts' "$(time_of "${many[@]}")" "$(time_of "${many[@]}" --routing power_law)"
# NVFP4 on B200: CUTLASS's tiles have 128 rows and take a time to start; neither library is published there.
four=(moe_ffn --accelerator b200_sxm --tokens 64 --hidden 2048 --intermediate 768 --experts 128 --top_k 8 --format fp4)
less 'NVFP4 by TensorRT-LLM' "$(time_of "${four[@]}" --kernels trtllm)" "$(time_of "${four[@]}" --kernels cutlass)"
less 'NVFP4 by Triton' "$(time_of "${four[@]}" --kernels triton)" "$(time_of "${four[@]}" --kernels cutlass)"
"$napkin" "${four[@]}" --json | sed -nE 's/.*"interval_80_s":\[([^,]*),([^]]*)\].*/\1 \2/p' |
  awk '{ wide = $2 / $1 } END { exit !(wide > 1.3 ^ 2) }' || fail 'the interval of NVFP4 experts on B200'
# One of 64 ranks sums its own rows: quicker than 16384 x 8 rows of 4096 values in 2 bytes at 7.7 TB/s.
spread=(moe_ffn --accelerator b200_sxm --tokens 16384 --hidden 4096 --intermediate 1536 --experts 128 --top_k 8)
less 'a sum of own rows' "$(time_of "${spread[@]}" --expert_parallel 64 --mode calibrated)" 1.3945e-4
# Communication waits: eight ranks bring less than twice the speed of two.
two=(step --model llama_3_70b --accelerator h200_sxm --batch 8 --context 1000 --weight_format fp8)
less 'a step over 8 ranks' "$(time_of "${two[@]}" --tensor_parallel 8)" "$(time_of "${two[@]}" --tensor_parallel 2)"
less 'half a step over 2 ranks' "$(awk -v t="$(time_of "${two[@]}" --tensor_parallel 2)" 'BEGIN { print t / 4 }')" \
  "$(time_of "${two[@]}" --tensor_parallel 8)"
communication=$(number "$("$napkin" "${two[@]}" --tensor_parallel 8 --json)" communication)
less 'the wire at its full rate' "$(number "$("$napkin" "${two[@]}" --tensor_parallel 8 --json --mode bound)" communication)" \
  "${communication:-0}"

# Over two nodes the interval has the network's uncertainty, in proportion to the communication, and says so.
nodes=(step --model llama_3_1_70b --accelerator h100_sxm --engine vllm --batch 1 --context 1000)
json=$("$napkin" "${nodes[@]}" --tensor_parallel 16 --json)
[[ $json == *'hop as p2p_latency_s'* ]] || fail 'a step over two nodes does not cite the network'
log_sigma() { sed -nE 's/.*"interval_80_s":\[([^],]*),([^],]*)\].*/\1 \2/p' <<<"$1" | awk '{ print log($2 / $1) / 2 / 1.2816 }'; }
share=$(awk -v c="$(number "$json" communication)" -v t="$(number "$json" time_s)" 'BEGIN { print c / t }')
link=$("$napkin" collective --operation all_reduce --accelerator h100_sxm --ranks 16 --node_ranks 8 --network_bytes_per_s 50GB/s --bytes 16KiB --json)
awk -v all="$(log_sigma "$json")" -v s="$share" -v net="$(log_sigma "$link")" \
  'BEGIN { exit !(s > 0.2 && all > s * net && all < s * net + 0.12) }' || fail "over two nodes: $(log_sigma "$json") of $share x $(log_sigma "$link")"
json=$("$napkin" "${nodes[@]}" --tensor_parallel 8 --json)
[[ $json != *'hop as p2p_latency_s'* ]] || fail 'a step in a node cites the network'
finish
