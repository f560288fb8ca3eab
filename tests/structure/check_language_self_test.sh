#!/usr/bin/env bash
# check_language.sh finds each kind of private word where it looks, and none where it does not.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{include/perfmodel,tools/napkin,tools/fit,examples,validation,docs,tests/structure}
touch "$work"/{README.md,CONTRIBUTING.md}
export PERFMODEL_NO_GIT=1

# check <pass|fail> <file> <what>, its text on standard input
check() {
  local result=pass
  cat > "$work/$2"
  bash "$here/check_language.sh" "$work" > "$work/log" 2>&1 || result=fail
  if [[ $result != "$1" ]] || { [[ $1 == fail ]] && ! grep -q "^$2:[0-9]*: " "$work/log"; }; then
    echo "expected $1: $3"
    cat "$work/log"
    exit 1
  fi
  rm "$work/$2"
}
header=include/perfmodel/header.hpp

check pass "$header" 'a plain comment' <<< '/// Number of replicas.'
check fail "$header" 'a private word in a comment' <<< '/// Profile on loan from H100.'
check fail tools/fit/main.cpp 'a private word in a comment of a tool' <<< 'int x;  // one trick'
check fail examples/one.cpp 'a private word in a comment of an example' <<< '// The law beside it.'
check fail validation/one.cu 'a private word in a comment of a kernel' <<< '// One product of 64 rows.'
check fail tests/one.cpp 'a private word in the name of a test' <<< 'TEST_CASE("each trick helps") {'
check fail tests/one.cpp 'a private word in a later line of a name' <<< $'TEST_CASE(\n    "law: "\n    "whose") {'
check pass tests/one.cpp 'a private word in the code of a test' <<< '// one trick'
check fail "$header" 'an opening without a subject' <<< '/// Of a model that was checked.'
check fail "$header" 'a trailing comment without a subject' <<< 'int x;  ///< of one prompt'
check pass "$header" 'a sentence that continues in a second line' <<'CODE'
/// Number of GPUs of the layout
/// That is a proper noun here.
CODE
check fail "$header" 'a comment of 101 columns' <<< "// $(printf 'a%.0s' {1..98})"
check pass "$header" 'a comment of 100 columns' <<< "// $(printf 'a%.0s' {1..97})"
check pass "$header" 'an address over 100 columns' <<< "// https://$(printf 'a%.0s' {1..98})"
check fail "$header" 'a private word in a public name' <<< 'int lent_profile = 0;'
check fail "$header" 'a private word in a public name, the last part' <<< 'struct basic_trick {};'
check pass "$header" 'a word that only contains a private one' <<< 'int silent_tricky_equivalent = 0;'
check pass "$header" 'a private name in detail' <<'CODE'
namespace detail {
int lent_profile = 0;
}  // namespace detail
CODE
check fail "$header" 'a public name behind detail' <<'CODE'
namespace detail {
}  // namespace detail
int lent_profile = 0;
CODE
check fail "$header" 'a private word in an error text' <<< 'throw error("no profile is lent to it");'
check pass "$header" 'a key of a request' <<< 'f("copies", s.replicas);'
check fail tools/napkin/help.cpp 'a private word in a help text' <<< 'add("--gpus", "number of model copies");'
check pass tools/napkin/help.cpp 'a private name in a program' <<< 'int copies = 0;'
check fail docs/page.md 'a private word on a page' <<< 'The profile is lent by H100.'
check pass docs/page.md 'a private word as code' <<< 'The key is `copies`.'
check pass docs/page.md 'a private word in an example' <<'PAGE'
```
copies
```
PAGE
check pass docs/page.md 'a private word in an address' <<< '[page](https://example.org/lent)'
echo 'docs/page.md | copies | 1 | copies of memory' > "$work/tests/structure/language_allowed.txt"
check pass docs/page.md 'an allowed word' <<< 'Memory copies.'
check fail docs/page.md 'one more than is allowed' <<< $'Memory copies.\nMore copies.'
echo 'all planted words are found'
