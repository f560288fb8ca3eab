#!/usr/bin/env bash
# What including a header costs: the instructions that GCC's compiler proper executes to parse it,
# against those for <boost/units/quantity.hpp> alone. Counted by cachegrind, so it does not depend on the
# load: two runs differ by about one instruction in a thousand. Fails where a header costs more than
# its limit.
#
#   compile_cost.sh <source folder> [compiler]
set -euo pipefail

root=$1
compiler=${2:-g++}
multiarch=$("$compiler" -print-multiarch 2>/dev/null || true)
cc1plus=$("$compiler" -print-prog-name=cc1plus 2>/dev/null || true)
if ! command -v valgrind >/dev/null || [[ ! -x $cc1plus ]]; then
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

reference=$(instructions boost/units/quantity.hpp)
printf '%-32s %14s instructions\n' "boost/units/quantity.hpp" "$reference"

status=0
while read -r header limit; do
  count=$(instructions "$header")
  awk -v header="$header" -v count="$count" -v reference="$reference" -v limit="$limit" 'BEGIN {
    ratio = count / reference
    printf "%-32s %14.0f instructions, %.2f times (at most %.1f)\n", header, count, ratio, limit
    exit !(ratio <= limit)
  }' || status=1
done <<'LIMITS'
perfmodel/roofline.hpp 1.4
perfmodel/perfmodel.hpp 3
LIMITS
exit $status
