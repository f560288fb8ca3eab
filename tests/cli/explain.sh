#!/usr/bin/env bash
# The derivation shows the number that the query answers, where each input comes from, and every step.
. "$(dirname "$0")/lib.bash"
closed_forms

same() { # <query> <arguments...>: `result` of the derivation is the answer, to the last digit.
  local answer derivation
  answer=$("$napkin" "$@" --json) || fail "napkin $*"
  derivation=$("$napkin" explain "$@" --json) || fail "napkin explain $*"
  [[ $derivation == *"\"result\":$answer}" ]] || fail "explain $*: not the number that the query answers"
  [[ $derivation == '{"query":"'"$1"'","inputs":[{"name":'* ]] || fail "explain $*: no inputs"
  [[ $derivation == *'"steps":[{"name":'* ]] || fail "explain $*: no steps"
  "$napkin" explain "$@" >/dev/null || fail "explain $* as text"
  local all
  all=$("$napkin" explain "$@" --all) || fail "explain $* --all"
  all=$(grep -E "^  [^=]* \\([0-9]+\\)|^  [^=]*' = | \\([0-9]+\\)( [-+x/=]|,|$)" <<<"$all" | head -1)
  [[ -z $all ]] || fail "explain $* --all: a step has a number for a name: $all"
}
same ridge --accelerator h100_sxm
same gemm --accelerator h100_sxm --m 17 --n 8192 --k 4097
same elementwise --accelerator h100_sxm --elements 12345
same moe_ffn --accelerator h200_sxm --tokens 33 --hidden 7168 --intermediate 2048 --experts 256 --top_k 8
same attention_prefill --accelerator h100_sxm --batch 3 --tokens 1000 --query_heads 64 --kv_heads 8 --head_dim 128
same attention_decode --accelerator h100_sxm --batch 3 --context 1000 --query_heads 64 --kv_heads 8 --head_dim 128
same collective --accelerator h100_sxm --operation all_reduce --ranks 8 --bytes 12345
same kv_capacity --model llama_3_70b --accelerator h200_sxm --tensor_parallel 8 --context 4096 --utilization 0.9
same step --model llama_3_70b --accelerator h200_sxm --tensor_parallel 8 --batch 7 --context 4096
same serving --model llama_3_70b --accelerator h200_sxm --tensor_parallel 8 --input_tokens 1000 --output_tokens 100 \
  --concurrency 9
same step --model deepseek_v3 --accelerator h200_sxm --tensor_parallel 8 --expert_parallel 8 --batch 64 --context 4096 \
  --prefill_tokens 2000 --weight_format fp8
same serving --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --input_tokens 1000 --output_tokens 100 \
  --requests_per_s 2
same serving --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --input_tokens 1000 --output_tokens 100 \
  --requests_per_s 2 --mode bound
same serving --model llama_3_70b --accelerator h100_sxm --prefill_tensor_parallel 8 --decode_tensor_parallel 8 \
  --kv_link_bytes_per_s 50e9 --input_tokens 1000 --output_tokens 100 --concurrency 9
same speculation --acceptance 0.8,0.7,0.6 --draft_cost_ratio 0.05

# As a prediction: each parameter of the profile is an input with its source.
text=$("$napkin" explain gemm --accelerator h100_sxm --m 1 --n 8192 --k 8192 --all)
for expected in '^  profile.dram_share *= .* \[measured: fitted to ' 'DRAM rate = .*profile.dram_share' 'matrix rate = ' \
  '^    bound +40.07 us'; do
  grep -qE "$expected" <<<"$text" || fail "explain gemm: no line with $expected"
