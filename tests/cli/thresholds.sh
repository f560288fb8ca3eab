#!/usr/bin/env bash
# napkin thresholds against a scan by napkin batch: at each crossing the better choice changes, and nowhere between
# the loads of the scan where it says "none". thresholds.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# scan <base keys> <changes of a> <changes of b> <key of the load> <result> <loads...>: "load a b" for each load.
scan() {
  local base=$1 a=$2 b=$3 over=$4 key=$5 load
  shift 5
  for load; do
    echo "{$base,$a,\"$over\":$load}"
    echo "{$base,$b,\"$over\":$load}"
  done | "$napkin" batch | sed -nE "s/.*\"$key\":([^,}]*).*/\1/p; s/.*\"error\".*/null/p" | paste -d' ' - - | paste -d' ' <(printf '%s\n' "$@") -
}
# crossing <JSON> <label of b>: the loads of its crossings.
crossing() {
  sed 's/{"name":/\n{"name":/g' <<<"$1" | grep -F "\"label\":\"$2\"" | grep -oE '"at":[0-9.e+]+' | cut -d: -f2
}

service='"query":"serving","model":"llama_3_1_70b","accelerator":"h100_sxm","engine":"vllm","tensor_parallel":4,"input_tokens":2048,"output_tokens":512,"method":"closed_form"'
found=$("$napkin" thresholds --model llama_3_1_70b --gpu h100 --engine vllm --tp 4 --isl 2048 --osl 512 --users 64 --json) || fail 'thresholds'
[[ $found == "$("$napkin" batch <<<'{"query":"thresholds","of":{"query":"serving","model":"llama_3_1_70b","accelerator":"h100","engine":"vllm","tensor_parallel":4,"input_tokens":2048,"output_tokens":512,"concurrency":64}}')" ]] ||
  fail 'batch does not answer as the command line'
# fp8 against int4: int4 is better at small batches (fewer bytes), fp8 at large ones (FLOP).
at=$(crossing "$found" 'int4 weights')
[[ $at =~ ^[0-9.]+$ ]] || fail "fp8 against int4: crossings '$at'"
# 2 x TP4 against 1 x TP8.
for pair in 'int4 weights|"weight_format":"fp8","activation_format":"fp8"|"weight_format":"int4","activation_format":"bf16"' \
  '1 x TP8|"replicas":2|"tensor_parallel":8,"replicas":1'; do
  IFS='|' read -r label a b <<<"$pair"
  at=$(crossing "$found" "$label" | head -n 1)
  at=${at%.*}
  base=$service
  [[ $label == '1 x TP8' ]] && base=${service//\"tensor_parallel\":4,/}
  [[ $label == '1 x TP8' ]] && a='"tensor_parallel":4,"replicas":2'
  [[ -n $at ]] || { fail "$label: no crossing"; continue; }
  scan "$base" "$a" "$b" concurrency e2e_s $((at - 3)) $((at - 2)) $((at - 1)) "$at" $((at + 1)) $((at + 2)) >"$scratch/scan"
  # b is better below, a from the crossing on.
  awk -v at="$at" '($1 < at) != ($2 > $3) { bad = bad " " $0 ";" } END { if (NR != 6) bad = bad " lines " NR; if (bad) { print bad; exit 1 } }' "$scratch/scan" ||
    fail "$label at $at: $(tr '\n' ';' <"$scratch/scan")"
done
# Where it says that one is always better, it is.
[[ $found == *'"label":"8192 tokens a step"'* ]] || fail 'token budgets'
scan "$service" '"chunk_tokens":512' '"chunk_tokens":8192' concurrency e2e_s 1 4 16 64 256 512 >"$scratch/scan"
if [[ -z $(crossing "$found" '8192 tokens a step') ]]; then
  awk '$3 > $2 { exit 1 }' "$scratch/scan" || fail "8192 tokens a step is not always better: $(tr '\n' ';' <"$scratch/scan")"
fi
# Speculation: with a poor acceptance it is slower beyond a batch.
poor=$("$napkin" thresholds --model llama_3_1_70b --gpu h100 --engine vllm --tp 4 --isl 2048 --osl 512 --users 64 --draft-length 4 --acceptance 0.3 --json)
at=$(crossing "$poor" 'no speculation' | head -n 1)
at=${at%.*}
if [[ -n $at ]]; then
  scan "$service" '"draft_length":4,"acceptance":0.3' '"mode":"calibrated"' concurrency e2e_s $((at - 1)) "$at" >"$scratch/scan"
  awk -v at="$at" '($1 < at) != ($2 <= $3) { exit 1 }' "$scratch/scan" || fail "speculation at $at: $(tr '\n' ';' <"$scratch/scan")"
else
  fail 'speculation of acceptance 0.3 is never slower'
fi
# A step, over its batch, and a rate, which is no whole number.
step=$("$napkin" thresholds --model llama_3_1_70b --gpu h100 --tp 8 --batch 16 --context 2k --json)
[[ $step == *'"over":"batch"'*'"key":"time_s"'* ]] || fail "a step: $step"
rate=$("$napkin" thresholds --model llama_3_1_70b --gpu h100 --engine vllm --tp 4 --isl 2048 --osl 512 --qps 1 --from 0.1 --to 8 --json)
at=$(crossing "$rate" 'int4 weights' | head -n 1)
[[ -n $at ]] || fail "a rate: $rate"
scan "$service" '"weight_format":"fp8","activation_format":"fp8"' '"weight_format":"int4","activation_format":"bf16"' requests_per_s e2e_s \
  "$(awk -v x="$at" 'BEGIN { printf "%.9g", 0.999 * x }')" "$(awk -v x="$at" 'BEGIN { printf "%.9g", 1.001 * x }')" >"$scratch/scan"
awk 'NR == 1 && $2 <= $3 || NR == 2 && $2 >= $3 { exit 1 }' "$scratch/scan" || fail "a rate of $at: $(tr '\n' ';' <"$scratch/scan")"
text=$("$napkin" thresholds --model llama_3_1_70b --gpu h100 --engine vllm --tp 4 --isl 2048 --osl 512 --users 64)
[[ $text == *'fp8 weights against int4 weights: from concurrency '*'no change between concurrency 1 and 512'* ]] || fail "as text: $text"
[[ -z $(awk 'length > 100' <<<"$text") ]] || fail 'wider than 100 columns'
refuses 'thresholds compares deployments' thresholds gemm --gpu h100 --m 1 --n 1 --k 1
refuses 'from is 9 and to is 3' thresholds --model llama_3_8b --gpu h100 --isl 9 --osl 9 --from 9 --to 3
refuses 'is given twice' thresholds --model llama_3_8b --gpu h100 --isl 9 --input_tokens 9
refuses 'is no option here' thresholds --model llama_3_8b --gpu h100 --isl 9 --nonsense 9
finish
