#!/usr/bin/env python3
"""Times a whole Llama with random weights: forward passes, and requests to an engine, on one GPU.

Measures: 1. prefill: one forward pass over prompts with logits of their last tokens, which is a time to first
  token without an engine; 2. decode: one forward pass of a batch over a static KV cache; 3. the engine of
  transformers, continuous batching with a paged KV cache, under the loads of points.LOADS, and with all
  requests of a run at once; TTFT is the first token's timestamp less the request's creation, ITL the time
  between two tokens' timestamps.
How: passes by gpu.py, as a CUDA graph and eagerly, so that launches of the host are told from the device;
  joules of a pass by the board's counter. The engine runs with paged SDPA, at most points.MAX_BATCH_TOKENS
  tokens in a step, after a short run of the same shape; without CUDA graphs but where a load asks for them.
  Its attention is over a dense mask, and its vocabulary GEMM over all
  tokens of a prompt, which no other engine does.
Writes: $OUT/whole_model.jsonl, first a line of versions, then one a point or a request.
Usage: whole_model.py [--seconds N] [--kinds prefill,decode,load,graph_load,engine] [--dry] 8b|1b...
"""
import argparse
import dataclasses
import os
import queue
import random
import statistics
import sys
import time

import points
from gpu import Results, Timer, measure, one_line

NAMES = {"8b": "llama_3_1_8b", "1b": "llama_3_2_1b"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", choices=[*NAMES])
    parser.add_argument("--seconds", type=float, default=150.0, help="wall-clock budget of each model")
    parser.add_argument("--kinds", default="prefill,decode,load,graph_load,engine", help="what is measured")
    parser.add_argument("--dry", action="store_true", help="list the points and measure none")
    return parser.parse_args()


def build(torch, name):
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(max_position_embeddings=32768, attn_implementation="sdpa", **points.MODELS[name])
    torch.set_default_dtype(torch.bfloat16)
    begin = time.perf_counter()
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).eval()
    torch.cuda.synchronize()
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{name}: {parameters:.4g} parameters, {next(model.parameters()).dtype}, "
          f"built in {time.perf_counter() - begin:.1f} s", flush=True)
    return model


def prompts(count, tokens):
    return [[random.randrange(1000, 128000) for _ in range(tokens)] for _ in range(count)]


