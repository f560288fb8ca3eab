#!/usr/bin/env python3
"""Calibrates an engine on some loads of whole_model.jsonl, and predicts the others.

Usage: calibrate_loads.py NAPKIN WHOLE_MODEL.jsonl ACCELERATOR
Calibrated on: three closed loops under CUDA graphs. Predicted: the other loads under CUDA graphs, but the
first of each model, in which graphs were captured. Prints a Markdown table: measured times in ms, and the
errors of vLLM's profile as shipped and as calibrated.
"""
import json
import statistics
import subprocess
import sys
import tempfile

CALIBRATED_ON = ((4, 512, 32), (16, 512, 32), (8, 2048, 32))
CAPTURES = (1, 512, 32)


def shape(p):
    return p.get("concurrency"), p["input_tokens"], p["output_tokens"]


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=True).stdout


def options(p):
    keys = ("input_tokens", "output_tokens", "input_cv", "output_cv")
    keys += ("concurrency", "requests") if "concurrency" in p else ("requests_per_s",)
    return {k: p[k] for k in keys}


def calibrate(napkin, loads, service, out):
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        columns = [*options(loads[0]["parameters"]), "itl_s", "ttft_s"]
        print(",".join(columns), file=table)
        for line in loads:
            values = {**options(line["parameters"]), "itl_s": line["itl_mean_s"], "ttft_s": line["ttft_mean_s"]}
            print(",".join(str(values[c]) for c in columns), file=table)
        table.flush()
        run(napkin, "calibrate", "--runs", table.name, *service, "--out", out)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.strip())
    napkin, path, accelerator = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    lines = [x for x in lines if x.get("quantity") == "load" and x["parameters"]["cuda_graphs"] and "rows" in x]
    latest = {json.dumps(x["parameters"]): x for x in lines}.values()
    print("| load, input/output tokens | TTFT | shipped | calibrated | ITL | shipped | calibrated |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    off = {"ttft": [], "itl": []}
    for model in dict.fromkeys(x["parameters"]["model"] for x in latest):
        loads = [x for x in latest if x["parameters"]["model"] == model]
        service = ["--model", model, "--accelerator", accelerator, "--engine", "vllm",
                   "--chunk_tokens", loads[0]["parameters"]["max_batch_tokens"]]
        with tempfile.NamedTemporaryFile(suffix=".json") as profile:
            calibrate(napkin, [x for x in loads if shape(x["parameters"]) in CALIBRATED_ON], service, profile.name)
            for line in loads:
                p = line["parameters"]
                if shape(p) in (*CALIBRATED_ON, CAPTURES):
                    continue
                load = [x for k, v in options(p).items() for x in ("--" + k, v)]
                said = [json.loads(run(napkin, "serving", *service, *load, *more, "--json"))
                        for more in ((), ("--profile", profile.name))]
                name = f"{p['concurrency']} at a time" if "concurrency" in p else f"{p['requests_per_s']:g} req/s"
                cells = [f"{model}, {name}, {p['input_tokens']}/{p['output_tokens']}"]
                for kind in ("ttft", "itl"):
                    measured = line[kind + "_mean_s"]
                    errors = [100 * (s[kind + "_s"] / measured - 1) for s in said]
                    off[kind].append(abs(errors[1]))
                    cells += [f"{1e3 * measured:.1f}"] + [f"{e:+.0f} %" for e in errors]
                print("| " + " | ".join(cells) + " |")
    print(f"\nmean error of ITL {statistics.mean(off['itl']):.1f} %, median error of TTFT "
          f"{statistics.median(off['ttft']):.0f} %")


if __name__ == "__main__":
    main()
