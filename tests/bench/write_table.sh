#!/usr/bin/env bash
# write_table.sh <page> <rows>: puts the rows in place of those of the page's table of instructions. A row that was
# not counted now stays as it is.
set -euo pipefail
page=$1 rows=$2
temporary=$(mktemp)
trap 'rm -f "$temporary"' EXIT
awk -F'|' '
  NR == FNR { new[$2] = $0; next }
  /^\| instructions of \|/ { inside = 1 }
  inside && !/^\|/ { inside = 0 }
  inside && ($2 in new) { print new[$2]; next }
  { print }
' "$rows" "$page" >"$temporary"
cat "$temporary" >"$page"
