#!/usr/bin/env python3
"""Scores measured lines of validation/library against the predictions that were committed before them.

Usage: score.py PREDICTIONS.jsonl MEASURED.jsonl...
Prints Markdown tables by kernel family: median and 90th percentile of |predicted / measured - 1|,
median of predicted over measured, and the share of points within the stated 80 % interval. Then TTFT
and ITL of the engine, and the ITL beyond the predicted kernels. Counts points without a prediction.
"""
import collections
import json
import statistics
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def key(quantity, parameters):
    return quantity, tuple(sorted((k, str(v)) for k, v in parameters.items()))


class Predictions:
    """A measured line may state more parameters than its prediction."""

    def __init__(self, path):
        self.lines = read(path)
        self.names = collections.defaultdict(set)
        self.by_key = collections.defaultdict(list)
        for line in self.lines:
            self.names[line["quantity"]].add(tuple(sorted(line["parameters"])))
            self.by_key[key(line["quantity"], line["parameters"])].append(line)

    def of(self, quantity, parameters):
        for names in self.names[quantity]:
            if all(n in parameters for n in names):
                found = self.by_key.get(key(quantity, {n: parameters[n] for n in names}))
                if found:
                    return found
        return []


def quantile(values, share):
    values = sorted(values)
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def percent(x):
    return f"{100 * x:.1f}"


def table(columns, rows):
    print("|" + "|".join(f" {c} " for c in columns) + "|")
    print("|---|" + "---:|" * (len(columns) - 1))
    for row in rows:
        print("|" + "|".join(f" {c} " for c in row) + "|")
    print()


def score(name, points):
    errors = [abs(p / m - 1) for m, p, _, _, _ in points]
    over_bound = [m / bound for m, _, _, _, bound in points if bound]
    return [name, len(points), percent(statistics.median(errors)), percent(quantile(errors, 0.9)),
            f"{statistics.median(p / m for m, p, _, _, _ in points):.2f}",
            percent(sum(low <= m <= high for m, _, low, high, _ in points) / len(points)),
            f"{min(over_bound):.2f}" if over_bound else "-"]


SCORE_COLUMNS = ("points", "n", "median %", "p90 %", "predicted / measured", "in the 80 % interval, %",
                 "least measured / bound")


def families(quantity, p):
    """Names of the groups that a point belongs to; it counts in each."""
    if quantity in ("attention_decode_time", "attention_prefill_time"):
        kind = "decode" if "decode" in quantity else "prefill"
        yield f"attention {kind}, {p['library']}"
        if kind == "decode":
            yield f"attention decode, {p['library']}, context {p['context']}"
        else:
            yield f"attention prefill, {p['library']}, {p['batch']} x {p['tokens']}"
    elif quantity == "gemm_time":
        fast = {True: ", fast accumulation", False: ", exact accumulation"}.get(p.get("fast_accumulation"), "")
        if "weight_format" in p:
            yield f"GEMM, {p['weight_format']} weights"
            yield f"GEMM, {p['weight_format']} weights, {p['m']} rows"
            return
        if "weight_scales" in p:
            fast = ", scales by block"
        yield f"GEMM {p['format']}{fast}"
        yield f"GEMM {p['format']}{fast}, {'up to 128' if p['m'] <= 128 else 'from 1024'} rows"
    elif quantity == "moe_time":
        name = "experts" if p["format"] == "bf16" else f"{p['format']} experts"
        yield f"{name}, {p['routing']} routing"
        yield f"{name}, {p['model']}, {p['routing']} routing"
    elif quantity == "elementwise_time":
        yield f"{p['kind']}, {p['cache']}"
    elif quantity == "stream_time":
        yield "copy"
    elif quantity == "step_time":
        yield f"whole model, {'decode' if p['batch'] else 'prefill'}"


def score_points(predictions, measured):
    groups, skipped, unmatched = collections.OrderedDict(), [], 0
    for line in measured:
        if line.get("quantity") in (None, "request", "engine_run", "load"):
            continue
        quantity, p = line["quantity"], line["parameters"]
        if "median_s" not in line:
            skipped.append((quantity, p, line.get("skipped", "")))
            continue
        found = predictions.of(quantity, p)
        if not found:
            unmatched += 1
            continue
        said = found[0]
        point = (line["median_s"], said["predicted_s"], said["low_s"], said["high_s"], said["bound_s"])
        for name in families(quantity, p):
            groups.setdefault(name, []).append(point)
    table(SCORE_COLUMNS, [score(name, points) for name, points in sorted(groups.items())])
    for quantity, p, why in skipped:
        print("not measured:", quantity, *p.values(), why)
    print(f"{unmatched} points without a prediction, {len(skipped)} not measured\n")


