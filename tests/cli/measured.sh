#!/usr/bin/env bash
# A measurement below the bound is impossible, and says which assumption would make it possible.
. "$(dirname "$0")/lib.bash"

# with <answer> <assumption>: the bound under it, or nothing
bound_with() {
  sed -nE "s/.*\\{\"assumption\":\"$2\",\"change\":[^}]*\\}*,\"bound_time_s\":([0-9.eE+-]+)\\}.*/\\1/p" <<<"$1"
}

# Cache: 64 x 8192 x 8 heads x 128 x 2 x 2 bytes = 2.147 GB, 641 us at 3.35 TB/s; 320.5 us with half of it.
decode=(attention_decode --accelerator h100_sxm --batch 64 --context 8192 --query_heads 64 --kv_heads 8 --head_dim 128)
answer=$("$napkin" "${decode[@]}" --measured 400us --json)
[[ $answer == *'"possible":false'* ]] || fail 'a decode attention quicker than its bytes is possible'
near 'an fp8 cache' "$(bound_with "$answer" 'fp8 cache')" 321e-6 2e-6
# 400 us are 1.34 GB: less 2.1 MB of queries and results, 64 x 4096 bytes a token, 5104 tokens.
context=$(sed -nE 's/.*"assumption":"context of ([0-9]+) at most, not 8192".*/\1/p' <<<"$answer")
near 'the largest context' "$context" 5104 3
[[ -z $(bound_with "$answer" 'a warm L2 cache') ]] || fail '2 GB are in L2'
text=$("$napkin" "${decode[@]}" --measured 400us)
grep -q 'consistent with *fp8 cache (bound 32[01]' <<<"$text" || fail "no words: $text"
answer=$("$napkin" "${decode[@]}" --measured 900us --json)
[[ $answer == *'"possible":true'* && $answer != *possible_with* ]] || fail 'what is possible needs no assumption'
# The key in JSON, and a measurement that no assumption makes possible.
answer=$(echo '{"query":"gemm","accelerator":"h100_sxm","m":1,"n":1,"k":1,"measured_s":1e-15}' | "$napkin" batch)
[[ $answer == *'"possible_with":[]'* ]] || fail "a product in 1 fs: $answer"

# Weights of 33.6 MB: 10 us from DRAM, 3.44 us from an L2 of 50 MiB at 9.75 TB/s.
answer=$("$napkin" gemm --accelerator h100_sxm --m 1 --n 4096 --k 4096 --measured 4us --json)
near 'a warm L2 cache' "$(bound_with "$answer" 'a warm L2 cache')" 3.44e-6 2e-8
# 2 x 8192^3 FLOP: 1111 us at 989.4 TFLOP/s, 556 with sparsity.
answer=$("$napkin" gemm --accelerator h100_sxm --m 8192 --n 8192 --k 8192 --measured 600us --json)
near 'sparsity' "$(bound_with "$answer" 'the peak with 2:4 sparsity')" 555.6e-6 1e-6
# Links: half the time, but for their latency.
collective=(collective --accelerator h100_sxm --operation all_gather --ranks 8 --bytes 1GiB)
whole=$(number "$("$napkin" "${collective[@]}" --mode bound --json)" time_s)
some=$(awk -v t="$whole" 'BEGIN { print 0.6 * t }')
answer=$("$napkin" "${collective[@]}" --measured_s "$some" --json)
near 'links both ways' "$(bound_with "$answer" 'bidirectional link bandwidth')" "$(awk -v t="$whole" 'BEGIN { print t / 2 }')" 1e-5
# A step, of which more ranks make a part.
answer=$("$napkin" step --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --batch 1 --context 1024 \
  --measured 3ms --json)
near 'fp8 weights' "$(bound_with "$answer" 'fp8 weights')" 2.8e-3 0.2e-3
for query in "moe_ffn --accelerator h100_sxm --tokens 16 --hidden 2048 --intermediate 768 --experts 128 --top_k 8" \
  "elementwise --accelerator h100_sxm --elements 1000000"; do
  # shellcheck disable=SC2086
  answer=$("$napkin" $query --measured 1us --json) || fail "$query --measured"
  [[ $answer == *'"measured_over_bound":'* ]] || fail "$query: held against nothing"
done

