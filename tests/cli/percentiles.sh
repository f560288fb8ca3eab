#!/usr/bin/env bash
# Percentiles of random services against their order and their means: closed loops, runs, arrival rates, static batches,
# drafts and pools, by closed form and by simulation. percentiles.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
needs_python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# requests <seed> <number> <method>: random requests, a line each.
cat >"$work/requests.py" <<'PY'
import json, math, random, sys
chance = random.Random(int(sys.argv[1]))
def log_uniform(low, high): return round(math.exp(chance.uniform(math.log(low), math.log(high))))
for i in range(int(sys.argv[2])):
    shape = chance.choice(["closed", "open", "run", "static", "drafts", "pools"])
    r = {"id": shape, "query": "serving", "method": sys.argv[3], "mode": "calibrated",
         "model": chance.choice(["llama_3_8b", "qwen3_30b_a3b", "gpt_oss_20b"]),
         "accelerator": chance.choice(["h100_sxm", "b200_sxm", "mi300x", "rtx_pro_6000"]),
         "engine": chance.choice(["vllm", "sglang"]),
         "input_tokens": log_uniform(16, 16000), "output_tokens": log_uniform(1, 1500)}
    for key in ("input_cv", "output_cv"):
        if chance.random() < 0.5: r[key] = round(chance.uniform(0, 1.5), 2)
    if shape == "open" or shape in ("drafts", "pools") and chance.random() < 0.5:
        r["requests_per_s"] = round(10 ** chance.uniform(-2, 1), 3)
    else:
        r["concurrency"] = log_uniform(1, 256)
    if shape == "pools":
        r.update(prefill_tensor_parallel=chance.choice([1, 2]), decode_tensor_parallel=chance.choice([1, 2]),
                 prefill_replicas=log_uniform(1, 4), decode_replicas=log_uniform(1, 4))
    else:
        r["tensor_parallel"] = chance.choice([1, 2, 4])
        if chance.random() < 0.3: r["max_sequences"] = log_uniform(1, 256)
    if shape == "run": r["requests"] = log_uniform(1, 2000)
    if shape == "static": r["scheduler"] = "static_batches"
    elif shape != "pools" and chance.random() < 0.3: r["scheduler"] = chance.choice(["mixed_chunks", "prefill_first"])
    if shape == "drafts": r.update(draft_length=chance.randint(1, 6), acceptance=round(chance.uniform(0.1, 0.9), 2))
    print(json.dumps(r))
PY
# wrong: what is wrong in lines "request<tab>answer"; at its end the number of feasible answers.
cat >"$work/wrong.py" <<'PY'
import json, sys
feasible = 0
for line in sys.stdin:
    request, answer = line.rstrip("\n").split("\t")
    asked, a = json.loads(request), json.loads(answer)
    if "error" in a:
        print("refused:", a["error"]["message"], request)
    if not a.get("feasible"):
        continue
    feasible += 1
    for of in ("ttft", "itl", "e2e"):
        mean, found = a[of + "_s"], [(p, a.get(f"{of}_p{p}_s")) for p in (50, 90, 99)]
        found = [(p, x) for p, x in found if x is not None]
        values = [x for p, x in found]
        if values != sorted(values):
            print(of, "percentiles out of order", values, request)
        for p, x in found:  # Markov: 1 - p / 100 of all take x or longer
            if mean < (1 - p / 100) * x * (1 - 1e-9):
                print(f"{of} has the mean {mean}, and p{p} is {x}", request)
        # A mean above p99 needs latencies of less than 1 % of all far above it. An ITL has them, by prefills, and a run
        # by its burst; a whole request has none, and neither has the TTFT of a steady load.
        least = {"ttft": 0.97, "e2e": 1}.get(of)
        if least and "requests" not in asked and values and values[-1] < least * mean * (1 - 1e-9):
            print(f"{of} has the mean {mean} above p99 {values[-1]}", request)
print(feasible)
PY
# check <seed> <number> <method> <least feasible>
check() {
  local found
  python3 "$work/requests.py" "$1" "$2" "$3" >"$work/requests"
  timeout 600 "$napkin" batch <"$work/requests" >"$work/answers" || fail "$3: refused, or not within 600 s"
  found=$(paste "$work/requests" "$work/answers" | python3 "$work/wrong.py")
  [[ $(wc -l <<<"$found") -eq 1 ]] || fail "$3: $(head -n 5 <<<"$found")"
  [[ $(tail -n 1 <<<"$found") -ge $4 ]] || fail "$3: $(tail -n 1 <<<"$found") feasible services"
}
services=1500 simulations=150
if [[ $sanitized ]]; then services=40 simulations=8; fi
check 1 $services closed_form $((services / 3))
check 2 $simulations simulation $((simulations / 3))

# A tail that rounding leaves of a difference: the percentiles were searched for without end.
one='"query":"serving","model":"qwen3_32b","accelerator":"l40s","tensor_parallel":4,"input_tokens":6668,"output_tokens":1,"concurrency":8,"scheduler":"prefill_first","max_sequences":3,"method":"closed_form"'
answer=$(timeout 60 "$napkin" batch <<<"{$one}") || fail 'percentiles without end'
near 'a wait of all others' "$(number "$answer" ttft_p99_s)" "$(number "$answer" ttft_s)" 1e-6

# Pools: prompts of different lengths spread the TTFT, as in a simulation.
pools='"query":"serving","model":"llama_3_8b","accelerator":"h100_sxm","engine":"vllm","input_tokens":8000,"output_tokens":50,"requests_per_s":0.05,"input_cv":0.5,"prefill_tensor_parallel":1,"decode_tensor_parallel":1'
form=$("$napkin" batch <<<"{$pools,\"method\":\"closed_form\"}")
run=$("$napkin" batch <<<"{$pools,\"method\":\"simulation\"}")
for p in 50 90 99; do
  near "TTFT p$p of pools" "$(number "$form" ttft_p${p}_s)" "$(number "$run" ttft_p${p}_s)" \
    "$(awk -v x="$(number "$run" ttft_p${p}_s)" 'BEGIN { print 0.1 * x }')"
done
finish
