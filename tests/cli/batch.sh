#!/usr/bin/env bash
# A batch streams: any number of lines, in order, in the same memory, one answer as soon as it is due.
. "$(dirname "$0")/lib.bash"
# What the address sanitizer keeps of freed memory is not the program's.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1:malloc_context_size=0"

requests() { # <how many>
  awk -v n="$1" 'BEGIN { for (i = 1; i <= n; ++i)
    printf "{\"query\":\"gemm\",\"id\":%d,\"accelerator\":\"h100_sxm\",\"m\":%d,\"n\":8192,\"k\":8192,\"format\":\"bf16\"}\n", i, i % 4096 + 1 }'
}

# Peak memory: the program keeps running after the last answer, until its input ends.
peak_kib() { # <how many lines>
  local from to pid peak="" last
  coproc TOOL { exec "$napkin" batch; }
  pid=$TOOL_PID
  exec {to}>&"${TOOL[1]}" {from}<&"${TOOL[0]}"
  requests "$1" >&"$to" &
  last=$(timeout 120 head -n "$1" <&"$from" | awk '{ reply = $0 } END { print NR, reply }')
  peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
  exec {to}>&- {from}<&-
  eval "exec ${TOOL[1]}>&-" 2>/dev/null
  wait "$pid" 2>/dev/null
  echo "${last%% *} ${peak:-0} $(grep -o '"id":[0-9]*' <<<"$last")"
}

lines=100000 later=20000
if [[ $sanitized ]]; then lines=5000 later=3000; fi  # a hundred times as slow
answers=$(mktemp)
trap 'rm -f "$answers"' EXIT
requests $lines | "$napkin" batch >"$answers" || fail "exit status $? of a batch without errors"
read -r count ordered < <(awk -F'[:,]' '{ if ($2 == NR) ++ordered } END { print NR, ordered }' "$answers")
[[ $count -eq $lines && $ordered -eq $lines ]] || fail "$count answers, $ordered of them in place, not $lines"
# Line 4095: m is 4096.
near 'flop of line 4095' "$(number "$(sed -n 4095p "$answers")" flop)" $((2 * 4096 * 8192 * 8192)) 0

# An answer comes before the next request has to: the input here stays open, and two minutes have to do.
read -r small first _ < <(peak_kib 10)
[[ $small -eq 10 ]] || fail "only $small of 10 answers came before the input ended"
read -r large second id < <(peak_kib $later)
[[ $large -eq $later && $id == "\"id\":$later" ]] || fail "only $large of $later answers came, the last one $id"
room=4096
if [[ $sanitized ]]; then room=32768; fi  # a sanitizer's own tables grow with the work
if [[ $first -gt 0 && $second -gt $((first + room)) ]]; then
  fail "$later lines take $second KiB at their peak, 10 take $first KiB"
fi

# The last line needs no end; Windows ends are fine; no input is no error.
[[ $(requests 1 | tr -d '\n' | "$napkin" batch | wc -l) -eq 1 ]] || fail 'the last line without its end'
[[ $(requests 1 | sed 's/$/\r/' | "$napkin" batch) == '{"id":1,"time_s"'* ]] || fail 'a line that ends in CR LF'
out=$("$napkin" batch </dev/null) && [[ -z $out ]] || fail 'no input'

# The command line and a batch answer alike.
one=$("$napkin" gemm --id 7 --accelerator h100_sxm --m 3 --n 5 --k 7 --json)
other=$(echo '{"query":"gemm","id":7,"accelerator":"h100_sxm","m":3,"n":5,"k":7}' | "$napkin" batch)
[[ $one == "$other" ]] || fail "command line: $one; batch: $other"
finish