class Passes:
    def __init__(self, torch, model):
        self.torch, self.model, self.timer = torch, model, Timer(samples=7, least_seconds=5e-3)

    def eager(self, call, samples=7):
        """Seconds of single calls as the host sees them, each waited for."""
        seconds = []
        for _ in range(samples + 2):
            self.torch.cuda.synchronize()
            begin = time.perf_counter()
            call(0)
            self.torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
        return seconds[2:]

    def time(self, call):
        seconds = self.eager(call)
        line = self.timer.time(call, most_calls=4, energy_seconds=1.0)
        return {**line, "eager_samples": seconds, "eager_median_s": statistics.median(seconds)}

    def prefill(self, p):
        sequences = p["sequences"]
        ids = self.torch.tensor(prompts(sequences, p["prefill_tokens"] // sequences), device="cuda")
        return self.time(lambda i: self.model(input_ids=ids, use_cache=True, logits_to_keep=1).logits)

    def decode(self, p):
        """A step near the cache's end, with room for all repetitions, should the cache count them."""
        torch, (batch, context) = self.torch, (p["batch"], p["context"])
        from transformers import StaticCache
        cache = StaticCache(config=self.model.config, max_cache_len=context)
        ids = torch.tensor(prompts(batch, 1), device="cuda")
        position = torch.tensor([context - 128], device="cuda")
        positions = position.expand(batch, 1).contiguous()
        variants = ({"cache_position": position}, {})
        for variant in variants:
            def call(i, variant=variant):
                return self.model(input_ids=ids, position_ids=positions, past_key_values=cache, use_cache=True,
                                  logits_to_keep=1, **variant).logits
            try:
                call(0)
                break
            except Exception as error:
                print("decode without", list(variant), one_line(error), flush=True)
        for layer in cache.layers:  # the past is made up: a prefill would say no more of the time
            layer.keys.normal_()
            layer.values.normal_()
        line = self.time(call)
        return {**line, "variant": "cache_position" if variant else "position_ids"}


class Engine:
    """transformers' continuous batching, one manager for all runs; generate_batch where that fails."""

    def __init__(self, model, graphs=False):
        from transformers import GenerationConfig
        self.model, self.graphs = model, graphs
        self.generation = GenerationConfig(max_new_tokens=128, do_sample=False, eos_token_id=-1, pad_token_id=0)
        self.manager, self.description = None, {}

    def configuration(self):
        """What is asked of the engine, as far as this version knows the words."""
        try:
            from transformers.generation.configuration_utils import ContinuousBatchingConfig
        except ImportError:
            return None
        wanted = {"max_batch_tokens": points.MAX_BATCH_TOKENS, "block_size": 256, "num_blocks": 320,
                  "allow_block_sharing": False, "use_cuda_graph": self.graphs}
        known = {f.name for f in dataclasses.fields(ContinuousBatchingConfig)}
        self.description = {k: v for k, v in wanted.items() if k in known}
        return ContinuousBatchingConfig(**self.description)

    def start(self):
        self.manager = self.model.init_continuous_batching(
            generation_config=self.generation, continuous_batching_config=self.configuration())

    def send(self, inputs, output_tokens, seconds):
        """All requests at once; their results in the order in which they end."""
        if self.manager is None:
            self.start()
        self.manager.add_requests(inputs=inputs, max_new_tokens=output_tokens, record_timestamps=True)
        if not self.manager.is_running():
            self.manager.start()  # after the first requests: it may take an empty queue for an end
        done, end = [], time.monotonic() + seconds
        while len(done) < len(inputs):
            if time.monotonic() > end:
                raise TimeoutError("the engine's time is up")
            try:
                result = self.manager.get_result(timeout=1)
            except queue.Empty:
                continue
            if result is None:
                if not self.manager.is_running():
                    raise RuntimeError("the engine's thread ended")
            elif result.error is not None:
                raise RuntimeError("a request failed: " + str(result.error))
            elif result.is_finished():
                done.append(result)
        return done

    def serve(self, load, inputs, outputs, seconds):
        """A closed loop of load["concurrency"], or arrivals at seeded exponential gaps; sent and finished."""
        if self.manager is None:
            self.start()
        rate = load.get("requests_per_s")
        due, at = [], 0.0
        for _ in inputs:
            due.append(at)
            at += random.expovariate(rate) if rate else 0.0
        width = len(inputs) if rate else load["concurrency"]
        begin = time.monotonic()
        sent, done, when_sent = 0, [], {}
        while len(done) < len(inputs):
            now = time.monotonic() - begin
            while sent < len(inputs) and sent - len(done) < width and now >= due[sent]:
                name = self.manager.add_request(input_ids=inputs[sent], max_new_tokens=outputs[sent],
                                                record_timestamps=True)
                when_sent[name] = now
                sent += 1
            if not self.manager.is_running():
                self.manager.start()
            if now > seconds:
                raise TimeoutError("the engine's time is up")
            wait = 0.5 if sent == len(inputs) or not rate else max(1e-3, min(0.5, due[sent] - now))
            try:
                result = self.manager.get_result(timeout=wait)
            except queue.Empty:
                continue
            if result is None:
                continue
            if result.error is not None:
                raise RuntimeError("a request failed: " + str(result.error))
            if result.is_finished():
                done.append((when_sent.get(result.request_id), result))
        return done, time.monotonic() - begin

    def generate_batch(self, inputs, output_tokens):
        generation = self.generation.__class__(max_new_tokens=output_tokens, do_sample=False, eos_token_id=-1,
                                               pad_token_id=0)
        return list(self.model.generate_batch(inputs, generation_config=generation, record_timestamps=True,
                                              progress_bar=False).values())

    def run(self, inputs, output_tokens, seconds):
        try:
            return self.send(inputs, output_tokens, seconds), "manager"
        except (TimeoutError, KeyboardInterrupt):
            raise
        except Exception as error:
            print("engine: manager:", one_line(error), flush=True)
            self.stop()
            return self.generate_batch(inputs, output_tokens), "generate_batch"

    def stop(self):
        manager, self.manager = self.manager, None
        try:
            if manager is not None:
                manager.stop(block=True, timeout=5)
        except Exception as error:
            print("engine: stop:", one_line(error), flush=True)


class Latencies:
    """TTFT of requests, and ITL of all their tokens, from the engine's timestamps."""

    def __init__(self):
        self.ttfts, self.itls = [], []

    def add(self, result):
        """The result's timestamps and gaps; none where it has no token."""
        stamps = list(result.timestamps or [])
        gaps = [b - a for a, b in zip(stamps, stamps[1:])]
        self.ttfts += [stamp - result.created_time for stamp in stamps[:1]]
        self.itls += gaps
        return stamps, gaps

    def line(self):
        if not self.ttfts:
            raise RuntimeError("no timestamps in the results")
        return {"ttft_mean_s": statistics.mean(self.ttfts), "ttft_median_s": statistics.median(self.ttfts),
                "itl_mean_s": statistics.mean(self.itls), "itl_median_s": statistics.median(self.itls)}


def run_engine(engine, results, sensors, p):
    count, inputs, outputs = p["requests"], p["input_tokens"], p["output_tokens"]
    if results.left() < 3:
        raise TimeoutError("the run's time is up")
    engine.run(prompts(count, inputs), 4, results.left())
    begin = time.perf_counter()
    done, entry = engine.run(prompts(count, inputs), outputs, results.left())
    seconds = time.perf_counter() - begin
    state = sensors.read()
    latencies = Latencies()
    for r in done:
        stamps, gaps = latencies.add(r)
        if not stamps:
            continue
        results.write({"quantity": "request", "parameters": p, "ttft_s": stamps[0] - r.created_time,
                       "queue_s": r.lifespan[0] - r.created_time if getattr(r, "lifespan", None) else None,
                       "output_tokens": len(r.generated_tokens), "itl_s": [round(g, 7) for g in gaps]})
    line = {**latencies.line(), "seconds": seconds, "finished": len(done), "entry": entry, "engine": "transformers continuous batching",
            "attention": str(engine.model.config._attn_implementation), **engine.description, **state}
    config = getattr(getattr(engine.manager, "continuous_batching_config", None), "__dict__", {})
    for key in ("use_cuda_graph", "use_async_batching", "max_batch_tokens", "num_blocks", "block_size"):
        if key in config:
            line[key] = str(config[key])
    results.write({"quantity": "engine_run", "parameters": p, **line})
    print("engine", *p.values(), f"TTFT {1e3 * line['ttft_median_s']:.1f} ms, ITL "
          f"{1e3 * line['itl_median_s']:.2f} ms, {seconds:.1f} s, {entry}", flush=True)


def uniform_lengths(count, mean, cv):
    """Uniform, of this mean and coefficient of variation."""
    half = round(mean * cv * 3 ** 0.5)
    return [random.randint(mean - half, mean + half) for _ in range(count)]


def run_load(engine, results, sensors, p):
    """Requests over time. A warm-up of a few requests comes first, of the same lengths."""
    count = p["requests"]
    if results.left() < 3:
        raise TimeoutError("the run's time is up")
    lengths = uniform_lengths(count, p["input_tokens"], p["input_cv"])
    outputs = uniform_lengths(count, p["output_tokens"], p["output_cv"])
    warm = min(count, p.get("concurrency", 4))
    engine.serve({"concurrency": warm}, [prompts(1, n)[0] for n in lengths[:warm]], [4] * warm, results.left())
    before = sensors.joules()
    done, seconds = engine.serve(p, [prompts(1, n)[0] for n in lengths], outputs, results.left())
    after, state = sensors.joules(), sensors.read()
    latencies, rows = Latencies(), []
    for sent, r in done:
        stamps, _ = latencies.add(r)
        if not stamps:
            continue
        rows.append([round(x, 6) for x in (sent or 0.0, stamps[0] - r.created_time, stamps[-1] - r.created_time)] +
                    [len(r.prompt_ids), len(r.generated_tokens)])
    line = {**latencies.line(), "seconds": seconds, "finished": len(done),
            "itl_p99_s": sorted(latencies.itls)[int(0.99 * (len(latencies.itls) - 1))],
            "output_tokens_in_all": sum(r[4] for r in rows), **engine.description, **state,
            "columns": ["sent_s", "ttft_s", "e2e_s", "input_tokens", "output_tokens"], "rows": rows}
    if before is not None and after is not None:
        line["joules"] = after - before
    results.write({"quantity": "load", "parameters": p, **line})
    print("load", *p.values(), f"TTFT {1e3 * line['ttft_mean_s']:.1f} ms, ITL {1e3 * line['itl_mean_s']:.2f} ms, "
          f"{seconds:.1f} s", flush=True)


def run_requests(model, results, sensors, name, kinds):
    """Each kind of engine, with its loads; what fails costs this load alone."""
    engine = None
    try:
        for kind, quantity, p in points.model_points(name):
            if kind not in kinds or kind in ("prefill", "decode"):
                continue
            graphs = p.get("cuda_graphs", False)
            if engine is None or engine.graphs != graphs:
                if engine is not None:
                    engine.stop()
                engine = Engine(model, graphs)
            try:
                (run_engine if kind == "engine" else run_load)(engine, results, sensors, p)
            except TimeoutError:
                raise
            except Exception as error:
                results.write({"quantity": "engine_run" if kind == "engine" else quantity, "parameters": p,
                               "skipped": one_line(error)})
                print("skipped", kind, *p.values(), one_line(error), flush=True)
                engine.stop()
    finally:
        if engine is not None:
            engine.stop()


def run_model(name, seconds, kinds):
    results = Results("whole_model", seconds)
    try:
        import torch
        results.header("validation/library/whole_model.py " + name)
        random.seed(1)
        model = build(torch, name)
        with torch.inference_mode():
            passes = Passes(torch, model)
            for kind, quantity, p in points.model_points(name):
                if kind in kinds and kind in ("prefill", "decode"):
                    measure(results, quantity, p, lambda: getattr(passes, kind)(p))
                    torch.cuda.empty_cache()
        # From here on the model's attention is paged.
        run_requests(model, results, passes.timer.sensors, name, kinds)
    except TimeoutError as error:
        print("stopped:", error, flush=True)
    except Exception as error:
        print("failed:", one_line(error), flush=True)


def main():
    options = parse()
    for short in options.models:
        if options.dry:
            for point in points.model_points(NAMES[short]):
                print(*point)
            continue
        if len(options.models) == 1:
            run_model(NAMES[short], options.seconds, options.kinds.split(","))
        else:  # each in a process of its own, so that memory and threads end with it
            pid = os.fork()
            if pid == 0:
                run_model(NAMES[short], options.seconds, options.kinds.split(","))
                sys.stdout.flush()
                os._exit(0)
            os.waitpid(pid, 0)
    sys.stdout.flush()
    os._exit(0)  # the engine's thread may still run


if __name__ == "__main__":
    main()
