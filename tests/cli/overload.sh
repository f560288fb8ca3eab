#!/usr/bin/env bash
# Infeasible answers say so first and in words: overload, its largest sustainable rate, and what does not fit.
. "$(dirname "$0")/lib.bash"
closed_forms

chat=(--model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 4 --engine vllm --input_tokens 2000 --output_tokens 500)
first_line() { head -n 1 <<<"$1"; }
# null <key> <answer in JSON>: the key is there and has no value.
null() { [[ $2 == *"\"$1\":null"* ]] || fail "$1 is not null in ${2:0:600}"; }
# no_huge_times <text>: no time in thousands of seconds, which k, M or G before an s would be.
no_huge_times() { ! grep -qE '[0-9] [kMG]s\b' <<<"$1" || fail "a time in ks or Ms: $(grep -E '[0-9] [kMG]s\b' <<<"$1" | head -n 2)"; }

# --- an open loop beyond what is sustained -------------------------------------------------------------
for offered in 5 9; do
  text=$("$napkin" serving "${chat[@]}" --requests_per_s $offered) || fail "overload: exit status not 0"
  json=$("$napkin" serving "${chat[@]}" --requests_per_s $offered --json) || fail "overload as JSON: exit status not 0"
  [[ $(first_line "$text") =~ ^'Overloaded: '$offered' req/s offered, '([0-9.]+)' req/s sustainable ('([0-9]+)' %). Latencies grow without bound.'$ ]] ||
    fail "the first line is '$(first_line "$text")'"
  said=${BASH_REMATCH[1]:-} share=${BASH_REMATCH[2]:-}
  most=$(number "$json" sustainable_requests_per_s)
  [[ -n $most ]] || { fail "no sustainable rate: ${json:0:300}"; finish; }
  near 'the rate that is said' "$said" "$most" 0.001
  near 'the share that is said' "$share" "$(awk -v o=$offered -v m="$most" 'BEGIN { print 100 * o / m }')" 0.51
  # The second method: the service asked on either side of that rate.
  for side in '0.999 true' '1.001 false'; do
    rate=$(awk -v m="$most" -v f="${side% *}" 'BEGIN { printf "%.9g", m * f }')
    [[ $("$napkin" serving "${chat[@]}" --requests_per_s "$rate" --json) == *"\"feasible\":${side#* }"* ]] || fail "feasible at ${side% *} of $most"
  done
  for key in ttft_s ttft_p50_s ttft_p90_s ttft_p99_s itl_s itl_p50_s itl_p99_s e2e_s e2e_p99_s interval_80_s ttft_interval_80_s bound_time_s bound_ttft_s; do
    null $key "$json"
  done
  null memory "$(sed 's/.*"terms":{\([^}]*\)}.*/"memory":null \1/; s/:[0-9].*/:number/' <<<"$json")"
  [[ $(sed 's/.*"terms":{\([^}]*\)}.*/\1/' <<<"$json") != *:[0-9]* ]] || fail "a term of an overloaded service has a time: $json"
  [[ $json == *'"feasible":false'*'"reason":"requests arrive faster'* ]] || fail "no reason: $json"
  # Replicas: by hand, of the rate that one sustains. Together they are feasible.
  replicas=$(awk -v o=$offered -v m="$most" 'BEGIN { n = int(o / m); print n + (n * m < o) }')
  near replicas "$(number "$json" replicas_to_sustain)" "$replicas" 0
  near GPUs "$(number "$json" gpus_to_sustain)" $((4 * replicas)) 0
  [[ $("$napkin" serving "${chat[@]}" --requests_per_s $offered --data_parallel "$replicas" --json) == *'"feasible":true'* ]] || fail "$replicas replicas do not sustain $offered"
  [[ $text == *"$replicas replicas of this deployment ($((4 * replicas)) GPUs)"* ]] || fail "no replicas in '$text'"
  # Latencies near saturation are those of that rate, asked for.
  at=$(sed -nE 's/.*"near_saturation":\{([^}]*)\}.*/{\1}/p' <<<"$json")
  rate=$(number "$at" requests_per_s)
  awk -v r="$rate" -v m="$most" 'BEGIN { exit !(r > 0.85 * m && r < 0.95 * m) }' || fail "near saturation is $rate of $most"
  there=$("$napkin" serving "${chat[@]}" --requests_per_s "$rate" --json)
  for key in ttft_s ttft_p99_s itl_s itl_p99_s e2e_s output_tokens_per_s; do
    near "$key near saturation" "$(number "$at" $key)" "$(number "$there" $key)" "$(awk -v x="$(number "$there" $key)" 'BEGIN { print 1e-9 * x }')"
  done
  [[ $text == *"At $rate req/s"* ]] || fail "no latencies at $rate in '$text'"
  [[ $text == *'TTFT (mean)'*'unbounded'* && $text == *'end-to-end latency (mean)'*'unbounded'* ]] || fail "latencies are not unbounded: '$text'"
  no_huge_times "$text"
  # What it completes is what it sustains.
  near 'requests completed' "$(number "${json/near_saturation*\}/}" requests_per_s)" "$most" 1e-6
