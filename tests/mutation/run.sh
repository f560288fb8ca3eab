#!/usr/bin/env bash
# tests/mutation/run.sh [--sample N] [--seed N] [--jobs N] [header ...]: breaks formulas one place at a time and
# asks the smallest tests that cover them. A mutant is killed where a static test no longer compiles, a unit or
# property test fails, or the program does not end; the others are printed, with a score for each header.
# Headers are given as they are included, without perfmodel/: `laws/roofline.hpp`; without any, all that tests.txt or a name maps to
# a test. Without --sample all mutants of a header are tried: a minute of a core for each ten.
#
# A mutant that changes nothing a caller can see is no survivor: survivors.txt lists these, one line each,
#   header | the mutated line as the run prints it, without the indent | reason
# such as "queueing.hpp | if (wait <= 0.0) return {}; | at 0 both branches are 0". It is named by its text, not
# by its line number: equal lines of a header are one entry. They are printed with their reason and counted apart.
# An entry that a test kills, or that no mutant of its header is any more, is printed too: delete it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
compiler=${CXX:-g++}
# path_of <header>: its file, of the core or of the tools.
path_of() {
  local folder
  for folder in include tools/library; do
    if [[ -f $root/$folder/perfmodel/$1 ]]; then echo "$root/$folder/perfmodel/$1"; fi
  done
}

sample=0 seed=1 jobs=$(nproc) headers=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --sample | --seed | --jobs)
      [[ ${2:-} =~ ^[0-9]+$ ]] || { echo "mutation: $1: how many?" >&2; exit 2; }
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    -*) echo "mutation: $1: not an option; there are --sample N, --seed N and --jobs N" >&2; exit 2 ;;
    *)
      [[ -n $(path_of "$1") ]] || { echo "mutation: $1: no header of the library" >&2; exit 2; }
      headers+=("$1")
      ;;
  esac
  shift
done

# tests_of <header>: its tests by tests.txt, those that have its name, and what includes it of static and unit.
tests_of() {
  local stem suite
  stem=$(basename "$1" .hpp)
  {
    awk -v header="$1" '$1 == header { for (i = 2; i <= NF; i++) print $i }' "$here/tests.txt"
    for suite in static unit property; do
      if [[ -f $root/tests/$suite/$stem.cpp ]]; then echo "$suite/$stem.cpp"; fi
    done
    (cd "$root/tests" && grep -lF "<perfmodel/$1>" static/*.cpp unit/*.cpp) || true
  } | awk '!seen[$0]++ { print (/^static/ ? 0 : /^unit/ ? 1 : 2), $0 }' | sort -s -n -k1,1 | cut -d ' ' -f 2
}

if [[ ${#headers[@]} -eq 0 ]]; then
  while IFS= read -r header; do
    [[ -z $(tests_of "$header") ]] || headers+=("$header")
  done < <(find "$root"/{include,tools/library}/perfmodel -name '*.hpp' -not -path '*/catalog/*' -printf '%P\n' | sort)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What is read beyond the end of an array or a list ends the program, as a sanitizer would.
flags=(-std=c++20 -O0 -w -D_GLIBCXX_ASSERTIONS -isystem /usr/include/eigen3 -I"$root/tests" "-DPERFMODEL_SOURCE_DIR=\"$root\"")

# What no mutant changes is parsed once.
printf '#include <%s>\n' catch2/catch_test_macros.hpp catch2/matchers/catch_matchers_floating_point.hpp \
  boost/units/quantity.hpp Eigen/Dense >"$work/before.hpp"
"$compiler" "${flags[@]}" -x c++-header "$work/before.hpp" -o "$work/before.hpp.gch"
flags+=(-include "$work/before.hpp")

# passes <include folder in front> <test> <program>: does the test pass? Nothing beside the repository is read.
passes() {
  local front=$1 test=$2 program=$3
  local compile=("$compiler" "${flags[@]}" -I"$front" -I"$root/include" -I"$root/tools/library" "$root/tests/$test")
  if [[ $test == static/* ]]; then
    timeout 120 "${compile[@]}" -fsyntax-only >/dev/null 2>&1
  else
    timeout 300 "${compile[@]}" -o "$program" -lCatch2Main -lCatch2 >/dev/null 2>&1 &&
      PERFMODEL_SHARED=/nonexistent timeout 120 "$program" --allow-running-no-tests '~[shared]' >/dev/null 2>&1
  fi
}

# A test that does not pass as it is would kill everything: it is asked once, after its first kill.
sound() {
  local mark=$work/sound.${1//\//_}
  [[ ! -e $mark ]] || return 0
  passes "$root/include" "$1" "$mark.$BASHPID" || echo "$1" >>"$work/broken"
  : >"$mark"
}

# Mutants are one a line: header, line, from, length, replacement, kind. mutated_lines prints, for mutants on
# standard input, the header and the line with the mutant in it, without the indent.
mutated_lines() {
  awk -F'\t' -v OFS='\t' -v core="$root/include/perfmodel/" -v tools="$root/tools/library/perfmodel/" '
    !seen[$1]++ { read_lines(core $1); read_lines(tools $1) }
    { s = line[$1, $2]; s = substr(s, 1, $3 - 1) $5 substr(s, $3 + $4); sub(/^ */, "", s); print $1, s }
    function read_lines(file,   n, text) {
      for (n = 1; (getline text <file) > 0; n++) line[$1, n] = text
      close(file)
    }'
}

