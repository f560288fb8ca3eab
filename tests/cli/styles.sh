#!/usr/bin/env bash
# Bold, dim and red text: at a terminal, in no file and no JSON. styles.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
needs_python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
escape=$'\x1b'
unset NO_COLOR
export TERM=xterm-256color

# at_terminal <arguments...>: the output of napkin where stdout is a terminal.
cat >"$work/terminal.py" <<'PY'
import os, pty, subprocess, sys
leader, follower = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=follower)
os.close(follower)
text = b""
while True:
    try:
        part = os.read(leader, 65536)
    except OSError:  # the child has closed it
        break
    if not part:
        break
    text += part
sys.stdout.buffer.write(text.replace(b"\r\n", b"\n"))
sys.exit(child.wait())
PY
at_terminal() { python3 "$work/terminal.py" "$napkin" "$@"; }
unstyled() { sed "s/$escape\[[0-9;]*m//g"; }
bold="$escape[1m" red="$escape[1;31m" dim="$escape[2m"
# The same for grep.
bold_line="^$escape\\[1m" red_line="^$escape\\[1;31m" end="$escape\\[0m\$"

service=(--model llama_3_8b --gpu h100_sxm --engine vllm --isl 1000 --osl 100)
commands=(
  "serving ${service[*]} --concurrency 16"
  "serving ${service[*]} --qps 500"
  "serving ${service[*]} --concurrency 16 --check"
  "simulate ${service[*]} --requests 100 --concurrency 8"
  "step --model llama_3_1_405b --gpu l4 --batch 1 --context 100"
  "plan --model llama_3_1_70b --gpu h100_sxm,h200_sxm --isl 1000 --osl 200 --users 32 --itl 40ms"
  "plan --model llama_3_1_70b --gpu h100_sxm --gpus 4 --isl 1000 --osl 200 --users 32 --itl 1ms"
  "sweep gemm --gpu h100 --n 4096 --k 4096 --over m=1..64:x2"
  "sensitivity gemm --gpu h100 --m 64 --n 8192 --k 8192"
  "explain gemm --gpu h100 --m 64 --n 8192 --k 8192"
  "explain step --model llama_3_8b --gpu h100_sxm --batch 8 --context 1000"
  "thresholds ${service[*]} --users 16"
  "require step --model llama_3_8b --gpu h100_sxm --batch 8 --context 1000 --time 2ms"
  "advise ${service[*]} --users 16"
  "roofline --gpu h100 --m 64 --n 8192 --k 8192"
  "model llama_3_8b" "gpus" "gpus l40s" "models" "help" "gemm --help"
  "audit --quantity ridge --value 2950 --unit FLOP/byte --accelerator h100_sxm --format bf16"
)
while IFS= read -r command; do
  read -ra words <<<"$command"
  plain=$("$napkin" "${words[@]}")
  shown=$(at_terminal "${words[@]}")
  [[ $plain != *"$escape"* ]] || fail "$command: escape sequences in a pipe"
  [[ $shown == *"$escape"* ]] || fail "$command: no style at a terminal"
  # Without the sequences it is the same text, so that columns and widths are the same too.
  [[ $(unstyled <<<"$shown") == "$plain" ]] || fail "$command: another text at a terminal"
  # A style begins and ends with its line: what cuts lines cannot leave it on.
  wrong=$(grep "$escape" <<<"$shown" | grep -vE "^$escape\[(1|2|1;31)m[^$escape]+$escape\[0m\$")
  [[ -z $wrong ]] || fail "$command: a line styled in part: $wrong"
  [[ $("$napkin" "${words[@]}" --color always) == "$shown" ]] || fail "$command: --color always differs from a terminal"
done < <(printf '%s\n' "${commands[@]}" | some 5)

