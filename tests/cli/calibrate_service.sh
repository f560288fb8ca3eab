#!/usr/bin/env bash
# calibrate_service.sh <napkin> <source folder>: runs of one's own service in, an engine's parameters out.
# shellcheck disable=SC2154
. "$(dirname "$0")/lib.bash"
closed_forms
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

service=(--model llama_3_1_70b --accelerator h200_sxm --tensor_parallel 4 --engine vllm)
# ask_times <input> <concurrency>: "itl ttft" in seconds, as shipped.
ask_times() {
  local answer
  answer=$("$napkin" serving "${service[@]}" --input_tokens "$1" --output_tokens 512 --concurrency "$2" --requests $((10 * $2)) --json)
  echo "$(number "$answer" itl_s) $(number "$answer" ttft_s)"
}

# --- runs of a service 20 % slower than shipped, in seconds and in milliseconds ---------------------
{
  echo 'input_tokens,output_tokens,concurrency,requests,itl_s,ttft_s'
  for load in '512 1' '512 16' '2048 4' '2048 64' '8192 8'; do
    read -r input concurrency <<<"$load"
    ask_times "$input" "$concurrency" |
      awk -v i="$input" -v c="$concurrency" '{ printf "%d,512,%d,%d,%.9g,%.9g\n", i, c, 10 * c, 1.2 * $1, 1.2 * $2 }'
  done
} >"$scratch/slow.csv"
awk -F, 'NR == 1 { print "input_tokens,output_tokens,concurrency,requests,tpot_ms,ttft_ms,p99_ttft_ms"; next }
  { printf "%s,%s,%s,%s,%.9g,%.9g,1\n", $1, $2, $3, $4, 1e3 * $5, 1e3 * $6 }' "$scratch/slow.csv" >"$scratch/ms.csv"
calibrate=(calibrate "${service[@]}")
json=$("$napkin" "${calibrate[@]}" --runs "$scratch/slow.csv" --out "$scratch/profile.json" --json) || fail 'calibrate --runs'
[[ $json == '{"schema":"perfmodel.service_profile","version":1,"accelerator":"h200_sxm","model":"llama_3_1_70b","engine":"vllm",'* ]] ||
  fail "calibrate --runs --json: ${json:0:160}"
value() { sed -nE "s/.*\"$2\":\\{\"value\":([^,]*),.*/\1/p" <<<"$1"; }
# Kernels take 20 % more, as far as the host does not.
near 'step_time_factor' "$(value "$json" step_time_factor)" 1.18 0.06
near 'the same in ms' "$(value "$("$napkin" "${calibrate[@]}" --runs "$scratch/ms.csv" --json)" step_time_factor)" "$(value "$json" step_time_factor)" 1e-6
# As predicted, nothing moves.
{
  head -1 "$scratch/slow.csv"
  sed 1d "$scratch/slow.csv" | awk -F, '{ printf "%s,%s,%s,%s,%.9g,%.9g\n", $1, $2, $3, $4, $5 / 1.2, $6 / 1.2 }'
} >"$scratch/shipped.csv"
near 'step_time_factor as shipped' "$(value "$("$napkin" "${calibrate[@]}" --runs "$scratch/shipped.csv" --json)" step_time_factor)" 1 1e-3
text=$("$napkin" "${calibrate[@]}" --runs "$scratch/slow.csv") || fail 'calibrate --runs as text'
for words in 'from the runs' 'slow.csv:2' '80 % of further runs'; do
  [[ $text == *"$words"* ]] || fail "the report does not say '$words': $text"
done

# --- the profile in use -----------------------------------------------------------------------------
load=(--input_tokens 4096 --output_tokens 512 --concurrency 16 --requests 160)
before=$("$napkin" serving "${service[@]}" "${load[@]}" --json)
after=$("$napkin" serving "${service[@]}" "${load[@]}" --profile "$scratch/profile.json" --json) || fail 'serving --profile'
near 'a load that was not run' "$(number "$after" itl_s)" "$(awk -v t="$(number "$before" itl_s)" 'BEGIN { print 1.2 * t }')" \
  "$(awk -v t="$(number "$before" itl_s)" 'BEGIN { print 0.03 * t }')"
