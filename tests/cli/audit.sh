#!/usr/bin/env bash
# Claims of documents and their verdicts: those that tests/data/claims.jsonl expects, and where the table of
# recomputed numbers is at hand those that it has.
. "$(dirname "$0")/lib.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
claims=$source_dir/tests/data/claims.jsonl least=350
if [[ $sanitized ]]; then  # the first of them: claims carry on from those before
  head -n 100 "$claims" >"$work/claims"
  claims=$work/claims least=100
fi

# text_of <key> <file>: what stands at the key of each line, or nothing.
text_of() { sed -E "/.*\"$1\":\"([^\"]*)\".*/! s/.*//; s/.*\"$1\":\"([^\"]*)\".*/\1/" "$2"; }

"$napkin" audit <"$claims" >"$work/verdicts" || fail "a claim that cannot be read: $(grep -m1 '"error"' "$work/verdicts")"
lines=$(wc -l <"$claims")
[[ $lines -ge $least && $(wc -l <"$work/verdicts") -eq $lines ]] || fail "$lines claims, $(wc -l <"$work/verdicts") verdicts"
text_of id "$claims" >"$work/ids"
text_of expected "$claims" >"$work/expected"
text_of verdict "$work/verdicts" >"$work/found"
differ=$(paste "$work/ids" "$work/expected" "$work/found" | awk -F'\t' '$2 != $3')
[[ -z $differ ]] || fail "claim, expected, found: $differ"
text_of expected_slip "$claims" >"$work/expected_slip"
text_of slip "$work/verdicts" >"$work/slip"
differ=$(paste "$work/ids" "$work/expected_slip" "$work/slip" | awk -F'\t' '$2 != "" && $2 != $3')
[[ -z $differ ]] || fail "claim, expected slip, found: $differ"

# No slip of a right claim. Numbers by chance, of right claims times what no slip is: few of them have one.
right='"verdict":"(reproduced|rounding|possible|needs)"'
! grep -E "$right" "$work/verdicts" | grep -q '"slip"' || fail 'a slip of a right claim'
paste "$work/verdicts" "$claims" |
  awk -F'\t' '$1 ~ /"verdict":"(reproduced|rounding)"/ {
    if (!match($1, /"value":-?[0-9.e+-]+/)) next
    x = substr($1, RSTART + 8, RLENGTH - 8)
    if (x == 0 || $2 ~ /"key":"feasible"/) next
    n = split("0.0573 0.371 1.73 17.3", f, " ")
    for (i = 1; i <= n; ++i) {
      claim = $2
      sub(/"value":(\[[^]]*\]|[^,]*)/, sprintf("\"value\":%.2e", f[i] * x), claim)
      gsub(/"digits":[0-9]+,/, "", claim)
      sub(/"source":"[^"]*"/, "\"source\":\"" ++sources "\"", claim)
      print claim
    }
  }' | some 8 | "$napkin" audit >"$work/by_chance"
by_chance=$(grep -cE '"verdict":"(wrong|impossible)"' "$work/by_chance")
named=$(grep -c '"slip"' "$work/by_chance")
echo "$named of $by_chance numbers by chance have a slip"
[[ $by_chance -ge $((sanitized ? 30 : 1000)) && $((named * 100)) -le $((by_chance * 8)) ]] || fail "$named of $by_chance numbers by chance have a slip"

# A batch answers claims among requests.
both=$(head -n 1 "$claims" | sed 's/^{/{"query":"audit",/' | "$napkin" batch)
[[ $both == "$(head -n 1 "$work/verdicts")" ]] || fail "in a batch: $both"

