#!/usr/bin/env python3
"""Times kernels of libraries on the GPU at hand, by PyTorch.

Measures: scaled_dot_product_attention (cuDNN and FlashAttention-2), prefill and decode; torch.mm in bf16
  and torch._scaled_mm in fp8, with fast accumulation, without, and with scales by block; 4-bit weights by
  torch._weight_int4pack_mm; torch._grouped_mm of experts in bf16 and torch._scaled_grouped_mm in fp8, with
  tokens routed equally and skewed; RMSNorm, SiLU x up, fp8 quantisation and softmax by torch.compile;
  torch.copy_. points.py has the list.
How: gpu.py. Weights and KV caches rotate through copies beyond five L2s; activations do not rotate, but
  for the small kernels with cache: cold.
Writes: $OUT/library_kernels.jsonl, first a line of versions, then one a point.
Usage: library_kernels.py [--seconds N] [--dry] [GROUP...], groups: decode gemm prefill experts copy small
  fp8_blocks int4 fp8_experts
"""
import argparse

import points
from gpu import L2_BYTES, Results, Timer, copies_beyond_l2, measure, one_line


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("--seconds", type=float, default=200.0, help="wall-clock budget")
    parser.add_argument("--dry", action="store_true", help="list the points and measure none")
    options = parser.parse_args()
    for group in options.groups:
        if group not in points.LIBRARY_GROUPS:
            parser.error(f"no group {group}: there are {', '.join(points.LIBRARY_GROUPS)}")
    return options


