#!/usr/bin/env bash
# Nothing that is given is ignored without a word: beside a question of each kind, each key of serving, advise, step,
# kv_capacity and plan changes a number of the answer, is refused, or is named in the answer as left out. What does
# neither is listed below, with the reason why that is meant.
. "$(dirname "$0")/lib.bash"
closed_forms
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A value of each key that ought to make a difference, and another for questions that have the first already.
cat >"$work/values" <<'END'
model "qwen_2_5_7b" "llama_3_8b"
accelerator "h200_sxm" "h100_sxm"
tensor_parallel 2
pipeline_parallel 2
expert_parallel 2
redundant_experts 8
data_parallel 2 1
input_tokens 1500
output_tokens 700
concurrency 300
requests_per_s 3
requests 700
arrival_cv 2
input_cv 0.7
output_cv 0.7
prefix_hit 0.6
shared_tokens 900
shared_prefixes 5000
host_hit 0.2
host_memory_bytes 4e10
host_link_bytes_per_s 5e9
preemption "recompute" "swap"
chunk_tokens 700
scheduler "prefill_first" "mixed_chunks"
stream_interval 10
held_iterations 5
weight_format "fp8" "bf16"
activation_format "fp8" "bf16"
kv_format "fp8"
utilization 0.5
activation_bytes 3e10
runtime_bytes 3e10
max_sequences 8
engine "sglang" "vllm"
draft_length 4
acceptance 0.4
mtp 1
drafter "layer"
draft_model "llama_3_2_1b"
prefill_tensor_parallel 2
prefill_expert_parallel 2
prefill_redundant_experts 2
prefill_data_parallel 2
prefill_replicas 2
decode_tensor_parallel 2
decode_expert_parallel 2
decode_redundant_experts 2
decode_data_parallel 2
decode_replicas 2
kv_link_bytes_per_s 1e9
ttft_limit_s 0.03
itl_limit_s 0.01
advise.ttft_limit_s 0.14
advise.itl_limit_s 0.0208
advise.limit_share 0.99
advise.framework "eager"
limit_share 0.5
lora_rank 16
lora_adapters 4
lora_active 2
lora_experts true
cuda_graph_tokens 104
cpu_offload_bytes 4e9
network_bytes_per_s 2e10
cuda_graphs false
step_cpu_s 0.007
sequence_cpu_s 0.00001
images 1
image_tokens 500
image_patches 3000
engine_version "vllm-0.10"
measured_s 0.02
batch 9
context 999
prefill_tokens 300
tokens_per_sequence 3
block_size 32
memory_bytes 6e10
weight_bytes 3e10
set {"dram.bandwidth":3e12}
mode "bound"
kv_capacity.set {"dram.capacity":6e10}
plan.set dram.capacity=60GB
price 9
gpus 2
ttft 1us
ttft_percentile 99
itl 1us
itl_percentile 99 50
e2e 1us
e2e_percentile 99
longest_wait 1ns
plan.engine sglang vllm
formats fp8 bf16
disaggregated true
prefill_accelerator h200_sxm h20
END

# What changes nothing, and is meant: keys, questions, why. Under a sanitizer not all of the questions are asked. ~: or does, as the numbers of the catalogue are.
cat >"$work/meant" <<'END'
utilization,activation_bytes,runtime_bytes closed,static,run,drafts,drafts_open,host,bound_open,bound_drafts all requests fit
activation_bytes,runtime_bytes experts,open,wide all requests fit
scheduler experts,wide is that of the engine
activation_format experts,wide,plan_pools is that of the weights
weight_format plan_pools is another name of formats
disaggregated plan_pools is asked already
itl_percentile ~plan_pools no prompt stalls an answer of pools: all gaps are alike
mode bound,bound_open,bound_drafts,bound_pools,bound_pools_open,bound_limits,step_bound,advice_bound,plan_bound is asked already
mode memory,own_memory takes no time
activation_format bound,bound_open,bound_drafts,bound_pools,bound_pools_open,bound_limits,step_bound,plan_bound products run in the wider format, that of the weights
cuda_graphs,step_cpu_s,sequence_cpu_s step_bound a bound has no CPU time
activation_bytes ~plan_targets all requests fit
engine step_bound a bound's time does not depend on it
ttft_limit_s,itl_limit_s ~advice,~advice_open,~advice_evicts,~advice_pools,~advice_drafts,~advice_limits,~advice_bound counts where a trick misses it
limit_share ~advice_limits counts where a trick misses it
framework ~advice_evicts a step takes longer than the launches of each framework
cuda_graphs own_memory has no engine
cuda_graph_tokens advice,advice_open,advice_pools,advice_drafts,advice_limits all requests fit
accelerator own_memory memory_bytes says what there is
disaggregated plan_closed,plan_open,plan_targets,plan_evicts of one GPU there are no two pools
END

