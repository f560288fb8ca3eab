#!/usr/bin/env bash
# run_case.sh <case.cpp> <gcc|clang> <compiler> <flags...>
# PERFMODEL_PRECOMPILED names a folder with two precompiled headers: of the library, for the twin, and of Boost.Units.
# A user reads the first lines: the first expectation, the cause, must stand within the first 6, and
# the whole message must not exceed 25, or what `// lines: <number>` of the case allows. Lines that GCC quotes
# from the source (`  12 | ...`) are not counted: from version 14 on it does so below each `required from`.
set -euo pipefail
export LC_ALL=C  # plain quotes in the messages

case=$1
family=$2
shift 2
compile=("$@" -fsyntax-only)

fail() {
  echo "$case: $1"
  shift
  printf '%s\n' "$@"
  exit 1
}

if ! grep -q '#ifdef MUST_FAIL' "$case" || ! grep -q '#else' "$case"; then
  fail 'needs #ifdef MUST_FAIL ... #else <the twin that compiles> #endif'
fi

flags=()
while read -r -a words; do
  flags+=("${words[@]}")
done < <(sed -n 's|^// *flags: *||p' "$case")
compile+=(${flags[@]+"${flags[@]}"})

mapfile -t expected < <(sed -n -E "s/^\/\/ *expect(-$family)?: *//p" "$case")
if [[ ${#expected[@]} -eq 0 ]]; then
  fail "has no line \`// expect: <regex>\` nor \`// expect-$family: <regex>\`"
fi

# precompiled <header>: for this compiler to include first.
precompiled() {
  including=()
  if [[ -n ${PERFMODEL_PRECOMPILED:-} && ${#flags[@]} -eq 0 ]]; then
    including=(-include "$PERFMODEL_PRECOMPILED/$1.hpp")
  fi
}

precompiled perfmodel
if ! message=$("${compile[@]}" ${including[@]+"${including[@]}"} "$case" 2>&1); then
  fail 'the twin does not compile:' "$message"
fi
if [[ -n $message ]]; then
  fail 'the twin compiles with a warning:' "$message"
fi

# A message depends on which headers of ours are included, and how.
precompiled boost_units
if message=$("${compile[@]}" ${including[@]+"${including[@]}"} -DMUST_FAIL "$case" 2>&1); then
  fail 'compiles, and must not'
fi
for regex in "${expected[@]}"; do
  if ! grep -qE -e "$regex" <<<"$message"; then
    fail "the message does not hold: $regex" 'The message:' "$message"
  fi
done

said() { grep -cvE '^ *[0-9]* \|' || true; }  # how many lines of the message on standard input are no quotes
cause_at=$(head -n "$(grep -nE -m1 -e "${expected[0]}" <<<"$message" | cut -d: -f1)" <<<"$message" | said)
if ((cause_at > 6)); then
  fail "the cause stands in line $cause_at of the message, and not in the first 6: ${expected[0]}" "$message"
fi
allowed=$(sed -n 's|^// *lines: *||p' "$case")
total=$(said <<<"$message")
if ((total > ${allowed:-25})); then
  fail "the message has $total lines; allowed: ${allowed:-25}" "$message"
fi
echo "cause in line $cause_at of $total"