done
for query in "attention_decode --batch 3 --context 1000 --query_heads 64 --kv_heads 8 --head_dim 128 --kv_format fp8" \
  "moe_ffn --tokens 33 --hidden 7168 --intermediate 2048 --experts 256 --top_k 8 --format fp8 --expert_parallel 4" \
  "collective --operation all_reduce --ranks 4 --bytes 12345 --implementation custom --launch stream --engine trtllm" \
  "gemm --m 64 --n 8192 --k 4096 --format fp8 --engine vllm"; do
  # shellcheck disable=SC2086
  same $query --accelerator h100_sxm
  # shellcheck disable=SC2086
  same $query --accelerator h100_sxm --mode bound
done

text=$("$napkin" explain gemm --accelerator h100_sxm --m 1 --n 8192 --k 8192 --mode bound --all)
for expected in 'dram.bandwidth *= 3.35 TB/s *\[vendor .secondary source.: ' '^  m *= 1 *\[given\]' 'flop = 2 x m x n x k' \
  'memory = .* / h100_sxm.dram.bandwidth' '^  time +40.07 us'; do
  grep -qE "$expected" <<<"$text" || fail "explain gemm: no line with $expected"
done

# On one screen, and every step with numbers is done again here, by their units alone.
by_hand() { # <text>: the number of steps that were done again; a line for each that differs by over 1 %
  grep -E '^ *-?[0-9.]+ %  ' <<<"$1" | awk -F '  +' '
    function unit(u) {
      if (u ~ /^[mun]?s$/) return u == "ms" ? 1e-3 : u == "us" ? 1e-6 : u == "ns" ? 1e-9 : 1
      if (u == "%") return 0.01
      if (u == "req/s") return 1
      if (u ~ /^[kMGTP]?(B|FLOP)(\/s)?$/) return u ~ /^[BF]/ ? 1 : 10 ^ (3 * index("kMGTP", substr(u, 1, 1)))
      return 0
    }
    function atom(  v) {
      if (w[at] == "(") { ++at; v = sum(); ++at; return v }
      v = w[at++]
      if (unit(w[at]) > 0) v *= unit(w[at++])
      while (w[at] ~ /^[a-z]+$/ && w[at] != "x") ++at  # what it is of
      return v
    }
    function product(  v) {
      v = atom()
      while (w[at] == "x" || w[at] == "/") { if (w[at++] == "x") v *= atom(); else v /= atom() }
      return v
    }
    function sum(  v) {
      v = product()
      while (w[at] == "+" || w[at] == "-") { if (w[at++] == "+") v += product(); else v -= product() }
      return v
    }
    function of(text) { gsub(/[()]/, " & ", text); split("", w); split(text, w, " "); at = 1; return sum() }
    $5 ~ /^= / && $4 ~ /[0-9] / && $3 !~ / more$/ {
      x = of($4); y = of(substr($5, 3)); ++count
      if (x / y > 1.01 || x / y < 0.99) print "not by hand: " $0
    }
    END { print count + 0 }'
}
screen() { # <least steps by hand> <arguments...>
  local text least=$1 found
  shift
  text=$("$napkin" explain "$@") || fail "explain $*"
  [[ $(wc -l <<<"$text") -le 40 ]] || fail "explain $*: $(wc -l <<<"$text") lines"
  [[ -z $(awk 'length > 100' <<<"$text") ]] || fail "explain $*: wider than 100 columns"
  [[ -z $(grep -E '^  \[[0-9]+\]' <<<"$text" | sed 's/^  \[[0-9]*\]//' | sort | uniq -d) ]] ||
    fail "explain $*: a source twice"
  ! grep -qE '\([0-9]+\) =' <<<"$text" || fail "explain $*: a name with a number"
  found=$(by_hand "$text")
  [[ $found =~ ^[0-9]+$ && $found -ge $least ]] || fail "explain $*: $found"
}
step=(step --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --batch 16 --context 4096)
service=(serving --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --input_tokens 1000 --output_tokens 500
  --concurrency 32 --engine vllm)
