#!/usr/bin/env bash
# run.sh <napkin> <source folder> <c_api_test> <libperfmodel_c.so>: the C library answers as napkin does.
. "$(dirname "$0")/../cli/lib.bash"
test_program=$3 library=$4
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Each line alone, since an error names its line.
while IFS= read -r line; do "$napkin" batch <<<"$line"; done <"$here/requests.jsonl" >"$folder/expected"
asks=1000
if [[ $sanitized ]]; then asks=20; fi
"$napkin" batch <"$here/requests.jsonl" >"$folder/lines"
"$test_program" "$here/requests.jsonl" "$folder/expected" "$folder/lines" $asks || fail "c_api_test"

# Batch lines are what the commands print.
same() { # <request> <command...>
  local line=$1 batch command
  shift
  batch=$("$napkin" batch <<<"$line")
  command=$("$napkin" "$@" --json)
  [[ -n $command && $batch == "$command" ]] || fail "$line: $batch; napkin $*: $command"
}
same '{"query":"explain","of":{"query":"step","model":"llama_3_8b","accelerator":"h100_sxm","batch":16,"context":2048}}' \
  explain step --model llama_3_8b --accelerator h100_sxm --batch 16 --context 2048
plan=(--model llama_3_8b --accelerator l4 --gpus 1 --input-tokens 512 --output-tokens 64 --concurrency 2)
request='"query":"plan","model":"llama_3_8b","gpu":"l4","gpus":1,"isl":512,"osl":64,"concurrency":2'
same "{$request}" plan "${plan[@]}"
same "{\"query\":\"explain\",\"of\":{$request},\"row\":1}" explain plan "${plan[@]}" --row 1
same '{"query":"serving","model":"llama_3_8b","gpu":"l4","isl":200,"osl":20,"users":2,"check":true}' \
  serving --model llama_3_8b --gpu l4 --isl 200 --osl 20 --users 2 --check
same '{"query":"gpus"}' gpus
same '{"query":"models","name":"llama_3_8b"}' models llama_3_8b

# The library exports its entries alone, and leaks nothing.
if command -v nm >/dev/null && [[ ! $sanitized ]]; then
  others=$(nm -D --defined-only "$library" | awk '$3 !~ /^perfmodel_/ { print $3 }' | head)
  [[ -z $others ]] || fail "the library exports $others"
fi
if command -v valgrind >/dev/null && [[ ! $sanitized ]]; then
  valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect --error-exitcode=9 \
    "$test_program" "$here/requests.jsonl" "$folder/expected" "$folder/lines" 3 >"$folder/valgrind" 2>&1 ||
    fail "valgrind: $(cat "$folder/valgrind")"
fi
finish
