#!/usr/bin/env bash
# Times at the command line have a unit; what they print has one that is true.
. "$(dirname "$0")/lib.bash"

plan=(plan --model llama_3_8b --gpu h100_sxm --gpus 1 --formats bf16 --engine vllm --mode bound)
gemm=(gemm --accelerator h100_sxm --m 4096 --n 4096 --k 4096)
allowed='allowed: a number with its unit (ns, us, ms, s, min, h), such as'

# --- a time without a unit: both readings, with the option as it was written ------------------------------
refuses 'PM-E005: --itl is 20, without a unit: 20 ms or 20 s? '"$allowed 20ms" "${plan[@]}" --itl 20
refuses 'PM-E005: --ttft is 2, without a unit: 2 ms or 2 s? ' "${plan[@]}" --ttft 2
refuses 'PM-E005: --e2e is 0.5, without a unit: 0.5 ms or 0.5 s? ' "${plan[@]}" --e2e=0.5
refuses 'PM-E005: --longest-wait is 60, without a unit: 60 ms or 60 s? ' "${plan[@]}" --longest-wait 60
refuses 'PM-E005: --longest_wait is 60, without' "${plan[@]}" --longest_wait 60
refuses 'PM-E005: --measured is 310, without a unit: 310 ms or 310 s? ' "${gemm[@]}" --measured 310
refuses 'PM-E005: --measured is 5e-3, without a unit: 5e-3 ms or 5e-3 s? ' iron_law --bytes 1GB --bytes_per_s 1TB/s \
  --measured 5e-3
refuses 'PM-E005: --measured is 310, without' explain "${gemm[@]}" --measured 310
refuses 'PM-E005: --measured is 310, without' sensitivity "${gemm[@]}" --measured 310
refuses 'is 600, without a unit: 600 ns or 600 s? '"$allowed 600ns" "${gemm[@]}" --set dram.latency=600
refuses 'is 300, without a unit: 300 ns or 300 s? ' sensitivity "${gemm[@]}" --what-if dram.latency=300..900
# A rate has no second reading.
"$napkin" throughput --streams 64 --itl_s 20ms --measured 1600 >/dev/null || fail 'tokens per second need no unit'
# A key that ends in _s names its unit: other programs write seconds there.
near 'measured_s in seconds' "$(number "$("$napkin" "${gemm[@]}" --measured_s 0.001389114 --mode bound --json)" measured_over_bound)" 10 1e-3
near 'time-s with hyphens' "$(number "$("$napkin" "${gemm[@]}" --measured-s 0.001389114 --mode bound --json)" measured_over_bound)" 10 1e-3

# --- in JSON a number is in seconds; a text without a unit is refused --------------------------------------
one='{"query":"gemm","accelerator":"h100_sxm","m":4096,"n":4096,"k":4096,"mode":"bound",'
near 'a number in JSON' "$(number "$("$napkin" batch <<<"$one\"measured_s\":0.001389114}")" measured_over_bound)" 10 1e-3
answer=$("$napkin" batch <<<"$one\"measured_s\":\"20\"}")
[[ $answer == *'"code":"PM-E005"'*'without a unit: 20 ms or 20 s? allowed: a number of seconds'* ]] || fail "a text without a unit: $answer"
answer=$("$napkin" batch <<<"$one\"set\":{\"dram.latency\":\"600\"}}")
[[ $answer == *'600 ns or 600 s?'* ]] || fail "a fact without a unit: $answer"
answer=$("$napkin" batch <<<"$one\"set\":{\"dram.latency\":6e-7}}")
[[ $answer == *'"time_s":'* ]] || fail "a fact as a number: $answer"

# --- units as people write them: 20 ms are 144 times a bound of 138.911 us -----------------------------------
for text in 20ms '20 ms' 20msec '20 msecs' '20 milliseconds' 20000us '20000 usec' '20000 microseconds' 20000µs 20000μs \
  20000000ns '20000000 nanoseconds' 0.02s 0.02sec '0.02 seconds'; do
  ask gemm measured_over_bound 143.977 0.01 "${gemm[@]:1}" --measured "$text"
