#!/usr/bin/env bash
# plan --save: each flag of each script against the row, and against a list of the engine's flags; each row again
# by its command of `napkin serving`. plan_save.sh <napkin> <source folder>
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.bash"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Flags of vLLM at 017e9f444, SGLang at 8905cbd42, TensorRT-LLM at 00209af. Those of drafts, routers, proxies and of
# steps without CUDA graphs were not all read in the engines' sources.
known_vllm=' --tensor-parallel-size --pipeline-parallel-size --data-parallel-size --enable-expert-parallel --max-num-seqs
  --max-num-batched-tokens --gpu-memory-utilization --max-model-len --kv-cache-dtype --quantization --speculative-config
  --enforce-eager --kv-transfer-config --host --port --prefiller-hosts --prefiller-ports --decoder-hosts --decoder-ports '
known_sglang=' --model-path --tp --pp-size --dp --enable-dp-attention --ep --max-running-requests --chunked-prefill-size
  --mem-fraction-static --context-length --kv-cache-dtype --quantization --speculative-algorithm --speculative-num-steps
  --speculative-eagle-topk --speculative-num-draft-tokens --disable-cuda-graph --disaggregation-mode
  --disaggregation-bootstrap-port --host --port --pd-disaggregation --prefill --decode '
known_trtllm=' --tp_size --pp_size --ep_size --max_batch_size --max_num_tokens --kv_cache_free_gpu_memory_fraction
  --max_seq_len --config --host --port '

# Programs that print how they are started.
mkdir "$scratch/bin"
for program in vllm python3 trtllm-serve; do
  printf '#!/bin/sh\necho "GPUS=${CUDA_VISIBLE_DEVICES-}${HIP_VISIBLE_DEVICES-} SIDE=${VLLM_NIXL_SIDE_CHANNEL_PORT-} %s $*"\n' "$program" >"$scratch/bin/$program"
  chmod +x "$scratch/bin/$program"
done
# started <script> [replica...]: its servers, a line each.
started() { PATH=$scratch/bin:$PATH bash "$@" 2>&1 | sort; }
# value <line> <flag>: what follows the flag; "yes" for a flag without a value; nothing without the flag.
value() { awk -v f="$2" '{ for (i = 1; i <= NF; i++) if ($i == f) print (i == NF || $(i + 1) ~ /^--/) ? "yes" : $(i + 1) }' <<<"$1"; }
is() { [[ $2 == "$3" ]] || fail "$1 is '$2', not '$3'"; }
text_of() { sed -nE "s/.*\"$2\":\"([^\"]*)\".*/\1/p" <<<"$1" | head -n 1; }
up() { awk -v a="$1" -v b="$2" 'BEGIN { q = a / b; i = int(q); print i < q - 1e-9 ? i + 1 : i }'; }

# check_server <script> <row of the plan in JSON> <engine> <longest request>: its first replica.
check_server() {
  local line tp pp dp ep chunk most share left what=$1
  line=$(started "$1" 0)
  tp=$(number "$2" tensor_parallel) pp=$(number "$2" pipeline_parallel) dp=$(number "$2" data_parallel) ep=$(number "$2" expert_parallel)
  most=$(number "$2" batch_limit) chunk=$(number "$2" chunk_tokens)
  [[ $pp == 1 ]] && pp=
  # A bound without an engine has the memory of none; the script has its engine's.
  share=$(number "$2" utilization) left=0.9
  [[ $(text_of "$2" engine) == none ]] && share= left=
  case $3 in
    vllm)
      is "$what: TP" "$(value "$line" --tensor-parallel-size)" "$tp"
      is "$what: PP" "$(value "$line" --pipeline-parallel-size)" "$pp"
      is "$what: DP" "$(value "$line" --data-parallel-size)" "$([[ $dp == 1 ]] || echo "$dp")"
      is "$what: EP" "$(value "$line" --enable-expert-parallel)" "$([[ $ep == 1 ]] || echo yes)"
      is "$what: sequences" "$(value "$line" --max-num-seqs)" "$(up "$most" "$dp")"
      is "$what: tokens" "$(value "$line" --max-num-batched-tokens)" "$chunk"
      is "$what: context" "$(value "$line" --max-model-len)" "$4"
      [[ -z $share ]] || near "$what: memory" "$(value "$line" --gpu-memory-utilization)" "$share" 0.0011
      is "$what: KV" "$(value "$line" --kv-cache-dtype)" "$([[ $(text_of "$2" kv_format) != fp8 ]] || echo fp8)" ;;
    sglang)
      is "$what: TP" "$(value "$line" --tp)" "$((tp * dp))"
      is "$what: PP" "$(value "$line" --pp-size)" "$pp"
      is "$what: DP attention" "$(value "$line" --enable-dp-attention)" "$([[ $dp == 1 ]] || echo yes)"
      is "$what: EP" "$(value "$line" --ep)" "$([[ $ep == 1 ]] || echo "$ep")"
      is "$what: sequences" "$(value "$line" --max-running-requests)" "$(($(up "$most" "$dp") * dp))"
      is "$what: tokens" "$(value "$line" --chunked-prefill-size)" "$chunk"
      is "$what: context" "$(value "$line" --context-length)" "$4"
      [[ -z $share ]] || near "$what: memory" "$(value "$line" --mem-fraction-static)" "$share" 0.0011
      is "$what: KV" "$(value "$line" --kv-cache-dtype)" "$([[ $(text_of "$2" kv_format) != fp8 ]] || echo fp8_e4m3)" ;;
    trtllm)
      is "$what: TP" "$(value "$line" --tp_size)" "$((tp * dp))"
      is "$what: EP" "$(value "$line" --ep_size)" "$([[ $ep == 1 ]] || echo "$ep")"
      is "$what: sequences" "$(value "$line" --max_batch_size)" "$(up "$most" "$dp")"
      is "$what: tokens" "$(value "$line" --max_num_tokens)" "$chunk"
      is "$what: context" "$(value "$line" --max_seq_len)" "$4"
      # The share of what weights, activations and runtime leave: 0.9 by default.
      [[ -z $left ]] || near "$what: memory" "$(value "$line" --kv_cache_free_gpu_memory_fraction)" "$left" 0.0011
      grep -qx 'enable_attention_dp: true' "${1%.sh}.yml"
      is "$what: DP attention" "$?" "$([[ $dp == 1 ]] && echo 1 || echo 0)" ;;
  esac
}