class Kernels:
    """Builds the call that each group times: a function of the copy's number, and how many copies."""

    def __init__(self, torch):
        self.torch, self.F = torch, torch.nn.functional
        self.made = {}  # the newest operands: points of one shape follow each other
        self.compiled = {}

    def random(self, *shape):
        return self.torch.randn(*shape, device="cuda", dtype=self.torch.bfloat16)

    def fp8(self, *shape):
        return self.random(*shape).to(self.torch.float8_e4m3fn)

    def kept(self, key, make):
        if key not in self.made:
            self.made.clear()
            self.torch.cuda.empty_cache()
            self.made[key] = make()
        return self.made[key]

    def sdpa(self, library):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        backend = SDPBackend.CUDNN_ATTENTION if library == "cudnn" else SDPBackend.FLASH_ATTENTION

        def attend(q, k, v, causal):
            with sdpa_kernel(backend):
                return self.F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
        return attend

    def prefill(self, p):
        b, n, d = p["batch"], p["tokens"], p["head_dim"]
        q, k, v = self.kept(("prefill", b, n), lambda: (self.random(b, p["query_heads"], n, d),
                                                        self.random(b, p["kv_heads"], n, d),
                                                        self.random(b, p["kv_heads"], n, d)))
        attend = self.sdpa(p["library"])
        p["kv_heads_read"] = p["kv_heads"]
        try:
            attend(q, k, v, True)
        except RuntimeError as error:
            print(p["library"], "without grouped heads:", one_line(error), flush=True)
            k, v = (x.repeat_interleave(p["query_heads"] // p["kv_heads"], dim=1) for x in (k, v))
            p["kv_heads_read"] = p["query_heads"]
        return lambda i: attend(q, k, v, True), 1

    def decode(self, p):
        b, n, d = p["batch"], p["context"], p["head_dim"]
        copies = copies_beyond_l2(4 * b * n * p["kv_heads"] * d)
        q, k, v = self.kept(("decode", b, n), lambda: (self.random(b, p["query_heads"], 1, d),
                                                       self.random(copies, b, p["kv_heads"], n, d),
                                                       self.random(copies, b, p["kv_heads"], n, d)))
        attend = self.sdpa(p["library"])
        return lambda i: attend(q, k[i], v[i], False), copies

    def gemm(self, p):
        torch, m, n, k = self.torch, p["m"], p["n"], p["k"]
        width = 1 if p["format"] == "fp8" else 2
        copies = copies_beyond_l2(width * n * k)
        make = self.fp8 if width == 1 else self.random
        x, w = self.kept(("gemm", m, n, k, width), lambda: (make(m, k), [make(n, k) for _ in range(copies)]))
        if width == 2:
            return lambda i: torch.mm(x, w[i].t()), copies
        one = torch.ones((), device="cuda")
        fast = p["fast_accumulation"]
        return lambda i: torch._scaled_mm(x, w[i].t(), one, one, out_dtype=torch.bfloat16,
                                          use_fast_accum=fast), copies

    def fp8_blocks(self, p):
        torch, m, n, k = self.torch, p["m"], p["n"], p["k"]
        copies = copies_beyond_l2(n * k)
        x, w = self.kept(("gemm", m, n, k, 1), lambda: (self.fp8(m, k), [self.fp8(n, k) for _ in range(copies)]))
        # The scales of a row lie m apart; those of a block of weights, one.
        of_x = torch.ones(k // 128, m, device="cuda").t()
        of_w = torch.ones(n // 128, k // 128, device="cuda").t()
        return lambda i: torch._scaled_mm(x, w[i].t(), of_x, of_w, out_dtype=torch.bfloat16), copies

    def int4(self, p):
        torch, m, n, k, group = self.torch, p["m"], p["n"], p["k"], p["group"]
        copies = copies_beyond_l2(n * k // 2)
        x = self.random(m, k)

        def pack():
            packed = torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device="cuda")
            return torch._convert_weight_to_int4pack(packed, 8)
        w = self.kept(("int4", n, k), lambda: [pack() for _ in range(copies)])
        scales = [self.random(k // group, n, 2) for _ in range(copies)]
        return lambda i: torch._weight_int4pack_mm(x, w[i], group, scales[i]), copies

    def routed(self, p):
        """Where each expert's rows end, and how many rows there are."""
        torch, e = self.torch, p["experts"]
        generator = torch.Generator(device="cuda").manual_seed(1)
        draws = torch.empty(p["tokens"], e, device="cuda").exponential_(generator=generator)
        scores = -torch.log(draws)  # Gumbel noise: the top k are drawn without replacement
        if p["routing"] == "skewed":  # the popularity of expert r is 1 / r
            scores = scores - torch.log(torch.arange(1, e + 1, device="cuda").float())
        chosen = scores.topk(p["top_k"]).indices.flatten()
        counts = torch.bincount(chosen, minlength=e)
        p["experts_touched"] = int((counts > 0).sum())
        p["busiest_expert_rows"] = int(counts.max())
        return counts.cumsum(0).to(torch.int32), p["tokens"] * p["top_k"]

    def experts(self, p):
        torch, (h, f, e) = self.torch, (p["hidden"], p["intermediate"], p["experts"])
        # Weights as checkpoints have them, [experts, out, in].
        up, down = self.kept(("experts", h, f, e), lambda: (self.random(e, 2 * f, h), self.random(e, h, f)))
        ends, rows = self.routed(p)
        x = self.random(rows, h)
        activation = self.activation(p, f)

        def run(i):
            y = torch._grouped_mm(x, up.transpose(1, 2), offs=ends)
            return torch._grouped_mm(activation(y), down.transpose(1, 2), offs=ends)
        return run, 1

    def fp8_experts(self, p):
        """One scale a row of activations and an output channel; the activation quantises its result."""
        torch, (h, f, e) = self.torch, (p["hidden"], p["intermediate"], p["experts"])
        up, down = self.kept(("fp8_experts", h, f, e), lambda: (self.fp8(e, 2 * f, h), self.fp8(e, h, f)))
        ends, rows = self.routed(p)
        x, of_x = self.fp8(rows, h), torch.ones(rows, device="cuda")
        of_up, of_down = torch.ones(e, 2 * f, device="cuda"), torch.ones(e, h, device="cuda")

        def quantised(y):
            z = self.F.silu(y[:, :f]) * y[:, f:]
            scale = z.abs().amax(-1).float() / 448.0
            return (z / scale[:, None]).to(torch.float8_e4m3fn), scale
        activation = torch.compile(quantised, dynamic=True)

        def multiply(a, b, of_a, of_b):
            return torch._scaled_grouped_mm(a, b.transpose(1, 2), of_a, of_b, offs=ends, out_dtype=torch.bfloat16,
                                            use_fast_accum=True)

        def run(i):
            z, of_z = activation(multiply(x, up, of_x, of_up))
            return multiply(z, down, of_z, of_down)
        return run, 1

    def activation(self, p, f):
        """SiLU x up in one kernel, or in two where it cannot be compiled."""
        def eager(y):
            return self.F.silu(y[:, :y.shape[1] // 2]) * y[:, y.shape[1] // 2:]
        if "activation" not in self.compiled:
            self.compiled["activation"] = self.torch.compile(eager, dynamic=True)
        try:
            self.compiled["activation"](self.random(p["tokens"] * p["top_k"], 2 * f))
            p["activation"] = "inductor"
            return self.compiled["activation"]
        except Exception as error:
            print("activation:", one_line(error), flush=True)
            p["activation"] = "eager"
            return eager

    def small(self, p):
        torch, F, kind, width = self.torch, self.F, p["kind"], p["width"]

        def quantise(x):
            scale = x.abs().amax(-1, keepdim=True).float() / 448.0
            return (x / scale).to(torch.float8_e4m3fn), scale
        functions = {
            "rms_norm": lambda x, w: F.rms_norm(x, (x.shape[-1],), w),
            "silu_mul": lambda x, w: F.silu(x[:, :x.shape[1] // 2]) * x[:, x.shape[1] // 2:],
            "quantise": lambda x, w: quantise(x),
            "softmax": lambda x, w: torch.softmax(x, -1),
        }
        if kind not in self.compiled:
            self.compiled[kind] = torch.compile(functions[kind], dynamic=False)
        columns = 2 * width if kind == "silu_mul" else width
        copies = copies_beyond_l2(2 * p["rows"] * columns) if p["cache"] == "cold" else 1
        x = [self.random(p["rows"], columns) for _ in range(copies)]
        w = self.random(width)
        run, results = self.compiled[kind], [None] * copies

        def call(i):
            results[i] = run(x[i], w)  # kept, so that results rotate as well
        return call, copies

    def copy(self, p):
        size = p["working_set_bytes"] // 2
        a = self.torch.empty(size, dtype=self.torch.uint8, device="cuda")
        b = self.torch.empty_like(a)
        copies = copies_beyond_l2(2 * size) if size < 5 * L2_BYTES else 1
        pairs = [(a, b)] + [(self.torch.empty_like(a), self.torch.empty_like(a)) for _ in range(copies - 1)]
        return lambda i: pairs[i][1].copy_(pairs[i][0]), copies


def main():
    options = parse()
    if options.dry:
        for point in points.library_points(options.groups):
            print(*point)
        return
    results = Results("library_kernels", options.seconds)
    try:
        import torch
        import torch._dynamo
        results.header("validation/library/library_kernels.py")
        torch._dynamo.config.recompile_limit = 64
        torch.manual_seed(1)
        kernels, timer = Kernels(torch), Timer()
        for group, quantity, parameters in points.library_points(options.groups):
            def run():
                call, copies = getattr(kernels, group)(parameters)
                return timer.time(call, copies)
            measure(results, quantity, parameters, run)
    except TimeoutError as error:
        print("stopped:", error, flush=True)


if __name__ == "__main__":
    main()
