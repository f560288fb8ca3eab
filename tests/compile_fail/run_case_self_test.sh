#!/usr/bin/env bash
# run_case_self_test.sh <compiler>: run_case.sh accepts a good case and refuses each kind of bad one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compiler=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check <pass|fail> <what>, the case on standard input
check() {
  cat >"$work/case.cpp"
  local result=pass
  bash "$here/run_case.sh" "$work/case.cpp" gcc "$compiler" -std=c++20 -Wall >"$work/log" 2>&1 || result=fail
  if [[ $result != "$1" ]]; then
    echo "expected $1: $2"
    cat "$work/log"
    exit 1
  fi
}

check pass 'fails with the message, the twin compiles' <<'CASE'
// expect: bytes are not seconds
// expect-gcc: static assertion|static_assert
#ifdef MUST_FAIL
static_assert(false, "bytes are not seconds");
#else
static_assert(true, "bytes are not seconds");
#endif
CASE
check fail 'another message' <<'CASE'
// expect: bytes are not seconds
// expect: joules
#ifdef MUST_FAIL
static_assert(false, "bytes are not seconds");
#else
#endif
CASE
check fail 'compiles where it must not' <<'CASE'
// expect: error
#ifdef MUST_FAIL
#else
#endif
CASE
check fail 'the twin does not compile' <<'CASE'
// expect: error
#ifdef MUST_FAIL
error
#else
error
#endif
CASE
check fail 'the twin has a warning' <<'CASE'
// expect: error
#ifdef MUST_FAIL
error
#else
#warning the twin has a warning
#endif
CASE
check fail 'no expectation' <<'CASE'
#ifdef MUST_FAIL
error
#else
#endif
CASE
check fail 'no twin' <<'CASE'
// expect: error
error
CASE
long=$(for i in {1..26}; do echo "static_assert(false, \"$i\");"; done)
check fail 'the message is too long' <<CASE
// expect: "?1"?
#ifdef MUST_FAIL
$long
#else
#endif
CASE
check pass 'a longer message is allowed' <<CASE
// expect: "?1"?
// lines: 40
#ifdef MUST_FAIL
$long
#else
#endif
CASE
check fail 'the cause stands too late' <<CASE
// expect: failed: 9
// lines: 40
#ifdef MUST_FAIL
$long
#else
#endif
CASE