service='"model":"llama_3_8b","accelerator":"h100_sxm","input_tokens":2048,"output_tokens":512'
pools='"prefill_tensor_parallel":1,"decode_tensor_parallel":1,"kv_link_bytes_per_s":5e10'
experts='"model":"deepseek_v3","accelerator":"h200_sxm","tensor_parallel":8,"engine":"sglang","input_tokens":2048,"output_tokens":512'
drafts='"draft_length":3,"acceptance":0.7'
pass='"model":"llama_3_8b","accelerator":"h100_sxm","engine":"vllm","batch":64,"context":2048'
# The questions: name, query, keys.
some 4 >"$work/questions" <<END
closed serving $service,"engine":"vllm","concurrency":64
full serving $service,"engine":"vllm","concurrency":500
open serving $service,"engine":"vllm","requests_per_s":4
static serving $service,"engine":"vllm","concurrency":64,"scheduler":"static_batches"
run serving $service,"engine":"vllm","concurrency":64,"requests":640
evicts serving $service,"engine":"vllm","concurrency":500,"preemption":"recompute"
swaps serving $service,"engine":"vllm","concurrency":500,"preemption":"swap","host_link_bytes_per_s":2e10
drafts serving $service,"engine":"vllm","concurrency":64,$drafts
drafts_open serving $service,"engine":"vllm","requests_per_s":4,$drafts
pools serving $service,"engine":"vllm","concurrency":64,$pools
pools_open serving $service,"engine":"vllm","requests_per_s":4,$pools
shared serving $service,"engine":"vllm","concurrency":500,"shared_tokens":1024,"shared_prefixes":4000
tiers serving $service,"engine":"vllm","concurrency":500,"shared_tokens":1024,"shared_prefixes":4000,"host_memory_bytes":8e10
host serving $service,"engine":"vllm","concurrency":64,"prefix_hit":0.5,"host_hit":0.3
limits serving $service,"engine":"vllm","concurrency":64,"ttft_limit_s":0.5
experts serving $experts,"concurrency":64
wide serving ${experts/parallel\":8/parallel\":4},"concurrency":64,"expert_parallel":8,"data_parallel":2
bound serving $service,"engine":"vllm","mode":"bound","concurrency":500
bound_open serving $service,"engine":"vllm","mode":"bound","requests_per_s":4
bound_drafts serving $service,"engine":"vllm","mode":"bound","concurrency":64,$drafts
bound_pools serving $service,"engine":"vllm","mode":"bound","concurrency":64,$pools
bound_pools_open serving $service,"engine":"vllm","mode":"bound","requests_per_s":4,$pools
bound_limits serving $service,"engine":"vllm","mode":"bound","concurrency":500,"ttft_limit_s":0.5
step step $pass
step_mixed step $pass,"prefill_tokens":512
step_bound step $pass,"mode":"bound"
memory kv_capacity "model":"llama_3_8b","accelerator":"h100_sxm","context":4096,"engine":"vllm"
own_memory kv_capacity "model":"llama_3_8b","memory_bytes":8e10,"context":4096
advice advise $service,"engine":"vllm","concurrency":64
advice_open advise $service,"engine":"vllm","requests_per_s":4
advice_evicts advise $service,"engine":"vllm","concurrency":500,"preemption":"recompute"
advice_pools advise $service,"engine":"vllm","concurrency":64,$pools
advice_drafts advise $service,"engine":"vllm","concurrency":64,$drafts
advice_limits advise $service,"engine":"vllm","concurrency":64,"ttft_limit_s":0.14
advice_bound advise $service,"mode":"bound","concurrency":64
END
one='--gpu h100_sxm --model llama_3_8b --gpus 1 --input_tokens 2048 --output_tokens 512 --formats bf16'
some 4 >"$work/plans" <<END
plan_closed $one --engine vllm --concurrency 64
plan_open $one --engine vllm --requests_per_s 4
plan_evicts $one --engine vllm --concurrency 500 --preemption recompute
plan_targets $one --engine vllm --concurrency 64 --ttft 0.2s --itl 0.03s --e2e 15s --output_cv 0.5
plan_pools --gpu h200_sxm --model llama_3_70b --gpus 16 --input_tokens 8192 --output_tokens 512 --formats fp8 --engine vllm --requests_per_s 2 --itl 15ms --itl_percentile 99 --disaggregated --prefill_accelerator h100_sxm
plan_bound $one --mode bound --concurrency 500
END

# The keys of each query that have a value here, from its help.
for query in serving advise step kv_capacity plan; do
  "$napkin" $query --help | sed -nE 's/^  --([a-z0-9-]+).*/\1/p' | tr - _ | sed "s/^/$query /"
done | awk 'FILENAME ~ /values$/ { v[$1]; next } $2 in v || ($1 "." $2) in v' "$work/values" - >"$work/keys"

# The questions of a batch, each as it is and with each key: "question key request" a line.
awk '
  FILENAME ~ /values$/ { v[$1] = $2; other[$1] = $3; next }
  FILENAME ~ /keys$/ { keys[$1] = keys[$1] " " $2; next }
  {
    head = "{\"query\":\"" $2 "\","
    rest = substr($0, length($1) + length($2) + 3)
    print $1, "-", head rest "}"
    n = split(keys[$2], k, " ")
    for (i = 1; i <= n; ++i) {
      name = ($2 "." k[i]) in v ? $2 "." k[i] : k[i]
      if (!(name in v)) { print $1, k[i], "no_value"; continue }
      with = rest
      own = "\"" k[i] "\":"
      value = v[name]
      if (index(with, own value) && other[name] != "") value = other[name]
      if (at = index(with, own)) {  # in place of the one that is there
        tail = substr(with, at + length(own))
        end = match(tail, /,"/)
        with = substr(with, 1, at - 1) own value (end ? substr(tail, end) : "")
      } else {
        with = with "," own value
      }
      print $1, k[i], head with "}"
    }
  }' "$work/values" "$work/keys" "$work/questions" >"$work/asked"
cut -d' ' -f3- "$work/asked" | "$napkin" batch | paste -d' ' <(cut -d' ' -f1,2 "$work/asked") - >"$work/answers"

# The same of plans. A derivation lists what was given, used or not.
planned() {
  local answer
  answer=$("$napkin" plan "$@" --json 2>/dev/null)
  if [[ $? -eq 2 ]]; then echo '{"error":{}}'; else sed -E 's/"derivation":\{.*\}(,"left_out":.*)?\}$/"":0\1}/' <<<"$answer"; fi
}
while read -r name arguments; do
  # shellcheck disable=SC2086
  echo "$name - $(planned $arguments)"
  for key in $(sed -n 's/^plan //p' "$work/keys"); do
    value=$(awk -v k="$key" -v now=" $arguments " '
      $1 == k && !own || $1 == "plan." k { own = $1 != k; v = $2; other = $3 }
      END { gsub("\"", "", v); gsub("\"", "", other); print index(now, " --" k " " v " ") && other != "" ? other : v }' "$work/values")
    [[ $key != accelerator ]] || value=h20
    without=$arguments
    [[ $key != weight_format ]] || without=$(sed -E 's/--formats [a-z0-9]+//' <<<"$arguments")
    [[ $key != accelerator ]] || without=$(sed -E 's/--gpu [a-z0-9_]+//' <<<"$arguments")
    without=$(sed -E "s/--$key( [^-][^ ]*)?( |\$)/\2/" <<<"$without")
    # shellcheck disable=SC2086
    echo "$name $key $(planned $without --$key $value)"
  done
done <"$work/plans" >>"$work/answers"

# Numbers alone are compared, without those of the key itself, which an answer may repeat.
awk '
  function numbers(s, key) {
    gsub("\"" key "\":[-0-9.eE+]*", "", s)
    gsub(/"[^"]*"/, "", s)
    return s
  }
  { question = $1; key = $2; answer = substr($0, length($1) + length($2) + 3) }
  key == "-" { base = answer; if (answer ~ /"error":\{/) print question, key, "refused"; next }
  answer ~ /"error":\{/ { print question, key, "refused"; next }
  numbers(answer, key) != numbers(base, key) { print question, key, "changes"; next }
  { print question, key, answer ~ "\"left_out\":\\[[^]]*\"" key "\"" ? "said" : "nothing" }
' "$work/answers" >"$work/became"
awk '
  FILENAME ~ /meant$/ {
    n = split($1, k, ",")
    m = split($2, q, ",")
    for (j = 1; j <= m; ++j) {
      often = sub(/^~/, "", q[j]) ? "or does" : "nothing"
      for (i = 1; i <= n; ++i) meant[q[j] " " k[i]] = often
    }
    next
  }
  $2 == "-" { print "FAIL: the question " $1 " itself is refused"; next }
  { now = $1 " " $2; asked[$1] }
  $3 == "nothing" && !(now in meant) { print "FAIL: " $1 ": " $2 " changes nothing, is not refused and not said to be left out" }
  $3 != "nothing" && now in meant && meant[now] == "nothing" { print "FAIL: " $1 ": " $2 " is no more without effect; take it off the list" }
  { delete meant[now] }
  END { for (now in meant) { split(now, part, " "); if (!sanitized || part[1] in asked) print "FAIL: nobody asks for " now } }
' sanitized="$sanitized" "$work/meant" "$work/became" >"$work/failures"
cat "$work/failures"
failures=$(wc -l <"$work/failures")
echo "$(wc -l <"$work/became") keys beside questions: $(cut -d' ' -f3 "$work/became" | sort | uniq -c | tr -s ' \n' ' ')"
[[ $(wc -l <"$work/became") -gt $((sanitized ? 400 : 1500)) ]] || fail 'too few were asked'
finish
