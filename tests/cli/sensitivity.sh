#!/usr/bin/env bash
# What an answer hangs on: elasticities and crossovers that a hand computes, and clear refusals.
. "$(dirname "$0")/lib.bash"

# elasticity <json> <input>: of that input.
elasticity() { sed -nE "s/.*\"input\":\"$2\",\"elasticity\":(-?[0-9][0-9.eE+-]*)[,}].*/\1/p" <<<"$1" | head -n 1; }
hangs() { # <input> <expected> <tolerance> <arguments...>
  local input=$1 expected=$2 tolerance=$3 answer
  shift 3
  answer=$("$napkin" sensitivity "$@" --json) || fail "napkin sensitivity $*"
  near "sensitivity $*: $input" "$(elasticity "$answer" "$input")" "$expected" "$tolerance"
}

# Bytes over bandwidth: 2 (m k + k n + m n), of which those with an n are (k n + m n).
thin="gemm --accelerator h100_sxm --mode bound --m 1 --n 8192 --k 8192"
# shellcheck disable=SC2086
{
  hangs dram.bandwidth -1 1e-6 $thin
  hangs n "$(awk 'BEGIN { k = 8192; print (k * k + k) / (k * k + 2 * k) }')" 1e-6 $thin
  hangs matrix.peak.bf16 0 1e-9 $thin
}
# 2 m n k FLOP over the peak.
for input in m n k; do
  hangs $input 1 1e-6 gemm --accelerator h100_sxm --mode bound --m 8192 --n 8192 --k 8192
done
hangs matrix.peak.bf16 -1 1e-6 gemm --accelerator h100_sxm --mode bound --m 8192 --n 8192 --k 8192
hangs dram.bandwidth -1 1e-6 ridge --accelerator h100_sxm
hangs matrix.peak.bf16 1 1e-6 ridge --accelerator h100_sxm
# Of one GPU every term is work over a rate: the time is homogeneous of degree -1 in all rates (Euler).
answer=$("$napkin" sensitivity step --model llama_3_8b --accelerator h100_sxm --mode bound --batch 96 --context 2048 --json)
near "the sum over all rates" "$(grep -oE '"input":"(matrix|vector)\.peak\.[a-z0-9]+","elasticity":[^,}]*|"input":"(dram|l2|fabric)\.bandwidth","elasticity":[^,}]*' \
  <<<"$answer" | sed 's/.*://' | awk '{ s += $1 } END { print s }')" -1 1e-6
# A prediction keeps the shares that were fitted: it hangs on bandwidth, and by less than all of it.
answer=$("$napkin" sensitivity step --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --batch 8 --context 2048 --json)
[[ $answer == *'"mode":"calibrated"'* ]] || fail "sensitivity of a step is not calibrated"
awk -v e="$(elasticity "$answer" dram.bandwidth)" 'BEGIN { exit !(e < -0.4 && e > -1) }' ||
  fail "a decode step hangs on DRAM bandwidth by $(elasticity "$answer" dram.bandwidth)"
first=$(grep -oE '"input":"[a-z_0-9.]*"' <<<"$answer" | head -n 1)
[[ $first == '"input":"dram.bandwidth"' || $first == '"input":"tensor_parallel"' ]] || fail "the largest is $first"
hangs requests_per_s 1 1e-4 serving --accelerator h100_sxm --model llama_3_8b --input_tokens 512 --output_tokens 64 \
  --requests_per_s 0.5 --result requests_per_s

# The ridge, 295.343 FLOP/B, is met where 8192 m / (2 m + 8192) is as much: m = 318.29.
answer=$("$napkin" sensitivity gemm --accelerator h100_sxm --mode bound --m 1 --n 8192 --k 8192 --crossover m=1..4096 --json)
[[ $answer == *'"crossovers":[{"input":"m","value":319,"from":"memory","to":"compute"}]'* ]] || fail "ridge: $answer"
# With the bandwidth of an H200 an H100 is as quick as one.
answer=$("$napkin" sensitivity gemm --accelerator h100_sxm --mode bound --m 1 --n 8192 --k 8192 \
  --crossover dram.bandwidth=3TB/s..6TB/s --against accelerator=h200_sxm --json)
near "the bandwidth that wins" "$(sed -nE 's/.*"value":([0-9.]+),"from":"the other is faster","to":"this one is faster".*/\1/p' <<<"$answer")" 4.8 0.001
# 134,250,496 bytes over 4 and 3 TB/s.
answer=$("$napkin" sensitivity gemm --accelerator h100_sxm --mode bound --m 1 --n 8192 --k 8192 \
  --what-if dram.bandwidth=3TB/s..4TB/s --what-if m=1..2 --json)
