#!/usr/bin/env bash
# audit --runs and diagnose --runs: reports of three benchmark clients, saved and printed, whole and spoilt.
. "$(dirname "$0")/lib.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
reports=$source_dir/tests/data/reports
vllm=$reports/vllm_70b_tp4.json sglang=$reports/sglang_8b.jsonl guidellm=$reports/guidellm_8b.json
big=(--model llama_3_1_70b --gpu h100_sxm --tp 4 --engine vllm)
small=(--model llama_3_1_8b --gpu h100_sxm --engine sglang)

# Consistent reports, alone and with a service that keeps to its bounds.
for file in "$vllm" "$sglang" "$guidellm"; do
  answer=$("$napkin" audit --runs "$file" --json) || fail "audit --runs $file: exit status $?"
  [[ $answer == '{"verdict":"consistent",'* ]] || fail "audit --runs $file: $answer"
done
answer=$("$napkin" audit --runs "$vllm" "${big[@]}" --json)
[[ $answer == '{"verdict":"consistent",'*'"TTFT >= bound"'*'"E2E >= bound"'*'"output tokens/s <= bound"'* ]] || fail "bounds: $answer"
answer=$("$napkin" audit --runs "$vllm")
[[ $answer == 'vllm_70b_tp4.json (vllm bench serve): consistent; 0 of '* ]] || fail "text: $answer"
[[ $("$napkin" audit --runs "$sglang") == *'sglang_8b.jsonl:2 (SGLang bench_serving): consistent'* ]] || fail 'two lines'
[[ $("$napkin" audit --runs "$guidellm") == *'guidellm_8b.json: benchmarks[1] (guidellm): consistent'* ]] || fail 'two benchmarks'
[[ $("$napkin" audit --runs "$vllm" "$sglang" --json | grep -o '"client"' | wc -l) == 3 ]] || fail 'two files'

# spoilt <verdict> <check> <sed of the file> <options...>: the check fails.
spoilt() {
  local verdict=$1 check=$2 change=$3 answer
  shift 3
  sed -E "$change" "$vllm" >"$work/spoilt.json"
  cmp -s "$vllm" "$work/spoilt.json" && fail "nothing spoilt by $change"
  answer=$("$napkin" audit --runs "$work/spoilt.json" "$@" --json) || fail "spoilt by $change: exit status $?"
  [[ $answer == "{\"verdict\":\"$verdict\","* && $answer == *"{\"check\":\"$check\",\"verdict\":\"$verdict\""* ]] ||
    fail "$change: no $verdict of $check in $answer"
}
spoilt inconsistent 'TTFT p90 <= p99' 's/"p90_ttft_ms": 1900/"p90_ttft_ms": 4900/'
spoilt inconsistent 'TTFT mean and percentiles' 's/"mean_ttft_ms": 900/"mean_ttft_ms": 40/'
# 900 + 499 x 38 = 19,862 ms.
spoilt inconsistent 'E2E = TTFT + (n - 1) TPOT' 's/"mean_e2el_ms": 19862/"mean_e2el_ms": 12000/'
spoilt inconsistent 'requests/s' 's/"duration": 166.6/"duration": 150/'
spoilt inconsistent 'output tokens/s' 's/"output_throughput": 1500.6/"output_throughput": 3001.2/'
spoilt inconsistent 'total tokens/s' 's/"total_token_throughput": [0-9.]+/"total_token_throughput": 1500/'
spoilt inconsistent 'requests/s <= request rate' 's/"request_rate": 3.0/"request_rate": 2.0/'
spoilt inconsistent 'streamed' 's/"mean_tpot_ms": 38.0/"mean_tpot_ms": 0.001/'
# 3 req/s of 19.9 s are 59.6 requests in flight.
spoilt impossible 'in flight <= max concurrency' 's/"max_concurrency": null/"max_concurrency": 32/'
# A prefill of 2000 tokens is 2 x 70e9 x 2000 FLOP over 4 x 989 TFLOP/s, 71 ms; 35 GB of weights a step take 10.5 ms.
spoilt impossible 'TPOT >= bound' 's/"mean_tpot_ms": 38/"mean_tpot_ms": 9/' "${big[@]}"
sed -E 's/"mean_ttft_ms": 900/"mean_ttft_ms": 60/; s/"median_ttft_ms": 620/"median_ttft_ms": 55/; s/"p9(.)_ttft_ms": [0-9]+/"p9\1_ttft_ms": 70/g' "$vllm" >"$work/quick.json"
answer=$("$napkin" audit --runs "$work/quick.json" "${big[@]}" --json)
[[ $answer == *'"check":"TTFT >= bound","verdict":"impossible"'* ]] || fail "a quick TTFT: $answer"

