#!/usr/bin/env bash
# Simulated services: results by hand and by closed form, equal results for a seed, files, errors, batches, checks.
. "$(dirname "$0")/lib.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

one=(simulate --model llama_3_8b --accelerator h100_sxm --engine vllm --input_tokens 1000 --output_tokens 100)
answer() { "$napkin" "${one[@]}" "$@" --json; }
# less <what> <key> <json> <json>: it is less in the first.
less() {
  awk -v a="$(number "$3" "$2")" -v b="$(number "$4" "$2")" 'BEGIN { exit !(a != "" && a < b) }' ||
    fail "$1: $2 is $(number "$3" "$2"), not less than $(number "$4" "$2")"
}
# relation <what> <awk expression of a, b, ...> <expected> <relative tolerance> <numbers...>
relation() {
  local what=$1 expression=$2 expected=$3 tolerance=$4
  shift 4
  near "$what" "$(awk -v a="$1" -v b="${2:-}" -v c="${3:-}" "BEGIN { printf \"%.12g\", $expression }")" "$expected" \
    "$(awk -v e="$expected" -v t="$tolerance" 'BEGIN { print e * t }')"
}

# A single request: a prefill, and 99 decode steps of one sequence.
single=$(answer --requests 1 --concurrency 1)
relation 'one request' '(a + 99 * b) / c' 1 1e-6 "$(number "$single" ttft_s)" "$(number "$single" itl_s)" "$(number "$single" e2e_s)"
relation 'one request is the whole run' 'a / b' 1 1e-9 "$(number "$single" makespan_s)" "$(number "$single" e2e_s)"
step=$("$napkin" step --model llama_3_8b --accelerator h100_sxm --engine vllm --batch 1 --context 1050 --json)
relation 'its ITL is that of an engine step' 'a / b' 1 2e-3 "$(number "$single" itl_s)" "$(number "$step" time_s)"
near 'all are simulated' "$(number "$single" simulated_requests)" 1 0

# Two images of 280 tokens, and their patches in the encoder, cost what the closed form has for them.
pictures=(--model gemma_4_26b_a4b --gpu h100_sxm --engine vllm --output_tokens 20 --concurrency 1 --json)
images=(--input_tokens 1000 --images 2 --image_patches 4000)
first() { number "$("$napkin" "$@" "${pictures[@]}")" ttft_s; }
relation 'time of the images' 'a - b' "$(awk -v a="$(first serving "${images[@]}")" \
  -v b="$(first serving --input_tokens 1560)" 'BEGIN { print a - b }')" 0.05 \
  "$(first simulate "${images[@]}" --input_cv 0 --requests 1)" \
  "$(first simulate --input_tokens 1560 --input_cv 0 --requests 1)"

# A closed loop against the closed form, and Little's law: requests in flight = rate x latency.
run=$(answer --requests 4000 --concurrency 32 --output_cv 0.7)
relation "Little's law" 'a * b / 32' 1 0.02 "$(number "$run" requests_per_s)" "$(number "$run" e2e_s)"
form=$("$napkin" serving "${one[@]:1}" --concurrency 32 --output_cv 0.7 --json)
relation 'ITL of simulation and closed form' 'a / b' 1 0.2 "$(number "$run" itl_s)" "$(number "$form" itl_s)"
relation 'their throughput' 'a / b' 1 0.2 "$(number "$run" output_tokens_per_s)" "$(number "$form" output_tokens_per_s)"
relation 'tokens per request' 'a / b' 100 0.03 "$(number "$run" output_tokens_per_s)" "$(number "$run" requests_per_s)"
for key in ttft_p50_s ttft_p90_s ttft_p99_s itl_p50_s itl_p99_s tpot_s e2e_p50_s e2e_p90_s e2e_p99_s queueing_s queueing_p99_s \
  goodput_requests_per_s batch makespan_s steps engine_steps preemptions cache_hit kv_use; do
  [[ -n $(number "$run" $key) ]] || fail "no $key in $run"
done
[[ $run == *'"feasible":true'* && $run == *'"mode":"calibrated"'* && $run == *'"ttft_interval_80_s":['* ]] || fail "no interval in $run"
less 'a step at its bound' itl_s "$(answer --requests 50 --concurrency 8 --mode bound)" "$(answer --requests 50 --concurrency 8)"