done
[[ $("$napkin" serving "${chat[@]}" --requests_per_s 9 --ttft_limit_s 2 --json) == *'"goodput_requests_per_s":0,'* ]] || fail 'goodput of an overloaded service within a limit'
# Replicas that are there already, pools, drafts and a bound.
json=$("$napkin" serving "${chat[@]}" --requests_per_s 20 --data_parallel 2 --json)
near 'replicas twice' "$(number "$json" sustainable_requests_per_s)" "$(awk -v m="$most" 'BEGIN { print 2 * m }')" 1e-3
for more in '--prefill_tensor_parallel 4 --decode_tensor_parallel 4 --kv_link_bytes_per_s 50GB/s' '--mode bound --tensor_parallel 4' \
  '--draft_length 2 --acceptance 0.5 --tensor_parallel 4'; do
  # shellcheck disable=SC2206
  asked=(serving --model llama_3_1_70b --accelerator h100_sxm --engine vllm --input_tokens 2000 --output_tokens 500 $more)
  json=$("$napkin" "${asked[@]}" --requests_per_s 300 --json) || fail "overload with $more"
  null ttft_s "$json"
  rate=$(number "$json" sustainable_requests_per_s)
  for side in '0.999 true' '1.001 false'; do
    there=$(awk -v m="$rate" -v f="${side% *}" 'BEGIN { printf "%.9g", m * f }')
    [[ $("$napkin" "${asked[@]}" --requests_per_s "$there" --json) == *"\"feasible\":${side#* }"* ]] || fail "$more: feasible at ${side% *} of $rate"
  done
  text=$("$napkin" "${asked[@]}" --requests_per_s 300)
  [[ $(first_line "$text") == 'Overloaded: 300 req/s offered, '* ]] || fail "with $more: '$(first_line "$text")'"
  no_huge_times "$text"
done
# A feasible answer says none of this.
[[ $("$napkin" serving "${chat[@]}" --requests_per_s 2 --json) != *sustain* ]] || fail 'a feasible answer has a largest rate that nobody asked for'
# The same in a batch.
line=$(printf '{"query":"serving","model":"llama_3_1_70b","accelerator":"h100_sxm","tensor_parallel":4,"engine":"vllm","input_tokens":2000,"output_tokens":500,"requests_per_s":9}\n' | "$napkin" batch) || fail 'a batch of an overloaded service'
[[ $line == "$("$napkin" serving "${chat[@]}" --requests_per_s 9 --json)" ]] || fail "a batch says otherwise: ${line:0:300}"

# --- explain, sensitivity -------------------------------------------------------------------------------
for form in '' '--all' '--markdown' '--depth 2'; do
  # shellcheck disable=SC2086
  text=$("$napkin" explain serving "${chat[@]}" --requests_per_s 9 $form) || fail "explain $form of an overloaded service"
  [[ $(first_line "$text") == 'Overloaded: 9 req/s offered, '* ]] || fail "explain $form begins '$(first_line "$text")'"
  no_huge_times "$text"
