#!/usr/bin/env bash
# compare scores the published measurements.
. "$(dirname "$0")/lib.bash"
compare=$(dirname "$napkin")/../../validation/compare/compare
if [[ ! -x $compare ]]; then
  echo 'skipped: validation/compare is not built'
  exit 77
fi
needs_measurements

out=$("$compare" --data "$measured" 2>&1) || fail "compare --data: exit status $?: $out"
[[ $out == *'Whole services'* ]] || fail "compare --data: no score of whole services: $out"
finish