done
for text in 1min '1 minute' '1 mins' 60s '60 secs'; do ask gemm measured_over_bound 431930 30 "${gemm[@]:1}" --measured "$text"; done
ask gemm measured_over_bound 25915806 2000 "${gemm[@]:1}" --measured '1 hour'
for text in 20m 20MS 20x 'ms' '20 GB' 20ks; do
  refuses "measured_s is \"$text\"; allowed: " "${gemm[@]}" --measured "$text"
  [[ $said == *'with its unit (ns, us, ms, s, min, h), such as 20ms'* ]] || fail "$text: the units are not listed: $said"
done
"$napkin" plan --help | grep -A4 -e '--itl,' | tr -s ' \n' ' ' | grep -qF 'with its unit (ns, us, ms, s, min, h), such as 20ms]' ||
  fail 'plan --help does not list the units'

# --- rates of events are not in hertz, clocks are ----------------------------------------------------------
# 3.35e12 / 32 = 104.7e9, / 128 = 26.17e9; 1 / 2 ms = 500; 1 / 1 ns = 1e9.
# prints <text> <arguments...>
prints() {
  local answer
  answer=$("$napkin" "${@:2}") || fail "napkin ${*:2}"
  grep -qE -- "$1" <<<"$answer" || fail "napkin ${*:2}: no '$1' in $answer"
}
prints '^  accesses +104.7e9/s$' littles_law --latency_s 372ns --bytes_per_s 3.35TB/s
prints '^  accesses +26.17e9/s$' littles_law --latency_s 372ns --bytes_per_s 3.35TB/s --access_bytes 128
prints '^  executions per second +500/s$' iron_law --bytes 2GB --bytes_per_s 1TB/s
prints '^  executions per second +1e9/s$' iron_law --bytes 1kB --bytes_per_s 1TB/s
prints 'vector.clock +1.98 GHz' gpus h100_sxm
prints 'clock_hz += 1\.83 GHz' explain clock_peak --units 132 --flop_per_clock 4096 --clock_hz 1.83GHz --all
prints 'transfers_per_s += 32e9/s' explain bus --bits 16 --transfers_per_s 32e9 --all
for query in 'littles_law --latency_s 372ns --bytes_per_s 3.35TB/s' 'iron_law --bytes 2GB --bytes_per_s 1TB/s' \
  'bus --bits 16 --transfers_per_s 32e9' 'cycles --cycles 1e6 --clock_hz 1e9'; do
  # shellcheck disable=SC2086
  "$napkin" $query | grep -q 'Hz$' && fail "$query prints a rate in hertz"
done
ask littles_law accesses_per_s 104687500000 1 --latency_s 372ns --bytes_per_s 3.35TB/s
ask littles_law measured_over_predicted 0.5 1e-6 --latency_s 372ns --bytes_per_s 3.2TB/s --measured 50e9/s

# A value is shown as typed: 600 ns are 6e-07 s.
for time in 600ns:6e-07 100us:0.0001 99.99us:9.999e-05 0.3us:3e-07; do
  answer=$("$napkin" gemm --accelerator h100_sxm --m 64 --n 64 --k 64 --measured "${time%:*}")
  [[ $answer == *"measured_s ${time#*:}"$'\n'* ]] || fail "$time: $answer"
done
[[ $("$napkin" require --itl 6ms --model llama_3_1_70b --accelerator h100_sxm --tp 4 --isl 1000 --osl 500 --users 16) == *'3.35 TB/s'* ]] ||
  fail 'a value and its unit have one blank'
# A target above 10 s without a unit is named in the result.
load='"model":"llama_3_1_8b","accelerator":"h100_sxm","input_tokens":100,"output_tokens":10,"requests_per_s":2'
answer=$("$napkin" batch <<<"{\"query\":\"plan\",$load,\"itl\":20}")
[[ $answer == *'"notes":["itl is 20 s"]'* ]] || fail "a target of 20 s: ${answer:0:300}"
[[ $("$napkin" batch <<<"{\"query\":\"serving\",$load,\"itl_limit_s\":20}") == *'"notes":["itl_limit_s is 20 s"]'* ]] || fail 'a limit of 20 s'
[[ $("$napkin" batch <<<"{\"query\":\"plan\",$load,\"itl\":0.02}") != *'"notes"'* ]] || fail 'a target of 20 ms has a note'
finish
