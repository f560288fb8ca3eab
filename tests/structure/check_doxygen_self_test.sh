#!/usr/bin/env bash
# check_doxygen.sh accepts a good comment and an absent one, and refuses malformed ones.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v doxygen >/dev/null || { echo 'skipped: there is no doxygen'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{include,tools/library,docs}
cp "$here/../../docs/Doxyfile" "$work/docs/"

# check <pass|fail> <what> <comment>
check() {
  local result=pass
  printf '/// @file\n\n%s\nint f(int x);\n' "$3" >"$work/include/header.hpp"
  bash "$here/check_doxygen.sh" "$work" >"$work/log" 2>&1 || result=fail
  if [[ $result != "$1" ]]; then
    echo "expected $1: $2"
    cat "$work/log"
    exit 1
  fi
}
check pass 'a good comment' '/// A function of `x<y>`.'
check pass 'no comment' ''
check fail 'an unknown command' '/// A function \nonsense of x.'
check fail 'an unknown tag' '/// A function of x <experts> y.'
check fail 'a parameter that does not exist' '/// A function. @param y a number'
echo 'check_doxygen.sh tells good comments from malformed ones'
