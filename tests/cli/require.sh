#!/usr/bin/env bash
# napkin require: the fact found, in an accelerator file, meets the target within 0.1 %, and 1 % short of it misses.
# require.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
closed_forms
scratch=$(mktemp -d)

# needed <JSON> <fact>: its value with the unit, or nothing.
needed() { sed 's/{"fact":/\n{"fact":/g' <<<"$1" | grep -F "{\"fact\":\"$2\"," 2>/dev/null || sed 's/{"fact":/\n{"fact":/g' <<<"$1" | grep -F "\"fact\":\"$2\""; }
value_of() { needed "$1" "$2" | sed -nE 's/.*"needed":"?([^",}]*)"?,.*/\1/p'; }

# checked <limit> <key> <fact> <query> <keys...> -- <keys of require>: applied through an exported file.
checked() {
  local limit=$1 key=$2 fact=$3 query=$4 found value
  shift 4
  local keys=() own=()
  while [[ $1 != -- ]]; do keys+=("$1"); shift; done
  shift
  own=("$@")
  found=$("$napkin" require "$query" "${keys[@]}" --gpu h100_sxm "${own[@]}" --json) || { fail "require $query ${keys[*]} ${own[*]}"; return; }
  value=$(value_of "$found" "$fact")
  [[ -n $value ]] || { fail "$fact of $query ${keys[*]}: $found"; return; }
  "$napkin" gpus --export h100_sxm | sed -E "s|(\"$fact\": \{\"value\":)(\"[^\"]*\"\|[0-9.]+)|\1\"$value\"|" >"$scratch/changed.json"
  near "$fact $value: $key" "$(number "$("$napkin" "$query" "${keys[@]}" --gpu "$scratch/changed.json" --json)" "$key")" "$limit" \
    "$(awk -v x="$limit" 'BEGIN { print 0.001 * x }')"
}
step=(--model llama_3_1_70b --tp 8 --batch 1 --context 2k)
# In a bound a step of batch 1 is its bytes over the bandwidth, but for 0.1 % of all-reduces: half the time is twice
# the bandwidth, by hand.
now=$(number "$("$napkin" step "${step[@]}" --gpu h100_sxm --mode bound --json)" time_s)
found=$("$napkin" require step "${step[@]}" --gpu h100_sxm --mode bound --time "$(awk -v t="$now" 'BEGIN { printf "%.12gs", t / 2 }')" --json)
factor=$(needed "$found" dram.bandwidth | sed -nE 's/.*"factor":([0-9.e+-]+).*/\1/p')
near 'half the time of a bound' "$factor" 2 0.005
checked 0.010 time_s dram.bandwidth step --model llama_3_1_70b --tp 4 --batch 8 --context 4k --mode bound -- --time 10ms
checked 0.008 time_s dram.bandwidth step "${step[@]}" --mode bound -- --itl 8ms
checked 0.0003 time_s matrix.peak.bf16 gemm --m 8192 --n 8192 --k 8192 --mode bound -- --time 300us
service=(--model llama_3_1_70b --tp 4 --engine vllm --isl 2048 --osl 512 --users 16)
checked 0.020 itl_s dram.bandwidth serving "${service[@]}" -- --itl 20ms
checked 0.2 ttft_s matrix.peak.bf16 serving "${service[@]}" -- --ttft 200ms

# What one fact cannot do is said, with the value that it gets to.
text=$("$napkin" require --itl 2ms "${service[@]}" --gpu h100) || fail 'require as text'
[[ $text == 'ITL is '*'target at most 2 ms. No single fact of the accelerator meets it.'*'Not by one of these alone'*dram.bandwidth* ]] || fail "as text: $text"
[[ -z $(awk 'length > 100' <<<"$text") ]] || fail 'wider than 100 columns'
# Capacity of what does not fit: 141 GB of weights on one GPU.
found=$("$napkin" require step --model llama_3_1_70b --gpu h100 --batch 1 --context 2k --time 1s --mode bound --json)
[[ $found == *'"reason":"'* && -n $(value_of "$found" dram.capacity) ]] || fail "what does not fit: $found"
awk -v x="$(value_of "$found" dram.capacity)" 'BEGIN { exit !(x + 0 > 134e3 && x + 0 < 220e3) }' || fail "capacity $(value_of "$found" dram.capacity)"
# A target that is met: how far a fact may fall.
found=$("$napkin" require --itl 100ms "${service[@]}" --gpu h100 --json)
[[ $found == *'"met":true'* ]] || fail 'a target that is met'
near 'a batch answers as the command line' "$(number "$("$napkin" batch <<<'{"query":"require","of":{"query":"gemm","accelerator":"h100_sxm","m":64,"n":8192,"k":8192,"mode":"bound"},"targets":{"time_s":2e-5}}')" factor)" \
  "$(number "$("$napkin" require gemm --gpu h100_sxm --m 64 --n 8192 --k 8192 --mode bound --time 20us --json)" factor)" 0
refuses 'targets are missing' require "${service[@]}" --gpu h100
refuses '20 ms or 20 s' require --itl 20 "${service[@]}" --gpu h100
refuses 'targets has "ttft_s"' require gemm --gpu h100 --m 1 --n 1 --k 1 --ttft 1s
refuses 'is given twice' require --itl 1ms --itl 2ms "${service[@]}" --gpu h100
rm -rf "$scratch"
refuses 'one token has no inter-token latency' require serving --model llama_3_1_8b --gpu h100 --isl 1000 --osl 1 --users 4 --itl 1ms
finish
