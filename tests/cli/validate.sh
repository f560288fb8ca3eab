#!/usr/bin/env bash
# compare: exit statuses, what it says of bad input, and a report that is the same to the byte.
. "$(dirname "$0")/lib.bash"

compare=$(dirname "$napkin")/../../validation/compare/compare
if [[ ! -x $compare ]]; then
  echo 'skipped: validation/compare is not built'
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# says <status> <text> <arguments...>: the exit status, and one line on stderr (or any on stdout) with it.
says() {
  local status=$1 text=$2 out code=0
  shift 2
  out=$("$compare" "$@" 2>&1) || code=$?
  [[ $code -eq $status ]] || fail "compare $*: exit status $code, not $status: $out"
  [[ $out == *"$text"* ]] || fail "compare $*: says '$out', not '$text'"
  if [[ $status -eq 2 && $(wc -l <<<"$out") -ne 1 ]]; then
    fail "compare $*: more than one line: $out"
  fi
}

# A read of 20 MB on an H200, whose DRAM takes 4.17 us for it: <file> <microseconds> <cold or warm>
recording() {
  mkdir -p "$(dirname "$1")"
  cat >"$1" <<JSON
{"schema": "perfmodel.recording", "version": 1, "experiment": "memory_stream", "law": "roofline",
 "origin": "measured",
 "run": {"date": "2026-11-21T08:15:00Z", "revision": "unknown", "modified": false,
         "program": "test", "compiler": "test", "toolkit": "13.0", "driver": "1", "reduced": false},
 "device": {"kind": "gpu", "name": "NVIDIA H200", "accelerator": "h200_sxm",
            "memory_bytes": 150000000000, "sm_clock_hz": 1980000000, "compute_capability": "9.0",
            "sms": 132, "gpus": 1, "l2_bytes": 52428800, "shared_memory_per_sm_bytes": 233472,
            "memory_bus_bits": 6144, "memory_clock_hz": 3201000000},
 "checks": [{"name": "a sum", "error": 0, "tolerance": 0}], "skipped": [],
 "points": [{"quantity": "stream_time", "unit": "s",
             "parameters": {"kernel": "read", "working_set_bytes": 20000000, "cache": "$3",
                            "bytes_read": 20000000, "bytes_written": 0, "threads": 100000},
             "samples": [$2e-6]}]}
JSON
}
tampered() {  # <status> <says> <sed expression>
  recording "$work/tampered/one.json" 6.2 cold
  sed -i "$3" "$work/tampered/one.json"
  cmp -s "$work/tampered/one.json" "$work/good/one.json" && fail "nothing was tampered with by $3"
  says "$1" "$2" --recordings "$work/tampered"
}

recording "$work/good/one.json" 6.2 cold
says 0 'stream_time' --recordings "$work/good"
says 0 'compare: 1 recordings, 0 own rows, 0 broken' --recordings "$work/good" --quiet
says 0 '0 broken' --recordings "$work/good/one.json" --quiet

# 3 us are below DRAM's 4.17: an error when cold, explained when warm.
recording "$work/cold/one.json" 3.0 cold
says 1 'which nothing is quicker than' --recordings "$work/cold"
recording "$work/warm/one.json" 3.0 warm
out=$("$compare" --recordings "$work/warm")
[[ $out == *'(1 warm)'* && $out != *'quicker'* ]] || fail "a warm cache: $out"
# 12 us are twice what is predicted: the tolerance is broken, and said by name.
recording "$work/slow/one.json" 12 cold
says 1 'stream_time on h200_sxm: median error' --recordings "$work/slow" --quiet

tampered 2 'PM-R12' 's/"unit": "s"/"unit": "ms"/'
tampered 2 'device.sms is missing' 's/"sms": 132, //'
tampered 2 'PM-R02' 's/6.2e-6/1e999/'
tampered 2 'samples[0] is null' 's/6.2e-6/null/'
tampered 2 'PM-R15' 's/\[6.2e-6\]/[]/'
tampered 2 'PM-R17' 's/"checks": \[.*\], "skipped"/"checks": [], "skipped"/'
tampered 2 'version is 2; allowed: up to 1' 's/"version": 1/"version": 2/'
tampered 2 'h201' 's/h200_sxm/h201/'
tampered 0 'reduced' 's/"reduced": false/"reduced": true/'

