#!/usr/bin/env bash
# The cheapest deployment of a plan meets its targets when it is simulated too, or the plan says that it does not.
. "$(dirname "$0")/lib.bash"
needs_python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

requests=(
  # Prompts as long as TensorRT-LLM's smallest budget: whole, they would wait until nothing decodes.
  '"model":"llama-3.1-8b","accelerator":"h100_sxm","input_tokens":512,"output_tokens":500,"requests_per_s":8.2,"ttft_s":2,"itl_s":0.03,"engine":"trtllm"'
  '"model":"llama-3-70b","accelerator":"h100_sxm","input_tokens":2000,"output_tokens":300,"requests_per_s":4,"ttft_s":1,"itl_s":0.05'
  # Closed forms of some of these miss a queue.
  '"model":"llama-3.1-8b","accelerator":"h100_sxm","input_tokens":512,"output_tokens":2000,"concurrency":500,"ttft_s":0.2,"itl_s":0.1,"engine":"vllm"'
  '"model":"gemma-3-27b","accelerator":"h100_sxm","input_tokens":30000,"output_tokens":2000,"concurrency":16,"ttft_s":1,"itl_s":0.03,"engine":"vllm","gpus":16'
  '"model":"qwen3-32b","accelerator":"h200","input_tokens":8000,"output_tokens":64,"requests_per_s":1.7,"ttft_s":0.5,"itl_s":0.03,"engine":"vllm"'
  # At rest, with an end, with pools, short outputs.
  '"model":"qwen3-32b","accelerator":"h200","input_tokens":1000,"output_tokens":64,"concurrency":1,"ttft_s":1,"itl_s":0.05'
  '"model":"llama-3.1-8b","accelerator":"h100_sxm","input_tokens":1000,"output_tokens":100,"concurrency":32,"requests":64,"ttft_s":2,"itl_s":0.05'
  '"model":"llama-3-70b","accelerator":"h100_sxm","input_tokens":4000,"output_tokens":300,"concurrency":32,"ttft_s":2,"itl_s":0.05,"disaggregated":true,"engine":"vllm"'
  '"model":"llama-3.1-8b","accelerator":"l40s","input_tokens":2000,"output_tokens":1,"requests_per_s":3,"ttft_s":1'
  # More replicas than are simulated.
  '"model":"llama-3.1-8b","accelerator":"h100_sxm","gpus":64,"input_tokens":1000,"output_tokens":500,"requests_per_s":300,"itl_s":0.05'
)
[[ -z $sanitized ]] || requests=("${requests[@]:0:5}")
for r in "${requests[@]}"; do
  [[ $r == *'"gpus"'* ]] || r+=',"gpus":8'
  printf '{"query":"plan",%s,"check":true}\n' "$r"
done | sed 's/"ttft_s"/"ttft"/; s/"itl_s"/"itl"/' >"$folder/plans.jsonl"
"$napkin" batch <"$folder/plans.jsonl" >"$folder/answers.jsonl" || fail 'a plan is refused'
python3 - "$folder" <<'PYTHON' || fail 'a starred plan misses its targets'
import json
import sys
asked = [json.loads(line) for line in open(sys.argv[1] + '/plans.jsonl')]
answers = [json.loads(line) for line in open(sys.argv[1] + '/answers.jsonl')]
assert len(asked) == len(answers) > 2
refused = 0
for a, r in zip(asked, answers):
    assert 'simulated' in r, (a, r['rejected'][:3])
    s = r['simulated']
    assert 'reason' not in s, (a, s)
    assert s['meets_targets'], (a, s)
    refused += s['refused']
    assert bool(s['refused']) == any('the simulated ' in x['reason'] for x in r['rejected']), a
    # The check has more requests, and simulates every replica.
    check = r['checks'][0]
    for target, key in (('ttft', 'ttft_s'), ('itl', 'itl_s')):
        if target in a and key in check:
            assert check[key]['simulation'] <= 1.15 * a[target], (a, check[key])
        if key in check and a.get('output_tokens') > 1:
            ratio = check[key]['simulation'] / s[key]
            assert 0.75 < ratio < 1.35, (a, key, ratio)