# check_plan <name> <longest request> <arguments of plan...>: every row and file of a saved plan.
check_plan() {
  local folder=$scratch/$1 longest=$2 rows row engine script again known flag got
  shift 2
  if ! "$napkin" plan "$@" --save "$folder" >/dev/null; then
    fail "plan $* --save"
    return
  fi
  rows=$(grep -c '"serving":' "$folder/plan.json")
  [[ $rows -gt 0 ]] || fail "plan $*: no rows saved"
  for ((i = 1; i <= rows && i <= 4; ++i)); do
    row=$("$napkin" explain plan "$@" --row "$i" --json | sed 's/"prefill":{[^}]*}//g; s/.*"result":/"result":/')
    for script in "$folder/row_${i}"_*.sh; do
      bash -n "$script" || fail "$script"
      engine=$(sed -nE 's/.*row_[0-9]+_([a-z]+).*/\1/p' <<<"$script")
      known=known_$engine
      for flag in $(grep -oE '^ *--[a-z_-]+| --[a-z_-]+ ' "$script"); do
        [[ $(xargs <<<"${!known}") == *"$flag"* && " ${!known//$'\n'/ } " == *" $flag "* ]] || fail "$script: $flag is no flag of $engine"
      done
      [[ $(sed -n 3p "$script") == '# Flags of '* ]] || fail "$script: no version"
      [[ $script == *_prefill.sh || $script == *_decode.sh || $script == *_router.sh ]] ||
        [[ $(grep -c 'MODEL:?' "$script") -gt 0 ]] || check_server "$script" "$row" "$engine" "$longest"
    done
    again=$(sed -nE 's/^ *"serving": "(napkin .*)"$/\1/p; s/^ *"serving": null/-/p' "$folder/plan.json" | sed -n "${i}p")
    [[ $again == - || $again == '' ]] && continue
    got=$(eval "\"\$napkin\" ${again#napkin } --json")
    for key in ttft_s itl_s; do
      near "row $i of $*: $key by $again" "$(number "$got" $key)" "$(number "$row" $key)" \
        "$(awk -v x="$(number "$row" $key)" 'BEGIN { print 0.001 * x }')"
    done
  done
}

large=(--model llama-3.1-70b --gpu h100 --isl 2048 --osl 512 --users 64 --itl 50ms)
check_plan dense 2560 "${large[@]}"
check_plan vllm 2560 "${large[@]}" --engine vllm --kv-format fp8 --weight-format bf16
check_plan pools 2560 "${large[@]}" --disaggregated --engine vllm,sglang,trtllm
check_plan experts 3000 --model deepseek-ai/DeepSeek-V3 --gpu h200 --isl 2000 --osl 1000 --users 256 --engine vllm,sglang,trtllm --gpus 16
check_plan drafts 2560 --model deepseek-ai/DeepSeek-V3 --gpu h200 --isl 2048 --osl 512 --users 16 --mtp 1 --gpus 16
check_plan rate 1500 --model Qwen/Qwen3-8B --gpu h100 --isl 1000 --osl 500 --qps 40 --ttft 1s --itl 20ms
check_plan bound 2560 "${large[@]}" --mode bound

