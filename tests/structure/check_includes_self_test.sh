#!/usr/bin/env bash
# check_includes.sh finds what a file names and does not include, and nothing else.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{include,examples,validation,tests}

check() {  # <pass|fail> <the file>
  local result=pass
  printf '%b' "$2" >"$work/include/header.hpp"
  bash "$here/check_includes.sh" "$work" >"$work/log" 2>&1 || result=fail
  if [[ $result != "$1" ]]; then
    printf 'expected %s:\n%b\n' "$1" "$2"
    cat "$work/log"
    exit 1
  fi
}

check pass '#include <cstdint>\nstd::uint64_t bits;\n'
check fail 'std::uint64_t bits;\n'
check fail '#include <cstddef>\nauto a = static_cast<::std::uint32_t>(b);\n'
check pass '// as std::uint64_t would\n'
check pass 'perfmodel::sqrt(x); other::std::sqrt(y);\n'
check fail '#include <vector>\nreturn std::sqrt(x);\n'
check fail 'x = std::max<double>(a, b);\n'
check pass '#include <algorithm>\nx = std::max(a, b);\n'
check fail '#include <algorithm>\nx = std::max(a, std::ceil(b));\n'
check pass 'std::thread_like x; std::maximum(a);\n'
