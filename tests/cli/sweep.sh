#!/usr/bin/env bash
# napkin sweep: grids by hand, each row against the plain query, shards, threads, best and Pareto rows by a second
# method, refusals.
. "$(dirname "$0")/lib.bash"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

step=(step --model llama_3_1_8b --accelerator h100_sxm)
gemm=(gemm --accelerator h100_sxm --n 4096 --k 4096)

# csv <arguments...>: the CSV of a sweep that has no error.
csv() { "$napkin" sweep "$@" --csv || fail "napkin sweep $*: exit status $?"; }
# column <name>: the fields below that name, of CSV without quotes.
column() {
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) at = i; next } { print $at }'
}
# values <axis> <expected...>: the values of an axis of m in a sweep of gemm.
values() {
  local axis=$1 got
  shift
  got=$(csv "${gemm[@]}" --over "$axis" | column "${axis%%=*}" | xargs)
  [[ $got == "$*" ]] || fail "--over $axis: $got, not $*"
}

# Grids, by hand.
values m=1..9:5 1 3 5 7 9
values m=1..256:x2 1 2 4 8 16 32 64 128 256
values m=1..100:x3 1 3 9 27 81
values m=10..1000:x10 10 100 1000
values m=1k,8k,2Ki 1000 8000 2048
values m=1..3:2 1 3
values m=1..8:4 1 3 6 8
gemm+=(--m 64)
values dram.bandwidth=4TB/s..10TB/s:7 4000000000000 5000000000000 6000000000000 7000000000000 8000000000000 \
  9000000000000 10000000000000
values sms=66,132 66 132
gemm=("${gemm[@]:0:7}")
got=$(csv serving --model llama_3_1_8b --accelerator h100_sxm --input_tokens 100 --output_tokens 10 --concurrency 2 \
  --over prefix_hit=0.1..0.5:5 --mode bound | column prefix_hit | xargs)
[[ $got == '0.1 0.2 0.3 0.4 0.5' ]] || fail "a step of 0.1: $got"
got=$(csv iron_law --flop 1e12 --flop_per_s 1e15 --bytes_per_s 1e12 --over bytes=1GB..4GB:x1.5 | column bytes | xargs)
[[ $got == '1000000000 1500000000 2250000000 3375000000' ]] || fail "by a factor of 1.5: $got"

# Products: the first axis varies slowest. Names are those of the keys, however they were spelled.
got=$(csv step --model llama_3_1_8b --accelerator h100_sxm --over tp=1,2 --over batch=1,2,3 --over context=10..20:2 |
  cut -d, -f1-3 | xargs)
expected='tensor_parallel,batch,context'
for t in 1 2; do for b in 1 2 3; do for c in 10 20; do expected+=" $t,$b,$c"; done; done; done
[[ $got == "$expected" ]] || fail "the product: $got"
[[ $(csv "${gemm[@]}" --over m=1,2 | head -n 1) == m,time_s,* ]] || fail 'the first line has not the names of the columns'

