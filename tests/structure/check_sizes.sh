#!/usr/bin/env bash
# check_sizes.sh <source folder>: no function is longer than 60 lines, and no public header than 400;
# headers over 250 lines are listed. Catalogues are tables, and left out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"

mapfile -t files < <(find include tools/library tools/napkin validation/compare tools/fit \
  \( -name '*.hpp' -o -name '*.cpp' \) ! -path '*/catalog/*' | LC_ALL=C sort)
if [[ ${#files[@]} -eq 0 ]]; then
  echo "nothing to read in $1"
  exit 1
fi
functions=$(awk -f "$here/function_lengths.awk" "${files[@]}")
status=0

long=$(awk '$1 > 60 { printf "  %s lines: %s in %s\n", $1, $3, $2 }' <<<"$functions" | sort -k1,1nr)
if [[ -e $here/long_functions.txt ]]; then  # those that are known, by name
  long=$(grep -vFf <(sed 's/.*/: &:/' "$here/long_functions.txt") <<<"$long" || true)
fi
if [[ -n $long ]]; then
  printf 'functions over 60 lines:\n%s\n' "$long"
  status=1
fi

for file in "${files[@]}"; do
  lines=$(wc -l <"$file")
  if [[ $file == @(include|tools/library)/* && $lines -gt 400 ]]; then
    echo "$file has $lines lines: split it"
    status=1
  elif [[ $file == *.hpp && $lines -gt 250 ]]; then
    echo "note: $file has $lines lines"
  fi
done
echo "$(wc -l <<<"$functions") functions in ${#files[@]} files"
exit "$status"