# The same for a seed; with others near it, with standard errors.
open=(--requests 400 --requests_per_s 8 --output_cv 0.5)
[[ $(answer "${open[@]}") == "$(answer "${open[@]}" --seed 1)" ]] || fail 'two runs of a seed differ'
[[ $(answer "${open[@]}") != "$(answer "${open[@]}" --seed 2)" ]] || fail 'another seed has the same run'
mean=$(answer "${open[@]}" --seeds 4)
for key in ttft_s itl_p99_s makespan_s requests_per_s; do
  awk -v x="$(number "$mean" ${key}_standard_error)" 'BEGIN { exit !(x > 0) }' || fail "no standard error of $key in $mean"
done
total=0
for seed in 1 2 3 4; do total=$(awk -v t="$total" -v x="$(number "$(answer "${open[@]}" --seed $seed)" ttft_s)" 'BEGIN { printf "%.12g", t + x }'); done
relation 'the mean over seeds' 'a / 4 / b' 1 1e-9 "$total" "$(number "$mean" ttft_s)"
[[ $(answer "${open[@]}") != *standard_error* ]] || fail 'a standard error of one run'

# What changes a run which way.
steady=$(answer "${open[@]}")
less 'bursts queue' ttft_p99_s "$steady" "$(answer "${open[@]}" --arrivals_per_burst 20)"
less 'chance queues' ttft_s "$(answer "${open[@]}" --arrival_cv 0)" "$(answer "${open[@]}" --arrival_cv 4)"
less 'more replicas' ttft_p99_s "$(answer "${open[@]}" --arrivals_per_burst 20 --replicas 4)" "$(answer "${open[@]}" --arrivals_per_burst 20)"
less 'a cached half' ttft_s "$(answer "${open[@]}" --prefix_hit 0.5)" "$steady"
less 'few run' batch "$(answer --requests 200 --concurrency 32 --max_num_seqs 4)" "$(answer --requests 200 --concurrency 32)"
long=("${one[@]/%1000/8000}" --requests 200 --concurrency 32 --json)
less 'fewer tokens a step' itl_p99_s "$("$napkin" "${long[@]}" --token_budget 1024)" "$("$napkin" "${long[@]}")"
less 'all at once' ttft_p99_s "$steady" "$(answer --requests 400 --all_at_once)"
less 'accepted drafts' e2e_s "$(answer --requests 100 --concurrency 4 --draft_length 3 --acceptance 0.8)" "$(answer --requests 100 --concurrency 4)"
for scheduler in vllm-0.10 vllm-0.14 vllm-0.24 sglang-0.5 trtllm-1.0 static; do
  one_of=$(answer --requests 100 --concurrency 16 --scheduler $scheduler)
  [[ $one_of == *"\"scheduler\":\"$scheduler\""* ]] || fail "no scheduler $scheduler in $one_of"
done
for router in round_robin least_loaded power_of_two prefix_aware; do
  answer --requests 100 --concurrency 16 --replicas 3 --router $router >/dev/null || fail "router $router"
done

# Conversations find their history: whole blocks of 1100, 1400 and 1700 of 1000 + 1300 + 1600 + 1900 tokens.
talk=$(answer --requests 400 --concurrency 4 --turns 4 --new_tokens 200 --think_time_s 1)
near 'hits of conversations' "$(number "$talk" cache_hit)" 0.72 0.01
near 'without a prefix cache' "$(number "$(answer --requests 40 --concurrency 4 --turns 4 --prefix_caching false)" cache_hit)" 0 0
shared=$(answer --requests 400 --concurrency 16 --shared_tokens 800)
near 'hits of a shared prefix' "$(number "$shared" cache_hit)" 0.8 0.01
tiers=$(answer --requests 300 --concurrency 100 --turns 6 --utilization 0.3 --host_cache_bytes 64GB)
[[ $tiers == *'"cache_hit_by_tier":{"device":'* ]] || fail "no hits by tier: $tiers"

