#!/usr/bin/env python3
"""Asks napkin for a prediction of every point of validation/library, before the points are measured.

Usage: ask.py NAPKIN [ACCELERATOR] > validation/predictions/ACCELERATOR.jsonl      (h100_sxm)
Each line: quantity and parameters of the point, the query that was asked, bound_s, predicted_s, low_s and
high_s, which is the calibrated prediction with its interval of 80 %. Requests to an engine have these for
the mean TTFT and ITL, once without an engine's name and once as vLLM. What a query leaves out is under
note. validation/kernels needs no such file: compare asks the library at a recording's own revision.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "library"))
import points  # noqa: E402

ELEMENTWISE = {  # tensors read and written in bf16, FLOP of an element of the result
    "silu_mul": {"inputs": 2, "outputs": 1, "flop_per_element": 5},
    "quantise": {"inputs": 1, "outputs": 0.5, "flop_per_element": 3},
}
LOAD_KEYS = ("ttft_s", "ttft_p50_s", "itl_s", "itl_p99_s", "e2e_s", "duration_s", "output_tokens_per_s",
             "joules_per_token")
ENGINE_NOTE = ("kernels of a serving engine in CUDA graphs, mixed chunks, the host's time of {} alone; transformers "
               "launches eagerly and attends over a dense mask")


def pick(p, *keys):
    return {k: p[k] for k in keys}


def query_of(quantity, p, engine):
    """The query of a point, and what it leaves out. Requests are asked of an engine without a name too."""
    copies = {"weight_copies": 1} if p.get("cache") == "warm" else {}
    if quantity == "stream_time":
        return {"query": "elementwise", "elements": p["working_set_bytes"] // 4, "inputs": 1, "outputs": 1,
                "flop_per_element": 0}, ""
    if quantity == "elementwise_time":
        note = "" if not copies else "DRAM of the bound; the operands may be in the L2"
        if p["kind"] in ELEMENTWISE:
            return {"query": "elementwise", "elements": p["rows"] * p["width"], **ELEMENTWISE[p["kind"]],
                    **copies}, note
        shape = {"rows": p["rows"], "width": p["width"]}
        if p["kind"] == "softmax":
            return {"query": "softmax", **shape}, note
        return {"query": "norm", "kind": "rms", **shape}, note
    heads = ("query_heads", "kv_heads", "head_dim", "format")
    if quantity == "attention_decode_time":
        return {"query": "attention_decode", **pick(p, "batch", "context", *heads)}, ""
    if quantity == "attention_prefill_time":
        return {"query": "attention_prefill", **pick(p, "batch", "tokens", "causal", *heads)}, ""
    if quantity == "gemm_time" and "weight_format" in p:
        return {"query": "gemm", **pick(p, "m", "n", "k", "format", "weight_format")}, "a serving engine's kernels"
    if quantity == "gemm_time" and "weight_scales" in p:
        return {"query": "gemm", **pick(p, "m", "n", "k", "format", "weight_scales")}, "activations are quantised"
    if quantity == "gemm_time":
        note = "the query knows no accumulation" if p["format"] == "fp8" else ""
        return {"query": "gemm", **pick(p, "m", "n", "k", "format")}, note
    if quantity == "moe_time":
        note = "measured without router and permutation"
        skew = {"routing": "random"} if p["routing"] == "equal" else \
            {"routing": "power_law", "popularity_exponent": 1}
        if p["format"] == "fp8":
            note += "; scales of rows and columns are asked as scales by block"
        return {"query": "moe_ffn", **skew,
                **pick(p, "tokens", "hidden", "intermediate", "experts", "top_k", "format")}, note
    if quantity == "step_time":
        return {"query": "step", **pick(p, "model", "batch", "prefill_tokens"),
                **({"context": p["context"]} if p["batch"] else {})}, ""
    if quantity == "load":
        load = pick(p, *(k for k in ("concurrency", "requests_per_s") if k in p))
        return {"query": "simulate", **pick(p, "model", "requests", "input_tokens", "output_tokens", "input_cv",
                                            "output_cv", "cuda_graphs"), **load,
                "chunk_tokens": p["max_batch_tokens"], "engine": engine}, ENGINE_NOTE.format(
                    "no engine" if engine == "none" else engine)
    if quantity == "request":
        return {"query": "serving", **pick(p, "model", "concurrency", "requests", "input_tokens",
                                           "output_tokens"),
                "chunk_tokens": p["max_batch_tokens"], "scheduler": "mixed_chunks",
                "engine": engine}, ENGINE_NOTE.format("no engine" if engine == "none" else engine)
    raise ValueError(quantity)


def short(x):
    return float(f"{x:.4g}") if isinstance(x, float) else x


def table_row(answer, suffix=""):
    key = suffix + "_s" if suffix else "time_s"
    low, high = answer[suffix + "_interval_80_s" if suffix else "interval_80_s"]
    bound = answer.get({"": "bound_time_s", "ttft": "bound_ttft_s", "itl": "bound_time_s"}[suffix])
    return {"bound_s": short(bound), "predicted_s": short(answer[key]), "low_s": short(low),
            "high_s": short(high)}


def several_prompts(p, one, all_):
    """A pass over several prompts: the query knows one, whose attention is quadratic in its length."""
    n = p["sequences"]
    change = n * one["terms"]["attention"] - all_["terms"]["attention"]
    ratio = (all_["time_s"] + change) / all_["time_s"]
    low, high = all_["interval_80_s"]
    return {"bound_s": None, "predicted_s": short(ratio * all_["time_s"]), "low_s": short(ratio * low),
            "high_s": short(ratio * high)}


def main():
    napkin, accelerator = sys.argv[1], (sys.argv[2:] or ["h100_sxm"])[0]
    asked = [(q, p) for _, q, p in points.library_points()]
    for model in points.MODELS:
        asked += [(q, p) for _, q, p in points.model_points(model)]
    queries = []
    for quantity, p in asked:
        for engine in ("none", "vllm") if quantity in ("request", "load") else ("none",):
            query, note = query_of(quantity, p, engine)
            queries.append((quantity, p, query, note, len(queries)))
    extra = {i: {**q, "prefill_tokens": p["prefill_tokens"] // p["sequences"]}
             for _, p, q, _, i in queries if p.get("sequences", 1) > 1}
    lines = [{"id": i, "accelerator": accelerator, **q} for _, _, q, _, i in queries]
    lines += [{"id": -1 - i, "accelerator": accelerator, **q} for i, q in extra.items()]
    said = subprocess.run([napkin, "batch"], input="\n".join(map(json.dumps, lines)), text=True,
                          stdout=subprocess.PIPE).stdout
    answers = {a["id"]: a for a in map(json.loads, said.splitlines())}
    for quantity, p, query, note, i in queries:
        row = {"quantity": quantity, "parameters": p, "query": query}
        answer = answers.get(i, {"error": "no answer"})
        if "error" in answer:
            row["error"] = answer["error"]
            print("ask:", quantity, answer["error"], file=sys.stderr)
        elif quantity == "load":
            row["answer"] = {k: short(v) for k, v in answer.items() if k in LOAD_KEYS}
        elif quantity == "request":
            row["ttft"], row["itl"] = table_row(answer, "ttft"), table_row(answer, "itl")
        elif i in extra:
            row.update(several_prompts(p, answers[-1 - i], answer))
            note = "attention of one prompt, times the prompts"
        else:
            row.update(table_row(answer))
            if "power_w" in answer:
                row["power_w"] = short(answer["power_w"])
        if note:
            row["note"] = note
        print(json.dumps(row))


if __name__ == "__main__":
    main()