def pairs(measured):
    """Ratios of two variants of one point."""
    times = {key(line["quantity"], line["parameters"]): line for line in measured if "median_s" in line}

    def ratios(quantity, name, first, second, ignored=()):
        out = []
        for line in measured:
            if line.get("quantity") != quantity or "median_s" not in line or line["parameters"].get(name) != first:
                continue
            p = {k: v for k, v in line["parameters"].items() if k not in ignored}
            for other in times.values():
                q = {k: v for k, v in other["parameters"].items() if k not in ignored}
                if other["quantity"] == quantity and q == {**p, name: second}:
                    out.append((line["median_s"] / other["median_s"], p))
        return out

    rows = []
    extra = ("experts_touched", "busiest_expert_rows", "activation", "kv_heads_read")
    for title, args in (("fp8 GEMM, fast over exact accumulation", ("gemm_time", "fast_accumulation", True, False)),
                        ("experts, skewed over equal routing", ("moe_time", "routing", "skewed", "equal", extra)),
                        ("decode attention, cuDNN over FlashAttention-2",
                         ("attention_decode_time", "library", "cudnn", "flash_attention_2", extra)),
                        ("prefill attention, cuDNN over FlashAttention-2",
                         ("attention_prefill_time", "library", "cudnn", "flash_attention_2", extra))):
        found = [r for r, _ in ratios(*args)]
        if found:
            rows.append([title, len(found), f"{statistics.median(found):.3f}", f"{min(found):.3f}",
                         f"{max(found):.3f}"])
    if rows:
        table(("ratio of times", "n", "median", "least", "most"), rows)


def score_passes(predictions, measured):
    rows = []
    for line in measured:
        if line.get("quantity") != "step_time" or "median_s" not in line:
            continue
        p = line["parameters"]
        said = predictions.of("step_time", p)[0]
        what = f"decode {p['batch']} x {p['context']}" if p["batch"] else \
            f"prefill {p['sequences']} x {p['prefill_tokens'] // p['sequences']}"
        rows.append([f"{p['model']}, {what}"] + [f"{1e3 * x:.2f}" for x in (
            line["median_s"], line.get("eager_median_s", 0), said["predicted_s"], said["bound_s"] or 0)] +
            [f"{said['predicted_s'] / line['median_s']:.2f}"])
    if rows:
        table(("forward pass, ms", "graph", "eager", "predicted", "bound", "predicted / graph"), rows)


def score_engine(predictions, measured):
    rows = []
    for line in measured:
        if line.get("quantity") != "engine_run" or "itl_mean_s" not in line:
            continue
        p = line["parameters"]
        said = {s["query"]["engine"]: s for s in predictions.of("request", p)}
        cells = [f"{p['model']}, {p['concurrency']} x {p['input_tokens']}"]
        for value, name in ((line["ttft_mean_s"], "ttft"), (line["itl_mean_s"], "itl")):
            cells.append(f"{1e3 * value:.1f}")
            for engine in ("none", "vllm"):
                s = said[engine][name]
                cells.append(f"{1e3 * s['predicted_s']:.1f}")
        cells.append(f"{1e3 * (line['itl_mean_s'] - said['none']['itl']['predicted_s']):.1f}")
        rows.append(cells)
    if rows:
        table(("engine, requests x input tokens, ms", "TTFT", "kernels alone", "as vLLM", "ITL", "kernels alone",
               "as vLLM", "ITL beyond kernels"), rows)


def score_loads(predictions, measured):
    """Times as measured and as simulated for vLLM; the last run of a load counts."""
    lines = {json.dumps(d["parameters"]): d for d in measured if d.get("quantity") == "load" and "itl_mean_s" in d}
    rows = []
    for line in lines.values():
        p = line["parameters"]
        said = {s["query"]["engine"]: s["answer"] for s in predictions.of("load", p)}["vllm"]
        load = f"{p['concurrency']} at a time" if "concurrency" in p else f"{p['requests_per_s']:g} req/s"
        rows.append([f"{p['model']}, {load}, {p['input_tokens']}/{p['output_tokens']}, "
                     f"{'CUDA graphs' if p['cuda_graphs'] else 'eager'}"] +
                    [f"{1e3 * x:.1f}" for x in (line["ttft_mean_s"], said["ttft_s"], line["itl_mean_s"],
                                                said["itl_s"])] +
                    [f"{line['joules'] / line['output_tokens_in_all']:.2f}" if "joules" in line else "-"])
    if rows:
        table(("load, ms", "TTFT", "as vLLM", "ITL", "as vLLM", "J/token"), rows)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    predictions = Predictions(sys.argv[1])
    measured = [line for path in sys.argv[2:] for line in read(path)]
    score_points(predictions, measured)
    pairs(measured)
    score_passes(predictions, measured)
    score_engine(predictions, measured)
    score_loads(predictions, measured)


if __name__ == "__main__":
    main()