# Autoscaling starts replicas.
scaled=$(answer --requests 600 --all_at_once --max_replicas 4 --requests_per_replica 100 --start_up_s 1s)
[[ $scaled == *'"most_replicas":4'* ]] || fail "no four replicas: $scaled"
# Pools.
pools=$("$napkin" simulate --model llama_3_8b --accelerator h100_sxm --engine vllm --input_tokens 1000 --output_tokens 100 --requests 200 \
  --requests_per_s 4 --prefill_tensor_parallel 1 --decode_tensor_parallel 1 --kv_link_bytes_per_s 50GB/s --json)
less 'decode without prefill' itl_p99_s "$pools" "$(answer --requests 200 --requests_per_s 4)"

# Infeasible services are results.
full=$("$napkin" simulate --model llama_3_70b --accelerator h100_sxm --input_tokens 100 --output_tokens 10 --concurrency 1 --json)
[[ $full == *'"feasible":false'* && $full == *'"ttft_s":null'* && $full == *'"feasible_with":['* ]] || fail "it fits: $full"
printf 'arrival_s,input_tokens,output_tokens\n0,900000,9\n1,10,10\n2,10,10\n3,10,10\n' >"$work/long.csv"
long=$("$napkin" simulate --model llama_3_8b --accelerator h100_sxm --trace "$work/long.csv" --json)
[[ $long == *'"feasible":false'*'"reason":"a request of 900009 tokens exceeds the KV-cache capacity of '* ]] || fail "a long request: $long"

# Errors: one line with the key.
refuses 'PM-E004: concurrency is missing; simulate needs it: or requests_per_s, all_at_once or a trace' "${one[@]}"
refuses 'PM-E004: input_tokens is missing' simulate --model llama_3_8b --gpu h100 --concurrency 1
refuses 'PM-E031: give one of concurrency, requests_per_s and all_at_once' "${one[@]}" --concurrency 1 --qps 1
refuses 'PM-E031: arrival_cv is a property of requests_per_s' "${one[@]}" --concurrency 1 --arrival_cv 2
refuses 'PM-E004: turns is missing' "${one[@]}" --concurrency 1 --new_tokens 3
refuses 'PM-E031: scheduler is vllm-0.24; conservativeness is a setting of SGLang' "${one[@]}" --concurrency 1 --conservativeness 0.5
refuses 'PM-E031: chunk_tokens is given, and the scheduler is static' "${one[@]}" --concurrency 1 --scheduler static --token_budget 100
refuses 'PM-E014: scheduler is "vllm-9"; allowed: vllm-0.10' "${one[@]}" --concurrency 1 --scheduler vllm-9
refuses 'PM-E010: input_tokens is 1000; allowed: at most token_budget (512) without chunked prefill' "${one[@]}" --concurrency 1 \
  --chunked_prefill false --token_budget 512
refuses 'PM-E004: max_replicas is missing' "${one[@]}" --concurrency 1 --start_up_s 3
refuses 'PM-E031: replicas is a fixed number of replicas; with autoscaling give max_replicas' "${one[@]}" --concurrency 1 --replicas 2 --max_replicas 3
refuses 'PM-E004: host_cache_bytes is missing' "${one[@]}" --concurrency 1 --disk_cache_bytes 1GB
refuses 'PM-E031: shared_tokens is 1000 and input_tokens is 1000' "${one[@]}" --concurrency 1 --shared_tokens 1000
refuses 'PM-E010: requests is 0' "${one[@]}" --concurrency 1 --requests 0
refuses 'PM-E010: requests is 1000000000; allowed' "${one[@]}" --concurrency 1 --requests 1e9
# serving answers a run that long by its closed form, and says why.
[[ $("$napkin" serving "${one[@]:1}" --concurrency 1 --requests 1e9) == *'no simulation: requests is 1000000000'* ]] ||
  fail 'serving simulates 1e9 requests, or does not say why not'
refuses 'PM-E003' "${one[@]}" --concurrency 1 --reqests 3
refuses 'PM-E031: simulate has no derivation' explain "${one[@]}" --concurrency 1
refuses 'PM-E040' "${one[@]}" --concurrency 1 --requests 3 --plot "$work/none/plot.svg"