# Each row is the plain query's answer, to the last digit.
# same <query and keys...> -- <axes...>: each axis KEY=A,B,C.
same() {
  local -a fixed=() axes=() names=()
  while [[ $1 != -- ]]; do fixed+=("$1"); shift; done
  shift
  for axis; do
    axes+=(--over "$axis")
    names+=("${axis%%=*}")
  done
  csv "${fixed[@]}" "${axes[@]}" >"$folder/same.csv"
  awk -F, -v n=${#names[@]} 'NR == 1 { for (i = 1; i <= NF; ++i) name[i] = $i; next }
    { for (i = n + 1; i <= NF; ++i) if (name[i] ~ /^[a-z_0-9]*_s$/ || name[i] ~ /^(flop|bytes|blocks|sequences|tokens)$/)
        print NR - 1, name[i], $i }' "$folder/same.csv" >"$folder/cells"
  local -a plain=()
  local row=0 cells=0 line value
  while IFS= read -r line; do
    row=$((row + 1))
    IFS=, read -r -a value <<<"$line"
    local -a given=()
    for i in "${!names[@]}"; do
      if [[ ${names[i]} == *.* ]]; then
        given+=(--set "${names[i]}=${value[i]}")
      else
        given+=("--${names[i]}" "${value[i]}")
      fi
    done
    plain[row]=$("$napkin" "${fixed[@]}" "${given[@]}" --json | sed -E 's/"near_saturation":\{[^}]*\}//')
  done < <(tail -n +2 "$folder/same.csv")
  while read -r at name value; do
    cells=$((cells + 1))
    local other
    other=$(number "${plain[at]}" "$name")
    awk -v a="$value" -v b="$other" 'BEGIN { exit !(a + 0 == b + 0 && (a == "") == (b == "")) }' ||
      fail "sweep ${fixed[*]} $*, row $at: $name is '$value', and '$other' of the plain query"
  done <"$folder/cells"
  [[ $row -gt 1 && $cells -ge $row ]] || fail "sweep ${fixed[*]} $*: $row rows with $cells cells"
}
same "${step[@]}" -- batch=1,7,64 context=100,8192
same "${step[@]}" --batch 8 --context 1000 -- mode=bound,calibrated engine=vllm,trtllm tensor_parallel=1,2
same step --model deepseek_v3 --accelerator h200_sxm --tensor_parallel 8 --context 4096 -- expert_parallel=1,8 batch=1,256
same "${gemm[@]}" -- m=1,100,4096 dram.bandwidth=2e12,6e12
same gemm --m 64 --n 4096 --k 4096 -- accelerator=h100_sxm,mi300x format=bf16,fp8
same kv_capacity --tensor_parallel 8 --accelerator h100_sxm -- model=llama_3_70b,gpt_oss_120b utilization=0.8,0.9
same collective --accelerator h100_sxm --operation all_reduce -- ranks=2,8 bytes=1e6,1e9 fabric.bandwidth=3e11,9e11
same attention_decode --accelerator h100_sxm --query_heads 32 --kv_heads 8 --head_dim 128 -- batch=1,64 context=100,10000
same serving --model llama_3_1_8b --accelerator h100_sxm --input_tokens 500 --output_tokens 100 -- concurrency=1,8
same serving --model llama_3_1_8b --accelerator h100_sxm --input_tokens 500 --output_tokens 100 --method closed_form \
  -- requests_per_s=1,5,1000 input_cv=0,1
same simulate --model llama_3_1_8b --accelerator h100_sxm --input_tokens 100 --output_tokens 10 --requests 20 \
  -- concurrency=1,4 seed=1,2

# Shards in order are the whole, at any number of threads, also where there are fewer points than shards.
grid=(--over batch=1..40:40 --over context=100,200,300)
csv "${step[@]}" "${grid[@]}" >"$folder/whole"
for n in 1 4 7 200; do
  head -n 1 "$folder/whole" >"$folder/joined"
  for ((i = 1; i <= n; ++i)); do
    [[ $n -lt 200 || $i -lt 5 || $i -gt 115 ]] || continue
    csv "${step[@]}" "${grid[@]}" --shard "$i/$n" >"$folder/shard"
    [[ $(head -n 1 "$folder/shard") == "$(head -n 1 "$folder/whole")" ]] || fail "shard $i/$n has another header"
    tail -n +2 "$folder/shard" >>"$folder/joined"
    [[ $n -lt 200 || $i -lt 125 ]] || break
  done
  [[ $n -eq 200 ]] || cmp -s "$folder/whole" "$folder/joined" || fail "$n shards are not the whole"
done
for threads in 1 2 5; do
  csv "${step[@]}" "${grid[@]}" --threads $threads | cmp -s - "$folder/whole" || fail "$threads threads give another table"
done
# A shard without an infeasible point has the columns of the whole.
big=(step --model llama_3_70b --accelerator h100_sxm --over tensor_parallel=1,8 --over batch=1,2 --over context=100)
[[ $(csv "${big[@]}" --shard 2/2 | head -n 1) == "$(csv "${big[@]}" | head -n 1)" ]] || fail 'columns depend on the shard'

# Infeasible rows have no times, and a reason.
csv "${big[@]}" >"$folder/big"
[[ $(column time_s <"$folder/big" | sed -n '1,2p' | xargs) == '' ]] || fail 'an infeasible row has a time'
[[ $(column time_s <"$folder/big" | sed -n '3,4p' | wc -w) -eq 2 ]] || fail 'a feasible row has no time'
[[ $(column feasible <"$folder/big" | xargs) == 'false false true true' ]] || fail "feasible: $(column feasible <"$folder/big" | xargs)"
[[ $(sed -n 2p "$folder/big") == *'needed, '*'usable"' ]] || fail 'an infeasible row has no reason'
[[ $(head -n 1 "$folder/big") != *error* ]] || fail 'a column of errors without an error'

# A refused point: its row has the error, and the status is 1. Where every point is refused, that is the refusal.
refuses context sweep step --model llama_3_1_8b --accelerator h100_sxm --over batch=1,2
"$napkin" sweep step --accelerator h100_sxm --batch 1 --context 100 --over model=llama_3_1_8b,no_such_model --csv >"$folder/bad"
[[ $? -eq 1 ]] || fail 'a refused point does not make the status 1'
[[ $(wc -l <"$folder/bad") -eq 3 && $(head -n 1 "$folder/bad") == *,error ]] || fail "a refused point: $(cat "$folder/bad")"
[[ $(sed -n 2p "$folder/bad") == *, && $(sed -n 3p "$folder/bad") == *PM-E*no_such_model* ]] ||
  fail "the error of a point: $(cat "$folder/bad")"

# The best row and the Pareto front, by awk.
plane=("${gemm[@]}" --over m=16..4096:x2 --over dram.bandwidth=1TB/s..8TB/s:8)
csv "${plane[@]}" >"$folder/plane"
for goal in time_s max:time_s max:flop_per_byte; do
  name=${goal#max:}
  best=$(csv "${plane[@]}" --best "$goal" | column "$name")
  other=$(column "$name" <"$folder/plane" | sort -g | if [[ $goal == max:* ]]; then tail -n 1; else head -n 1; fi)
  [[ $best == "$other" ]] || fail "--best $goal: $best, not $other"
done
csv "${plane[@]}" --pareto time_s,dram.bandwidth | tail -n +2 >"$folder/front"
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "time_s") t = i; next }
  { line[++n] = $0; d[n] = $2; s[n] = $t }
  END { for (i = 1; i <= n; ++i) { out = 0
          for (j = 1; j <= n; ++j)
            if (d[j] <= d[i] && s[j] <= s[i] && (d[j] < d[i] || s[j] < s[i])) out = 1
          if (!out) print line[i] } }' "$folder/plane" >"$folder/other_front"