near "what if, least" "$(sed -nE 's/.*"what_if":\{"low":([0-9.e-]+),.*/\1/p' <<<"$answer")" 33.562624e-6 1e-12
[[ $answer == *'"single":[{"input":"dram.bandwidth","low":'* ]] || fail "what if: the larger is not first: $answer"

"$napkin" sensitivity step --model llama_3_8b --accelerator h100_sxm --batch 8 --context 2048 >/dev/null || fail "as text"
line='{"id":7,"query":"sensitivity","of":{"query":"ridge","accelerator":"h100_sxm"}}'
[[ $(echo "$line" | "$napkin" batch) == '{"id":7,"key":"flop_per_byte","value":295.343'*'"mode":"bound"}' ]] || fail "batch"

refuses PM-E004 sensitivity gemm --accelerator h100_sxm --m 1 --n 1
refuses PM-E003 sensitivity ridge --accelerator h100_sxm --crossover batch=1..2
refuses PM-E005 sensitivity ridge --accelerator h100_sxm --what-if dram.bandwidth=3
refuses PM-E004 sensitivity ridge --accelerator h100_sxm --against accelerator=h200_sxm
# A prediction and a bound are not compared; by transferred profile, or at their bounds, two chips are.
chips=(sensitivity gemm --accelerator h100_sxm --m 1 --n 8192 --k 8192 --crossover m=1..64 --against accelerator=h20)
refuses 'against compares a prediction with a bound; allowed: mode bound, or calibrated where both' "${chips[@]}"
for as in bound calibrated; do
  "$napkin" "${chips[@]}" --mode $as >/dev/null || fail "--against in mode $as"
done
bad() { # <code> <line>
  [[ $(echo "$2" | "$napkin" batch) == *"\"code\":\"$1\""* ]] || fail "batch: $2 is not $1"
}
bad PM-E004 '{"query":"sensitivity"}'
bad PM-E005 '{"query":"sensitivity","of":3}'
bad PM-E003 '{"query":"sensitivity","of":{"query":"ridge","accelerator":"h100_sxm"},"more":1}'
bad PM-E005 '{"query":"sensitivity","of":{"query":"ridge","accelerator":"h100_sxm"},"what_if":{}}'
bad PM-E005 '{"query":"sensitivity","of":{"query":"ridge","accelerator":"h100_sxm"},"crossover":{"dram.bandwidth":[2,1]}}'
bad PM-E002 '{"query":"sensitivity","of":{"query":"sensitivity"}}'
"$napkin" sensitivity ridge --accelerator h100_sxm --result time_s 2>&1 | grep -q 'key is "time_s"; allowed: flop_per_byte' ||
  fail "a result that is not there"
# The time to first token has an interval of its own, which holds it.
first=$("$napkin" sensitivity serving --model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 8 --engine vllm --input_tokens 2048 \
  --output_tokens 512 --concurrency 64 --result ttft_s --json)
sed -nE 's/.*"value":([^,]*),.*"interval":\{"of":"ttft_s","low_s":([^,]*),"high_s":([^,]*),.*/\1 \2 \3/p' <<<"$first" |
  awk '{ ok = NF == 3 && $2 < $1 && $1 < $3 && ($2 * $3 / $1 ^ 2 - 1) ^ 2 < 1e-12 } END { exit !ok }' || fail "ttft_s: ${first: -300}"
# The interval's parts: their shares sum to 1, each is as its time times its width, and together they are as wide
# as the interval, which is exp(+- 1.2816 s) of the time, s their mean by time.
answer=$("$napkin" sensitivity step --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --batch 16 \
  --context 4096 --json) || fail 'sensitivity step'