done
[[ $text == *"requests_per_s $rate"* || $text == *'Breakdown at a sustainable rate'* ]] || fail "explain does not say at which rate: '$text'"
json=$("$napkin" explain serving "${chat[@]}" --requests_per_s 9 --json) || fail 'explain --json of an overloaded service'
[[ $json == *'"explained_at":{"requests_per_s":'* ]] || fail 'explain --json does not say at which rate'
json=$("$napkin" sensitivity serving "${chat[@]}" --requests_per_s 9 --json) || fail 'sensitivity of an overloaded service'
null value "$json"
[[ $json == *'"elasticities":[]'*'"feasible":false'* || $json == *'"feasible":false'*'"elasticities":[]'* ]] || fail "sensitivity of an overloaded service: $json"
text=$("$napkin" sensitivity serving "${chat[@]}" --requests_per_s 9)
[[ $(first_line "$text") == 'Overloaded: 9 req/s offered, '* ]] || fail "sensitivity begins '$(first_line "$text")'"
# Just below saturation, an input that leads to overload has no finite effect.
below=$(awk -v m="$most" 'BEGIN { printf "%.6g", 0.98 * m }')
text=$("$napkin" sensitivity serving "${chat[@]}" --requests_per_s "$below" --what-if "dram.bandwidth=2TB/s..3.35TB/s") || fail 'sensitivity near saturation'
[[ $text == *'what if: '*' to infeasible'* ]] || fail "what if near saturation: $text"

# --- advise ---------------------------------------------------------------------------------------------
json=$("$napkin" advise "${chat[@]}" --requests_per_s 5 --json) || fail 'advise of an overloaded service'
[[ $json == *'"objective":"sustainable_requests_per_s:'* ]] || fail 'advise does not say what its gains are of'
null e2e_s "$json"
now=$(number "$json" sustainable_requests_per_s)
then=$(number "$json" combined_sustainable_requests_per_s)
near 'the gain of all is that of the largest rate' "$(number "$json" combined_gain)" "$(awk -v a="$then" -v b="$now" 'BEGIN { print a / b }')" 1e-5
grep -oE '"gain":[0-9.e+]+' <<<"$json" | sed 's/.*://' | awk '{ if ($1 > 100) exit 1 }' || fail "a gain of more than 100: $(grep -oE '"gain":[0-9.e+]+' <<<"$json" | sort -t: -k2g | tail -n 1)"
# fp8 weights: the gain is that of the largest rates, each asked by itself.
narrow=$("$napkin" serving "${chat[@]}" --requests_per_s 50 --weight_format fp8 --activation_format fp8 --json)
gain=$(number "$(grep -oE '\{[^{}]*"name":"fp8"[^{}]*\}' <<<"$json")" gain)
near 'the gain of fp8' "$gain" "$(awk -v a="$(number "$narrow" sustainable_requests_per_s)" -v b="$now" 'BEGIN { print a / b }')" 0.02
text=$("$napkin" advise "${chat[@]}" --requests_per_s 5) || fail 'advise of an overloaded service as text'
[[ $(first_line "$text") == 'Overloaded: 5 req/s offered, '* ]] || fail "advise begins '$(first_line "$text")'"
[[ $text == *'enough to be stable'* ]] || fail "no trick is enough to be stable: $text"
no_huge_times "$text"
json=$("$napkin" advise "${chat[@]/#4/1}" --concurrency 4 --json) || fail 'advise of a model that does not fit'
null combined_gain "$json"
[[ $json == *'"enables":true,"gain":null'* ]] || fail 'a change that lets a model fit has a ratio of times'

