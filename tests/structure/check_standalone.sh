#!/usr/bin/env bash
# check_standalone.sh <include folder> <list of headers> <jobs> <compiler> <flags...>: each header of the list, one a
# line, compiles as the first that a source includes.
#
# A compiler reads Boost.Units and the JSON library again for each source, so there are fewer sources than headers.
# Where b includes a, a source that includes a and then b asks of b what one of b alone would: whatever came before
# it, b includes too. A source holds a chain of such headers, and has precompiled what its first header includes of
# those two. A header of perfmodel/ that the list lacks stands for Boost.Units.
set -euo pipefail
include=$1
list=$2
jobs=$3
shift 3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t headers <"$list"
cd "$include"

heavy='boost/units/quantity.hpp nlohmann/json.hpp'
awk -v work="$work" -v heavy="$heavy" '
  FNR == 1 { header[++headers] = FILENAME; listed[FILENAME] }
  /^ *# *include *[<"]/ { split($0, part, /[<">]/); direct[FILENAME] = direct[FILENAME] " " part[2] }
  # Counts what `from` includes, and itself, for `of`.
  function reach(of, from,   list, n, i) {
    if ((of, from) in included) return
    included[of, from] = 1
    if (from ~ /^perfmodel\// && !(from in listed)) included[of, "boost/units/quantity.hpp"] = 1
    size[of]++
    n = split(direct[from], list, " ")
    for (i = 1; i <= n; i++) reach(of, list[i])
  }
  END {
    for (i = 1; i <= headers; i++) reach(header[i], header[i])
    # By size: what a header includes comes before it. Each goes behind the largest last one that it includes.
    for (i = 2; i <= headers; i++)
      for (j = i; j > 1 && size[header[j]] < size[header[j - 1]]; j--) {
        swap = header[j]; header[j] = header[j - 1]; header[j - 1] = swap
      }
    for (i = 1; i <= headers; i++) {
      best = 0
      for (j = 1; j <= chains; j++)
        if ((header[i], last[j]) in included && (!best || size[last[j]] > size[last[best]])) best = j
      if (!best) {
        best = ++chains
        with[best] = "with"
        for (h = 1; h <= split(heavy, large, " "); h++)
          if ((header[i], large[h]) in included) with[best] = with[best] "." h
      }
      last[best] = header[i]
      print "#include <" header[i] ">" > (work "/" with[best] "_" best ".cpp")
    }
    printf "%d headers in %d sources\n", headers, chains
  }
' "${headers[@]}"

read -ra large <<<"$heavy"
for kind in $(find "$work" -name '*.cpp' -printf '%f\n' | sed 's/_.*//' | sort -u); do
  include_first=()
  if [[ $kind != with ]]; then
    for h in ${kind//[a-z.]/ }; do echo "#include <${large[h - 1]}>"; done >"$work/$kind.hpp"
    "$@" -x c++-header "$work/$kind.hpp" -o "$work/$kind.hpp.gch"
    include_first=(-include "$work/$kind.hpp")
  fi
  find "$work" -name "${kind}_*.cpp" -print0 |
    xargs -0 -n 1 -P "$jobs" "$@" -I . "${include_first[@]}" -fsyntax-only
done