# One at the command line, and each verdict once. 989.4 / 2; 1979 is the sparse peak; no kernel outruns 3.35 TB/s.
one() { # <verdict> <arguments...>
  local verdict=$1 answer
  shift
  answer=$("$napkin" audit "$@" --json) || fail "napkin audit $*: exit status $?"
  [[ $answer == *"\"verdict\":\"$verdict\""* ]] || fail "napkin audit $*: $answer, not $verdict"
}
one reproduced --quantity ridge --value 295 --unit FLOP/B --accelerator h100_sxm
# 3.76 is 4 where one digit is meant: two are taken of a number that states none.
one rounding --quantity storage --key compression --value 4 --digits 1 --format int4 --group 64 --scale_bits 16
one wrong --quantity storage --key compression --value 4 --format int4 --group 64 --scale_bits 16
one wrong --quantity peak --value 1979 --unit TFLOP/s --accelerator h100_sxm
one possible --quantity iron_law --value 20 --unit ms --bytes 17.5GB --bytes_per_s 3.35TB/s
one impossible --quantity iron_law --value 4 --unit ms --bytes 17.5e9 --bytes_per_s 3.35e12
one needs --quantity iron_law --value 4 --unit ms --bytes 17.5e9
[[ $("$napkin" audit --quantity peak --value 1979 --unit TFLOP/s --accelerator h100_sxm) == *'sparse for dense'* ]] ||
  fail 'the slip in text'
# 494 is half of what is dense, or what TF32 has.
answer=$("$napkin" audit --quantity peak --value 494 --unit TFLOP/s --accelerator h100_sxm)
[[ $answer == *$'as if: sparse for dense\n  or as if: the wrong format'* ]] || fail "two slips in text: $answer"
# What was said before: 494 / 40, and a rate of another chip.
before='{"id":"a","source":"s","quantity":"peak","value":494,"unit":"TFLOP/s","accelerator":"h100_sxm","format":"bf16"}
{"id":"b","source":"OF","quantity":"peak","value":1.583,"accelerator":"h100_sxm","format":"bf16","over":{"quantity":"peak","key":"flop_per_s","accelerator":"a100_sxm_80gb","format":"bf16"}}'
[[ $("$napkin" audit <<<"${before/OF/s}" | tail -n 1) == *'"slip":"carried on from a"'* ]] || fail 'nothing carried on'
[[ $("$napkin" audit <<<"${before/OF/t}" | tail -n 1) != *'carried on'* ]] || fail 'carried on from another text'
# A wrong number whose keys do not answer this one, and a source that is no text, are in nobody's way.
beside='{"source":7,"quantity":"clock_peak","key":"bytes_per_s","value":1,"unit":"B/s","units":1,"bytes_per_clock":128,"clock_hz":1e9}
{"source":7,"quantity":"clock_peak","key":"flop_per_s","value":1,"unit":"FLOP/s","units":1,"flop_per_clock":128,"clock_hz":1e9}'
answer=$("$napkin" audit <<<"$beside") || fail "a claim beside another: $answer"
# 280 x 0.085 = 23.8 streams, or 4 / 280 = 14.29 ms.
answer=$("$napkin" audit --quantity throughput --value 280 --unit tok/s --streams 4 --itl_s 85ms)
[[ $answer == *'it would take: streams 23.8 for 4, or itl_s 0.01429 for 0.085'* ]] || fail "what it would take: $answer"

# A prediction is no bound: 49.6 us (44.9 to 54.8) for 134 MB that take 40.07 us at 3.35 TB/s.
gemv=(--quantity gemm --unit us --accelerator h100_sxm --m 1 --n 8192 --k 8192)
one expected --mode calibrated --value 48 "${gemv[@]}"
one unusual --mode calibrated --value 60.0 "${gemv[@]}"
one unusual --mode calibrated --value 41 "${gemv[@]}"
one impossible --mode calibrated --value 39 "${gemv[@]}"
answer=$("$napkin" audit --mode calibrated --value 39 "${gemv[@]}" --json)
near 'bound of a GEMV' "$(number "$answer" bound)" 40.07 0.01
# A service batches prompts: the largest rate of the bound's queue is none, so that 200 ms are possible, and less
# than one prefill of 64 tokens is not. Measured above and below the prediction: unusual.
served=(--quantity serving --key ttft_s --unit ms --model qwen_3_30b_a3b --accelerator h100_sxm --engine vllm
  --input_tokens 64 --output_tokens 100 --requests_per_s 100)