# diagnose: the load is 3 of the 3.6 to 4.2 req/s that this service sustains; TTFT is mostly queueing.
answer=$("$napkin" diagnose --runs "$vllm" "${big[@]}" --json) || fail "diagnose --runs: exit status $?"
for key in saturation sustainable_requests_per_s ttft_parts queueing_s interference_s prefill_s changes option; do
  [[ $answer == *"\"$key\":"* ]] || fail "diagnose --runs: no $key in $answer"
done
share=$(number "$answer" saturation)
near 'saturation' "$share" 0.77 0.1
# The parts of the measured TTFT add up to it.
sum=$(sed -nE 's/.*"measured":\{"prefill_s":([0-9.e-]+),"queueing_s":([0-9.e-]+),"interference_s":([0-9.e-]+)\}.*/\1 \2 \3/p' <<<"$answer" | awk '{ print $1 + $2 + $3 }')
near 'sum of the parts of TTFT' "$sum" 0.9 1e-6
# 2000 tokens on an idle engine: at least 71 ms of FLOP.
prefill=$(sed -nE 's/.*"measured":\{"prefill_s":([0-9.e-]+),.*/\1/p' <<<"$answer")
awk -v p="$prefill" 'BEGIN { exit !(p > 0.071 && p < 0.4) }' || fail "prefill $prefill"
[[ $answer == *'"option":"--'* ]] || fail "no option of vLLM: $answer"
text=$("$napkin" diagnose --runs "$vllm" "${big[@]}")
[[ $text == 'vllm_70b_tp4.json (vllm bench serve): at '*' of the largest sustainable rate'*'Change first'* ]] || fail "text: $text"
# A rate that the service cannot sustain.
sed -E 's/"request_rate": 3.0/"request_rate": 6.0/; s/"mean_ttft_ms": 900/"mean_ttft_ms": 19000/' "$vllm" >"$work/over.json"
answer=$("$napkin" diagnose --runs "$work/over.json" "${big[@]}" --json)
[[ $answer == *'"cause":"overload"'* ]] || fail "overload: $answer"
for file in "$sglang" "$guidellm"; do
  answer=$("$napkin" diagnose --runs "$file" "${small[@]}" --json) || fail "diagnose --runs $file: exit status $?"
  [[ $(grep -o '"ttft_parts"' <<<"$answer" | wc -l) == 2 ]] || fail "diagnose --runs $file: $answer"
done

# The table that a client prints: 3722 + 1023 x 7.87 ms are the 11,769 ms of a request, and 11.77 s x 2.7 req/s 31.78 in
# flight. Of TTFT, 148 ms are a prefill; the rest is no property of a warm engine, and ITL is as expected.
printed=$reports/sglang_printed.txt
answer=$("$napkin" audit --runs "$printed" --json) || fail "audit --runs $printed: exit status $?"
[[ $answer == '{"verdict":"consistent",'*'"client":"SGLang bench_serving"'*'"check":"mean concurrency"'*'"reported":31.78'* ]] ||
  fail "a printed table: $answer"
answer=$("$napkin" diagnose --runs "$printed" --model gpt_oss_20b --gpu h100_sxm --engine sglang --json)
[[ $answer == *'"ttft":"slower","itl":"expected"'*'"load":"32 requests at a time"'* ]] || fail "a printed table: $answer"
near 'unexplained queueing' "$(number "$answer" unexplained_queueing_s)" 3.5 0.2
# Two tables in one log, the second in vLLM's words.
sed -E 's/^Mean E2E Latency/Mean E2EL/; s/^Max request/Maximum request/; s/^Backend.*//; s/^Concurrency.*//' "$printed" |
  cat "$printed" - >"$work/two.log"
answer=$("$napkin" audit --runs "$work/two.log")
[[ $answer == 'two.log: result 1 (SGLang bench_serving): consistent'*'two.log: result 2 (vllm bench serve): consistent'* ]] ||
  fail "two printed tables: $answer"