[[ $after == *'5 runs in slow.csv'* ]] || fail "serving --profile does not name it: $after"
width() { sed -nE 's/.*"interval_80_s":\[([0-9.e-]+),([0-9.e-]+)\].*/\2 \1/p' <<<"$1" | awk '{ print $1 / $2 }'; }
awk -v a="$(width "$after")" -v b="$(width "$before")" 'BEGIN { exit !(a > 1 && a < b) }' ||
  fail "the interval is not narrower: $(width "$after"), $(width "$before")"
"$napkin" explain serving "${service[@]}" "${load[@]}" --profile "$scratch/profile.json" --all |
  grep -q 'engine.step_time_factor' ||
  fail 'explain serving --profile'
"$napkin" step "${service[@]}" --batch 16 --context 1000 --profile "$scratch/profile.json" >/dev/null || fail 'step --profile'
wide=$("$napkin" serving --model llama_3_1_70b --accelerator h200_sxm --tensor_parallel 8 --engine vllm "${load[@]}" --profile "$scratch/profile.json" --json)
awk -v a="$(width "$wide")" -v b="$(width "$after")" 'BEGIN { exit !(a > b) }' || fail 'another layout has a narrow interval'
# The same model by another name.
[[ $("$napkin" serving --model meta-llama/Llama-3.1-70B --accelerator h200_sxm --tensor_parallel 4 --engine vllm "${load[@]}" --profile "$scratch/profile.json" --json) == *'5 runs in slow.csv'* ]] ||
  fail 'the same model as a hub writes it'
refuses PM-E031 serving --model llama_3_8b --accelerator h200_sxm --engine vllm "${load[@]}" --profile "$scratch/profile.json"
refuses PM-E031 serving --model llama_3_1_70b --accelerator h200_sxm --tensor_parallel 4 --engine sglang "${load[@]}" --profile "$scratch/profile.json"
refuses PM-E031 serving --model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 4 --engine vllm "${load[@]}" --profile "$scratch/profile.json"
refuses PM-E031 gemm --accelerator h200_sxm --m 1 --n 128 --k 128 --profile "$scratch/profile.json"
# A plan takes it for its engine, and prices the others as shipped.
plan=(plan --model llama_3_1_70b --accelerator h200_sxm --gpus 4 --input_tokens 4096 --output_tokens 512 --concurrency 16)
own=$("$napkin" "${plan[@]}" --engine vllm --profile "$scratch/profile.json" --json) || fail 'plan --profile of a service'
[[ $own == *'5 runs in slow.csv'* ]] || fail 'a plan does not name the profile of the service'
row=$("$napkin" explain "${plan[@]}" --engine vllm --profile "$scratch/profile.json" --row 1 --json | sed 's/.*"result":/"result":/')
budget=$(number "$row" chunk_tokens)
again=$("$napkin" serving --model llama_3_1_70b --accelerator h200_sxm --engine vllm --tensor_parallel "$(number "$row" tensor_parallel)" \
  --replicas "$(number "$row" replicas)" ${budget:+--chunk_tokens "$budget"} --input_tokens 4096 --output_tokens 512 --concurrency 16 \
  --profile "$scratch/profile.json" --json)
