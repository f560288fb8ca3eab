#!/usr/bin/env bash
# What napkin cannot answer: each gets its code, the field and what is allowed; nothing crashes.
. "$(dirname "$0")/lib.bash"

# --- the command line: exit status 2 and one line ---------------------------------------------------
gemm=(gemm --accelerator h100_sxm --m 1 --n 2)
refuses 'accelerator, m, n, k are missing; gemm needs them' gemm
refuses 'k is missing; gemm needs it' "${gemm[@]}"
refuses '--gpu is given twice; allowed: once' gemm --gpu h100 --gpu h200
refuses '--tp and --tensor-parallel are one option, given twice; allowed: once' step --tp 2 --tensor_parallel 4
refuses napkin nonsense
refuses 'PM-E002: "stepp" is not a query or command; did you mean step? napkin --help lists them' stepp
refuses 'PM-E002: "calibrat" is not a query or command; did you mean calibrate?' calibrat --help
refuses 'PM-E002: "stepp" is not a query; did you mean step?' explain stepp --model llama_3_8b
refuses 'PM-E002: "servin" is not a query; did you mean serving?' sensitivity servin
refuses 'PM-E003: unknown key "tensor_paralel" of step; did you mean tensor_parallel? napkin step --help lists them' \
  step --model llama_3_8b --accelerator h100_sxm --tensor_paralel 8
refuses 'did you mean accelerator?' gemm --acelerator h100_sxm
refuses 'did you mean format?' gemm --accelerator h100_sxm --fromat fp8
refuses 'PM-E003: unknown key "colour" of ridge; allowed: accelerator, format' ridge --accelerator h100_sxm --colour red
refuses '--k' "${gemm[@]}" --k
refuses PM-E004 "${gemm[@]}"
refuses PM-E003 "${gemm[@]}" --k 3 --batch 4
refuses PM-E003 "${gemm[@]}" --k 3 4
refuses 'weight_scales is mx with weights in int4; allowed: mx with fp4 or fp8' "${gemm[@]}" --k 3 --weight_format int4 --weight_scales mx
refuses PM-E010 "${gemm[@]}" --k 0
refuses PM-E010 "${gemm[@]}" --k -3
refuses PM-E010 "${gemm[@]}" --k 2.5
refuses PM-E010 "${gemm[@]}" --k 1e16
refuses PM-E010 "${gemm[@]}" --k 1e400
refuses PM-E005 "${gemm[@]}" --k nan
refuses PM-E005 "${gemm[@]}" --k inf
refuses PM-E005 "${gemm[@]}" --k 40ms
refuses PM-E014 "${gemm[@]}" --k 3 --format fp6
refuses PM-E014 "${gemm[@]}" --k 3 --engine none_of_them
refuses PM-E014 "${gemm[@]}" --k 3 --mode guessed
refuses PM-E014 gemm --accelerator rubin_ultra_nvl576 --m 1 --n 2 --k 3 --format fp8 --mode calibrated
refuses PM-E011 gemm --accelerator h101 --m 1 --n 2 --k 3
refuses h100_sxm gemm --accelerator h101 --m 1 --n 2 --k 3
refuses PM-E013 gemm --accelerator v100_sxm_32gb --m 1 --n 2 --k 3 --format fp8
refuses PM-E012 kv_capacity --accelerator h100_sxm --model llama-3-70
refuses llama_3_70b kv_capacity --accelerator h100_sxm --model llama-3-70
refuses PM-E040 kv_capacity --accelerator h100_sxm --model no/such/file.json
refuses PM-E040 kv_capacity --accelerator h100_sxm --model /
refuses PM-E030 kv_capacity --accelerator h100_sxm --model llama_3_70b --tensor_parallel 3
refuses PM-E030 step --accelerator h100_sxm --model llama_3_70b --tensor_parallel 7 --batch 1 --context 1
refuses PM-E010 step --accelerator h100_sxm --model llama_3_70b --tensor_parallel 2.5 --batch 1 --context 1
refuses PM-E010 step --accelerator h100_sxm --model llama_3_70b --tensor_parallel 0 --batch 1 --context 1
refuses PM-E004 serving --accelerator h100_sxm --model llama_3_8b --input_tokens 1 --output_tokens 1
refuses PM-E031 serving --accelerator h100_sxm --model llama_3_8b --input_tokens 1 --output_tokens 1 \
  --concurrency 1 --requests_per_s 1