one possible --value 200 "${served[@]}"
one impossible --value 1.0 "${served[@]}"
one unusual --mode calibrated --value 300 "${served[@]}"
# The operands of 2 rows on an RTX 5080 fit its L2 of 64 MB: a benchmark that repeats one call finds them there.
warm=(--quantity gemm --value 39.5 --unit us --accelerator rtx_5080 --m 2 --n 8192 --k 2500)
one needs "${warm[@]}"
one possible "${warm[@]}" --weight_copies 1
one impossible "${warm[@]}" --weight_copies 0
answer=$("$napkin" gemm --accelerator rtx_5080 --m 2 --n 8192 --k 2500 --measured 39.5us)
[[ $answer == *'consistent with'*'a warm L2 cache'*'fp8 weights'* ]] || fail "no warm L2 first: $answer"
# Units as people write them.
one reproduced --quantity ridge --value 295 --unit FLOP/byte --accelerator h100_sxm
one reproduced --quantity ridge --value 295 --unit FLOPs/byte --accelerator h100_sxm
one reproduced --quantity peak --value 989.4 --unit TFLOPs --accelerator h100_sxm
# 32 layers x 2 x 8 heads x 128 x 2 B.
one reproduced --quantity model --key kv_bytes_per_token --value 131072 --unit byte/token --model llama_3_1_8b
one reproduced --quantity model --key kv_bytes_per_token --value 128 --unit KiB/token --model llama_3_1_8b
one reproduced --quantity throughput --value 47.06 --unit tokens/s --streams 4 --itl_s 85ms
one wrong --quantity kv_capacity --key tokens --value 1000 --unit tokens --model llama_3_1_8b --accelerator h100_sxm
one reproduced --quantity collective --key wire_bytes --value 1.75 --unit GB --accelerator h100_sxm \
  --operation all_reduce --algorithm ring --ranks 8 --bytes 1GB
# Digits: 2.00 has three, in JSON as well; ring all-reduce of 8 moves 2 x 7 / 8.
one wrong --quantity collective --key wire_bytes --value 2.00 --unit GB --accelerator h100_sxm \
  --operation all_reduce --algorithm ring --ranks 8 --bytes 1GB
for value in 2.00 2.0 2 '"2.00"'; do
  answer=$("$napkin" audit <<<"{\"quantity\":\"collective\",\"key\":\"wire_bytes\",\"value\":$value,\"unit\":\"GB\",\"accelerator\":\"h100_sxm\",\"operation\":\"all_reduce\",\"algorithm\":\"ring\",\"ranks\":8,\"bytes\":1e9}")
  [[ $answer == *'"verdict":"wrong"'* ]] || fail "value $value: $answer"
done
# At least and at most: 17.5 GB at 3.35 TB/s take 5.22 ms or more.
least=(--quantity iron_law --unit ms --bytes 17.5GB --bytes_per_s 3.35TB/s)
one reproduced --value '>=5' "${least[@]}"
one reproduced --value 'at least 5' "${least[@]}"
one reproduced --value 5 --relation at_least "${least[@]}"
one possible --value '>= 15' "${least[@]}"
one impossible --value 'at most 5' "${least[@]}"
one possible --value '<6' "${least[@]}"
refuses PM-E014 audit --value 5 --relation about "${least[@]}"
refuses PM-E005 audit --value '>=x' "${least[@]}"

# 32.8e9 parameters in 16 bits over 4.8 TB/s take 13.7 ms, so 115 tok/s (8.7 ms) take half the bytes: fp8 or two
# GPUs. The published number was of two (vllm-project/vllm#18725).
one impossible --quantity serving --key output_tokens_per_s --value 115 --unit tokens/s --model qwen_2_5_32b \
  --accelerator h200_sxm --input_tokens 128 --output_tokens 512 --concurrency 1
[[ $("$napkin" audit --quantity serving --key output_tokens_per_s --value 115 --unit tokens/s --model qwen_2_5_32b \
  --accelerator h200_sxm --input_tokens 128 --output_tokens 512 --concurrency 1) == \
  *'possible with weight_format fp8, or with tensor_parallel 2'* ]] || fail 'settings that make a claim possible'