# The measurement's own rates and shares of peak. has <key> <expected> <tolerance> <answer>
has() { near "$1" "$(number "$4" "$1")" "$2" "$3"; }
# 2 x 4096^3 FLOP in 310 us are 443.35 TFLOP/s of 989.4; 3 x 4096^2 x 2 bytes 324.7 GB/s of 3350.
own=(gemm --gpu h100_sxm --m 4096 --n 4096 --k 4096 --measured 310us)
for mode in bound calibrated; do
  answer=$("$napkin" "${own[@]}" --mode $mode --json)
  has measured_flop_per_s 443.35e12 0.01e12 "$answer"
  has measured_mfu 0.44810 1e-5 "$answer"
  has measured_bytes_per_s 324.72e9 0.01e9 "$answer"
  has measured_mbu 0.09693 1e-5 "$answer"
  # Of the answer, next to them: a share of a time is that of the bound, over how much longer it takes.
  time=$(number "$answer" time_s)
  has mfu "$(awk -v t="$time" 'BEGIN { print 137438953472 / 989.4e12 / t }')" 1e-3 "$answer"
  has mbu "$(awk -v t="$time" 'BEGIN { print 100663296 / 3.35e12 / t }')" 1e-3 "$answer"
done
text=$("$napkin" "${own[@]}")
[[ $(head -n 2 <<<"$text" | sed -E 's/Predicted .* us \(80 %: .* us\), MFU [0-9.]+ %;/Predicted;/') == \
  $'Measured 310 us: 443 TFLOP/s (MFU 44.8 %), 325 GB/s (MBU 9.69 %).\nPredicted; the bound is 139 us.' ]] ||
  fail "the conclusion does not come first: $text"
for line in 'measured rate +443 TFLOP/s' 'MFU of the measurement +44.8 %' 'measured bandwidth +325 GB/s' \
  'MBU of the measurement +9.69 %' 'share of peak compute, predicted +8' 'share of DRAM bandwidth, predicted +1'; do
  grep -qE "^ *$line" <<<"$text" || fail "no line '$line' in $text"
done
text=$("$napkin" "${own[@]}" --mode bound)
[[ $(sed -n 2p <<<"$text") == 'The bound is 139 us, MFU 100 %.' ]] || fail "the bound does not come second: $text"
grep -qE 'share of peak compute, at the bound +100 %' <<<"$text" || fail "whose share is it: $text"
[[ $("$napkin" "${own[@]:0:9}" --json) != *mfu* ]] || fail 'no measurement, and its rates'
text=$("$napkin" "${own[@]:0:9}" --measured 100us --mode bound)
grep -q '^Measured 100 us: 1.37 PFLOP/s (MFU 139 %), 1.01 TB/s (MBU 30 %), impossible: below the bound of 139 us\. ' <<<"$(tr -s '\n ' ' ' <<<"$text")" ||
  fail "an impossible one: $text"
# 2,147,483,648 bytes of cache and 2,097,152 of queries and results in 900 us; 4 x 64 x 8192 x 64 x 128 FLOP.
answer=$("$napkin" "${decode[@]}" --measured 900us --json)
has measured_mbu 0.7130 5e-4 "$answer"
has measured_bytes_per_s 2388.4e9 2e9 "$answer"
has measured_mfu 0.01929 2e-5 "$answer"
# 4 x 4096^2 / 2 x 128 x 32 FLOP, causal, in 1 ms.
answer=$("$napkin" attention_prefill --accelerator h100_sxm --batch 1 --tokens 4096 --query_heads 32 --kv_heads 8 --head_dim 128 \
  --measured 1ms --json)
has measured_mfu 0.1389 2e-4 "$answer"
# Two tensors read and one written, of 1e9 elements of 2 bytes, in 2.5 ms.
answer=$("$napkin" elementwise --accelerator h100_sxm --elements 1e9 --inputs 2 --outputs 1 --format bf16 --measured 2.5ms --json)
has measured_bytes_per_s 2.4e12 1e6 "$answer"
has measured_mbu 0.71642 1e-5 "$answer"
[[ $answer != *measured_mfu* ]] || fail 'nothing is multiplied'
# 69.50e9 parameters but for the embedding, 2 bytes each, and 1024 tokens of 327,680 bytes, over 8 GPUs in 12 ms.
answer=$("$napkin" step --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --batch 1 --context 1024 --measured 12ms --json)
has measured_mbu 0.4333 1e-3 "$answer"
has measured_bytes_per_s 1.4515e12 3e9 "$answer"
has measured_flop_per_s 1.470e12 0.01e12 "$answer"
has measured_mfu 0.001486 1e-5 "$answer"
# Rates beyond what a double holds are left out.
answer=$("$napkin" "${own[@]:0:9}" --measured_s 1e-300 --json) || fail 'a measurement of 1e-300 s: exit status not 0'
[[ $answer == *'"possible":false'* && $answer != *measured_flop_per_s* ]] || fail "a measurement of 1e-300 s: $answer"
# A service has no FLOP of its own: prompts and answers share its steps.
text=$("$napkin" serving --model llama_3_8b --accelerator h100_sxm --input_tokens 1000 --output_tokens 100 --concurrency 16 --measured 20ms)
grep -q '^Measured ITL 20 ms\.$' <<<"$(head -n 1 <<<"$text")" || fail "a service: $text"