refuses 'PM-E010: tokens is 0.5; allowed: a number, 1 to' attention_fusion --tokens 0.5
refuses 'PM-E010: mean_tokens is 0.5; allowed: a number, 1 to' paging --mean_tokens 0.5
serving=(serving --accelerator h100_sxm --model llama_3_8b --input_tokens 10 --output_tokens 10)
refuses PM-E031 "${serving[@]}" --concurrency 1 --arrival_cv 2
refuses PM-E031 "${serving[@]}" --requests_per_s 1 --requests 10
refuses 'PM-E010: prefix_hit is 1; allowed: a number, 0 to 0.999' "${serving[@]}" --concurrency 1 --prefix_hit 1
for bad in 'prefix_hit -0.1' 'input_cv -1' 'output_cv 101' 'requests -1' 'requests 1.5' 'ttft_limit_s 0' 'itl_limit_s -1' \
  'chunk_tokens 0'; do
  read -ra words <<<"--$bad"
  refuses "PM-E010: ${bad/ / is }; allowed: " "${serving[@]}" --concurrency 1 "${words[@]}"
done
refuses 'PM-E010: arrival_cv is -1; allowed: ' "${serving[@]}" --requests_per_s 1 --arrival_cv -1
refuses 'PM-E010: requests_per_s is 0; allowed: ' "${serving[@]}" --requests_per_s 0
refuses 'PM-E014: scheduler is "fifo"; allowed: mixed_chunks' "${serving[@]}" --concurrency 1 --scheduler fifo
# Drafts and pools that contradict each other, or say half of it.
one=("${serving[@]}" --concurrency 1)
refuses 'PM-E010: acceptance is 1.5; allowed: ' "${one[@]}" --draft_length 2 --acceptance 1.5
refuses 'PM-E004: acceptance is missing' "${one[@]}" --draft_length 2
refuses 'PM-E004: draft_length is missing' "${one[@]}" --acceptance 0.5
refuses 'PM-E031: mtp is 1, and llama_3_8b has no heads' "${one[@]}" --mtp 1
refuses 'PM-E031: give one of mtp and draft_length' "${one[@]}" --mtp 1 --draft_length 2 --acceptance 0.5
refuses 'PM-E031: give one of drafter and draft_model' "${one[@]}" --draft_length 2 --acceptance 0.5 --drafter heads \
  --draft_model llama_3_8b
refuses 'PM-E031: acceptance has 9 positions' "${one[@]}" --draft_length 2 --acceptance 0.9,0.9,0.9,0.9,0.9,0.9,0.9,0.9,0.9
refuses 'PM-E014: drafter is "crystal_ball"' "${one[@]}" --draft_length 2 --acceptance 0.5 --drafter crystal_ball
link=(--kv_link_bytes_per_s 50GB/s)
both=(--prefill_tensor_parallel 1 --decode_tensor_parallel 1)
refuses 'PM-E031: prefill_ and decode_ keys lay out two pools' "${one[@]}" "${both[@]}" "${link[@]}" --tensor_parallel 2
refuses 'PM-E031: speculative decoding is modelled in one pool only' "${one[@]}" "${both[@]}" "${link[@]}" --draft_length 2 --acceptance 0.5
refuses 'PM-E004: decode_tensor_parallel is missing' "${one[@]}" --prefill_tensor_parallel 1 "${link[@]}"
refuses 'PM-E010: kv_link_bytes_per_s is 0; allowed: ' "${one[@]}" "${both[@]}" --kv_link_bytes_per_s 0
refuses 'PM-E010: prefill_replicas is 0; allowed: ' "${one[@]}" "${both[@]}" "${link[@]}" --prefill_replicas 0
refuses 'PM-E030: ' "${one[@]}" --prefill_tensor_parallel 3 --decode_tensor_parallel 1 "${link[@]}"
refuses 'PM-E010: measured_s is 0; allowed: ' "${one[@]}" --measured_s 0
refuses 'PM-E010: measured_s is 0; allowed: ' iron_law --bytes 1 --bytes_per_s 1 --measured 0
refuses 'PM-E010: measured_flop_per_s is 0; allowed: ' peak --accelerator h100_sxm --measured 0
refuses 'PM-E010: measured_bytes_per_s is 0; allowed: ' bus --bits 8 --transfers_per_s 1e9 --measured 0
refuses 'PM-E010: measured_tokens_per_s is 0; allowed: ' throughput --streams 8 --itl_s 1 --measured 0
refuses 'PM-E010: measured_per_s is 0; allowed: ' littles_law --latency_s 1 --bytes_per_s 1 --measured 0
refuses 'PM-E004: measured_s is compared with time_s, which these keys do not give' model_flop --parameters 1e9 --measured 1s
refuses 'PM-E010: limit_share is 1; allowed: ' "${one[@]}" --limit_share 1
# What prompts share: longer than they are, half said, too deep.
refuses 'PM-E010: shared_tokens is 10; allowed: fewer than input_tokens' "${one[@]}" --shared_tokens 10
refuses 'PM-E010: shared_tokens is 0; allowed: ' "${one[@]}" --shared_tokens 0
refuses 'PM-E004: shared_tokens is missing' "${one[@]}" --shared_prefixes 2
refuses 'PM-E031: shared_prefixes has 1 levels and shared_tokens has 2' "${one[@]}" --shared_tokens 2,3 --shared_prefixes 2
refuses 'PM-E031: shared_tokens has 7 levels; allowed: 1 to 6' "${one[@]}" --shared_tokens 1,1,1,1,1,1,1
refuses 'PM-E031: a level of a prefix tree has fewer prefixes' "${one[@]}" --shared_tokens 2,3 --shared_prefixes 4,2
refuses 'PM-E010: shared_tokens is 4096; allowed: fewer than the context' kv_capacity --accelerator h100_sxm --model llama_3_8b \
  --context 4096 --shared_tokens 4096
