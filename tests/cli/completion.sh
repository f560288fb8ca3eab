#!/usr/bin/env bash
# Completion scripts, by the machinery of bash; zsh and fish where they are. completion.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for shell in bash zsh fish; do "$napkin" --completion $shell >"$scratch/$shell" || fail "--completion $shell"; done
bash -n "$scratch/bash" || fail 'bash does not read it'
# shellcheck disable=SC1091
. "$scratch/bash"
# completed <words...>: what the function registered for napkin makes of the last word.
completed() {
  local function
  function=$(complete -p napkin | sed -nE 's/.* -F ([^ ]+) .*/\1/p')
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  "$function" napkin "${*: -1}" "${*: -2:1}"
  echo "${COMPREPLY[*]}"
}
is() { [[ $2 == "$3" ]] || fail "$1 completes to '$2', not '$3'"; }
is 'pl' "$(completed napkin pl)" plan
is 'thr' "$(completed napkin thr)" 'throughput thresholds'
is 'gemm --for' "$(completed napkin gemm --for)" --format
is 'gemm --format b' "$(completed napkin gemm --format b)" bf16
is '--gpu rtx_508' "$(completed napkin step --gpu rtx_508)" 'rtx_5080'
is '--gpu=rtx_508' "$(completed napkin step --gpu = rtx_508)" rtx_5080
is '--model llama_3_1_4' "$(completed napkin serving --model llama_3_1_4)" llama_3_1_405b
is 'explain gem' "$(completed napkin explain gem)" 'gemm gemm_tile gemv'
is 'explain gemm --format b' "$(completed napkin explain gemm --format b)" bf16
is 'sweep gem' "$(completed napkin sweep gem)" 'gemm gemm_tile gemv'
is 'require --ttf' "$(completed napkin require --ttf)" '--ttft --ttft-limit-s'
is 'plan --col' "$(completed napkin plan --col)" --color
is 'gemm --color a' "$(completed napkin gemm --color a)" 'auto always'
is 'plan --sa' "$(completed napkin plan --sa)" --save
is 'serving --engine s' "$(completed napkin serving --engine s)" sglang
is 'a file' "$(completed napkin plan --save /t)" ''
# No option twice.
for command in require thresholds serving plan; do
  twice=$(completed napkin $command -- | tr ' ' '\n' | sort | uniq -d)
  [[ -z $twice ]] || fail "$command completes twice: $twice"
done
# The help of a search lists its own options and the keys of a query, each once.
options() { grep -oE '^  (-h,)?--[a-z0-9,-]+' <<<"$1" | tr ', ' '\n' | grep -e '^--'; }
for search in require thresholds; do
  for query in serving step; do
    text=$("$napkin" $search $query --help) || fail "$search $query --help"
    twice=$(options "$text" | sort | uniq -d)
    [[ -z $twice ]] || fail "$search $query lists twice: $twice"
    # By the first name of each key: others may be targets of the search.
    for option in $(grep -oE '^  --[a-z0-9-]+' <<<"$("$napkin" $query --help)" | grep -vxE '  --(id|price|check|plot|output-format|format)'); do
      grep -qx -e "$option" <<<"$(options "$text")" || fail "$search $query --help lacks $option"
    done
    [[ $text == *"Keys of $query:"* ]] || fail "$search $query --help has no heading"
    [[ $("$napkin" help $search $query) == "$text" ]] || fail "help $search $query"
  done
  [[ $("$napkin" $search --help) == *"Keys: napkin $search QUERY --help"* ]] || fail "$search --help does not say where the keys are"
  refuses 'nothing' $search nothing --help
done
# All commands of the help, and all options of a query.
all=$(completed napkin '')
for command in $("$napkin" --help | awk '/^[A-Z].*:$/ { on = $0 != "Options:" && $0 != "Examples:" } on && /^  [a-z]/ { print $1 }'); do
  [[ " $all " == *" $command "* ]] || fail "no completion of $command"
done
for query in serving gemm plan; do
  all=$(completed napkin $query --)
  for option in $("$napkin" $query --help | grep -oE '^  (-h,)?--[a-z0-9,-]+' | tr ', ' '\n' | grep -e '^--'); do
    [[ " $all " == *" $option "* ]] || fail "$query: no completion of $option"
  done
done
if command -v zsh >/dev/null; then zsh -n "$scratch/zsh" || fail 'zsh does not read it'; fi
if command -v fish >/dev/null; then
  fish -n "$scratch/fish" || fail 'fish does not read it'
  for asked in 'napkin servin=serving' 'napkin explain serv=serving' 'napkin serving --engine sg=sglang' 'napkin serving --tensor-par=--tensor-parallel'; do
    said=$(fish -c "source $scratch/fish; complete -C '${asked%=*}'" 2>&1 | awk '{ print $1; exit }')
    is "fish: ${asked%=*}" "$said" "${asked##*=}"
  done
fi
refuses 'completion is "tcsh"; allowed: bash, zsh, fish' --completion tcsh

# --- napkin alone, help, version ---
page=$("$napkin") || fail "napkin alone: exit status $?"
[[ $(grep -cE '^  [a-z]+  +[a-zA-Z]' <<<"$page") -eq 10 ]] || fail "ten commands: $page"
[[ $page == *$'Example:\n  napkin plan '* ]] || fail 'no example'
for command in $(awk '/^  [a-z]+  / { print $1 }' <<<"$page"); do
  "$napkin" help "$command" >/dev/null || fail "help $command"
done
[[ $("$napkin" help gemm) == "$("$napkin" gemm --help)" ]] || fail 'help gemm'
# The example is one.
eval "\"\$napkin\" $(sed -n 's/^  napkin //p' <<<"$page")" >/dev/null || fail 'the example'
for text in "$page" "$("$napkin" help)" "$("$napkin" help require)" "$("$napkin" help thresholds)"; do
  [[ -z $(awk 'length > 100' <<<"$text") ]] || fail "wider than 100 columns: $(awk 'length > 100' <<<"$text")"
done
finish