assert refused > 0
assert len(asked) == 5 or ' of ' in answers[9]['simulated']['requests']
PYTHON
text=$("$napkin" plan --model qwen3-32b --gpu h200 --gpus 8 --isl 8000 --osl 64 --rate 1.7 --ttft 500ms --itl 30ms --engine vllm) ||
  fail 'plan as text'
[[ $text == *'Simulated ('*'): mean ITL '*' when simulated.'* && $text == *'the simulated mean '*' misses its target: '*' s, limit 0.'* ]] ||
  fail "a plan does not say what it simulated: ${text:0:600}"
# The deployment with fewest GPUs is simulated too, where it is not the cheapest: H200 have more memory than H100, and cost more.
fewest=(plan --model llama-3-70b --gpu h100_sxm,h200_sxm --isl 8000 --osl 100 --rate 4 --ttft 1.1s --itl 30ms)
json=$("$napkin" "${fewest[@]}" --json) || fail 'a plan of two accelerators'
part=$(sed -E 's/.*"fewest_simulated":\{([^}]*)\}.*/{\1}/' <<<"$json")
[[ $part == *'"meets_targets":true'* ]] || fail "fewest GPUs, simulated: ${part:0:300}"
awk -v t="$(number "$part" ttft_s)" -v i="$(number "$part" itl_s)" 'BEGIN { exit !(t > 0 && t <= 1.05 * 1.1 && i > 0 && i <= 1.05 * 0.03) }' ||
  fail "fewest GPUs, simulated, miss a target: $part"
text=$("$napkin" "${fewest[@]}" | tr -s '\n ' ' ')
[[ $text == *'Fewest GPUs: '*' x h200_sxm '*'(simulated: ITL '*', TTFT '* ]] || fail "fewest GPUs: ${text:0:900}"
# Clients that a replica has slots for do not queue for them, and static batches are simulated as such.
text=$("$napkin" plan --model llama-3.1-8b --gpu h100 --isl 100 --osl 10000 --users 300 --itl 50ms) || fail 'long outputs'
[[ $text == *'Simulated ('*'): mean ITL '* && $text != *'no more were tried'* ]] || fail "long outputs: ${text:0:600}"
text=$("$napkin" plan --model llama-3.1-8b --gpu h100 --gpus 8 --isl 2000 --osl 200 --users 32 --scheduler static_batches --ttft 20s | tr -s '\n ' ' ')
read -r predicted simulated < <(sed -E 's/.*Predicted mean ITL ([0-9.]+) ms.*Simulated [^:]*: mean ITL ([0-9.]+) ms.*/\1 \2/' <<<"$text")
awk -v a="$predicted" -v b="$simulated" 'BEGIN { exit !(a > 0 && b / a > 0.85 && b / a < 1.15) }' ||
  fail "static batches: an ITL of $predicted ms, simulated $simulated"
# Where no row holds, the plan says so, and the exit status is that of a target out of reach.
text=$("$napkin" plan --model llama-3-70b --gpu h100 --isl 2000 --osl 300 --rate 10 --output-cv 2 --input-cv 2 --ttft 2s --ttft-percentile 99)
status=$?
[[ $status -eq 0 && $text != *'misses a target)'* ]] || [[ $status -eq 3 && $text == *'misses a target)'*'the simulated TTFT percentile misses its target: '* && $text != *Headroom* ]] ||
  fail "no row holds: status $status, ${text:0:500}"
# Prompts near TensorRT-LLM's own budget run in chunks.
[[ $("$napkin" plan --model qwen3-32b --gpu h100 --gpus 8 --engine trtllm --isl 8000 --osl 800 --users 30) == *'Simulated ('* ]] ||
  fail 'prompts near the token budget are not simulated'
[[ $("$napkin" plan --model llama-3.1-8b --gpu h100 --isl 512 --osl 200 --users 8 --mode bound) != *imulated* ]] ||
  fail 'a bound is simulated'
finish