screen 5 "${step[@]}"
screen 4 "${step[@]}" --mode bound
screen 8 "${service[@]}"
screen 9 "${service[@]}" --requests 320
screen 9 "${service[@]}" --chunk_tokens 512
screen 8 "${service[@]/vllm/sglang}"
screen 8 "${service[@]/vllm/trtllm}"
screen 6 serving --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --engine vllm --input_tokens 2048 \
  --output_tokens 1000 --concurrency 1000 --preemption recompute
screen 8 serving --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 --engine vllm --input_tokens 2048 \
  --output_tokens 512 --requests_per_s 2
screen 8 serving --model deepseek_v3 --accelerator h200_sxm --data_parallel 8 --expert_parallel 8 --engine vllm \
  --concurrency 256 --input_tokens 2048 --output_tokens 512 --mtp 1
screen 0 gemm --accelerator h100_sxm --m 4096 --n 8192 --k 8192
screen 0 attention_decode --accelerator h100_sxm --batch 3 --context 1000 --query_heads 64 --kv_heads 8 --head_dim 128
screen 4 step --model deepseek_v3 --accelerator h200_sxm --tensor_parallel 8 --batch 64 --context 4096
text=$("$napkin" explain "${step[@]}")
# 70.55e9 weights of 2 bytes; 80 layers x 2 x 8 heads x 128 x 2 bytes of cache for a token.
for expected in 'weights: 70.55e9 x 2 B = 141.1 GB; / 8 = 17.64 GB' '16 sequences x 4096 tokens x 327.7 kB = 21.47 GB' \
  'limiter: DRAM bandwidth; with unlimited DRAM bandwidth: ' '^  \[1\] DRAM bandwidth 3.35 TB/s: '; do
  grep -q -- "$expected" <<<"$text" || fail "explain step: no line with $expected"
done
text=$("$napkin" explain "${service[@]}")
for part in '^decode: ITL' '^prefill: TTFT'; do
  grep -q "$part" <<<"$text" || fail "explain serving: no part $part"
