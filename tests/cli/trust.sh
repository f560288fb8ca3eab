#!/usr/bin/env bash
# napkin trust: the published runs nearest to a service, with the errors of predictions on them.
# trust.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
rows=$2/tools/napkin/published_scores.inc

# The same service: the row of the table with most runs comes first, with its own figures.
found=$("$napkin" trust --model gpt_oss_120b --gpu h200 --engine vllm --json)
near 'distance of the same' "$(number "${found%%,\"published\"*}," distance)" 0 0
first=${found#*\"published\":[}
first=${first%%\}*},
row=$(grep '"gpt_oss_120b".*"h200_sxm", "vllm"' "$rows" | sort -t, -k8,8nr | head -n 1)
runs=$(awk -F', ' '{ print $8 }' <<<"$row")
near 'runs' "$(number "$first" runs)" "$runs" 0
error=$(sed -E 's/^[^{]*\{[^{]*\{([0-9.]+),.*/\1/' <<<"$row")
near 'error of ITL' "$(number "$first" mean_error)" "$(awk -v e="$error" 'BEGIN { print e / 100 }')" 1e-9
[[ $("$napkin" trust --model gpt_oss_120b --gpu h200 --engine vllm) == 'Published runs of this service: gpt_oss_120b on h200_sxm by vllm'* ]] ||
  fail 'the conclusion of the same service'

# Its releases and its month are those of the images and of the dates in the table.
[[ $first == *'"measured_with":"0.11.2 to 0.13.0, until 2026-01"'* ]] || fail "releases: $first"
grep -q '"TensorRT-LLM", .*, false, "", ' "$rows" || fail 'a table without releases states none'

# Another GPU of the same architecture is a step away; what is missing is said first.
found=$("$napkin" trust --model llama_3_1_70b --gpu h100_sxm --engine vllm --json)
near 'another GPU' "$(number "${found%%,\"published\"*}," distance)" 1 0
[[ $("$napkin" trust --model llama_3_1_70b --gpu h100_sxm --engine vllm) == 'No published run of this service. Nearest (another GPU): llama_3_1_70b on h200_sxm by vllm'* ]] ||
  fail 'the conclusion of a near service'
# Without an engine any engine is the same.
found=$("$napkin" trust --model llama_3_1_70b --gpu h200 --json)
near 'no engine' "$(number "${found%%,\"published\"*}," distance)" 0 0
[[ $("$napkin" batch <<<'{"query":"trust","model":"llama_3_1_70b","accelerator":"h200"}') == "$found" ]] || fail 'a batch answers otherwise'
refuses 'model is missing' trust --gpu h200
refuses 'has no derivation' explain trust --model llama_3_1_70b --gpu h200
finish