refuses PM-E002 audit --quantity nothing --value 1
refuses PM-E004 audit --quantity ridge --accelerator h100_sxm
refuses PM-E003 audit --quantity ridge --value 1 --acelerator h100_sxm
refuses PM-E003 audit --quantity ridge --value 1 --key time_s --accelerator h100_sxm
refuses PM-E005 audit --quantity ridge --value x --accelerator h100_sxm
refuses PM-E014 audit --quantity ridge --value 1 --unit furlongs --accelerator h100_sxm
refuses PM-E031 audit --quantity ridge --value 295 --unit ms --accelerator h100_sxm
# Units and words in the value, and counts of things: 141.1 GB of weights move in 5.2 ms or more over 8 GPUs.
step=(--quantity step --model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 8 --batch 1 --context 1000)
one impossible "${step[@]}" --value 'at most 5 ms'
one possible "${step[@]}" --value 'at most 50 ms'
one reproduced "${step[@]}" --value 'at least 5ms'
one possible "${step[@]}" --value '~10 ms'
one reproduced --quantity model --model deepseek_v3 --key parameters --value 671B
one reproduced --quantity model --model deepseek_v3 --key parameters --value '671 billion parameters'
one wrong --quantity model --model mixtral_8x7b --key parameters --value 56B
one reproduced --quantity model --model llama_3_1_70b --key weight_bytes --value '141 GB'
# An engine reserves memory by its own measure: a capacity is judged by what no reserve would leave, 64.3 GB of 85.9.
pool=(--quantity kv_capacity --model qwen_3_8b --accelerator a100_sxm_80gb --engine vllm --key tokens)
one possible "${pool[@]}" --value 389872
one impossible "${pool[@]}" --value 600000
for line in '7' '{"value":1}' '{"quantity":"ridge","value":[2,1],"accelerator":"h100_sxm"}' \
  '{"quantity":"ridge","value":1,"digits":0,"accelerator":"h100_sxm"}' \
  '{"quantity":"ridge","value":1,"over":3,"accelerator":"h100_sxm"}'; do
  answer=$("$napkin" audit <<<"$line")
  [[ $? -eq 1 && $answer == *'"error"'* ]] || fail "napkin audit <<<'$line': $answer"
done

# The table of recomputed numbers: agrees and rounding are reproduced or rounding, errors wrong or impossible.
table=${PERFMODEL_SHARED:-$source_dir/../shared}/reference/cases.csv
if [[ -f $table && ! $sanitized ]]; then
  kinds='agrees|rounding|seed_error|measured_not_computable|policy\/judgement|inconsistent_between_docs'
  sed -nE "s/^([0-9]{3}-[0-9]{3}),.*,($kinds),.*/\1\t\2/p" "$table" | sort >"$work/table"
  paste "$work/ids" "$work/found" | sort | join -t$'\t' - "$work/table" >"$work/joined"
  summary=$(awk -F'\t' '
    { right = $2 == "wrong" || $2 == "impossible"; fine = $2 == "reproduced" || $2 == "rounding" }
    $3 == "seed_error" { ++n; ++errors; if (right) { ++same; ++found_errors } else print $1, $3, $2 }
    $3 == "agrees" || $3 == "rounding" { ++n; if (fine) ++same; else print $1, $3, $2 }
    END { printf "ALL %d %d %d %d %d\n", NR, n, same, errors, found_errors }' "$work/joined")
  read -r _ all n same errors found_errors < <(grep '^ALL' <<<"$summary")
  echo "$all claims of the table; $same of $n verdicts agree; $found_errors of $errors errors found"
  grep -v '^ALL' <<<"$summary"
  # Slips: of the errors those named, and those that are what the table says of them (docs/laws/audit.md).
  slips=$(paste "$work/ids" "$work/slip" "$work/expected_slip" | sort | join -t$'\t' - "$work/table" |
    awk -F'\t' '$4 == "seed_error" && $2 != "" { ++named; if ($3 == $2) ++right } END { print named, right }')
  echo "a slip of ${slips% *} errors, the right one of ${slips#* }"
  [[ ${slips% *} -ge 51 && ${slips#* } -ge 44 ]] || fail "too few slips: $slips"
  [[ $all -ge 380 && $((same * 100)) -ge $((n * 95)) && $found_errors -ge 75 ]] || fail "too few: $summary"
fi
finish
