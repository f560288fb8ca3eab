#!/usr/bin/env bash
# speculation without a draft cost: an upper bound, which says so, and no draft of 64 tokens.
. "$(dirname "$0")/lib.bash"

# --- no cost: 5 tokens are drafted, and no length is the best ------------------------------------------------
# (1 - 0.8^6) / 0.2 = 3.68928
answer=$("$napkin" speculation --acceptance 0.8 --json) || fail 'speculation: exit status not 0'
near 'tokens of a draft of 5' "$(number "$answer" emitted_tokens)" 3.68928 1e-9
near 'the speed-up of a free draft' "$(number "$answer" speedup)" 3.68928 1e-9
near 'the draft length' "$(number "$answer" draft_length)" 5 0
for part in '"best_draft_length":null' '"speedup_is_upper_bound":true' \
  '"best_draft_length_reason":"draft cost not given: assumed 0; the speedup is an upper bound for this draft length"'; do
  [[ $answer == *"$part"* ]] || fail "no $part in $answer"
done
text=$("$napkin" speculation --acceptance 0.8)
for line in '^  best draft length +none$' '^  draft cost +not given: assumed 0; the speedup is an upper bound for this draft length$' \
  '^  draft length +5, assumed$'; do
  grep -qE "$line" <<<"$text" || fail "no line '$line' in $text"
done
# A length that is given stays, 64 too; so do as many as there are acceptances: 1 + .9 + .9 x .5 + .9 x .5 x .1.
near 'a draft of 64' "$(number "$("$napkin" speculation --acceptance 0.8 --draft_length 64 --json)" emitted_tokens)" 4.9999975 1e-6
answer=$("$napkin" speculation --acceptance 0.9,0.5,0.1 --json)
near 'one token for each acceptance' "$(number "$answer" emitted_tokens)" 2.395 1e-9
[[ $answer == *'"best_draft_length":null'* && $answer == *'"draft_length":3'* ]] || fail "by position: $answer"
"$napkin" speculation --acceptance 0.9,0.5,0.1 | grep -q 'length.*assumed' && fail 'as many as acceptances are not assumed'

# --- a cost of 0 that was given: no bound, and no best length either -------------------------------------------
answer=$("$napkin" speculation --acceptance 0.8 --draft_cost_ratio 0 --json)
for part in '"best_draft_length":null' '"speedup_is_upper_bound":false' 'a longer draft is never slower'; do
  [[ $answer == *"$part"* ]] || fail "no $part in $answer"
done

# --- with a cost: the best length is a number, 10 at 0.025 (tests/static/speculative.cpp) ------------------------
answer=$("$napkin" speculation --acceptance 0.8 --draft_cost_ratio 0.025 --json)
[[ $answer == *'"best_draft_length":10'* && $answer != *upper_bound* ]] || fail "with a cost: $answer"
near 'the best length is taken' "$(number "$answer" draft_length)" 10 0
near 'and is what the speed-up is of' "$(number "$answer" emitted_tokens)" 4.570503 1e-5  # (1 - 0.8^11) / 0.2
finish
