#!/usr/bin/env bash
# An open loop that the simulated engine cannot complete is infeasible, also where the closed form allows its rate.
# simulated_overload.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
[[ -z $sanitized ]] || { echo 'skipped: simulations take too long under a sanitizer'; exit 77; }

load=(--model llama_3_8b --gpu h100_sxm --isl 1024 --osl 128 --mode calibrated)
# By the growth of the TTFT: with twice the requests it is twice as long, so the queue never ends.
ttft() { number "$("$napkin" simulate "${load[@]}" --rate "$1" --arrival-cv 0 --requests "$2" --json)" ttft_s; }
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
# Widely spread prompts fluctuate, and overload nothing.
json=$("$napkin" serving --model llama_3_8b --gpu h100_sxm --isl 1024 --osl 128 --rate 28 --input-cv 3 --json)
[[ $json == *'"feasible":true'* || $json == *'"ttft_s":'[0-9]* ]] || fail "spread prompts are called an overload: ${json:0:300}"
finish
