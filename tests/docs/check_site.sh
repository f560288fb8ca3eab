#!/usr/bin/env bash
# check_site.sh <source folder>: the site builds without a warning of MkDocs and without a dead link. Skipped
# without MkDocs and its Material theme. The API reference is check_reference.sh's.
set -euo pipefail
if ! mkdocs build --help 2>/dev/null | grep -q '[[|]material[]|]'; then
  echo 'skipped: there is no mkdocs, or no mkdocs-material'
  exit 77
fi
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bash "$1/docs/site/build.sh" "$work/site" "$work/work" --without-reference