# One that cannot be read is named and left out; so is one of a device that is not in the catalogue.
recording "$work/mixed/good.json" 6.2 cold
recording "$work/mixed/bad.json" 6.2 cold
sed -i 's/"unit": "s"/"unit": "ms"/' "$work/mixed/bad.json"
recording "$work/mixed/unknown.json" 6.2 cold
sed -i 's/h200_sxm/h201/; s/NVIDIA H200/NVIDIA H201/' "$work/mixed/unknown.json"
says 0 'skipped: PM-R12' --recordings "$work/mixed"
says 0 'h201' --recordings "$work/mixed"
says 0 'compare: 1 recordings, 0 own rows, 0 broken' --recordings "$work/mixed"
# What failed is named, and no number; a clock that the driver does not say is not a fault.
tampered 0 'failed: NVIDIA H200, memory_stream, copy: out of memory' \
  's/"skipped": \[\],/"skipped": [], "failed": [{"part": "copy", "reason": "out of memory"}],/'
tampered 0 '1 recordings, 0 own rows, 0 broken' 's/"memory_clock_hz": 3201000000/"memory_clock_hz": 0/'
says 0 'goal: met by' --recordings "$work/good"

says 2 'nothing to compare'
says 2 'no such folder' --recordings "$work/nowhere"
says 2 'no such folder' --data "$work/nowhere"
says 2 'none of the published tables' --data "$work/good"
mkdir "$work/empty"
says 2 'no .json file is there' --recordings "$work/empty"
says 2 'compare: ' --no-such-option
for option in --recordings --csv --data --report; do
  says 2 "$option: is empty" --recordings "$work/good" "$option" ''
done
# What is read twice would count twice; a pipe or a device has no end.
says 2 'one.json: given twice' --recordings "$work/good" --recordings "$work/good/../good/one.json"
printf '%s\n' gpu,backend,dtype,m,n,k,latency_us h100_sxm,none,bf16,4096,8192,8192,780 >"$work/twice.csv"
says 2 'twice.csv: given twice' --csv "$work/twice.csv" --csv "$work/./twice.csv"
mkfifo "$work/pipe"
for file in "$work/pipe" /dev/zero "$work"; do says 2 'is not a file' --csv "$file"; done
truncate -s 65M "$work/large.csv"
says 2 'is larger than 64 MiB' --csv "$work/large.csv"

# Measurements of one's own.
printf '%s\n' gpu,backend,dtype,m,n,k,latency_us h100_sxm,none,bf16,4096,8192,8192,780 >"$work/own.csv"
says 0 'gemm' --csv "$work/own.csv"
printf '\xEF\xBB\xBF%s\r\n%s\r\n' gpu,backend,dtype,m,n,k,latency_us \
  h100_sxm,none,bf16,4096,8192,8192,780 >"$work/own.csv"
says 0 'gemm' --csv "$work/own.csv"
printf '%s\n' gpu,impl,op,dtype,num_gpus,bytes,latency_us h100_sxm,nccl,all_reduce,bf16,8,67108864,330 \
  >"$work/links.csv"
