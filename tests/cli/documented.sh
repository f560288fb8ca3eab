#!/usr/bin/env bash
# docs/napkin.md against the program: its queries are all there are, and its keys are keys or answers.
. "$(dirname "$0")/lib.bash"
page=$source_dir/docs/napkin.md

# words <from> <to>: what stands in `code` between two lines of the page.
words() { sed -n "/^$1/,/^$2/p" "$page" | grep -oE '`[a-z][a-z0-9_]*`' | tr -d '`'; }

# Under headings, each command in one line; the tools are no queries, and plan has a page of its own.
help=$("$napkin" --help)
queries=$(awk '/^[A-Z].*:$/ { on = $0 != "Options:" && $0 != "Tools:" && $0 != "Examples:" } on && /^  / { print $1 }' <<<"$help" | grep -vx plan)
laws=$(sed -nE '/^## Laws/,/^## Exit/s/^- `([a-z0-9_]+)`.*/\1/p' "$page")
[[ $( (words '## Queries' '<!--' && echo "$laws") | sort | xargs) == $(sort <<<"$queries" | xargs) ]] ||
  fail "the queries of the page are not those of --help: $(xargs <<<"$queries")"
[[ $(grep -E '^[A-Z].*:$' <<<"$help" | xargs) == 'Options: Services: Models and memory: Operators: Machines: Laws: Tools: Examples:' ]] ||
  fail "the headings of --help: $help"
[[ $(awk 'length > 100' <<<"$help") == '' ]] || fail "--help has lines of more than 100 characters"
first=$("$napkin")
for name in plan serving simulate model step gemm diagnose sweep require explain; do
  grep -q "^  $name  " <<<"$first" || fail "the first page lacks $name"
done
[[ $(wc -l <<<"$first") -le 24 && -z $(awk 'length > 100' <<<"$first") ]] || fail "the first page: $first"
for outer in explain sensitivity; do
  [[ $("$napkin" $outer --help | wc -l) -le 18 ]] || fail "$outer --help repeats what --help has"
  "$napkin" $outer gemm --help | grep -q -e --format || fail "$outer gemm --help has no keys"
done

known=$(
  for query in $queries plan; do "$napkin" "$query" --help | sed 's/--/ /g; s/-/_/g'; done
  "$napkin" collective --accelerator h100_sxm --operation all_reduce --ranks 16 --bytes 1e9 --node_ranks 8 \
    --network_bytes_per_s 50e9 --json
  "$napkin" model gpt_oss_20b --json
  "$napkin" kv_capacity --model gpt_oss_20b --accelerator h100_sxm --json
  echo not_read draft # of files: model_files.sh has them
  "$napkin" serving --model llama_3_8b --accelerator h100_sxm --input_tokens 9 --output_tokens 9 --concurrency 1 --json
  one=(serving --model llama_3_8b --accelerator h100_sxm --input_tokens 9 --output_tokens 9 --concurrency 1 --json)
  "$napkin" "${one[@]}" --draft_length 2 --acceptance 0.5 --itl_limit_s 1 --measured_s 1
  "$napkin" "${one[@]}" --prefix_hit 0.5 --host_hit 0.5
  "$napkin" "${one[@]}" --preemption recompute --ttft_limit_s 1
  "$napkin" "${one[@]}" --output_cv 1 --mode bound
  "$napkin" speculation --acceptance 0.5 --json
  "$napkin" trust --model llama_3_8b --accelerator h100_sxm --json
  "$napkin" gemm --accelerator h100_sxm --m 64 --n 64 --k 64 --measured_s 1e-12 --json
  "$napkin" "${one[@]}" --check
  "$napkin" simulate "${one[@]:1}" --requests 9 --seeds 2 --host_cache_bytes 1GB --max_replicas 2
  "$napkin" simulate --model llama_3_8b --accelerator h100_sxm --trace "$source_dir/examples/data/trace.csv" --json
  "$napkin" plan --model llama_3_8b --gpu h100_sxm --gpus 1 --isl 9 --osl 9 --users 1 --check --json
  "$napkin" "${one[@]}" --prefill_tensor_parallel 1 --decode_tensor_parallel 1 --kv_link_bytes_per_s 50e9
)
for word in $(words '## Keys' '## Batches' | sort -u); do
  grep -qw -e "$word" <<<"$known" || fail "the page has \`$word\`, which no query takes or answers"
done
finish