# --- what does not fit ----------------------------------------------------------------------------------
alone=(--model llama_3_1_70b --accelerator h100_sxm)
for asked in 'step --batch 4 --context 1000' 'serving --input_tokens 1000 --output_tokens 100 --concurrency 4' 'kv_capacity' \
  'step --batch 4 --context 1000 --mode bound'; do
  # shellcheck disable=SC2086
  text=$("$napkin" $asked "${alone[@]}") || fail "$asked: exit status not 0"
  # By hand: 70.55e9 parameters of 2 bytes, 5.23 GB of activations and 2.3 GB of the runtime of several GPUs are
  # 78.1 GB on each of two, of which 77 are used, and 42.8 on each of four.
  conclusion=$(head -n 3 <<<"$text" | xargs)
  [[ $conclusion =~ ^'Does not fit: '.*': '[0-9.]+' GB needed, '[0-9.]+' GB usable.' ]] || fail "$asked begins '$conclusion'"
  [[ $conclusion == *'It fits with tensor_parallel 4.' ]] || fail "$asked does not say what fits: '$conclusion'"
  # shellcheck disable=SC2086
  json=$("$napkin" $asked "${alone[@]}" --json)
  [[ $json == *'"feasible_with":[{"tensor_parallel":4}]'* ]] || fail "$asked: $json"
  # shellcheck disable=SC2086
  [[ $("$napkin" $asked "${alone[@]}" --tensor_parallel 4 --json) == *'"feasible":true'* ]] || fail "$asked on four"
done
json=$("$napkin" serving --input_tokens 1000 --output_tokens 100 --concurrency 4 "${alone[@]}" --json)
for key in requests_per_s output_tokens_per_s batch ttft_s; do null $key "$json"; done
json=$("$napkin" step --batch 4 --context 1000 "${alone[@]}" --measured 50ms --json)
for key in time_s bound_time_s interval_80_s measured_over_predicted possible; do null $key "$json"; done
[[ $("$napkin" step --batch 4 --context 1000 "${alone[@]}") != *'limited by'* ]] || fail 'a step that does not fit is limited by something'
[[ $("$napkin" step --batch 4 --context 1000 "${alone[@]}") != *joules* ]] || fail 'a step that does not fit has an energy'

# --- runs of a service that the shipped profile says are overloaded ----------------------------------------
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
service=(--model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 4 --engine vllm)
fitted() {
  echo 'input_tokens,output_tokens,concurrency,requests_per_s,itl_s,ttft_s'
  for rate in 1 2; do
    there=$("$napkin" serving "${chat[@]}" --requests_per_s $rate --json)
    echo "2000,500,,$rate,$(number "$there" itl_s),$(number "$there" ttft_s)"
  done
}
fitted >"$scratch/steady.csv"
{ cat "$scratch/steady.csv" && echo '2000,500,,9,0.09,45'; } >"$scratch/saturated.csv"
text=$("$napkin" calibrate "${service[@]}" --runs "$scratch/saturated.csv") || fail 'calibrate of an overloaded run'
grep -E 'saturated.csv:4 ' <<<"$text" | grep -q 'overloaded' || fail "the overloaded run is not called so: $text"
[[ $text != *e+0* ]] || fail "an error of many powers of ten: $(grep 'e+0' <<<"$text")"
[[ $text == *'excluded from the fit (no predicted latencies): 1 of 3 runs'* ]] || fail "the run takes part: $text"
# What is left out moves nothing: the profile is that of the other runs.
values() { grep -oE '"(step_time_factor|request_iterations|prefill_step_factor)":\{"value":[^,]*|"(itl|ttft)_log_sigma":[^,]*' <<<"$1"; }
json=$("$napkin" calibrate "${service[@]}" --runs "$scratch/saturated.csv" --json)
[[ $(values "$json") == $(values "$("$napkin" calibrate "${service[@]}" --runs "$scratch/steady.csv" --json)") ]] || fail 'an overloaded run moves the profile'
[[ $json == *'"ttft_error_before":null'*'"infeasible_before":"requests arrive faster'* || $json == *'"infeasible_before":"requests arrive faster'* ]] || fail "no reason for null: $json"
{ head -1 "$scratch/steady.csv" && echo '2000,500,,9,0.09,45'; } >"$scratch/none.csv"
refuses PM-E050 calibrate "${service[@]}" --runs "$scratch/none.csv"

finish
