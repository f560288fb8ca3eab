#!/usr/bin/env bash
# Percentiles of random services against their order and their means: closed loops, runs, arrival rates, static batches,
# drafts and pools, by closed form and by simulation. percentiles.sh <napkin> <source folder>
. "$(dirname "$0")/lib.bash"
needs_python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# requests <seed> <number> <method>: random requests, a line each: schedulers, engines, layouts, chips, outputs from 1 token,
# chunks, drafts, pools; closed loops, runs, and open loops at rest and near saturation (share: of the sustainable rate).
cat >"$work/requests.py" <<'PY'
import json, math, random, sys
chance = random.Random(int(sys.argv[1]))
def log_uniform(low, high): return round(math.exp(chance.uniform(math.log(low), math.log(high))))
chips = ["h100_sxm", "h200_sxm", "b200_sxm", "a100_sxm_80gb", "l40s", "rtx_pro_6000", "mi300x", "mi355x", "gb200_nvl72",
         "b300_sxm", "h100_pcie", "l4"]
dense = ["llama_3_8b", "llama_3_1_70b", "qwen3_32b", "mistral_7b", "phi_4", "gemma_3_12b", "llama_3_2_1b"]
experts = ["qwen3_30b_a3b", "gpt_oss_20b", "gpt_oss_120b", "mixtral_8x7b", "deepseek_v3"]
def layout_of(r, layout):
    if layout == "tensor": r["tensor_parallel"] = chance.choice([2, 4, 8])
    if layout == "pipeline": r.update(tensor_parallel=chance.choice([1, 2]), pipeline_parallel=chance.choice([2, 4]))
    if layout == "data": r.update(tensor_parallel=chance.choice([1, 2]), data_parallel=chance.choice([2, 4]))
    if layout == "expert":
        ranks = chance.choice([4, 8])
        r.update(expert_parallel=ranks, data_parallel=chance.choice([1, ranks]))
        r["tensor_parallel"] = ranks if r["data_parallel"] == 1 else 1
def load_of(r, shape):
    if shape == "open" or shape in ("drafts", "pools") and chance.random() < 0.5:
        r["requests_per_s"] = round(10 ** chance.uniform(-4, 1.7), 4)
        if chance.random() < 0.3: r["arrival_cv"] = round(chance.uniform(0, 2), 2)
    else:
        r["concurrency"] = log_uniform(1, 512)
    if shape == "run": r["requests"] = log_uniform(1, 2000)
def one(method):
    shape = chance.choice(["closed", "open", "open", "run", "static", "drafts", "pools"])
    layout = chance.choice(["one", "tensor", "pipeline", "data", "expert"])
    r = {"id": shape, "query": "serving", "method": method, "mode": "calibrated",
         "model": chance.choice(experts if layout == "expert" else dense + experts), "accelerator": chance.choice(chips),
         "engine": chance.choice(["vllm", "sglang", "trtllm", "none"]), "input_tokens": log_uniform(1, 32000),
         "output_tokens": chance.choice([1, 2, 4, 8, 16, log_uniform(1, 2000), log_uniform(1, 2000)])}
    for key in ("input_cv", "output_cv"):
        if chance.random() < 0.5: r[key] = round(chance.uniform(0, 1.5), 2)
    if chance.random() < 0.4: r["chunk_tokens"] = chance.choice([64, 256, 512, 1000, 2048, 4096, 8192, 16384])
    if chance.random() < 0.2: r["prefix_hit"] = round(chance.uniform(0, 0.95), 2)
    if chance.random() < 0.2: r["weight_format"] = "fp8"
    if chance.random() < 0.2: r["ttft_limit_s"] = round(10 ** chance.uniform(-2, 1), 3)
    load_of(r, shape)
    if shape == "pools":
        r.update(prefill_tensor_parallel=chance.choice([1, 2, 4]), decode_tensor_parallel=chance.choice([1, 2, 4]),
                 prefill_replicas=log_uniform(1, 4), decode_replicas=log_uniform(1, 4))
    else:
        layout_of(r, layout)
        if chance.random() < 0.3: r["max_sequences"] = log_uniform(1, 256)
        if chance.random() < 0.3: r["scheduler"] = chance.choice(["mixed_chunks", "prefill_first"])
    if shape == "static": r["scheduler"] = "static_batches"
    if shape == "drafts": r.update(draft_length=chance.randint(1, 6), acceptance=round(chance.uniform(0.1, 0.95), 2))
    return r