sums=$(sed 's/.*"interval"://' <<<"$answer" | tr '{}' '\n\n' | tr ',:' '  ' | awk '
  /"low_s"/ { width = log($6 / $4) / 2 / 1.281551566 }
  /"part"/ { t = $(NF - 4); s = $(NF - 2); w = $NF; time += t; all += t * s; shares += w; own[++n] = t * s; share[n] = w }
  END { for (i = 1; i <= n; ++i) { d = share[i] - own[i] / all; if (d < 0) d = -d; if (d > off) off = d }
        printf "%.9f %.9f %.9f %d", shares, all / time / width, off, n }')
read -r shares width off parts <<<"$sums"
near 'shares of the width' "$shares" 1 1e-6
near 'width of the parts over that of the interval' "$width" 1 1e-4
near 'share of a part' "$off" 0 1e-6
[[ $parts -eq 3 ]] || fail "an interval of $parts parts, not products, attention and collectives"
text=$("$napkin" sensitivity gemm --accelerator h100_sxm --m 64 --n 8192 --k 8192)
grep -q 'interval of time_s: 80 % within .*; shares of the uncertainty: the kernel 100.0 %' <<<"$text" || fail "gemm: $text"
[[ $("$napkin" sensitivity gemm --accelerator h100_sxm --m 64 --n 8192 --k 8192 --mode bound --json) != *'"interval"'* ]] ||
  fail 'a bound has an interval'

# A law of steps: 10 tiles of 100 cover 1000. 1010 and 1100 take 11, which is 10 % more of both: an elasticity of 1
# over 10 %, and ln 1.1 / ln 1.01 = 9.58 over 1 %. Tiles of 101 and of 110 are 10 as well, those of 95 are 11.
answer=$("$napkin" sensitivity tiles --length 1000 --tile 100 --json)
length='{"input":"length","elasticity":1,"ten_percent_more":0.1000000000000000[0-9]*,"one_percent_more":0.1000000000000000[0-9]*,"steps":true,'
grep -qE "$length" <<<"$answer" || fail "tiles, of length: $answer"
[[ $answer == *'{"input":"tile","elasticity":0,"ten_percent_more":0,"one_percent_more":0,"steps":true,"local_elasticity":-0.95'* ]] ||
  fail "tiles, of a tile: $answer"
"$napkin" sensitivity tiles --length 1000 --tile 100 | grep -qE '^  length +\+10.0 % +\+10.0 % +1.000  steps here$' || fail 'steps as text'

# Where tiles, budgets and splits make steps, each line is what the service really answers with 10 % and 1 % more;
# lines stand by what 10 % more do, no elasticity has another sign than that, and none is a slope across an edge.
service=(serving --model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 8 --engine vllm --input_tokens 2048)
answer=$("$napkin" sensitivity "${service[@]}" --output_tokens 512 --concurrency 64 --json)
itl() { number "$("$napkin" "${service[@]}" "$@" --json)" itl_s; }
now=$(itl --output_tokens 512 --concurrency 64)
for with in "output_tokens ten 563.2 64" "output_tokens one 517.12 64" "concurrency ten 512 70.4" "concurrency one 512 64.64"; do
  read -r input more output users <<<"$with"
  near "$more per cent more of $input" \
    "$(sed -nE "s/.*\"input\":\"$input\",[^}]*\"${more}_percent_more\":(-?[0-9.e-]+)[,}].*/\1/p" <<<"$answer")" \
    "$(awk -v y="$(itl --output_tokens "$output" --concurrency "$users")" -v now="$now" 'BEGIN { print y / now - 1 }')" 1e-5
done
grep -oE '"input":"[a-z_0-9.]+","elasticity":[^,}]*(,"ten_percent_more":[^,}]*)?' <<<"$answer" | tr ':,"' '   ' | awk '
  { e = $4; effect = NF > 4 ? $6 : exp(e * log(1.1)) - 1; size = effect < 0 ? -effect : effect
    if (NR > 1 && size > before + 1e-12) { print $2 " stands too low"; exit 1 }
    if (NF > 4 && (e * effect < 0) && size > 5e-5) { print $2 ": " e " and " effect; exit 1 }
    if (e > 1.5 || e < -1.5) { print $2 ": " e; exit 1 }
    before = size }
  END { exit NR < 30 }' || fail "elasticities of a service: $answer"

# Options of every query in the command's own help; results with their unit.
help=$("$napkin" sensitivity --help)
for option in --what-if --against --crossover --result; do
  grep -qE -- "^  $option .*[a-z]" <<<"$help" || fail "sensitivity --help has no $option"
done
text=$("$napkin" sensitivity gemm --accelerator h100_sxm --m 64 --n 8192 --k 8192 --what-if m=1..4096)
grep -qE 'what if: [0-9.]+ us to [0-9.]+ us' <<<"$text" || fail "what if without a unit: $text"
grep -qE '^gemm: time_s [0-9.]+ us' <<<"$text" || fail "the result without a unit: $text"
finish