# Text: the conclusion first, at most 100 columns.
text=$("$napkin" "${one[@]}" --requests 300 --concurrency 32)
[[ $text == '300 requests at a concurrency of 32 on 1 x h100_sxm, scheduler vllm-0.24: mean TTFT '* ]] || fail "the conclusion: $text"
[[ $(LC_ALL=C.UTF-8 wc -L <<<"$text") -le 100 ]] || fail "lines over 100 columns: $text"
"$napkin" "${one[@]}" --requests 300 --requests_per_s 200 | grep -q 'a longer run queues longer' || fail 'an overload is not named'

# Files: a line per request, whose means are those of the answer; an SVG that is XML.
written=$(answer "${open[@]}" --requests-csv "$work/r.csv" --timeline-csv "$work/t.csv" --plot "$work/p.svg")
[[ $(wc -l <"$work/r.csv") -eq 401 ]] || fail "requests: $(wc -l <"$work/r.csv") lines"
relation 'mean TTFT of the lines' 'a / b' 1 1e-6 "$(awk -F, 'NR > 1 { s += $8 } END { printf "%.12g", s / (NR - 1) }' "$work/r.csv")" "$(number "$written" ttft_s)"
awk -F, 'NR > 1 && ($1 != NR - 2 || NF != 12 || $8 > $10 || $7 < 0) { exit 1 }' "$work/r.csv" || fail 'a line of requests is wrong'
relation 'tokens of the timeline' 'a / b' 1 1e-3 \
  "$(awk -F, 'NR > 1 { s += $6 * ($2 - $1) } END { printf "%.12g", s }' "$work/t.csv")" "$(awk -F, 'NR > 1 { s += $5 } END { print s }' "$work/r.csv")"
if command -v python3 >/dev/null; then
  python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$work/p.svg" || fail 'the plot is no XML'
fi
[[ $(grep -c 'font-size="13" font-weight="600"' "$work/p.svg") -eq 6 && $(tail -n 1 "$work/p.svg") == '</svg>' ]] || fail 'the plot has not six panels'
! grep -qiE 'nan|inf[^o]' "$work/p.svg" || fail 'the plot has coordinates that are no numbers'

# Traces: recorded arrivals and lengths, with their latencies.
printf '%s\n' arrival_s,input_tokens,output_tokens,ttft_ms 0,1200,150,41 0.4,900,80,35 1.1,2000,120,60 >"$work/trace.csv"
service=(simulate --model llama_3_8b --accelerator h100_sxm --engine vllm)
replay=$("$napkin" "${service[@]}" --trace "$work/trace.csv" --json --requests-csv "$work/replayed.csv")
[[ $replay == *'"trace":{"format":"csv","rows":3'* ]] || fail "the trace is not named: $replay"
[[ $(cut -d, -f3-5 "$work/replayed.csv" | xargs) == 'arrival_s,input_tokens,output_tokens 0,1200,150 0.4,900,80 1.1,2000,120' ]] ||
  fail "the requests of a trace: $(<"$work/replayed.csv")"
near 'its measured TTFT' "$(sed -nE 's/.*"measured":\{"ttft_s":([0-9.e-]+).*/\1/p' <<<"$replay")" 0.0453333 1e-6
relation 'twice as fast' 'a - b' 0.55 0.05 "$(number "$replay" makespan_s)" \
  "$(number "$("$napkin" "${service[@]}" --trace "$work/trace.csv" --rate_scale 2 --json)" makespan_s)"
near 'the first two' "$(number "$("$napkin" "${service[@]}" --trace "$work/trace.csv" --requests 2 --json)" simulated_requests)" 2 0
printf 'arrival_s,input_tokens,output_tokens\n0,10,0\n' >"$work/bad.csv"
refuses 'bad.csv:2: output_tokens' "${service[@]}" --trace "$work/bad.csv"
refuses 'PM-E040' "${service[@]}" --trace "$work/none.csv"
refuses 'PM-E031: turns is of generated requests, and trace is given' "${service[@]}" --trace "$work/trace.csv" --turns 2
refuses 'PM-E004: trace is missing' "${one[@]}" --concurrency 1 --rate_scale 2
refuses 'PM-E014: trace_format is "what"' "${service[@]}" --trace "$work/trace.csv" --trace_format what
planned=$("$napkin" plan --model llama_3_8b --gpu h100 --gpus 1 --trace "$work/trace.csv" --json)
[[ $planned == *'"checks":[{"row":1,"requests":"3 requests of a trace (csv)"'* ]] || fail "a plan for a trace: $planned"

