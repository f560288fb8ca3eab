#!/usr/bin/env bash
# What to change of a service: tricks that help and harm, what the best bring together, and bad input.
. "$(dirname "$0")/lib.bash"

chat=(--engine vllm --input_tokens 2048 --output_tokens 512)
llama=(advise --model llama_3_70b --accelerator h100_sxm --tensor_parallel 8 "${chat[@]}")
# trick <name> <answer>: its object.
trick() { grep -oE '\{[^{}]*"name":"'"$1"'"[^{}]*\}' <<<"$2"; }
# harms <name> <true or false> <answer>
harms() { [[ $(trick "$1" "$3") == *"\"harmful\":$2"* ]] || fail "$1 is not harmful:$2 in $(trick "$1" "$3")"; }
# gains <name> <least> <most> <answer>
gains() {
  local gain
  gain=$(number "$(trick "$1" "$4")" gain)
  awk -v g="$gain" -v a="$2" -v b="$3" 'BEGIN { exit !(g >= a && g <= b) }' || fail "$1 gains '$gain', not $2 to $3"
}

crowd=$("$napkin" "${llama[@]}" --concurrency 32 --json) || fail "advise: exit status not 0"
for key in name applies gain costs harmful_when harmful why; do
  [[ $(trick fp8 "$crowd") == *"\"$key\":"* ]] || fail "no $key in $crowd"
done
harms fp8 false "$crowd"
gains fp8 1.05 1.97 "$crowd"
harms fp4 true "$crowd"
harms prefix_cache true "$crowd"
combined=$(number "$crowd" combined_gain)
awk -v c="$combined" -v p="$(number "$crowd" product_of_gains)" 'BEGIN { exit !(c > 1.2 && c != p) }' ||
  fail "together: $combined"
# By hand: 139.0 GB for a token of one sequence, in fp8 70.6.
alone=$("$napkin" advise --model llama_3_70b --accelerator h100_sxm --tensor_parallel 4 --input_tokens 1 --output_tokens 512 \
  --concurrency 1 --mode bound --json)
gains fp8 1.95 1.975 "$alone"
# Experts dealt to ranks: fewer, whole ones to read for one sequence, all-to-alls for a crowd of Qwen's.
routed=(advise --accelerator h200_sxm --tensor_parallel 8 --input_tokens 2048 --output_tokens 512)
helps=$("$napkin" "${routed[@]}" --model deepseek_v3 --engine sglang --concurrency 1 --json)
harms expert_parallel false "$helps"
gains expert_parallel 1.02 1.5 "$helps"
harmed=$("$napkin" "${routed[@]}" --model qwen_3_235b_a22b --engine vllm --concurrency 512 --json)
harms expert_parallel true "$harmed"

# CUDA graphs help a small model, most in PyTorch's eager mode; 2:4 sparsity never outranks fp8.
small=(advise --model llama_3_2_1b --accelerator h100_sxm --engine vllm --input_tokens 128 --output_tokens 128 --concurrency 1)
graphs=$("$napkin" "${small[@]}" --json)
# A launch took 45 to 79 us in three public runs: 167 of them 7.5 to 13.2 ms, where the step takes 1.9.
gains cuda_graph 4 7 "$graphs"
gains cuda_graph 6 14 "$("$napkin" "${small[@]}" --framework eager --json)"
refuses PM-E "${small[@]}" --framework jax
for answer in "$crowd" "$graphs"; do
  awk -v s="$(number "$(trick sparsity_2_4 "$answer")" gain)" -v f="$(number "$(trick fp8 "$answer")" gain)" \
    'BEGIN { exit !(s <= f) }' || fail "sparsity outranks fp8 in $(trick sparsity_2_4 "$answer")"
done
[[ $(trick sparsity_2_4 "$graphs") == *'"user":"model owner"'* ]] || fail "no owner of sparsity"
# A row without a gain has no ratio above 1, and a reason; costs stand beside a gain.
rows=$("$napkin" "${small[@]}") || fail "advise as text: exit status not 0"
! grep -E 'x[1-9][0-9.]*, (no gain|slower|n\.a\.)' <<<"$rows" || fail "a gain of no use in '$rows'"
! grep -E '(no gain|slower|n\.a\.): *$' <<<"$rows" || fail "a row without a reason in '$rows'"
grep -qE 'sparsity_2_4 .*costs: retraining' <<<"$(tr -s ' \n' ' ' <<<"$rows")" || fail "no cost of sparsity in '$rows'"

# A target: half of what a token takes now is met by tricks, and by none that miss it.
text=$("$napkin" "${llama[@]}" --concurrency 32 --itl_limit_s 0.01) || fail "advise with a target: exit status not 0"
[[ $text == *"best combination"* ]] || fail "no set in '$text'"

refuses PM-E "${llama[@]}"
refuses PM-E "${llama[@]}" --concurrency -1
refuses PM-E "${llama[@]}" --concurrency 32 --itl_limit_s 0
refuses PM-E advise
refuses PM-E explain "${llama[@]}" --concurrency 32
refuses PM-E "${llama[@]}" --concurrency 32 --nonsense 1


# At most 100 columns, the conclusion first, the method of the times.
[[ -z $(awk '!/^advise: / && length > 100' <<<"$rows") ]] || fail "advise is wider than 100 columns: $rows"
[[ $rows == 'A request takes '* || $rows == 'No technique shortens '* ]] || fail "advise begins: ${rows:0:100}"
grep -qE '^  method +closed form' <<<"$rows" || fail "no method in '$rows'"
[[ $("$napkin" advise --model llama_3_1_70b --accelerator h100_sxm --tensor_parallel 4 --input_tokens 1000 --output_tokens 500 \
  --concurrency 16) =~ data_parallel\ +infeasible: ]] || fail 'an infeasible technique is slower'
# One output token has no inter-token latency.
text=$("$napkin" advise --model llama_3_1_8b --gpu h100 --engine vllm --isl 1000 --osl 1 --users 4 | tr -s '\n ' ' ')
[[ $text == 'A request takes '*' without ('* && $text != *'; ITL '*' and '* ]] || fail "advise of one token: ${text:0:200}"
finish