# What is wrong with a file is named, with the file and the field.
wrong() { # <part of the message> <sed of the file> <file>
  sed -E "$2" "$3" >"$work/wrong.json"
  refuses PM-E audit --runs "$work/wrong.json"
  [[ $said == *"$1"* ]] || fail "$2: says '$said', not '$1'"
}
wrong 'wrong.json: mean_ttft_ms is missing' 's/"mean_ttft_ms": 900.0, //' "$vllm"
wrong 'wrong.json: completed is missing' 's/"completed": 500, //' "$vllm"
wrong 'mean_ttft_ms is "fast"; allowed: a number' 's/"mean_ttft_ms": 900.0/"mean_ttft_ms": "fast"/' "$vllm"
wrong 'completed is 0' 's/"completed": 500/"completed": 0/' "$vllm"
wrong 'wrong.json:2: total_output_tokens is missing' '2s/"total_output_tokens": [0-9]+, //' "$sglang"
wrong 'benchmarks[0]: metrics.time_to_first_token_ms is missing' 's/"time_to_first_token_ms"/"first_token_ms"/' "$guidellm"
wrong 'benchmarks is an object' 's/"benchmarks": \[/"benchmarks": {}, "b": [/' "$guidellm"
wrong 'wrong.json: mean_ttft_ms is missing' '/Mean TTFT/d' "$printed"
wrong 'wrong.json: completed is missing' '/Successful/d' "$printed"
# AIPerf's and GenAI-Perf's file of the same run as SGLang's: 60 + 255 x 8.5 ms = 2227.5 ms, 160 / 22.6 s = 7.08 req/s.
metric() { echo "\"$1\": {\"unit\": \"$2\", \"avg\": $3, \"p50\": $3, \"p99\": $4, \"std\": 0.1}"; }
cat >"$work/aiperf.json" <<JSON
{"schema_version": "1.0", "aiperf_version": "0.3.0", $(metric request_throughput requests/sec 7.0796 8),
 $(metric request_latency ms 2227.5 2347.5), $(metric time_to_first_token ms 60 240), $(metric inter_token_latency ms 8.5 9),
 $(metric output_token_throughput tokens/sec 1812.39 2000), $(metric output_sequence_length tokens 256 256),
 $(metric input_sequence_length tokens 1024 1024), "request_count": {"unit": "requests", "avg": 160},
 "benchmark_duration": {"unit": "sec", "avg": 22.6}, "input_config": {"loadgen": {"concurrency": 16}}}
JSON
answer=$("$napkin" audit --runs "$work/aiperf.json")
[[ $answer == *'(aiperf): consistent; 0 of '* && $answer == *'E2E = TTFT + (n - 1) TPOT'* && $answer == *'>= 2.4 ms'* ]] || fail "aiperf: $answer"
answer=$("$napkin" diagnose --runs "$work/aiperf.json" --model llama_3_1_8b --gpu h100_sxm --engine vllm)
[[ $answer == *'16 requests at a time: 7.08 of at most '*'TTFT 60 ms'*'ITL 8.5 ms'* ]] || fail "diagnose of aiperf: $answer"
sed -E 's/"avg": 2227.5/"avg": 3227.5/; s/"aiperf_version": "0.3.0", //' "$work/aiperf.json" >"$work/genai.json"
answer=$("$napkin" audit --runs "$work/genai.json")
[[ $answer == *'(genai-perf): '* && $answer != *'0 of '* ]] || fail "a whole request 1 s too long: $answer"
echo '{"elapsed_time": 20.0, "num_requests": 1000, "requests_per_second": 50.0, "tokens_per_second": 20000}' >"$work/offline.json"
refuses 'vllm bench throughput' audit --runs "$work/offline.json"
echo '{"avg_latency": 2.0, "latencies": [2.0], "percentiles": {"50": 2.0}}' >"$work/offline.json"
refuses 'vllm bench latency' diagnose --runs "$work/offline.json" --model llama_3_1_8b --gpu h100_sxm
echo 'nothing' >"$work/text.json"
refuses PM-E audit --runs "$work/text.json"
refuses PM-E audit --runs "$work/none.json"
refuses PM-E audit --runs
refuses PM-E diagnose --runs "$vllm"
refuses PM-E diagnose --runs "$vllm" "${big[@]}" --nonsense 3
[[ $said == *nonsense* ]] || fail "an unknown option: $said"

# Percentiles of the report stand beside the prediction's; 900 ms less the predicted parts are unexplained queueing.
for row in 'TTFT p99 +4.1 s +[0-9.]+ m?s' 'prediction as it is +[0-9.]+ ms' 'do not remove the unexplained 6[0-9][0-9] ms of queueing'; do
  grep -qE "$row" <<<"$text" || fail "diagnose --runs has no '$row': $text"
done
[[ $text != *'engine: none'* ]] || fail "an engine that is given: $text"
answer=$("$napkin" diagnose --runs "$vllm" --model llama_3_1_70b --gpu h100_sxm --tp 4)
[[ $answer == *'engine: none; --engine vllm names the engine of this report'* ]] || fail "no engine: $answer"
answer=$("$napkin" diagnose --runs "$sglang" --model llama_3_1_8b --gpu h100_sxm)
[[ $answer == *'--engine sglang names'*'16 requests at a time: '* || $answer == *'16 requests at a time: '*'--engine sglang names'* ]] ||
  fail "no engine of SGLang's report: $answer"
# All requests at once have no share of a rate: 2.5 req/s were completed.
sed -E 's/"request_rate": 3.0/"request_rate": "inf"/; s/"request_throughput": [0-9.]+/"request_throughput": 2.5/' "$vllm" >"$work/inf.json"
answer=$("$napkin" diagnose --runs "$work/inf.json" "${big[@]}")
[[ $answer == *': all requests at once: 2.5 of at most '[3-4].*' req/s;'* && $answer != *'% of the largest'* ]] || fail "no rate: $answer"
finish