near 'row 1 with the profile' "$(number "$row" itl_s)" "$(number "$again" itl_s)" 1e-3
[[ $("$napkin" "${plan[@]}" --engine vllm,sglang --profile "$scratch/profile.json" --json) == *'"engine":"sglang"'* ]] || fail 'other engines beside the profile'
refuses 'the profile is of llama_3_1_70b on vllm, and the plan is of llama_3_1_70b on sglang' "${plan[@]}" --engine sglang --profile "$scratch/profile.json"
refuses PM-E031 plan --model llama_3_8b --accelerator h200_sxm --engine vllm --profile "$scratch/profile.json"
# A file of version 0.2 or earlier has former names.
sed -E 's/"step_time_factor"/"pass_time"/; s/"step_cpu_time_s"/"step_host_s"/; s/"sequence_cpu_time_s"/"sequence_host_s"/
  s/"prefill_step_factor"/"prompt_time"/; s/"request_cpu_time_s"/"request_host_s"/; s/"variance_removed"/"told"/
  s/_log_sigma"/_spread"/; s/"correlated"/"confused"/' "$scratch/profile.json" >"$scratch/former.json"
[[ $(diff "$scratch/profile.json" "$scratch/former.json" | grep -c '^>') -ge 14 ]] || fail 'too few former names in the file'
former=$("$napkin" serving "${service[@]}" "${load[@]}" --profile "$scratch/former.json" --json) || fail 'a profile with former names'
[[ ${former//former.json/profile.json} == "$after" ]] || fail "a profile with former names has another answer: $former"
for change in 's/"version": 1/"version": 2/ PM-E010' 's/"h200_sxm"/"h99"/ PM-E011' 's/"vllm"/"turbo"/ PM-E014' \
  's/"itl_log_sigma".*// PM-E004' 's/"step_time_factor"/"past_time"/ PM-E003' 's/"tensor_parallel": 4/"tensor_parallel": 0/ PM-E010'; do
  sed -E "${change% *}" "$scratch/profile.json" >"$scratch/broken.json"
  cmp -s "$scratch/broken.json" "$scratch/profile.json" && fail "nothing to break: $change"
  refuses "${change##* }" serving "${service[@]}" "${load[@]}" --profile "$scratch/broken.json"
done

# --- what benchmarks write --------------------------------------------------------------------------
read -r itl ttft < <(ask_times 1024 16)
cat >"$scratch/vllm.json" <<END
{"date":"20260101-000000","backend":"vllm","model_id":"m","num_prompts":160,"request_rate":"inf","max_concurrency":16,
 "duration":100.0,"completed":160,"total_input_tokens":163840,"total_output_tokens":81920,"request_throughput":1.6,
 "mean_ttft_ms":$(awk -v t="$ttft" 'BEGIN { print 1e3 * t }'),"median_ttft_ms":1,"p99_ttft_ms":1,
 "mean_tpot_ms":$(awk -v t="$itl" 'BEGIN { print 1e3 * t }'),"mean_itl_ms":1,"errors":["","a \"quoted\" {"]}
END
json=$("$napkin" "${calibrate[@]}" --runs "$scratch/vllm.json" --json) || fail "vLLM's JSON"
near "vLLM's JSON, as predicted" "$(value "$json" step_time_factor)" 1 1e-3
# SGLang appends a line for each run; Python writes Infinity.
for concurrency in 4 16; do
  read -r itl ttft < <(ask_times 1024 $concurrency)
  awk -v i="$itl" -v t="$ttft" -v c=$concurrency 'BEGIN { printf "{\"backend\":\"sglang\",\"request_rate\":Infinity,\"max_concurrency\":%d,\"completed\":%d,\"total_input_tokens\":%d,\"total_output_tokens\":%d,\"mean_ttft_ms\":%.9g,\"mean_tpot_ms\":%.9g,\"std_ttft_ms\":NaN}\n", c, 10 * c, 10240 * c, 5120 * c, 1e3 * t, 1e3 * i }'
done >"$scratch/sglang.jsonl"
json=$("$napkin" "${calibrate[@]}" --runs "$scratch/sglang.jsonl" "$scratch/vllm.json" --json) || fail "SGLang's lines"
near "SGLang's lines, as predicted" "$(value "$json" step_time_factor)" 1 1e-3
[[ $json == *'3 runs in sglang.jsonl and others'* ]] || fail "several files: $json"

# --- runs that are none -----------------------------------------------------------------------------
# no_runs <code> <words> : the CSV on stdin is refused
no_runs() {
  cat >"$scratch/bad.csv"
  refuses "$1" "${calibrate[@]}" --runs "$scratch/bad.csv"
  [[ $("$napkin" "${calibrate[@]}" --runs "$scratch/bad.csv" 2>&1) == *"$2"* ]] ||
    fail "says '$("$napkin" "${calibrate[@]}" --runs "$scratch/bad.csv" 2>&1)' and not '$2'"
}
header=$(head -1 "$scratch/slow.csv")
no_runs PM-E050 'no rows' <<<"$header"
no_runs PM-E010 'bad.csv:3: itl_s' < <(printf '%s\n512,512,1,10,0.01,0.1\n512,512,1,10,-1,0.1\n' "$header")
no_runs PM-E005 'bad.csv:2: itl_s' < <(printf '%s\n512,512,1,10,fast,0.1\n' "$header")
no_runs PM-E004 'bad.csv:2: itl_s and ttft_s are missing' < <(printf '%s\n512,512,1,10,,\n' "$header")
no_runs PM-E010 'bad.csv:2: concurrency' < <(printf '%s\n512,512,0,10,0.01,0.1\n' "$header")
no_runs PM-E004 'bad.csv:2: concurrency is missing' < <(printf '%s\n512,512,,,0.01,0.1\n' "$header")
no_runs PM-E004 'bad.csv:2: input_tokens is missing' < <(printf 'output_tokens,concurrency,itl_s\n512,1,0.01\n')
no_runs PM-E003 '"tokens" is unknown' < <(printf 'tokens,concurrency,itl_s\n512,1,0.01\n')
no_runs PM-E031 'duplicate column' < <(printf 'input_tokens,output_tokens,concurrency,itl_s,tpot_ms\n512,512,1,0.01,10\n')
no_runs PM-E031 'bad.csv:3: the layout' < <(printf 'input_tokens,output_tokens,concurrency,tensor_parallel,itl_s\n512,512,1,4,0.01\n512,512,1,8,0.01\n')
no_runs PM-E001 'not JSON' <<<'{"completed":'
no_runs PM-E004 'completed' <<<'{"model_id":"m"}'
no_runs PM-E010 'completed' <<<'{"completed":0,"total_input_tokens":1,"total_output_tokens":1,"mean_ttft_ms":1}'
refuses PM-E040 "${calibrate[@]}" --runs "$scratch/nowhere.csv"
refuses PM-E031 "${calibrate[@]}" --runs "$scratch/slow.csv" --data "$scratch/slow.csv"
refuses PM-E031 calibrate --accelerator h200_sxm --data "$scratch/slow.csv" --engine vllm
refuses PM-E031 "${calibrate[@]}" --runs "$scratch/slow.csv" --out "$scratch/slow.csv"
refuses PM-E004 calibrate --accelerator h200_sxm
refuses PM-E004 calibrate --accelerator h200_sxm --runs "$scratch/slow.csv"
refuses PM-E011 calibrate --accelerator h99 --model llama_3_1_70b --runs "$scratch/slow.csv"
refuses PM-E031 calibrate --accelerator mi210 --model llama_3_1_70b --tensor_parallel 4 --engine vllm --runs "$scratch/slow.csv"


# Short options as those of serving; the report begins with the errors.
[[ $("$napkin" calibrate --accelerator h200_sxm --model llama_3_1_70b --tp 4 --engine vllm --runs "$scratch/slow.csv" --json) == \
  "$("$napkin" "${calibrate[@]}" --runs "$scratch/slow.csv" --json)" ]] ||
  fail 'calibrate --tp is not --tensor_parallel'
[[ $(tr -s ' \n' ' ' <<<"$text") == 'llama_3_1_70b on h200_sxm by vllm, 5 runs in slow.csv: mean error of ITL '*' % before and '*' % after, of TTFT '* ]] ||
  fail "no conclusion: $text"
finish