# In a batch as on the command line.
line='{"query":"simulate","model":"llama_3_8b","accelerator":"h100_sxm","engine":"vllm","input_tokens":1000,"output_tokens":100,"requests":300,"concurrency":32}'
[[ $("$napkin" batch <<<"$line") == "$(answer --requests 300 --concurrency 32)" ]] || fail 'a batch answers another run'
[[ $("$napkin" batch <<<"${line/32/-1}") == *'"error":{"code":"PM-E010","message":"concurrency is -1;'* ]] || fail 'an error in a batch'

# Closed form and simulation side by side.
check=$("$napkin" serving "${one[@]:1}" --concurrency 32 --check --json)
[[ $check == *'"check":{'*'"ttft_s":{"closed_form":'*',"simulation":'*'"ratio":'* ]] || fail "no check: $check"
[[ ${check/\"method\":\"closed_form\",/} == "$("$napkin" serving "${one[@]:1}" --concurrency 32 --method closed_form --json | sed 's/}$//')"* ]] || fail 'a check changes the answer'
"$napkin" serving "${one[@]:1}" --qps 4 --scheduler prefill_first --stream_interval 4 --check | grep -q '^Not simulated: stream_interval' || fail 'a check does not say what it leaves out'
"$napkin" serving "${one[@]:1}" --concurrency 16 --requests 160 --check | grep -q '^Check by simulation, a run of 160 requests' || fail 'the check of a run'
"$napkin" serving "${one[@]:1}" --concurrency 16 --preemption swap --host_link_bytes_per_s 20GB/s --check |
  grep -q '^Not simulated: preemption, host_link_bytes_per_s' || fail 'a check does not leave out swapping'
# `check` in a batch is --check; a request that cannot have it is refused.
request='"model":"llama_3_8b","accelerator":"h100_sxm","engine":"vllm","input_tokens":1000,"output_tokens":100,"concurrency":32'
answered() { "$napkin" batch <<<"{$1}"; }
[[ $(answered "\"query\":\"serving\",$request,\"check\":true") == "$check" ]] || fail 'a check in a batch'
[[ $(answered "\"query\":\"serving\",\"id\":7,\"check\":true,$request") == '{"id":7,'*'"check":{'* ]] || fail 'the id of a check'
[[ $(answered "\"query\":\"serving\",$request,\"check\":false") == "$("$napkin" serving "${one[@]:1}" --concurrency 32 --json)" ]] || fail 'a check that is not asked for'
while IFS='|' read -r body message; do
  [[ $(answered "$body") == *'"error":{'*"$message"* ]] || fail "$body: $(answered "$body"), not $message"
done <<EOF
"query":"serving",$request,"check":"yes"|check is \"yes\"; allowed: true or false
"query":"serving",$request,"check":true,"method":"simulation"|method is simulation, and check compares
"query":"explain","of":{"query":"serving",$request,"check":true}|unknown key \"check\" of serving; allowed: in a request of serving or plan
"query":"simulate",$request,"check":true|unknown key \"check\" of simulate
"query":"require","of":{"query":"serving",$request,"check":true},"targets":{"itl_s":0.01}|unknown key \"check\" of serving
EOF
refuses 'method is simulation, and check compares' serving "${one[@]:1}" --concurrency 32 --check --method simulation
plan=$("$napkin" plan --model llama_3_8b --gpu h100 --gpus 1 --isl 1000 --osl 100 --users 16 --itl 50ms --check --json)
[[ $(answered '"query":"plan","model":"llama_3_8b","gpu":"h100","gpus":1,"isl":1000,"osl":100,"users":16,"itl":0.05,"check":true') == "$plan" ]] || fail 'a check of a plan in a batch'
[[ $plan == *'"checks":[{'*'"row":1'* ]] || fail "no checks of a plan: $plan"
"$napkin" plan --model llama_3_8b --gpu h100 --gpus 1 --isl 1000 --osl 100 --users 16 --itl 50ms --check | grep -q '^Simulated, ' || fail 'no check in the text of a plan'
finish