# Replicas have their own GPUs and ports, eight GPUs a node.
"$napkin" plan --model Qwen/Qwen3-8B --gpu h100 --isl 1000 --osl 500 --users 900 --itl 20ms --engine vllm --save "$scratch/many" >/dev/null
script=$(grep -l 'ranks=1$' "$scratch"/many/row_*.sh | head -n 1)
if [[ -n $script && $(started "$script" | wc -l) -gt 1 ]]; then
  is 'replica 1' "$(started "$script" 1 | grep -oE 'GPUS=[0-9,]+|--port [0-9]+' | xargs)" 'GPUS=1 --port 8001'
  # Without numbers those of one node, each on GPUs of its own; two on the same GPUs are refused.
  is 'replicas of a node' "$(GPUS_PER_NODE=2 started "$script" 2>/dev/null | grep -oE 'GPUS=[0-9,]+' | sort | xargs)" 'GPUS=0 GPUS=1'
  GPUS_PER_NODE=2 started "$script" 0 2 >"$scratch/twice" 2>&1 || true
  [[ $(<"$scratch/twice") == 'replica 2: another one of this call has its GPUs, from 0 on'* ]] || fail "twice: $(<"$scratch/twice")"
  [[ $(started "$script" --help) == *'Usage: bash row_'* ]] || fail 'no help of a script'
else
  fail 'a plan with replicas has no script with replicas'
fi
# Pools: both sides, and what distributes the requests.
"$napkin" plan "${large[@]}" --disaggregated --engine vllm --save "$scratch/vllm_pools" >/dev/null
side=$(ls "$scratch"/vllm_pools/*_prefill.sh | head -n 1)
[[ $(started "$side" 0) == *'SIDE=5600'*'"kv_role":"kv_producer"'* ]] || fail "$side: $(started "$side" 0)"
[[ $(started "${side/_prefill/_decode}" 0) == *'SIDE=5800'*'"kv_role":"kv_consumer"'* ]] || fail "${side/_prefill/_decode}"
[[ $(VLLM_SOURCE=/v started "${side/_prefill/_router}") == *'/v/tests/'*'--prefiller-ports 8100'*'--decoder-ports 8200'* ]] || fail 'the proxy'
"$napkin" plan "${large[@]}" --disaggregated --engine trtllm --save "$scratch/trtllm_pools" >/dev/null
side=$(ls "$scratch"/trtllm_pools/*_prefill.yml | head -n 1)
grep -q 'backend: NIXL' "$side" && grep -q 'localhost:8200' "${side/_prefill/_router}" || fail "$side: $(cat "$side")"
# A format that an engine does not make while it loads needs another checkpoint, and the script says so.
"$napkin" plan "${large[@]}" --weight-format int4 --engine vllm --save "$scratch/int4" >/dev/null
[[ $(started "$scratch/int4/row_1_vllm.sh") == *'MODEL: set it to an int4 checkpoint of meta-llama/Llama-3.1-70B-Instruct'* ]] || fail "int4: $(started "$scratch/int4/row_1_vllm.sh")"
"$napkin" plan "${large[@]}" --weight-format fp8 --engine vllm --save "$scratch/fp8" >/dev/null
[[ $(started "$scratch/fp8/row_1_vllm.sh" 0) == *'--quantization fp8'* ]] || fail 'fp8 on load'
[[ $(started "$scratch/drafts/row_1_"*.sh 0 2>/dev/null) == '' ]] || grep -rqE 'mtp|MTP|EAGLE' "$scratch/drafts" || fail 'no row with MTP'

# Memory that an engine reserves for each running request: no more of them than it has by default or the load needs. The
# command of the row runs.
"$napkin" plan --model gpt_oss_120b --gpu h200 --isl 200 --osl 8 --rate 0.5 --engine vllm --save "$scratch/idle" >/dev/null
line=$(started "$scratch/idle/row_1_vllm.sh" 0)
is 'sequences of an idle service' "$(value "$line" --max-num-seqs)" 1024
command=$(grep -rhoE 'napkin serving .*' "$scratch/idle" | head -n 1)
[[ $command == *'--max-sequences 1024'* ]] || fail "an idle service: $command"

# An earlier plan is replaced; a folder with other files is refused, and a file.
"$napkin" plan "${large[@]}" --engine vllm --save "$scratch/dense" >/dev/null || fail 'an earlier plan'
ls "$scratch/dense"/*trtllm* >/dev/null 2>&1 && fail 'files of the earlier plan are left'
touch "$scratch/dense/mine"
refuses 'has other files, "mine"; allowed: a new or empty folder' plan "${large[@]}" --save "$scratch/dense"
refuses 'is not a folder' plan "${large[@]}" --save "$scratch/dense/mine"
[[ $("$napkin" plan "${large[@]}" --engine vllm --save "$scratch/a b" --json) == *'"saved":'* && -e "$scratch/a b/README.md" ]] || fail '--save --json'
finish
