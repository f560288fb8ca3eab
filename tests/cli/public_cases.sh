#!/usr/bin/env bash
# Public cases of models, chips and engines that no law or profile was made with, as a log or a page states them
# (tests/data/public_cases.tsv; files of models outside the catalogue, public_models.tsv). A case is right where all
# its checks hold: `key=value~tolerance`, or `key<>measured~half a unit of its last digit` for a time inside the 80 %
# interval. The count of right cases may not fall.
# public_cases.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
[[ -z $sanitized ]] || { echo 'skipped: services take too long under a sanitizer'; exit 77; }
least=30
data=$source_dir/tests/data
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

tail -n +2 "$data/public_models.tsv" | while IFS=$'\t' read -r name fields; do
  echo "$fields" >"$scratch/$name.json"
done

# holds <check>: whether the answer in $json has it
holds() {
  local key value tolerance ends
  if [[ $1 == *'<>'* ]]; then
    key=${1%%<>*}
    IFS='~' read -r value tolerance <<<"${1#*<>}"
    [[ $key == time ]] && key=interval_80_s || key=${key}_interval_80_s
    ends=$(sed -nE "s/.*\"$key\":\[([^],]*),([^],]*)\].*/\1 \2/p" <<<"$json")
    awk -v m="$value" -v r="${tolerance:-0}" -v ends="$ends" \
      'BEGIN { exit !(split(ends, x, " ") == 2 && x[1] - r <= m && m <= x[2] + r) }'
  else
    IFS='=~' read -r key value tolerance <<<"$1"
    awk -v a="$(number "$json" "$key")" -v e="$value" -v t="$tolerance" \
      'BEGIN { d = a - e; exit !(a != "" && (d < 0 ? -d : d) <= t) }'
  fi
}

right=0
total=0
while IFS=$'\t' read -r -u 3 n source kind asked query checks; do
  total=$((total + 1))
  read -ra words <<<"${query//@/$scratch/}"
  for i in "${!words[@]}"; do [[ ${words[i]} == "$scratch"/* ]] && words[i]+=.json; done
  if ! json=$("$napkin" "${words[@]}" --json 2>&1); then
    echo "case $n ($kind): $asked: $json"
    continue
  fi
  missed=
  for check in $checks; do
    holds "$check" || missed+=" $check (said $(number "$json" "${check%%[=<]*}"))"
  done
  [[ -z $missed ]] && right=$((right + 1)) || echo "case $n ($kind): $asked:$missed"
done 3< <(tail -n +2 "$data/public_cases.tsv")

echo "$right of $total right"
[[ $total -eq $(($(wc -l <"$data/public_cases.tsv") - 1)) ]] || fail 'not all cases were asked'
[[ $right -ge $least ]] || fail "$right cases are right, fewer than $least"
finish