cmp -s "$folder/front" "$folder/other_front" || fail '--pareto gives another front than comparing all pairs'
lines=$(wc -l <"$folder/front")
[[ $lines -gt 3 && $lines -lt 40 ]] || fail "a front of $lines of 72 rows says nothing"

# JSON, Markdown and text have the rows of the CSV.
json=$("$napkin" sweep "${gemm[@]}" --over m=1,64 --json)
[[ $json == '{"query":"gemm","points":2,"errors":0,"columns":["m","time_s",'*'"rows":['*'[1,'*'[64,'* ]] || fail "JSON: $json"
[[ $json == *"$("$napkin" "${gemm[@]}" --m 64 --json | sed -nE 's/^\{"time_s":([^,]*),.*/[64,\1,/p')"* ]] ||
  fail "JSON has not the time of the plain query: $json"
[[ $("$napkin" sweep "${gemm[@]}" --over m=1,64 --format md | head -n 2 | tail -n 1) == '|---:|---:|'* ]] || fail 'no Markdown'
text=$("$napkin" sweep "${step[@]}" --over batch=1..64:x2 --over context=1k,8k)
[[ $text == 'step: 14 points, 1 without time_s. time_s: least '*' at batch 1, context 1000; most '*'batch 32, context 8000.'* ]] ||
  fail "the conclusion: $text"
[[ $(awk 'length > 100' <<<"$text") == '' && $(wc -l <<<"$text") -ge 16 ]] || fail "the text: $text"
[[ $("$napkin" sweep "${step[@]}" --over batch=1,2 --over context=9 --format csv) == batch,context,time_s,* ]] ||
  fail '--format csv'

# --format of other commands: the scalars of the JSON as one row, plan and catalogues as rows.
"$napkin" "${gemm[@]}" --m 64 --format csv >"$folder/one"
[[ $(head -n 1 "$folder/one") == time_s,* && $(wc -l <"$folder/one") -eq 2 ]] || fail "a query as CSV: $(cat "$folder/one")"
[[ $(column time_s <"$folder/one") == "$(number "$("$napkin" "${gemm[@]}" --m 64 --json)" time_s)" ]] || fail 'a time in CSV'
[[ $("$napkin" gpus --format csv | head -n 1) == name,* && $("$napkin" gpus --format csv | wc -l) -gt 30 ]] || fail 'gpus as CSV'
[[ $("$napkin" models --format md | head -n 1) == '| name |'* ]] || fail 'models as Markdown'
plan=(plan --model llama_3_8b --gpu h100_sxm --gpus 1 --isl 100 --osl 10 --users 1)
[[ $("$napkin" "${plan[@]}" --format csv | head -n 1) == accelerator,engine,* ]] || fail 'plan as CSV'
[[ $("$napkin" "${step[@]}" --batch 1 --context 9 --format json) == '{"time_s":'* ]] || fail '--format json'
refuses 'allowed here: table, json' explain "${step[@]}" --batch 1 --context 9 --format csv

