#!/usr/bin/env bash
# check_references.sh <source folder>: what the pages link to exists, and so do the files that pages
# and comments name. The changelog may name what is gone.
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find . -path ./build -prune -o -path ./.git -prune -o -type f -print | sed 's|^\./||' >"$work/files"
find *.md docs examples validation -name '*.md' ! -path validation/reports/published.md >"$work/pages"

status=0
while IFS= read -r page; do
  # [text](target), without what is elsewhere and without #anchors
  while IFS= read -r target; do
    [[ -e $(dirname "$page")/$target ]] || { echo "$page: links to $target"; status=1; }
  done < <(grep -oE '\]\([^) ]+\)' "$page" | sed -E 's/^\]\(//; s/\)$//; s/#.*//' |
    grep -vE '^($|[a-z]+:)' | sort -u)
done <"$work/pages"

# In full or from any folder on: kv_cache.hpp, parallel/link_cost.hpp.
grep -v '^CHANGELOG.md$' "$work/pages" >"$work/readers"
grep -E '^(include|examples|validation)/.*\.(hpp|cpp|cu|cuh)$' "$work/files" >>"$work/readers"
xargs grep -HE '[A-Za-z0-9_]\.hpp\b' <"$work/readers" | grep -vE '#[ \t]*include' |
  grep -oE '^[^:]*:|[A-Za-z0-9_./-]*[A-Za-z0-9_]\.hpp\b' |
  awk '/:$/ { page = $0; next } { sub(/^[.\/]+/, ""); print page, $0 }' | sort -u >"$work/named"
awk '{ print $2 }' "$work/named" | sort -u | while IFS= read -r name; do
  case $name in _* | boost/* | Eigen/* | nlohmann/*) continue ;; esac
  grep -qE "(^|/)${name//./\\.}\$" "$work/files" || echo "$name"
done >"$work/missing"
while IFS= read -r name; do
  awk -v name="$name" '$2 == name { print $1, "names", name }' "$work/named"
  status=1
done <"$work/missing"
[[ $status -ne 0 ]] || echo "$(wc -l <"$work/pages") pages: every link and every file exists"
exit "$status"
