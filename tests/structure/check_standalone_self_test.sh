#!/usr/bin/env bash
# check_standalone_self_test.sh <compiler>: check_standalone.sh finds the header that needs what another includes, wherever
# in a chain it stands, and passes without it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/library"

check() {  # <pass|fail> <what it is about>
  local result=pass
  (cd "$work" && printf '%s\n' library/*.hpp) >"$work/list"
  bash "$here/check_standalone.sh" "$work" "$work/list" 1 "$1" -std=c++20 >"$work/log" 2>&1 || result=fail
  if [[ $result != "$2" ]]; then
    echo "expected $2: $3"
    cat "$work/log"
    exit 1
  fi
}

header() { printf '#pragma once\n%b' "$2" >"$work/library/$1.hpp"; }

header a '#include <cstddef>\nusing count = std::size_t;\n'
header b '#include <library/a.hpp>\ninline count of_b() { return 1; }\n'
header c '#include <library/b.hpp>\n#include <library/a.hpp>\ninline count of_c() { return of_b(); }\n'
header z ''
check "$1" pass 'each has what it needs'
grep -q '^4 headers in 2 sources$' "$work/log" || { cat "$work/log"; exit 1; }

header d '#include <library/a.hpp>\ninline count of_d() { return of_b(); }\n'
check "$1" fail 'd names what b has, and includes a alone'
rm "$work/library/d.hpp"

header z 'inline count of_z() { return 1; }\n'
check "$1" fail 'z names what a has, and includes nothing'
header z ''

header a 'using count = std::size_t;\n'
check "$1" fail 'a, which b and c include, names what <cstddef> has'
