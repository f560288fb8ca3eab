#!/usr/bin/env bash
# What including a header costs: the instructions that GCC's compiler proper executes to parse it,
# against those for <boost/units/quantity.hpp> alone. Counted by cachegrind, so it does not depend on the
# load: two runs differ by about one instruction in a thousand. Fails where a header costs more than
# its limit.
#
#   compile_cost.sh [--bytes] <source folder> [compiler]
#
# --bytes takes the bytes that GCC allocates instead, which it counts itself in no time.
set -euo pipefail

what=instructions
if [[ $1 == --bytes ]]; then
  what=bytes
  shift
fi
root=$1
compiler=${2:-g++}
multiarch=$("$compiler" -print-multiarch 2>/dev/null || true)
cc1plus=$("$compiler" -print-prog-name=cc1plus 2>/dev/null || true)
if [[ $what == bytes ]]; then
  if ! "$compiler" -ftime-report -fsyntax-only -x c++ /dev/null 2>&1 | grep -q '^ *TOTAL .*[kM]$'; then
    echo "compile_cost: skipped: this compiler does not say what it allocates" >&2
    exit 77
  fi
elif ! command -v valgrind >/dev/null || [[ ! -x $cc1plus ]]; then
  echo "compile_cost: skipped: it needs valgrind and GCC" >&2
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

instructions() {
  local source=$work/source.cpp
  echo "#include <$1>" >"$source"
  if ! valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
    "$cc1plus" -quiet -std=c++20 -fsyntax-only ${multiarch:+-imultiarch "$multiarch"} -D_GNU_SOURCE \
    -I "$root/include" "$source" >/dev/null 2>"$work/log"; then
    cat "$work/log" >&2
    return 1
  fi
  awk '/I *refs:/ { gsub(",", "", $NF); print $NF }' "$work/log"
}

bytes() {
  echo "#include <$1>" | "$compiler" -std=c++20 -fsyntax-only -I "$root/include" -ftime-report -x c++ - 2>&1 |
    awk '/^ *TOTAL / { print $NF * ($NF ~ /M$/ ? 1048576 : 1024) }'
}

reference=$("$what" boost/units/quantity.hpp)
printf '%-32s %14s %s\n' "boost/units/quantity.hpp" "$reference" "$what"

status=0
while read -r header instructions_limit bytes_limit; do
  count=$("$what" "$header")
  limit=${what}_limit
  awk -v header="$header" -v count="$count" -v reference="$reference" -v limit="${!limit}" -v what="$what" 'BEGIN {
    ratio = count / reference
    printf "%-32s %14.0f %s, %.2f times (at most %.1f)\n", header, count, what, ratio, limit
    exit !(ratio <= limit)
  }' || status=1
done <<'LIMITS'
perfmodel/roofline.hpp 1.4 1.4
perfmodel/perfmodel.hpp 2 2.2
LIMITS
exit $status
