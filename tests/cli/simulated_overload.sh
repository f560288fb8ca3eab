#!/usr/bin/env bash
# An open loop that the simulated engine cannot complete is infeasible, also where the closed form allows its rate.
# simulated_overload.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
[[ -z $sanitized ]] || { echo 'skipped: simulations take too long under a sanitizer'; exit 77; }

load=(--model llama_3_8b --gpu h100_sxm --isl 1024 --osl 128 --mode calibrated)
# By the growth of the TTFT: with twice the requests it is twice as long, so the queue never ends.
ttft() { number "$("$napkin" simulate "${load[@]}" --rate "$1" --arrival-cv 0 --requests "$2" --json)" ttft_s; }
ttft_of_draws() { number "$("$napkin" simulate "${load[@]}" --rate "$1" --requests "$2" --json)" ttft_s; }
awk -v a="$(ttft 33 4000)" -v b="$(ttft 33 8000)" 'BEGIN { exit !(b > 1.7 * a) }' || fail '33 requests/s have a steady state'
awk -v a="$(ttft 28 4000)" -v b="$(ttft 28 8000)" 'BEGIN { exit !(b < 1.1 * a) }' || fail '28 requests/s have no steady state'

json=$("$napkin" serving "${load[@]}" --rate 33 --arrival-cv 0 --json)
[[ $json == *'"feasible":false'*'faster than the simulated engine completes them'* ]] || fail "33 requests/s: $json"
json31=$("$napkin" serving "${load[@]}" --rate 31 --arrival-cv 0 --json)
[[ $json31 == *'"feasible":false'* ]] || fail "31 requests/s: $json31"
[[ -z $(number "$json" ttft_s) ]] || fail 'an overloaded service has a TTFT'
awk -v r="$(number "$json" requests_per_s)" 'BEGIN { exit !(r > 28 && r < 33) }' || fail "completed: $(number "$json" requests_per_s)"
for cv in 0 1; do
  json=$("$napkin" serving "${load[@]}" --rate 28 --arrival-cv $cv --json)
  [[ $json == *'"feasible":true'* ]] || fail "28 requests/s, arrival_cv $cv: $json"
done
# Poisson arrivals 3 % above the 30.1 requests/s that regular ones show: by a longer run, the TTFT doubles with its length.
awk -v a="$(ttft_of_draws 31 20000)" -v b="$(ttft_of_draws 31 40000)" 'BEGIN { exit !(b > 1.6 * a) }' || fail '31 drawn requests/s have a steady state'
json=$("$napkin" serving "${load[@]}" --rate 31 --json)
[[ $json == *'"feasible":false'* || $json == *'"keeps_up":"unclear"'* ]] || fail "31 drawn requests/s: ${json:0:300}"
for n in 2000 4000 8000; do
  json=$("$napkin" simulate "${load[@]}" --rate 31 --requests $n --json)
  [[ $json == *'"keeps_up":"no"'*'"served_requests_per_s":'* || $json == *'"keeps_up":"unclear"'* ]] || fail "$n requests at 31/s: ${json:0:300}"
  json=$("$napkin" simulate "${load[@]}" --rate 27 --requests $n --json)
  [[ $json != *keeps_up* ]] || fail "$n requests at 27/s fall behind: ${json:0:300}"
done
# 4.5 % above the largest rate of the tutorial the TTFT of a run four times as long is ten times as long: no steady state. The
# sustainable rate hardly depends on the offered one: 36,000 requests more of a closed loop of 1088 take 1632.9 s, 22.05 a
# second, with a cache that preempts. At 22.5 a queue that forms never ends, and takes long to form.
near_full=(--model llama-3.1-8b --gpu h100 --isl 1000 --osl 250)
ttft() { number "$("$napkin" simulate "${near_full[@]}" --mode calibrated --rate 23 --input-cv 0.05 --output-cv 0.05 --requests "$1" --json)" ttft_s; }
awk -v a="$(ttft 10000)" -v b="$(ttft 40000)" 'BEGIN { exit !(b > 10 * a) }' || fail '23 requests/s have a steady state'
json=$("$napkin" serving "${near_full[@]}" --rate 21 --json)
[[ $json == *'"feasible":true'* && $json != *keeps_up* ]] || fail "21 requests/s, near the capacity: ${json:0:300}"
json=$("$napkin" serving "${near_full[@]}" --rate 22.5 --json)
[[ $json == *'"feasible":false'* || $json == *'"keeps_up":"unclear"'* ]] || fail "22.5 requests/s are served: ${json:0:300}"
for rate in 23 23.5 24.5; do
  json=$("$napkin" serving "${near_full[@]}" --rate $rate --json)
  [[ $json == *'"feasible":false'* ]] || fail "$rate requests/s are served: ${json:0:300}"
  near 'sustainable, whatever is offered' "$(number "$json" sustainable_requests_per_s)" 22.05 0.5
done
# A run whose last outputs end long after its last arrival is no overload, and a short one may be an overload.
text=$("$napkin" simulate --model llama_3_8b --gpu h100_sxm --engine vllm --isl 100 --osl 2000 --rate 1 --requests 10 | tr -s '\n ' ' ')
[[ $text != *'queues longer'* && $text != *'too short'* ]] || fail "10 requests at 1/s: ${text:0:300}"
text=$("$napkin" simulate --model deepseek_v3 --gpu h200_sxm --tp 8 --engine sglang --isl 5000 --osl 1000 --rate 10 --requests 50 | tr -s '\n ' ' ')
[[ $text == *'Requests arrive at 10 req/s and are served at '*': a longer run queues longer.'* ]] || fail "50 requests at 10/s: ${text:0:300}"
# Widely spread prompts fluctuate, and overload nothing.
json=$("$napkin" serving --model llama_3_8b --gpu h100_sxm --isl 1024 --osl 128 --rate 28 --input-cv 3 --json)
[[ $json == *'"feasible":true'* || $json == *'"ttft_s":'[0-9]* ]] || fail "spread prompts are called an overload: ${json:0:300}"
finish