for i in range(int(sys.argv[2])):
    print(json.dumps(one(sys.argv[3])))
PY
# as_bound, overloaded: the same requests in bound mode; as open loops at a rate that nothing sustains. near <answers>: at
# 95 % of the sustainable rate of their answers.
cat >"$work/change.py" <<'PY'
import json, sys
answers = open(sys.argv[2]) if sys.argv[1] == "near" else None
for line in sys.stdin:
    r = json.loads(line)
    if sys.argv[1] == "as_bound":
        r["mode"] = "bound"
        r.pop("method")
    else:
        rate = 1e6 if answers is None else 0.95 * (json.loads(next(answers)).get("sustainable_requests_per_s") or 1e-3)
        for key in ("concurrency", "requests", "arrival_cv"): r.pop(key, None)
        if r.get("scheduler") == "static_batches": r.pop("scheduler")
        r["requests_per_s"] = rate
    print(json.dumps(r))
PY
# wrong: what is wrong in lines "request<tab>answer<tab>bound"; at its end the number of feasible answers.
cat >"$work/wrong.py" <<'PY'
import json, sys
feasible = 0
def wrong_order(a):
    found = {of: [(p, a.get(f"{of}_p{p}_s")) for p in (50, 90, 99) if a.get(f"{of}_p{p}_s") is not None]
             for of in ("ttft", "itl", "e2e")}
    for of, percentiles in found.items():
        mean, values = a[of + "_s"], [x for p, x in percentiles]
        if values != sorted(values): yield f"{of} percentiles out of order: {values}"
        for p, x in percentiles:  # Markov: 1 - p / 100 of all take x or longer
            if mean < (1 - p / 100) * x * (1 - 1e-9): yield f"{of} has the mean {mean}, and p{p} is {x}"
        # A mean above p99 needs latencies of less than 1 % of all far above it. An ITL has them, by prefills, and a run
        # by its burst; a whole request has none, and neither has the TTFT of a steady load.
        least = {"ttft": 0.97, "e2e": 0.99 if a.get("method") else 1}.get(of)
        if least and "requests" not in asked and values and values[-1] < least * mean * (1 - 1e-9):
            yield f"{of} has the mean {mean} above p99 {values[-1]}"
    for (p, first) in found["ttft"]:
        whole = dict(found["e2e"]).get(p, first)
        if first > whole * (1 + 1e-9): yield f"p{p} of ttft is {first}, of e2e {whole}"
def wrong_bounds(a, bound):
    for of, least in (("ttft_s", "bound_ttft_s"), ("itl_s", "bound_time_s"), ("e2e_s", "bound_e2e_s")):
        counts = of != "itl_s" or asked["output_tokens"] > 1
        if counts and a[least] > a[of] * (1 + 1e-9): yield f"{of} is {a[of]} below {least} {a[least]}"
    if bound.get("feasible") is False: yield "the bound is infeasible: " + bound["reason"]
    most = asked["concurrency"] / a["bound_e2e_s"] if "concurrency" in asked else asked["requests_per_s"]
    for of, most in (("rate", most), ("rate", bound.get("requests_per_s") or most)):
        if a["requests_per_s"] > most * (1 + 1e-6): yield f"the {of} {a['requests_per_s']} is above {most}"
    if a["goodput_requests_per_s"] > a["requests_per_s"] * (1 + 1e-9): yield "goodput above the rate"
    # A closed loop waits at most for all others, then for itself. Lengths that vary have longer ones.
    equal = not asked.get("input_cv") and not asked.get("output_cv") and "requests" not in asked
    if "concurrency" in asked and equal and a["ttft_p99_s"] > 2 * asked["concurrency"] / a["requests_per_s"]:
        yield f"ttft p99 {a['ttft_p99_s']} is a wait for more than the loop"
