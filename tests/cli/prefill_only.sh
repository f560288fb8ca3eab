#!/usr/bin/env bash
# A step of prefill only: batch 0 has no decoding sequences, and needs no context.
. "$(dirname "$0")/lib.bash"

prompts=(--model llama_3_8b --accelerator h100_sxm --batch 0 --prefill_tokens 8192)

# 32 layers of 218,103,808 weights, 2 FLOP each for 8192 tokens; attention, causal: 4 x 8192^2 x 4096 / 2 in each layer;
# the head once: 2 x 128,256 x 4096. At 989.4 TFLOP/s 133.4 ms.
ask step time_s 0.13336 0.00005 "${prompts[@]}" --mode bound
# A context that is given belongs to no sequence.
for mode in bound calibrated; do
  alone=$("$napkin" step "${prompts[@]}" --mode $mode --json) || fail "step of prompts alone, $mode: exit status not 0"
  [[ -n $alone && $alone == "$("$napkin" step "${prompts[@]}" --context 5000 --mode $mode --json)" ]] || fail "with a context: $alone"
done
answer=$(echo '{"query":"step","model":"llama_3_8b","accelerator":"h100_sxm","batch":0,"prefill_tokens":8192,"mode":"bound"}' | "$napkin" batch)
near 'in a batch' "$(number "$answer" time_s)" 0.13336 0.00005

# diagnose, explain and sensitivity of the same step.
"$napkin" diagnose "${prompts[@]}" --time_s 200ms --json | grep -q '"bound_time_s":0.133' || fail 'diagnose of prompts alone'
text=$("$napkin" explain step "${prompts[@]}") || fail 'explain of prompts alone: exit status not 0'
[[ $text != *'0 sequences'* ]] || fail "no sequence decodes: $text"
"$napkin" explain step "${prompts[@]}" --all >/dev/null || fail 'the derivation of prompts alone: exit status not 0'
"$napkin" sensitivity step "${prompts[@]}" --json >/dev/null || fail 'sensitivity of prompts alone: exit status not 0'

# Sequences that decode have a context, and a step has tokens.
refuses 'PM-E004: context is missing; step needs it: tokens in the KV cache of each decoding sequence' step --model llama_3_8b \
  --accelerator h100_sxm --batch 1
refuses 'PM-E004: context is missing; diagnose needs it' diagnose --model llama_3_8b --accelerator h100_sxm --batch 1 --time_s 20ms
refuses 'PM-E010: batch + prefill_tokens is 0; allowed: 1 or more' step --model llama_3_8b --accelerator h100_sxm --batch 0
finish