refuses 'PM-E010: shared_tokens is 2000; allowed: fewer than input_tokens' plan --model llama_3_8b --gpu h100_sxm --shared_tokens 2000
# What comes from the host: more than is found, from nowhere, said twice.
refuses 'PM-E010: host_hit is 0.6; allowed: 0 to prefix_hit' "${one[@]}" --prefix_hit 0.5 --host_hit 0.6
refuses 'PM-E010: host_hit is -1; allowed: ' "${one[@]}" --prefix_hit 0.5 --host_hit -1
refuses 'PM-E004: host_hit is missing' "${one[@]}" --host_link_bytes_per_s 25GB/s
refuses 'PM-E004: shared_tokens is missing' "${one[@]}" --host_memory_bytes 100GB
refuses 'PM-E031: give one of host_hit and host_memory_bytes' "${one[@]}" --shared_tokens 5 --host_memory_bytes 100GB --host_hit 0.1
refuses 'PM-E031: host_memory_bytes determines the hits of shared_tokens' "${one[@]}" --shared_tokens 5 --host_memory_bytes 100GB --prefix_hit 0.1
refuses 'PM-E010: host_memory_bytes is 0; allowed: ' "${one[@]}" --shared_tokens 5 --host_memory_bytes 0
refuses 'PM-E010: host_link_bytes_per_s is 0; allowed: ' "${one[@]}" --prefix_hit 0.5 --host_hit 0.1 --host_link_bytes_per_s 0
refuses 'PM-E014: preemption is "drop"; allowed: recompute' "${one[@]}" --preemption drop
refuses 'PM-E004: host_hit is missing' "${one[@]}" --host_link_bytes_per_s 25GB/s --preemption recompute
refuses 'PM-E010: prefix_hit is 2; allowed: ' plan --model llama_3_8b --gpu h100_sxm --prefix_hit 2
refuses PM-E010 collective --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 0
refuses PM-E010 collective --accelerator h100_sxm --operation all_reduce --ranks 0 --bytes 1
refuses PM-E031 collective --accelerator h100_sxm --operation all_to_all --ranks 8 --bytes 1 --implementation two_shot
refuses PM-E010 speculation --acceptance 1.5
refuses PM-E031 speculation --acceptance 0.5,0.5 --draft_length 3
refuses PM-E031 moe_ffn --accelerator h100_sxm --tokens 1 --hidden 2 --intermediate 2 --experts 4 --top_k 8
refuses PM-E031 attention_decode --accelerator h100_sxm --batch 1 --context 1 --query_heads 8 --kv_heads 3 --head_dim 1
refuses PM-E011 gpus h101
refuses PM-E012 models nothing_like_it
refuses PM-E004 plan --model llama_3_8b
refuses PM-E014 plan --model llama_3_8b --gpu h100_sxm --formats bf17
refuses PM-E011 plan --model llama_3_8b --gpu h100_sxm --disaggregated --prefill_accelerator h101
refuses PM-E031 plan --model llama_3_8b --gpu h100_sxm --prefill_accelerator h200_sxm
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo '{"model_type": "llama"}' >"$scratch/lacks.json"
echo '{"architectures": ["NoSuchModel"], "model_type": "nothing"}' >"$scratch/unknown.json"
echo '{broken' >"$scratch/broken.json"
refuses PM-E021 kv_capacity --accelerator h100_sxm --model "$scratch/lacks.json"
refuses PM-E020 kv_capacity --accelerator h100_sxm --model "$scratch/unknown.json"
refuses PM-E040 kv_capacity --accelerator h100_sxm --model "$scratch/broken.json"
if [[ -w /dev/full ]]; then
  "$napkin" gpus >/dev/full 2>/dev/null
  [[ $? -eq 2 ]] || fail 'an answer that cannot be written is not reported'
  for option in --help --version; do
    "$napkin" $option >/dev/full 2>/dev/null
    [[ $? -eq 2 ]] || fail "$option that cannot be written is not reported"
  done