done
# What is left without the limit is the answer to the same question with that resource a million times as quick. (Where
# a catalogue would choose another chip's profile for such a chip, a bound shows it: the screen keeps the profile.)
left_by_law() { # <limit> <result> <part: 1, 2> <what the same question sets> <arguments...>
  local limit=$1 key=$2 part=$3 set=$4 json left law
  shift 4
  json=$("$napkin" explain "$@" --json) || fail "explain $* --json"
  left=$(grep -oE '"if_lifted":\{"limit":"[^"]*","time_s":[0-9.e+-]+' <<<"$json" | sed -n "${part}p")
  [[ $left == *"\"$limit\""* ]] || fail "explain $*: limit $left, not $limit"
  law=$(number "$("$napkin" "$@" --json --set "$set")" "$key")
  near "explain $*: left without $limit, over the law's" \
    "$(awk -v a="${left##*:}" -v b="$law" 'BEGIN { printf "%.9f", a / b }')" 1 1e-5
}
seventy=(--model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 8 --engine vllm)
load=(--input_tokens 2048 --output_tokens 512)
loop=(serving "${seventy[@]}" --concurrency 64 "${load[@]}")
quick_dram=dram.bandwidth=3350000TB/s quick_links=fabric.bandwidth=450000TB/s
left_by_law 'DRAM bandwidth' time_s 1 $quick_dram step "${seventy[@]}" --batch 64 --context 4096 --mode calibrated
left_by_law 'DRAM bandwidth' itl_s 1 $quick_dram serving "${seventy[@]}" --requests_per_s 2 "${load[@]}" --mode calibrated
left_by_law 'DRAM bandwidth' time_s 1 $quick_dram step "${seventy[@]}" --batch 64 --context 4096 --mode bound
left_by_law interconnect itl_s 1 $quick_links "${loop[@]}" --mode bound
left_by_law compute ttft_s 2 matrix.peak.bf16=989400000TFLOP/s "${loop[@]}" --mode bound
left_by_law 'DRAM bandwidth' time_s 1 dram.bandwidth=4800000TB/s step --model deepseek_v3 --accelerator h200_sxm \
  --tensor_parallel 8 --batch 64 --context 4096 --mode bound
# 44.1 % of 16.02 ms are saved, 1.79 times: not the 77.7 % of the lines that bytes are the most of.
text=$("$napkin" explain step "${seventy[@]}" --batch 64 --context 4096)
sed -nE 's/.*limiter: .*\(([0-9.]+)x faster.*/\1/p' <<<"$text" | awk '{ exit !($1 > 1.66 && $1 < 1.93) }' ||
  fail "time without the limiter: $text"
# The bytes of a row are those of the derivation: all that both products read and write.
steps_of() { "$napkin" explain "$@" --json | sed 's/"summary":.*//; s/{"name":/\n&/g'; }
bytes=$(steps_of step "${seventy[@]}" --batch 64 --context 4096 | grep -E '^\{"name":"memory of (up|down)( |")' |
  sed -E 's/.*"numbers":"\(([^)]*)\).*/\1/' | tr '+' '\n' |
  awk '{ sum += $1 * ($2 == "MB" ? 1 : 1e-3) } END { printf "%.1f", sum }')
grep -qF "80 x ($bytes MB / (3.35 TB/s x 0.8661) + " <<<"$text" || fail "bytes of the feed-forward: $bytes MB, and $text"
# TTFT: CPU time, admission delay, the mixed step times the engine's factor, queueing.
text=$("$napkin" explain "${loop[@]}" | sed -e ':a' -e 'N;$!ba' -e 's/\n      / /g')
formula=$(grep -E '^  TTFT = own' <<<"$text") || fail "no formula of the first token: $text"
host=$(sed -E 's/.*CPU ([0-9.]+) ms.*/\1/' <<<"$formula") admission=$(sed -E 's/.*admission delay ([0-9.]+) ms.*/\1/' <<<"$formula")
prompt=$(sed -E 's/.* prefill ([0-9.]+) ms.*/\1/' <<<"$formula") delay=$(sed -E 's/.*prefill queueing ([0-9.]+) ms.*/\1/' <<<"$formula")
total=$(sed -E 's/.* = ([0-9.]+) ms$/\1/' <<<"$formula")
near "terms of the first token: $formula" \
  "$(awk -v a="$host" -v b="$admission" -v c="$prompt" -v d="$delay" 'BEGIN { print a + b + c + d }')" "$total" 0.1
near 'prefill = the step times the factor' "$(sed -E 's/.*ms = ([0-9.]+) x ([0-9.]+) ms.*/\1 \2/' <<<"$formula" |
  awk '{ print $1 * $2 }')" "$prompt" 0.06
# 63 others in the steps of a request: 2.695 + 1 + 511, and those of its CPU time; a prefill less a step without it.
others=$(grep -E '^  prefill interference: ' <<<"$text") || fail "no line on prefill interference: $text"
[[ $others == *'0.1223 prefills start per ITL = 63 / 515 steps per request, any in 1 - exp(-0.1223) = 11.51 % of them; each adds '* ]] ||
  fail "prefill interference: $others"
stall=$(sed -E 's/.*adds ([0-9.]+) ms.*/\1/' <<<"$others") next=$(sed -E 's/.*following one ([0-9.]+) ms.*/\1/' <<<"$others")
near 'a prefill less a step' "$stall" "$(sed -E 's/.*\(prefill ([0-9.]+) ms less 1 x ([0-9.]+) ms.*/\1 \2/' <<<"$others" |
  awk '{ print $1 - $2 }')" 0.11
