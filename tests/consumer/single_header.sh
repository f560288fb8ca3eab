#!/usr/bin/env bash
# single_header.sh <source folder> <work folder> <compiler> [option ...]: tools/amalgamate writes one header, which
# compiles without the include folder of the library, and its laws give the results of laws.cpp.
set -euo pipefail
root=$1
work=$2
compiler=$3
shift 3

rm -rf "$work"
mkdir -p "$work"
"$root/tools/amalgamate" >"$work/perfmodel_laws.hpp"
if grep -n '# *include *<perfmodel/' "$work/perfmodel_laws.hpp"; then
  echo 'the single header includes another header of the library'
  exit 1
fi
"$compiler" -std=c++20 -O0 "$@" "-I$work" "$root/tests/consumer/single_header/laws.cpp" -o "$work/laws"
"$work/laws"

if "$root/tools/amalgamate" perfmodel/laws/nothing.hpp >"$work/nothing.hpp" 2>"$work/said"; then
  echo 'a header that is not there passes'
  exit 1
fi
grep -q 'perfmodel/laws/nothing.hpp' "$work/said"
