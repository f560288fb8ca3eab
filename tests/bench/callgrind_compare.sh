#!/usr/bin/env bash
# Compares the instructions (Ir, counted by callgrind) that two runs execute, and fails where the
# first takes more than the tolerance above the second.
#
#   callgrind_compare.sh [options] <program> <mode> <mode>   one program, run as `program mode`
#   callgrind_compare.sh [options] <program> <program>
#
#   --tolerance <percent>   2 by default
#   --baseline <mode>       subtract the instructions of `program mode`: the start-up, which both
#                           runs share and which would hide a difference
set -euo pipefail

tolerance=2
baseline=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --tolerance) tolerance=$2 ;;
    --baseline) baseline=$2 ;;
    *) echo "callgrind_compare.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done

if ! command -v valgrind >/dev/null; then
  echo "callgrind_compare.sh: valgrind is not installed" >&2
  exit 2
fi

instructions() {
  local log count
  log=$(mktemp)
  if ! valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >/dev/null 2>"$log"; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  count=$(awk '/Collected *:/ { print $NF }' "$log")
  rm -f "$log"
  echo "$count"
}

case $# in
  2) first=("$1") second=("$2") ;;
  3) first=("$1" "$2") second=("$1" "$3") ;;
  *) echo "usage: callgrind_compare.sh [--tolerance percent] [--baseline mode] program [mode] mode|program" >&2; exit 2 ;;
esac

a=$(instructions "${first[@]}")
b=$(instructions "${second[@]}")
empty=0
if [[ -n $baseline ]]; then
  empty=$(instructions "$1" "$baseline")
fi

awk -v a="$a" -v b="$b" -v empty="$empty" -v tolerance="$tolerance" \
  -v first="${first[*]##*/}" -v second="${second[*]##*/}" 'BEGIN {
  a -= empty
  b -= empty
  if (a <= 0 || b <= 0) {
    print "callgrind_compare.sh: nothing was executed above the baseline" > "/dev/stderr"
    exit 2
  }
  ratio = a / b
  printf "%-36s %14.0f instructions\n", first, a
  printf "%-36s %14.0f instructions\n", second, b
  printf "ratio %.4f (at most %.4f)\n", ratio, 1 + tolerance / 100
  exit !(ratio <= 1 + tolerance / 100)
}'