# Conclusion and heads bold, the request and notes dim.
gemm=(gemm --gpu h100 --m 64 --n 8192 --k 8192)
shown=$(at_terminal "${gemm[@]}")
[[ $shown == "${bold}Predicted: "* ]] || fail "no bold conclusion: $shown"
[[ $shown == *$'\n'"${dim}gemm: accelerator h100"* ]] || fail "the request is not dim: $shown"
[[ $shown == *$'\n'"${dim}  This is a prediction"* ]] || fail "a note is not dim: $shown"
grep -q "$bold_line  sequences on" <<<"$(at_terminal model llama_3_8b)" || fail 'a head is not bold'
# Infeasible and overloaded: red, verdict included; a possible result has no red.
overload=$(at_terminal serving "${service[@]}" --qps 500 --method closed_form)
[[ $overload == "${red}Overloaded: "* ]] || fail "an overload is not red: $overload"
grep -q "$red_line  feasible  *no: " <<<"$overload" || fail "a verdict is not red: $overload"
[[ $(at_terminal step --model llama_3_1_405b --gpu l4 --batch 1 --context 100) == "${red}Does not fit: "* ]] || fail 'what does not fit is not red'
[[ $shown != *"$red"* ]] || fail 'a result is red'
# The best row of a plan, and no other row.
plan=(plan --model llama_3_8b --gpu l40s --isl 1000 --osl 100 --users 4 --itl 40ms)
rows=$(at_terminal "${plan[@]}" | grep -E "l40s  .* x ")
[[ $(grep -c "$bold_line.*\*.*$end" <<<"$rows") -eq 1 ]] || fail "the best row is not bold: $rows"
[[ $(grep -c "$bold_line" <<<"$rows") -eq 1 ]] || fail "more rows than the best are bold: $rows"
[[ $(at_terminal plan --model llama_3_8b --gpu l40s --gpus 1 --isl 1000 --osl 100 --users 4 --itl 1ms) == "$red"* ]] ||
  fail 'targets that are missed are not red'

# Where there is no style.
plain=$("$napkin" "${gemm[@]}")
[[ $(NO_COLOR=1 at_terminal "${gemm[@]}") == "$plain" ]] || fail 'NO_COLOR'
[[ $(TERM=dumb at_terminal "${gemm[@]}") == "$plain" ]] || fail 'TERM=dumb'
[[ $(env -u TERM python3 "$work/terminal.py" "$napkin" "${gemm[@]}") == "$plain" ]] || fail 'no TERM'
[[ $(at_terminal "${gemm[@]}" --color never) == "$plain" ]] || fail '--color never'
[[ $(at_terminal --color=never "${gemm[@]}") == "$plain" ]] || fail '--color=never in front'
[[ $(NO_COLOR='' at_terminal "${gemm[@]}") == "$shown" ]] || fail 'an empty NO_COLOR counts as set'
[[ $(at_terminal "${gemm[@]}" --color auto) == "$shown" ]] || fail '--color auto'
[[ $(NO_COLOR=1 TERM=dumb "$napkin" "${gemm[@]}" --color=always) == "$shown" ]] || fail '--color always'
for format in --json '--output-format csv' '--output-format md'; do
  # shellcheck disable=SC2086
  [[ $("$napkin" "${gemm[@]}" $format --color always) != *"$escape"* ]] || fail "styles in $format"
done
for command in "explain ${gemm[*]} --markdown" "explain ${gemm[*]} --json" "explain ${plan[*]} --markdown" \
  "serving ${service[*]} --qps 500 --json" "sensitivity serving ${service[*]} --qps 500 --json" \
  "roofline --gpu h100 --m 64 --n 8192 --k 8192 --json" "sweep gemm --gpu h100 --n 8 --k 8 --over m=1,2 --csv"; do
  read -ra words <<<"$command"
  [[ $("$napkin" --color always "${words[@]}") != *"$escape"* ]] || fail "styles in $command"
done
"$napkin" "${plan[@]}" --save "$work/saved" --color always >/dev/null || fail "plan --save"
grep -rq "$escape" "$work/saved" && fail 'styles in files of a plan'
[[ $("$napkin" batch --color always <<<'{"query":"explain","of":{"query":"serving","model":"llama_3_8b","gpu":"h100","isl":100,"osl":10,"qps":9000,"method":"closed_form"}}') != *"$escape"* ]] || fail 'styles in a batch'

refuses '--color is "blue"; allowed: auto, always, never' "${gemm[@]}" --color blue
refuses '--color has no value' "${gemm[@]}" --color
refuses '--color is given twice' --color always "${gemm[@]}" --color never
finish