# Laws, by hand. against <measured over it> <what is possible, or nothing> <arguments...>
against() {
  local over=$1 possible=$2 answer name=predicted
  [[ -z $possible ]] || name=bound
  answer=$("$napkin" "${@:3}" --json) || fail "napkin ${*:3}"
  near "${*:3}" "$(number "$answer" "measured_over_$name")" "$over" 1e-4
  [[ $(sed -nE 's/.*"possible":(true|false).*/\1/p' <<<"$answer") == "$possible" ]] || fail "${*:3}: possible, or not"
}
read_all=(iron_law --bytes 3.35GB --bytes_per_s 3.35TB/s)  # 1 ms
against 2 true "${read_all[@]}" --measured 2ms
against 0.5 false "${read_all[@]}" --measured 500us
against 0.50536 true peak --accelerator h100_sxm --measured 500TFLOP/s  # of 989.4
against 1.21286 false peak --accelerator h100_sxm --measured_flop_per_s 1.2e15
against 0.85938 true bus --bits 16 --transfers_per_s 32e9 --measured 55GB/s  # of 64 GB/s
against 0.75 true clock_peak --units 132 --bytes_per_clock 128 --clock_hz 1e9 --measured_bytes_per_s 12.672TB/s  # of 16.896
against 2 '' launch --launches 100 --cpu_s 5us --measured 1ms  # 0.5 ms waited for
against 0.5 '' throughput --streams 64 --itl_s 20ms --measured 1600  # of 3200 tokens/s
against 1.25 '' throughput --streams 64 --tokens_per_s 3200 --measured_s 25ms
against 1.5 true overlap --communication_s 5ms --window_s 3ms --measured 3ms  # 2 ms are exposed
against 1.1 '' cycles --cycles 1e6 --clock_hz 1e9 --measured 1.1ms
# What would make a law's bound a slower one, by hand: half the bytes, twice the rate, 2:4 sparsity, FP8, 27.5 lanes for 110 GB/s.
with() { # <words> <arguments...>
  local answer
  answer=$("$napkin" "${@:2}") || fail "napkin ${*:2}"
  grep -qF -- "$1" <<<"$answer" || fail "${*:2}: no '$1' in $answer"
}
with 'numbers of half the size (bound 500 us)' "${read_all[@]}" --measured 500us
with 'bytes_per_s of 6.7e+12 at least, not 3.35e+12 (bound 500 us)' "${read_all[@]}" --measured 500us
with 'the peak with 2:4 sparsity (bound 1.979 PFLOP/s)' peak --accelerator h100_sxm --measured 1200TFLOP/s
with 'fp8 operands (bound 1.979 PFLOP/s)' peak --accelerator h100_sxm --measured 1200TFLOP/s
with 'both directions counted (bound 128 GB/s)' bus --bits 16 --transfers_per_s 32e9 --measured 110GB/s
with 'bits of 27.5 at least, not 16' bus --bits 16 --transfers_per_s 32e9 --measured 110GB/s
with 'clock_hz of 2.5e+09 at least, not 1e+09' clock_peak --units 100 --flop_per_clock 1000 --clock_hz 1e9 --measured_flop_per_s 250e12
with 'window_s of 0.004 at least, not 0.003' overlap --communication_s 5ms --window_s 3ms --measured 1ms
with 'none of the known alternative assumptions' training_step --forward_s 10ms --backward_s 20ms --communication_s 40ms --measured 25ms
answer=$("$napkin" "${read_all[@]}" --measured 400us --json)
[[ $answer != *'half the width'* && $answer == *'"change":{"bytes":1340000000'* ]] || fail "half the bytes are too many: $answer"
[[ $("$napkin" "${read_all[@]}" --measured 2ms --json) != *possible_with* ]] || fail 'what a law allows needs no assumption'
text=$("$napkin" peak --accelerator h100_sxm --measured 1200TFLOP/s)
grep -q 'measured over bound *1.213: impossible, below a hard bound' <<<"$text" || fail "no words: $text"
"$napkin" explain "${read_all[@]}" --measured 2ms >/dev/null || fail 'explain iron_law --measured'
# A service may be quicker than its prediction; impossible is an ITL below one step of one sequence.
text=$("$napkin" serving --model llama_3_1_8b --gpu mi300x --input-tokens 16384 --output-tokens 32 --concurrency 2000 --tensor-parallel 8 --engine vllm \
  --measured 500ms)
[[ $text == 'Measured ITL 500 ms.'* && $text != *impossible* ]] || fail "a service below its bound: ${text:0:200}"
finish