for line in sys.stdin:
    request, *answers = line.rstrip("\n").split("\t")
    asked, (a, bound) = json.loads(request), map(json.loads, answers)
    if ("error" in a) != ("error" in bound): print("refused:", a.get("error") or bound.get("error"), request)
    if "error" in a: continue
    sustained = [x.get("sustainable_requests_per_s") or float("inf") for x in (a, bound)]
    if not a["feasible"] and sustained[0] < float("inf") and sustained[0] > sustained[1] * (1 + 1e-5):
        print(f"sustains {sustained[0]} req/s, the bound {sustained[1]}", request)
    if not a["feasible"]: continue
    feasible += 1
    for what in (*wrong_order(a), *wrong_bounds(a, bound)): print(what, request)
print(feasible)
PY
# check <what> <least feasible>: $work/requests against their bounds.
check() {
  local found
  python3 "$work/change.py" as_bound <"$work/requests" >"$work/of_bounds"
  timeout 600 "$napkin" batch <"$work/requests" >"$work/answers" || [[ $? -eq 1 ]] || fail "$1: not within 600 s"
  timeout 600 "$napkin" batch <"$work/of_bounds" >"$work/bounds" || [[ $? -eq 1 ]] || fail "$1: bounds not within 600 s"
  found=$(paste "$work/requests" "$work/answers" "$work/bounds" | python3 "$work/wrong.py")
  [[ $(wc -l <<<"$found") -eq 1 ]] || fail "$1: $(head -n 5 <<<"$found")"
  [[ $(tail -n 1 <<<"$found") -ge $2 ]] || fail "$1: $(tail -n 1 <<<"$found") feasible services"
}
services=4000 simulations=120 saturated=600
if [[ $sanitized ]]; then services=40 simulations=8 saturated=8; fi
python3 "$work/requests.py" 1 $services closed_form >"$work/requests"
check 'closed forms' $((services / 2))
python3 "$work/requests.py" 3 $saturated closed_form | python3 "$work/change.py" overloaded >"$work/overloaded"
cp "$work/overloaded" "$work/requests"
check 'overloaded' 0
python3 "$work/change.py" near "$work/answers" <"$work/overloaded" >"$work/requests"
check 'near saturation' $((saturated / 2))
python3 "$work/requests.py" 2 $simulations simulation >"$work/requests"
check 'simulations' $((simulations / 3))

# A tail that rounding leaves of a difference: the percentiles were searched for without end.
one='"query":"serving","model":"qwen3_32b","accelerator":"l40s","tensor_parallel":4,"input_tokens":6668,"output_tokens":1,"concurrency":8,"scheduler":"prefill_first","max_sequences":3,"method":"closed_form"'
answer=$(timeout 60 "$napkin" batch <<<"{$one}") || fail 'percentiles without end'
near 'a wait of all others' "$(number "$answer" ttft_p99_s)" "$(number "$answer" ttft_s)" 1e-6

# Parts of an ITL: three of a pipeline, own prefills, drafts. More than were kept, they ended in no percentile.
one='"query":"serving","model":"gpt_oss_120b","accelerator":"rtx_pro_6000","engine":"vllm","input_tokens":147,"output_tokens":8,"concurrency":227,"tensor_parallel":2,"pipeline_parallel":4,"scheduler":"prefill_first","draft_length":1,"acceptance":0.2,"method":"closed_form"'
answer=$(timeout 60 "$napkin" batch <<<"{$one}") || fail 'five parts of an ITL'
[[ $(number "$answer" itl_s) ]] || fail "five parts of an ITL: $answer"

# Pools: prompts of different lengths spread the TTFT, as in a simulation.
pools='"query":"serving","model":"llama_3_8b","accelerator":"h100_sxm","engine":"vllm","input_tokens":8000,"output_tokens":50,"requests_per_s":0.05,"input_cv":0.5,"prefill_tensor_parallel":1,"decode_tensor_parallel":1'
form=$("$napkin" batch <<<"{$pools,\"method\":\"closed_form\"}")
run=$("$napkin" batch <<<"{$pools,\"method\":\"simulation\"}")
for p in 50 90 99; do
  near "TTFT p$p of pools" "$(number "$form" ttft_p${p}_s)" "$(number "$run" ttft_p${p}_s)" \
    "$(awk -v x="$(number "$run" ttft_p${p}_s)" 'BEGIN { print 0.1 * x }')"
done
finish