says 0 'all_reduce' --csv "$work/links.csv"
bad_csv() {  # <says> <header> <row>
  printf '%s\n' "$2" "$3" >"$work/bad.csv"
  says 2 "$1" --csv "$work/bad.csv"
}
# A cell in quotes may have commas, and blanks around a cell are none of it.
printf '%s\n' gpu,backend,dtype,m,n,k,latency_us '"h100_sxm", "none",bf16,4096,8192,8192, 780' >"$work/own.csv"
says 0 '1 own rows' --csv "$work/own.csv"
bad_csv 'gpu is "h,"; allowed: v100' gpu,backend,dtype,m,n,k,latency_us '"h,",none,bf16,1,2,3,1'
bad_csv 'the column latency_us is missing' gpu,backend,dtype,m,n,k,latency_ms h100_sxm,none,bf16,1,2,3,1
bad_csv 'the column x is not known' gpu,backend,dtype,m,n,k,latency_us,x h100_sxm,none,bf16,1,2,3,1,1
bad_csv 'bad.csv:2: latency_us is "nan"' gpu,backend,dtype,m,n,k,latency_us h100_sxm,none,bf16,1,2,3,nan
bad_csv 'latency_us is "0"' gpu,backend,dtype,m,n,k,latency_us h100_sxm,none,bf16,1,2,3,0
bad_csv 'gpu is "h101"' gpu,backend,dtype,m,n,k,latency_us h101,none,bf16,1,2,3,1
bad_csv '6 cells; the header has 7' gpu,backend,dtype,m,n,k,latency_us h100_sxm,none,bf16,1,2,3
bad_csv 'latency_us is "1e300"' gpu,backend,dtype,m,n,k,latency_us h100_sxm,none,bf16,1,2,3,1e300
bad_csv 'the column m appears twice' gpu,backend,dtype,m,m,n,k,latency_us h100_sxm,none,bf16,1,1,2,3,1
bad_csv 'num_gpus is "2.5"' gpu,impl,op,dtype,num_gpus,bytes,latency_us h100_sxm,nccl,all_reduce,bf16,2.5,1024,9
bad_csv 'allowed on h100_sxm: up to 8' gpu,impl,op,dtype,num_gpus,bytes,latency_us h100_sxm,nccl,all_reduce,bf16,16,1024,9
bad_csv 'dtype is "bf17"; allowed: fp64, fp32' gpu,impl,op,dtype,num_gpus,bytes,latency_us \
  h100_sxm,nccl,all_reduce,bf17,8,1024,9
long=$(printf 'x%.0s' {1..5000})
bad_csv "gpu is \"${long:0:60}...\"; allowed: v100" gpu,backend,dtype,m,n,k,latency_us "$long,none,bf16,1,2,3,1"
bad_csv "the column ${long:0:60}... is not known" "gpu,backend,dtype,m,n,k,latency_us,$long" h100_sxm,none,bf16,1,2,3,1,1
printf 'gpu,backend,dtype,m,n,k,latency_us\nh100_sxm,none,bf16,1\0\033[1m,2,3,1\n' >"$work/bad.csv"
says 2 'm is "1  [1m"; allowed: a number, 1 to 1e15' --csv "$work/bad.csv"
bad_csv 'no rows' gpu,backend,dtype,m,n,k,latency_us ''
printf '%s\n' gpu,backend,dtype,m,n,k,latency_us h100_sxm,none,bf16,4096,8192,8192,100 >"$work/own.csv"
says 1 'below its bound' --csv "$work/own.csv"

# Under a sanitizer one recording at a time is compared, above and below; all of them take minutes.
if [[ -z $sanitized ]]; then
# The last lines of ./run validate on a GPU, by its own functions: progress, errors in words, a profile.
mkdir -p "$work/now/gpu" "$work/now/report"
cp -r "$source_dir/validation/recordings/h200_sxm" "$work/now/gpu/recordings"
{
  sed -n '/^report() {/,/^}/p; /^gpu_steps() {/,/^}/p; /^gpu_words() {/,/^}/p' "$source_dir/run"
  echo "set -euo pipefail; say() { :; }; build_napkin() { :; }; napkin_program='$napkin'"
  echo "printf '%s\n' 'record: building 16 programs' 'record: launch: recorded in 2 s' | gpu_steps"
  echo "gpu_words '$work/now' '$compare'"
} >"$work/words.sh"
out=$(bash "$work/words.sh" 2>&1) || fail "the last lines of validate: $out"
for expected in 'program 1 of 16: launch: recorded' 'your NVIDIA H200, predicted over measured' '  GEMMs: 6.2 % of 468 points; 56 %' \
  '406 of 1233 points with a counted clock ran more than 3 % below' 'profile written to' 'napkin plan --accelerator h200_sxm'; do
  [[ $out == *"$expected"* ]] || fail "the last lines of validate have no '$expected': $out"
done
"$napkin" gemm --accelerator h200_sxm --m 1 --n 4096 --k 4096 --profile "$work/now/profile.json" >/dev/null || fail 'the profile of validate'

