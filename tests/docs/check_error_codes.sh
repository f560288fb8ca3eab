#!/usr/bin/env bash
# check_error_codes.sh <source folder>: docs/errors.md has each code of core/error.hpp and of napkin once, by its
# number and its name, and an error text of each code that a command can show.
set -euo pipefail
cd "$1"
page=docs/errors.md
status=0
codes=$(sed -nE 's/^ *([a-z_]+) = ([0-9]+),.*/\2 \1/p' include/perfmodel/core/error.hpp
  sed -nE 's/.*error_code ([a-z_]+)\{([0-9]+)\};.*/\2 \1/p' tools/napkin/io/codes.hpp)
while read -r number name; do
  code=$(printf 'PM-E%03d' "$number")
  rows=$(grep -c "^| $code | \`$name\` |" "$page" || true)
  [[ $rows -eq 1 ]] || { echo "$page: $rows rows of $code, \`$name\`"; status=1; }
  grep -qE "(napkin: |\"|^)$code" "$page" || { echo "$page: no text of $code"; status=1; }
done <<<"$codes"
while read -r code; do
  grep -q "^$((10#${code#PM-E})) " <<<"$codes" || { echo "$page: $code is no code"; status=1; }
done < <(grep -oE 'PM-E[0-9]{3}' "$page" | sort -u)
[[ $status -ne 0 ]] || echo "$(wc -l <<<"$codes") error codes, each in a row and with a text"
exit "$status"