# What the law names has the same number in the derivation.
all=$(steps_of "${loop[@]}")
named_in_all() { # <name> <value>
  grep -E "^\{\"name\":\"$1( of [^\"]*)?\"" <<<"$all" | grep -qF "\"value\":\"$2\"" || fail "the derivation has no $1 = $2"
}
named_in_all prefill "$prompt ms"
named_in_all 'prefill queueing' "$delay ms"
named_in_all 'decode stall' "$stall ms"
named_in_all 'marginal prefill' "$next ms"
named_in_all 'prefills per interval' 0.1223
named_in_all 'time to first token' "$total ms"
# The steps add up to the answer, of a pass and of a service.
for asked in "${step[*]}" "${service[*]}" "${step[*]} --mode bound" "${service[*]} --mode bound"; do
  # shellcheck disable=SC2086
  json=$("$napkin" explain $asked --json) || fail "explain $asked --json"
  screen=$(sed 's/.*"summary"://' <<<"$json") result=$(sed 's/.*"result"://' <<<"$json")
  sums=$(grep -oE '"(amounts|if_lifted|time_s)":[0-9.e+-]*' <<<"$screen" | tr ':' ' ' | awk '
    $1 ~ /amounts/ { inside = 1; sum = 0; next }
    $1 ~ /if_lifted/ { if (inside) { print sum / time; inside = 0 } skip = 1; next }
    skip { skip = 0; next }
    inside { sum += $2; next }
    { time = $2 }')
  [[ -n $sums ]] || fail "explain $asked: no sums"
  for sum in $sums; do near "explain $asked: sum of the steps over the time" "$sum" 1 1e-6; done
  [[ $asked == serving* ]] && key=itl_s || key=time_s
  first=$(grep -oE '"time_s":[0-9.e+-]+' <<<"$screen" | head -n 1)
  near "explain $asked: time of the first part" "${first#*:}" "$(number "$result" "$key")" 1e-12
done
# Drafts: a round gives 1 + 0.7 + 0.7^2 + 0.7^3 = 2.533 tokens, and the parts are of a round.
drafts=("${service[@]}" --draft_length 3 --acceptance 0.7)
pools=(serving --model llama_3_70b --accelerator h100_sxm --prefill_tensor_parallel 4 --prefill_replicas 2
  --decode_tensor_parallel 8 --kv_link_bytes_per_s 50e9 --input_tokens 2048 --output_tokens 256 --concurrency 16)
plan=(plan --model llama_3_70b --accelerator h100_sxm --engine vllm --weight_format bf16 --kv_format bf16
  --concurrency 32)
screen 6 "${drafts[@]}"
screen 6 "${pools[@]}"
screen 4 "${pools[@]}" --mode bound
screen 4 "${drafts[@]}" --mode bound
screen 6 "${plan[@]}" --row 1
text=$("$napkin" explain "${drafts[@]}")
grep -q '1 + 0.7 + 0.7 x 0.7 + 0.7 x 0.7 x 0.7 = 2.533;' <<<"$text" || fail "drafts: $text"
# The cache of 2048 tokens, 80 x 2 x 8 x 128 x 2 B each, over 4 GPUs and 50 GB/s.
text=$("$napkin" explain "${pools[@]}")
grep -q 'KV cache of a prompt, per GPU: 167.8 MB / 50 GB/s = 3.355 ms' <<<"$text" || fail "pools: $text"
grep -q '^decode pool: ITL' <<<"$text" || fail "pools: $text"
for asked in "${drafts[*]}" "${pools[*]}" "${plan[*]} --row 2"; do
  # shellcheck disable=SC2086
  json=$("$napkin" explain $asked --json) || fail "explain $asked --json"
  screen=$(sed 's/.*"summary"://' <<<"$json") result=$(sed 's/.*"result"://' <<<"$json")
  first=$(grep -oE '"time_s":[0-9.e+-]+' <<<"$screen" | head -n 1)
  tokens=1
  [[ $asked == *draft_length* ]] && tokens=2.533
  near "explain $asked: time of the first part" "${first#*:}" \
    "$(awk -v t="$(number "$result" itl_s)" -v n="$tokens" 'BEGIN { printf "%.12g", t * n }')" 1e-8
done
row=$("$napkin" explain "${plan[@]}" --row 2 --json)
all=$("$napkin" "${plan[@]}" --json)
grep -qF -- "$(sed 's/.*"result"://; s/}$//' <<<"$row")" <<<"$all" || fail 'row 2 is no point of the plan'
refuses 'PM-E010: row is 1000' explain "${plan[@]}" --row 1000
refuses 'PM-E010: row is 0' explain "${plan[@]}" --row 0
[[ $("$napkin" explain "${step[@]}" --markdown) == *'| share | step | by hand | time |'* ]] || fail 'no table in Markdown'
few=$("$napkin" explain "${step[@]}" --depth 2 | wc -l)
more=$("$napkin" explain "${step[@]}" --depth 5 | wc -l)
[[ $few -lt $more ]] || fail "--depth 2 has $few lines, --depth 5 $more"
# A part of a long formula that a listed step uses is listed too; no derivation is of megabytes.
open=(explain serving --model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 4 --engine vllm --input_tokens 2000 --output_tokens 500 --requests_per_s 2)
text=$("$napkin" "${open[@]}" --depth 2)
for part in $(grep -oE 'part [0-9]+' <<<"$(tr -s '\n ' ' ' <<<"$text")" | sort -u | tr ' ' _); do
  grep -qE "^ +${part/_/ } = " <<<"$text" || fail "explain --depth 2 uses ${part/_/ } and does not list it"
done
[[ $text == *' part '* && $("$napkin" "${open[@]}" --json | wc -c) -lt 1000000 ]] || fail 'a derivation without parts, or of a megabyte'
# In text what a part has stands below its name: no step's name has more than 60 characters, and JSON has all of each.
deep=(serving --model deepseek_v3 --accelerator h200_sxm --tensor_parallel 8 --input_tokens 2048 --output_tokens 512 --concurrency 64)
all=$("$napkin" explain "${deep[@]}" --all | sed -n '/^steps$/,/^result$/p')
longest=$(sed -nE 's/^ {2,4}([^ =][^=]*) = .*/\1/p' <<<"$all" | awk 'length($0) > n { n = length($0) } END { print n + 0 }')
[[ $longest -gt 10 && $longest -le 60 ]] || fail "a step's name of $longest characters"
part='feed-forward of decode step of a first evaluation'
grep -qx "  of up of $part:" <<<"$all" || fail 'no part above its steps'
grep -q '^    dense time = flop / matrix rate' <<<"$all" || fail 'names below a part are not short'
[[ $("$napkin" explain "${deep[@]}" --json) == *"\"name\":\"dense time of up of $part\""* ]] || fail 'JSON has no whole names'
# A formula of 4,096 terms, on a stack of 1 MiB: what input can deepen does not recurse. Frames of the address sanitizer
# are larger.
stack=1024
if grep -q __asan_init "$napkin"; then stack=8192; fi
deep=$(ulimit -s "$stack" && "$napkin" explain speculation --acceptance 0.9 --draft_length 4096) ||
  fail "a draft of 4096: exit status $?"
[[ $deep == *'0.9'* && ${#deep} -lt 1000000 ]] || fail "a draft of 4096: ${#deep} characters"
# The parts of a step sum up to its time with each option of the engine.
for option in '--cpu_offload_bytes 8e9' '--cuda_graphs false' '--step_cpu_s 5ms' '--sequence_cpu_s 50us' '--lora_rank 64'; do
  # shellcheck disable=SC2086
  text=$("$napkin" explain step --model llama_3_8b --accelerator h100_sxm --engine vllm --batch 16 --context 1024 $option)
  [[ $(sed -nE 's/^decode ([^,]*),.*/\1/p' <<<"$text") == $(sed -nE 's/^  time ([^,]*),.*/\1/p' <<<"$text") ]] ||
    fail "explain step $option: the parts are not the time: $text"
done
refuses '' explain "${step[@]}" --depth 0
refuses '' explain "${step[@]}" --depth x
refuses PM-E explain step
finish
