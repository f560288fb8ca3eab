#!/usr/bin/env bash
# check_sizes.sh finds a long function wherever it stands, and none where there is none.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{include/perfmodel/hardware/catalog,tools/library,tools/napkin,validation/compare,tools/fit}

lines() {  # <n>: that many statements, with what confuses a reader of braces
  local i
  for ((i = 0; i < $1; ++i)); do echo "  f(\"}\", '{', 1'000);  // }"; done
}

# check <pass|fail> <what>, the header on standard input; @58@ stands for 58 lines
check() {
  local line result=pass
  while IFS= read -r line; do
    if [[ $line =~ ^@([0-9]+)@$ ]]; then lines "${BASH_REMATCH[1]}"; else echo "$line"; fi
  done >"$work/include/perfmodel/header.hpp"
  bash "$here/check_sizes.sh" "$work" >"$work/log" 2>&1 || result=fail
  if [[ $result != "$1" ]]; then
    echo "expected $1: $2"
    cat "$work/log"
    exit 1
  fi
}

check pass 'a function of 60 lines' <<'CODE'
namespace perfmodel {
int short_enough(int x) {
@58@
}
}  // namespace perfmodel
CODE
check fail 'a function of 61 lines' <<'CODE'
namespace perfmodel {
int too_long(int x) {
@59@
}
}  // namespace perfmodel
CODE
check fail 'a template with defaults of every kind' <<'CODE'
namespace perfmodel {
template <class T = double, int N = 3>
  requires(N == 3 && N >= 2)
[[nodiscard]] constexpr auto too_long(const foo<T>& x = {}, int y = f(1)) noexcept -> foo<T> {
@59@
}
}  // namespace perfmodel
CODE
check fail 'a member, and an operator' <<'CODE'
struct s {
  int table[3] = {1, 2, 3};
 public:
  friend bool operator==(const s& a, const s& b) {
@59@
  }
};
CODE
check fail 'a constructor with a list' <<'CODE'
struct s {
  s(int x) : a_{x}, b_{x} {
@59@
  }
};
CODE
check pass 'a table, a class and a raw string of 100 lines' <<'CODE'
struct s {
@100@
};
inline constexpr s table[] = {
@100@
};
#define MACRO {
inline const char* text = R"x(
{{{
)x";
CODE
check fail 'braces that do not balance' <<'CODE'
namespace perfmodel {
CODE
