#!/usr/bin/env bash
# tests/mutation/run.sh [--sample N] [--seed N] [--jobs N] [header ...]: breaks formulas one place at a time and
# asks the smallest tests that cover them. A mutant is killed where a static test no longer compiles, a unit or
# property test fails, or the program does not end; the others are printed, with a score for each header.
# Headers are given under include/perfmodel, `littles_law.hpp`; without any, all that tests.txt or a name maps to
# a test. Without --sample all mutants of a header are tried: a minute of a core for each ten.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
compiler=${CXX:-g++}
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
      [[ -f $root/include/perfmodel/$1 ]] || { echo "mutation: $1: no header of include/perfmodel" >&2; exit 2; }
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
  done < <(cd "$root/include/perfmodel" && find . -name '*.hpp' -not -path '*/catalog/*' | sed 's|^\./||' | sort)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 -O0 -w -isystem /usr/include/eigen3 -I"$root/tests" "-DPERFMODEL_SOURCE_DIR=\"$root\"")

# passes <include folder in front> <test> <program>: does the test pass? Nothing beside the repository is read.
passes() {
  local front=$1 test=$2 program=$3
  local compile=("$compiler" "${flags[@]}" -I"$front" -I"$root/include" "$root/tests/$test")
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

# try <header> <number> <line> <from> <length> <replacement> <kind>: prints "killed" or the surviving mutant.
try() {
  local header=$1 number=$2 line=$3 from=$4 length=$5 replacement=$6 kind=$7
  local front=$work/$number test
  mkdir -p "$front/perfmodel/$(dirname "$header")"
  awk -v line="$line" -v from="$from" -v length_of="$length" -v with="$replacement" '
    NR == line { $0 = substr($0, 1, from - 1) with substr($0, from + length_of) }
    { print }' "$root/include/perfmodel/$header" >"$front/perfmodel/$header"
  while IFS= read -r test; do
    if ! passes "$front" "$test" "$front/program"; then
      echo "killed $header $line ${test%%/*}"
      sound "$test"
      rm -rf "$front"
      return
    fi
  done < <(tests_of "$header")
  local survivor
  survivor="survived $header:$line: $kind: $(sed -n "${line}p" "$front/perfmodel/$header" | sed 's/^ *//')"
  echo "$survivor"
  echo "$survivor" >&2
  rm -rf "$front"
}

number=0
for header in "${headers[@]}"; do
  awk -f "$here/mutants.awk" "$root/include/perfmodel/$header" | sed "s|^|$header\t|"
done | awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort -n | cut -f 2- |
  { if [[ $sample -gt 0 ]]; then head -n "$sample" || true; cat >/dev/null; else cat; fi; } >"$work/mutants"

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

grep '^survived' "$work/results" | sort || true
awk '{ split($2, part, ":"); all[part[1]]++; if ($1 == "killed") killed[part[1]]++ }
  END { for (h in all) { printf "%-40s %5d of %5d killed\n", h, killed[h], all[h]; k += killed[h]; n += all[h] }
    if (n) printf "%-40s %5d of %5d killed: %.1f %%\n", "all", k, n, 100 * k / n }' "$work/results" | sort
