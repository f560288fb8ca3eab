#!/usr/bin/env bash
# tests/compilers/run.sh <compiler> [flags...]: all of the library by that compiler, as C++20 and C++23, at -O0 to
# -O3, without a warning, and run. Flags choose the rest: -stdlib=libc++, -m32, -fsanitize=address.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compiler=${1:?which compiler?}
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
failed=0
for standard in ${STANDARDS:-c++20 c++23}; do
  spelled=$standard
  # GCC 12, 13 and clang up to 16 know it by its first name.
  if ! "$compiler" -std="$standard" -fsyntax-only -x c++ /dev/null 2>/dev/null; then spelled=${standard/23/2b}; fi
  for level in ${LEVELS:-0 1 2 3}; do
    what="$compiler -std=$spelled -O$level $*"
    if ! "$compiler" -std="$spelled" "-O$level" "${warnings[@]}" "$@" -I "$here/../../include" "$here/laws.cpp" -o "$work/laws"; then
      echo "$what: does not compile"
      failed=1
    elif ! said=$("$work/laws"); then
      echo "$what: $said"
      failed=1
    else
      echo "$what: $said"
    fi
  done
done
exit "$failed"
