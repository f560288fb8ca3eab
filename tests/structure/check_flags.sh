#!/usr/bin/env bash
# check_flags.sh <source folder> <compiler> [include flags...]: flags under which a check would be silent are
# refused with a word on what to do.
set -euo pipefail
source_dir=$1 compiler=$2
shift 2
failed=0
compiled() { # <flags...>: the compiler's messages
  echo '#include <perfmodel/laws/littles_law.hpp>' |
    "$compiler" -std=c++20 -I"$source_dir/include" "${includes[@]}" "$@" -Wfatal-errors -fsyntax-only -x c++ - 2>&1
}
includes=("$@")
refused() { # <text> <flags...>
  local text=$1 said
  shift
  if said=$(compiled "$@"); then
    echo "$compiler $*: compiles"
    failed=1
  elif [[ $said != *"$text"* ]]; then
    echo "$compiler $*: not a word of \"$text\": $said"
    failed=1
  fi
}
taken() { # <flags...>
  local said
  said=$(compiled "$@") || { echo "$compiler $*: $said"; failed=1; }
}
refused 'add -fno-finite-math-only' -O2 -ffast-math
refused 'perfmodel needs C++20: -std=c++20' -std=c++17
refused 'add -fno-finite-math-only' -ffinite-math-only
taken -O2 -ffast-math -fno-finite-math-only
refused 'compile without -fno-exceptions' -fno-exceptions
taken -fno-rtti
exit "$failed"
