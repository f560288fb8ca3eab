#!/usr/bin/env bash
# run_page_self_test.sh <compiler>: run_page.sh accepts a good page and refuses each kind of bad one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compiler=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/source" "$work/include/perfmodel"
printf '#pragma once\nnamespace perfmodel { constexpr int answer = 42; }\n' \
  >"$work/include/perfmodel/perfmodel.hpp"
printf '#!/bin/sh\necho "napkin $*"\n' >"$work/napkin"
chmod +x "$work/napkin"

# check <pass|fail> <what>, the page on standard input, with ~~~ for ```
check() {
  sed 's/^~~~/```/' >"$work/page.md"
  local result=pass
  bash "$here/run_page.sh" "$work/page.md" "$work/blocks" "$work/source" "$work/napkin" \
    "$compiler" -std=c++20 "-I$work/include" >"$work/log" 2>&1 || result=fail
  if [[ $result != "$1" ]]; then
    echo "expected $1: $2"
    cat "$work/log"
    exit 1
  fi
}

check pass 'a page that is right' <<'PAGE'
~~~cpp
static_assert(pm::answer == 42);
~~~
~~~cpp
#include <cstdio>
#include <perfmodel/perfmodel.hpp>
namespace pm = perfmodel;
int main() { std::printf("%d\n", pm::answer); }
~~~
<!-- output -->
~~~text
42
~~~
Later blocks see the names of the earlier ones.
<!-- snippet: statements -->
~~~cpp
std::printf("%d\n", pm::answer + 1);
~~~
<!-- output -->
~~~text
43
~~~
<!-- snippet: skip: shows an error -->
~~~cpp
this is no program
~~~
<!-- snippet: run -->
~~~sh
./run napkin gpus
~~~
<!-- output -->
~~~text
napkin gpus
~~~
~~~text
not compared
~~~
PAGE
check fail 'does not compile' <<'PAGE'
~~~cpp
static_assert(pm::answer == 43);
~~~
PAGE
check fail 'prints something else' <<'PAGE'
~~~cpp
#include <cstdio>
int main() { std::puts("1"); }
~~~
<!-- output -->
~~~text
2
~~~
PAGE
check fail 'exits with an error' <<'PAGE'
~~~cpp
#include <cstdio>
int main() { return 1; }
~~~
PAGE
check fail 'an output of nothing' <<'PAGE'
<!-- output -->
~~~text
2
~~~
PAGE
check fail 'a mark that does not exist' <<'PAGE'
<!-- snippet: ignore -->
~~~cpp
int x;
~~~
PAGE
check fail 'skipped without a reason' <<'PAGE'
<!-- snippet: skip: -->
~~~cpp
int x;
~~~
PAGE
check fail 'a command that fails' <<'PAGE'
<!-- snippet: run -->
~~~sh
false
~~~
PAGE
check fail 'a block without an end' <<'PAGE'
~~~cpp
int x;
PAGE
