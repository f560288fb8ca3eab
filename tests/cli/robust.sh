#!/usr/bin/env bash
# napkin among pipes, disks and processes that fail: what it says, how it ends, what it leaves and what it takes.
#   robust.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"

scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
line='{"query":"gemm","accelerator":"h100_sxm","m":4096,"n":4096,"k":4096}'
yes "$line" | head -n 20000 >"$scratch/many.jsonl"
own_times >"$scratch/times"
table_of "$scratch/times" latency_us 1e6 >"$scratch/us.csv"

# A reader that goes ends napkin by SIGPIPE, as it ends others; where that is ignored, it is an error.
"$napkin" batch <"$scratch/many.jsonl" | head -n 1 >/dev/null
status=${PIPESTATUS[0]}
[[ $status -eq 141 ]] || fail "a pipe closed by its reader: status $status, not 141"
(
  trap '' PIPE
  "$napkin" batch <"$scratch/many.jsonl" 2>"$scratch/said" | head -n 1 >/dev/null
  [[ ${PIPESTATUS[0]} -eq 2 ]]
) || fail 'a closed pipe, SIGPIPE ignored, is no error'
[[ $(wc -l <"$scratch/said") -eq 1 ]] || fail "a closed pipe: says '$(head -c 300 "$scratch/said")', not one line"

# Output that is closed or full is an error of one line; so is input that is closed.
"$napkin" gpus >&- 2>"$scratch/said"
[[ $? -eq 2 && $(wc -l <"$scratch/said") -eq 1 ]] || fail "closed stdout: '$(cat "$scratch/said")'"
"$napkin" gpus >/dev/full 2>&1 && fail 'a full disk is no error'
"$napkin" batch <"$scratch/many.jsonl" >/dev/full 2>"$scratch/said"
[[ $? -eq 2 && $(wc -l <"$scratch/said") -eq 1 ]] || fail "batch to a full disk: '$(cat "$scratch/said")'"
"$napkin" gpus >&- 2>&-
[[ $? -eq 2 ]] || fail 'closed stdout and stderr'
"$napkin" batch <&- >"$scratch/out" 2>"$scratch/said"
[[ $? -ne 139 ]] || fail 'closed stdin'

# A FIFO is read as it comes: each answer is there before the next request is.
mkfifo "$scratch/to" "$scratch/from"
"$napkin" batch <"$scratch/to" >"$scratch/from" &
pid=$!
exec 3>"$scratch/to" 4<"$scratch/from"
for i in 1 2 3; do
  echo "$line" >&3
  IFS= read -r -t 20 answer <&4 || fail "a request through a FIFO has no answer before the next, $i"
  [[ $answer == *time_s* ]] || fail "through a FIFO: '$answer'"
done
# SIGTERM ends it at once.
kill "$pid"
wait "$pid"
status=$?
[[ $status -eq 143 ]] || fail "SIGTERM: status $status, not 143"
exec 3>&- 4<&-
# A FIFO in place of a file is refused, and not waited for.
refuses PM-E040 kv_capacity --accelerator h100_sxm --model "$scratch/to"

# A gigabyte in one line is refused in little memory, and the next line is answered. The address sanitizer has
# addresses and tables of its own, and is a hundred times as slow.
length=1000000000 writers=8
if [[ $sanitized -eq 1 ]]; then length=20000000 writers=3; fi
(
  [[ $sanitized -eq 1 ]] || ulimit -v 2000000
  { head -c "$length" /dev/zero | tr '\0' x; echo; echo "$line"; } | "$napkin" batch >"$scratch/out"
)
[[ $(head -n 1 "$scratch/out") == *'longer than 1 MiB'* ]] || fail "a gigabyte: '$(head -c 300 "$scratch/out")'"
[[ $(sed -n 2p "$scratch/out") == *time_s* ]] || fail 'the line after a gigabyte has no answer'
# Memory does not grow with the number of lines.
kilobytes() {  # <lines>: the most that napkin held
  yes "$line" | head -n "$1" | "$napkin" batch >/dev/null &
  local most=0 now pid=$!
  while now=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [[ -n $now ]]; do most=$now; done
  echo "$most"
}
if [[ $sanitized -eq 0 && -r /proc/self/status ]]; then
  few=$(kilobytes 2000) many=$(kilobytes 20000)
  [[ $many -lt $((few + 4096)) ]] || fail "2,000 lines took $few kB, 20,000 $many"
fi

# Many processes write one profile: it is whole, one of theirs, and nothing is left beside it.
pids=()
mkdir "$scratch/shared"
for ((i = 0; i < writers; i++)); do
  "$napkin" calibrate --accelerator h100_sxm --data "$scratch/us.csv" --out "$scratch/shared/p.json" >/dev/null 2>>"$scratch/errors" &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  wait "$pid" || fail "one of several calibrations failed: $(cat "$scratch/errors")"
done
"$napkin" gemm --accelerator h100_sxm --m 64 --n 64 --k 64 --profile "$scratch/shared/p.json" >/dev/null ||
  fail 'the profile that several processes wrote is not whole'
[[ $(ls -A "$scratch/shared") == p.json ]] || fail "left beside a profile: $(ls -A "$scratch/shared")"
# A full disk leaves the profile as it was, and nothing beside it.
cp "$scratch/shared/p.json" "$scratch/keep.json"
(
  trap '' XFSZ
  ulimit -f 1
  "$napkin" calibrate --accelerator h100_sxm --data "$scratch/us.csv" --out "$scratch/shared/p.json" >/dev/null 2>"$scratch/said"
) && fail 'a profile that does not fit is no error'
cmp -s "$scratch/keep.json" "$scratch/shared/p.json" || fail 'a profile that does not fit lost the old one'
[[ $(ls -A "$scratch/shared") == p.json ]] || fail "a profile that does not fit left $(ls -A "$scratch/shared")"

# Nothing is written but what is asked for: a home and a folder that may not be written to change nothing.
mkdir "$scratch/home"
chmod a-w "$scratch/home"
(cd "$scratch/home" && HOME=$scratch/home "$napkin" gemm --accelerator h100_sxm --m 64 --n 64 --k 64 >/dev/null) ||
  fail 'a read-only home'
env -i "$napkin" gpus >/dev/null || fail 'no environment at all'
[[ -z $(ls -A "$scratch/home") ]] || fail "left in the home: $(ls -A "$scratch/home")"

# Twenty at once, each with its own answers.
for i in $(seq 20); do "$napkin" batch <<<"${line/4096/$((i * 64))}" >"$scratch/answer.$i" & done
wait
for i in $(seq 20); do
  [[ $(cat "$scratch/answer.$i") == *time_s* ]] || fail "one of twenty at once: $(cat "$scratch/answer.$i")"
done
finish