fi

for command in 'gpus' 'gemm --accelerator h100_sxm --m 1 --n 2 --k 3' 'calibrate --accelerator h100_sxm --data x'; do
  read -ra words <<<"$command"
  refuses 'json was given a disallowed' "${words[@]}" --json=7
done
# What opens and cannot be read is said by name.
refuses 'PM-E040: stdin: cannot be read' batch </tmp
if [[ -e /proc/self/mem ]]; then  # it states no size
  refuses 'PM-E040: data: "/proc/self/mem" cannot be read' calibrate --accelerator h100_sxm --data /proc/self/mem
  refuses 'PM-E040: model: "/proc/self/mem" cannot be read' kv_capacity --accelerator h100_sxm --model /proc/self/mem
  refuses 'PM-E003: /proc/version:1: the column' calibrate --accelerator h100_sxm --data /proc/version
fi
# Not by `refuses`: where stdin is closed, the pipe of a $( ) becomes the program's stdin.
"$napkin" batch <&- >"$scratch/out" 2>"$scratch/err"
[[ $? -eq 2 ]] || fail 'a batch without stdin: exit status not 2'
[[ ! -s $scratch/out && $(cat "$scratch/err") == *'PM-E040: stdin: cannot be read' ]] ||
  fail "a batch without stdin: $(cat "$scratch/out" "$scratch/err")"

# --- a batch: an error line in place, the others still answered -------------------------------------
# line <code> <request>
lines=() codes=()
line() {
  codes+=("$1")
  lines+=("$2")
}
good='{"query":"gemm","id":"good","accelerator":"h100_sxm","m":1,"n":2,"k":3}'
line - "$good"
line PM-E001 'not JSON'
line PM-E001 '{"query":"gemm","m":'
line PM-E001 ''
line PM-E001 '   '
line PM-E001 '[1,2]'
line PM-E001 '3'
line PM-E001 'null'
line PM-E001 '{"query":"gemm","accelerator":"h100_sxm","m":NaN,"n":2,"k":3}'
line PM-E001 '{"query":"gemm","accelerator":"h100_sxm","m":Infinity,"n":2,"k":3}'
line PM-E001 '{"query":"gemm","accelerator":"h100_sxm","m":1,"m":1,"n":2,"k":3}'
line PM-E001 "$(printf '{"query":"gemm","id":"\xff\xfe"}')"
line PM-E001 "{\"id\":$(printf '[%.0s' {1..5000})"
line PM-E001 "{\"id\":$(printf '[%.0s' {1..100})$(printf ']%.0s' {1..100})}"
line - "$good"
line PM-E004 '{}'
line PM-E005 '{"query":7}'
line PM-E002 '{"query":"gemn"}'
line PM-E003 '{"query":"gemm","accelerator":"h100_sxm","m":1,"n":2,"k":3,"batch":4}'
line PM-E004 '{"query":"gemm","accelerator":"h100_sxm","m":1,"n":2}'
line PM-E005 '{"query":"gemm","accelerator":"h100_sxm","m":"1","n":2,"k":3}'
line PM-E005 '{"query":"gemm","accelerator":"h100_sxm","m":[1],"n":2,"k":3}'
line PM-E005 '{"query":"gemm","accelerator":"h100_sxm","m":null,"n":2,"k":3}'
line PM-E005 '{"query":"gemm","accelerator":null,"m":1,"n":2,"k":3}'
line PM-E005 '{"query":"attention_prefill","accelerator":"h100_sxm","batch":1,"tokens":1,"query_heads":1,"kv_heads":1,"head_dim":1,"causal":1}'
line PM-E010 '{"query":"gemm","accelerator":"h100_sxm","m":0,"n":2,"k":3}'
line PM-E010 '{"query":"gemm","accelerator":"h100_sxm","m":-1,"n":2,"k":3}'
line PM-E010 '{"query":"gemm","accelerator":"h100_sxm","m":1.5,"n":2,"k":3}'
line PM-E010 '{"query":"gemm","accelerator":"h100_sxm","m":1e300,"n":2,"k":3}'
line PM-E010 '{"query":"gemm","accelerator":"h100_sxm","m":1e400,"n":2,"k":3}'
line PM-E010 '{"query":"gemm","accelerator":"h100_sxm","m":99999999999999999999999999,"n":2,"k":3}'
line PM-E011 '{"query":"gemm","accelerator":"","m":1,"n":2,"k":3}'
line PM-E013 '{"query":"gemm","accelerator":"h100_sxm","m":1,"n":2,"k":3,"format":"int4"}'
line PM-E014 '{"query":"gemm","accelerator":"h100_sxm","m":1,"n":2,"k":3,"mode":"guessed"}'
line PM-E005 '{"query":"gemm","accelerator":"h100_sxm","m":1,"n":2,"k":3,"mode":1}'
line PM-E030 '{"query":"step","model":"llama_3_70b","accelerator":"h100_sxm","tensor_parallel":3,"batch":1,"context":1}'
line PM-E010 '{"query":"collective","accelerator":"h100_sxm","operation":"all_reduce","ranks":2.5,"bytes":1}'
line PM-E010 '{"query":"collective","accelerator":"h100_sxm","operation":"all_reduce","ranks":-8,"bytes":1}'
line PM-E010 '{"query":"speculation","acceptance":[],"draft_length":1}'
line PM-E005 '{"query":"speculation","acceptance":["x"],"draft_length":1}'
line PM-E001 "{\"id\":\"$(head -c 1100000 /dev/zero | tr '\0' a)\"}"
line - "$good"