# The report: from the committed recordings, and the same twice.
for n in 1 2; do
  says 0 '0 broken' --recordings "$source_dir/validation/recordings" --report "$work/report$n" --quiet
done
diff -r "$work/report1" "$work/report2" >/dev/null || fail 'two reports differ'
grep -q 'gemm_time' "$work/report1/report.md" || fail 'report.md has no scores'
for page in report quantities; do
  diff "$work/report1/$page.md" "$source_dir/validation/reports/$page.md" ||
    fail "validation/reports/$page.md is not what compare writes"
done
for file in "$work/report1"/*.svg; do
  [[ -s $source_dir/validation/reports/${file##*/} ]] || fail "validation/reports has no ${file##*/}"
done
# Each format has a panel with its own roof, and no curve goes back and forth.
for expected in 'GEMM, bf16<' 'GEMM, fp8<' 'FMA loops, fp32<' 'min(peak, bandwidth x intensity)'; do
  grep -qF "$expected" "$work/report1/roofline_h200_sxm.svg" || fail "the roofline has no '$expected'"
done
fi
# Names come from a file: no table or picture is broken by them, and sizes that are none have no tick of
# their own.
named() {  # <name, as JSON> [<every working set, in bytes>]
  local set='"working_set_bytes":'
  rm -rf "$work/named"
  mkdir "$work/named"
  sed -e "s%\"name\": \"AMD[^\"]*\"%\"name\": \"$1\"%" -e "${2:+s/$set [0-9]*/$set $2/}" \
    "$source_dir/validation/recordings/amd_epyc/memory_stream.json" >"$work/named/memory_stream.json"
  says 0 'compare: 1 recordings' --recordings "$work/named" --report "$work/names" --quiet
}
named '<script>H'
grep -q '<script>' "$work/names"/*.svg && fail 'a name is markup'
named 'H200\\n\\u001b[1m'
named 'a|b'
grep -q 'a\\|b' "$work/names/report.md" || fail 'a name ends a cell'
for bytes in 0 1e-30 0.5 1e30; do named CPU "$bytes"; done
# An intensity that is nothing starts no curve.
mkdir "$work/nothing"
sed '0,/"flop": [0-9]*/s//"flop": 5e-324/' "$source_dir/validation/recordings/rtx_5080/gemm_sweep.json" \
  >"$work/nothing/gemm_sweep.json"
says 2 'flop is 5e-324; allowed: 0, or from 1e-30' --recordings "$work/nothing" --report "$work/names"

# Published tables: a row of an accelerator or an engine that is not known is passed over; cells and
# columns that make no sense are said to be of which tables.
table() {  # <status> <says> <file> <lines...>
  local status=$1 text=$2 file=$3
  shift 3
  rm -rf "$work/tables"
  mkdir "$work/tables"
  printf '%s\n' "$@" >"$work/tables/$file"
  says "$status" "$text" --data "$work/tables"
}
gemms=(aic_gemm_bf16_public.csv gpu,backend,dtype,m,n,k,latency_us H100-SXM5-80GB,vllm-0.1,bfloat16,4096,8192,8192,780)
links=(aic_custom_allreduce_public.csv gpu,version,impl,dtype,num_gpus,bytes,latency_us h200_sxm,vllm/0.14.0,custom,bfloat16,8,4096,40)
table 0 'h100_sxm' "${gemms[@]}"
table 0 'h100_sxm' "${gemms[@]}" H100-SXM5-80GB,other-0.1,bfloat16,4096,8192,8192,780
table 0 'h200_sxm' "${links[@]}"
table 0 'h200_sxm' "${links[@]}" h299,vllm/0.14.0,custom,bfloat16,8,4096,40
table 2 'tables of collectives: bytes is 0; allowed: 1 or more' "${links[@]}" h200_sxm,vllm/0.14.0,custom,bfloat16,8,0,40
table 2 '_public.csv:3: m is "x"; allowed: a number, 1 to 1e15' "${gemms[@]}" H100-SXM5-80GB,vllm-0.1,bfloat16,x,8192,8192,780
table 2 'aic_gemm_bf16_public.csv:1: there is no column m' "${gemms[0]}" gpu,backend,dtype H100-SXM5-80GB,vllm-0.1,bfloat16
finish