# Refusals: one line, status 2.
refuses PM-E sweep "${gemm[@]}"
refuses 'did you mean' sweep "${gemm[@]}" --over mm=1,2
refuses 'dram.bandwidth' sweep "${gemm[@]}" --m 1 --over dram.bandwith=1TB/s,2TB/s
refuses 'is not a key of ridge_batch' sweep ridge_batch --over mm=1,2
for axis in m m= =1 m=1..2 m=1..2: m=..2:3 m=1..:3 m=1..9:0 m=1..9:1 m=1..9:2.5 m=1..9:-3 m=9..1:3 m=1..9:x0 m=1..9:x1 \
  m=1..9:x0.5 m=1..9:x-2 m=1..9:xnan m=nan m=nan..9:3 m=1..inf:x2 m=1,,2 m=, m=1..9:9999999999 m=0..8:x2 m=-1,2 m=1.5 \
  m=1e15..1e16:2 m=1..1e12:x1.0000001 m=1,two dram.bandwidth=1s,2s format=bf16,bf17; do
  refuses PM-E sweep "${gemm[@]}" $([[ $axis == m* && $axis != mode* || $axis == =* ]] || echo --m 1) --over "$axis"
done
refuses 'up to 8 values' sweep "${gemm[@]}" --over m=1..8:9
refuses PM-E sweep "${gemm[@]}" --over m=1.5..8:3
refuses 'without a unit' sweep serving --model llama_3_1_8b --accelerator h100_sxm --input_tokens 1 --output_tokens 1 \
  --concurrency 1 --over itl=20,30
refuses twice sweep "${gemm[@]}" --over m=1,2 --over m=3,4
refuses 'one of them' sweep "${gemm[@]}" --m 4 --over m=1,2
refuses 'one of them' sweep "${gemm[@]}" --m 4 --set dram.bandwidth=1TB/s --over dram.bandwidth=1TB/s,2TB/s
refuses 'points; allowed' sweep gemm --accelerator h100_sxm --over m=1..1e6:1000000 --over n=1..1e6:1000000 --over k=1,2
refuses '10000000 rows' sweep gemm --accelerator h100_sxm --over m=1..1e6:1000000 --over n=1..10:10 --k 64
refuses 'n, k are missing' sweep gemm --accelerator h100_sxm --over m=1,2
refuses 'did you mean' sweep gem --over m=1
refuses 'not a column' sweep "${gemm[@]}" --over m=1,2 --best tim_s
refuses 'not a column' sweep "${gemm[@]}" --over m=1,2 --pareto time_s,costs
refuses 'allowed: table, csv, json, md' sweep "${step[@]}" --over batch=1,2 --format xml
for shard in 0/2 3/2 1 1/0 a/b 1/2/3 1.5/2 -1/2; do refuses shard sweep "${gemm[@]}" --over m=1,2 --shard=$shard; done

# The options of every query, in the help of the command itself.
help=$("$napkin" sweep --help)
for option in --over --best --pareto --plot --csv --json --shard --threads --mpi; do
  grep -qE -- "^  $option .*[a-z]" <<<"$help" || fail "sweep --help has no $option"
done
# Nothing feasible: said first, with the reason. 141 GB of weights are more than one H100 has.
text=$("$napkin" sweep serving --model llama_3_1_70b --gpu h100_sxm --isl 1000 --osl 500 --over users=1..64:x2)
[[ $(tr -s ' \n' ' ' <<<"$text") == 'serving: 7 points, none feasible: weights and KV cache exceed '* ]] || fail "nothing feasible: $text"
text=$("$napkin" sweep serving --model llama_3_1_70b --gpu h100_sxm --tp 4 --isl 1000 --osl 500 --over users=1,2)
[[ $text != *'none feasible'* ]] || fail "all feasible: $text"
# Of some points refused and the others infeasible, and of a chip without a fabric.
text=$("$napkin" sweep serving --model llama_3_1_70b --gpu h100_sxm --isl 1000 --osl 500 --over users=1,8 --over tp=1,3 2>/dev/null)
[[ $text == 'serving: 4 points, 2 of them refused, none feasible: weights '* ]] || fail "refused and infeasible: $text"
"$napkin" gpus --export h100_sxm | sed '/"fabric\./d; s/"name": "h100_sxm"/"name": "chip_x"/' >"$folder/chip_x.json"
text=$("$napkin" sweep serving --model llama_3_1_70b --gpu "$folder/chip_x.json" --tp 4 --isl 1000 --osl 500 --over users=1..64:x2)
[[ $(tr -s ' \n' ' ' <<<"$text") == 'serving: 7 points, none feasible: '*'; chip_x states no fabric.kind or fabric.bandwidth.'* ]] || fail "no fabric: $text"
finish