# reason_of <header> <mutated line>: why survivors.txt says that it is equivalent; nothing where it is not listed.
reason_of() {
  HEADER=$1 LINE=$2 awk -F ' [|] ' '
    $1 == ENVIRON["HEADER"] {
      line = $0; sub(/^[^|]* [|] /, "", line); sub(/ [|] [^|]*$/, "", line)
      if (line == ENVIRON["LINE"]) { print $NF; exit } }' "$here/survivors.txt"
}

# try <header> <number> <line> <from> <length> <replacement> <kind>: "killed", "equivalent" or "survived".
try() {
  local header=$1 number=$2 line=$3 from=$4 length=$5 replacement=$6 kind=$7
  local front=$work/$number test mutated reason
  mkdir -p "$front/perfmodel/$(dirname "$header")"
  awk -v line="$line" -v from="$from" -v length_of="$length" -v with="$replacement" '
    NR == line { $0 = substr($0, 1, from - 1) with substr($0, from + length_of) }
    { print }' "$(path_of "$header")" >"$front/perfmodel/$header"
  mutated=$(sed -n "${line}p" "$front/perfmodel/$header" | sed 's/^ *//')
  reason=$(reason_of "$header" "$mutated")
  while IFS= read -r test; do
    if ! passes "$front" "$test" "$front/program"; then
      echo "killed $header $line ${test%%/*}"
      [[ -z $reason ]] || echo "mutation: killed, though survivors.txt has it: $header | $mutated" >&2
      sound "$test"
      rm -rf "$front"
      return
    fi
  done < <(tests_of "$header")
  if [[ -n $reason ]]; then
    echo "equivalent $header:$line: $mutated: $reason"
  else
    echo "survived $header:$line: $kind: $mutated"
    echo "survived $header:$line: $kind: $mutated" >&2
  fi
  rm -rf "$front"
}

for header in "${headers[@]}"; do
  awk -f "$here/mutants.awk" "$(path_of "$header")" | sed "s|^|$header\t|"
done >"$work/all"
awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' "$work/all" | sort -n | cut -f 2- |
  { if [[ $sample -gt 0 ]]; then head -n "$sample" || true; cat >/dev/null; else cat; fi; } >"$work/mutants"

# Entries of survivors.txt for these headers that are no mutant any more.
mutated_lines <"$work/all" | sed 's/\t/ | /' >"$work/lines"
HEADERS="${headers[*]}" awk -F ' [|] ' '
  BEGIN { n = split(ENVIRON["HEADERS"], h, " "); for (i = 1; i <= n; i++) asked[h[i]] = 1 }
  NR == FNR { here[$0] = 1; next }
  /^#/ || !($1 in asked) { next }
  { entry = $0; sub(/ [|] [^|]*$/, "", entry) }
  !(entry in here) { print "mutation: no mutant any more, though survivors.txt has it: " entry }
  ' "$work/lines" "$here/survivors.txt" >&2

number=0
while IFS=$'\t' read -r header line from length replacement kind; do
  number=$((number + 1))
  while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do wait -n || true; done
  try "$header" "$number" "$line" "$from" "$length" "$replacement" "$kind" >"$work/result.$number" &
done < <(awk -F'\t' -v OFS='\t' '{ if ($5 == "") $5 = " "; print }' "$work/mutants")
wait
if [[ -s $work/broken ]]; then
  sort -u "$work/broken" | sed 's|^|mutation: fails without any mutant: tests/|' >&2
  exit 2
fi
cat "$work"/result.* >"$work/results" 2>/dev/null || true

grep -E '^(equivalent|survived)' "$work/results" | sort || true
awk '
  function score(name, k, e, n) {
    printf "%-40s %5d killed %4d equivalent %4d survived of %5d\n", name, k, e, n - k - e, n
  }
  { split($2, part, ":"); all[part[1]]++; count[$1, part[1]]++; n++; total[$1]++ }
  END {
    for (h in all) score(h, count["killed", h], count["equivalent", h], all[h])
    if (n) score("all", total["killed"], total["equivalent"], n)
    if (n > total["equivalent"])
      printf "%-40s %5.1f %% of those that can be\n", "all killed", 100 * total["killed"] / (n - total["equivalent"])
  }' "$work/results" | sort