answers=$(printf '%s\n' "${lines[@]}" | "$napkin" batch)
status=$?
[[ $status -eq 1 ]] || fail "exit status of a batch with errors is $status, not 1"
mapfile -t answers <<<"$answers"
[[ ${#answers[@]} -eq ${#lines[@]} ]] || fail "${#lines[@]} requests, ${#answers[@]} answers"
for i in "${!lines[@]}"; do
  a=${answers[$i]:-}
  if [[ ${codes[$i]} == - ]]; then
    [[ $a == '{"id":"good","time_s":'*'}' ]] || fail "line $((i + 1)): $a"
  else
    pattern="^\\{\"id\":.*,\"line\":$((i + 1)),\"error\":\\{\"code\":\"${codes[$i]}\",\"message\":\"[^\"].*\"\\}\\}$"
    [[ $a =~ $pattern ]] || fail "line $((i + 1)), ${lines[$i]:0:100}: $a, not ${codes[$i]}"
  fi
  [[ ! $a =~ [^a-z](nan|inf)[^a-z] ]] || fail "line $((i + 1)) holds a number that is none: $a"
done

# Byte 0 is not where a line ends.
answer=$(printf '%s\0 trailing\n' "$good" | "$napkin" batch)
[[ $answer == *PM-E001* ]] || fail "a byte 0 in a line: $answer"
# An id keeps the digits that it was sent with, and is none where it is no JSON.
for id in 18446744073709551617 '[1,{"a":-98765432109876543210.50}]' 7 1e400 '{"a":0.10}'; do
  answer=$(echo "{\"id\":$id,\"query\":\"ridge\",\"accelerator\":\"h100_sxm\"}" | "$napkin" batch)
  [[ $answer == "{\"id\":$id,\"flop_per_byte\":"* || ($id == 1e400 && $answer == *PM-E010*) ]] || fail "an id changes: $answer"
done
answer=$("$napkin" ridge --accelerator h100_sxm --id 18446744073709551617 --json)
[[ $answer == '{"id":18446744073709551617,'* ]] || fail "--id changes: $answer"
answer=$(printf '{"id":{"a":"\xff"},"query":"ridge"}\n' | "$napkin" batch)
[[ $answer == '{"id":null,"line":1,'* ]] || fail "half an id: $answer"
# The id comes back even when the line goes wrong after it.
answer=$(echo '{"id":{"a":[1,2]},"query":"gemm","accelerator":"h100_sxm","m":x}' | "$napkin" batch)
[[ $answer == '{"id":{"a":[1,2]},"line":1,'* ]] || fail "the id is lost: $answer"
finish
