"""Every point that library_kernels.py and whole_model.py measure, as plain dictionaries.

The predictions of validation/predictions are asked for the same list, so that each measured line has its
prediction. Needs no library. A point is (group, quantity, parameters); within a group small kernels come
first and large ones last, so that no small one runs at the clock that the power cap left of a large one.
"""

# name: hidden size, intermediate size, experts, experts of a token
MOE_MODELS = {"qwen3_30b_a3b": (2048, 768, 128, 8), "deepseek_v2_lite": (2048, 1408, 64, 6),
              "mixtral_8x7b": (4096, 14336, 8, 2)}
# Llama-3 70B: query and output; gate or up. Llama-3 8B: query and output. (n, k)
LAYERS = ((4096, 4096), (8192, 8192), (28672, 8192))
ROWS = (16, 128, 1024, 4096, 8192)
HEADS = {"query_heads": 32, "kv_heads": 8, "head_dim": 128, "format": "bf16"}
SDPA_BACKENDS = ("cudnn", "flash_attention_2")

MODELS = {
    "llama_3_1_8b": dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
                         num_attention_heads=32, num_key_value_heads=8, head_dim=128, vocab_size=128256,
                         tie_word_embeddings=False),
    "llama_3_2_1b": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                         num_attention_heads=32, num_key_value_heads=8, head_dim=64, vocab_size=128256,
                         tie_word_embeddings=True),
}
# The engine's largest step, in tokens: given to it, and to the prediction.
MAX_BATCH_TOKENS = 8192

# Requests to the engine over time: closed loops of a concurrency, Poisson arrivals at a rate. Lengths are
# uniform from 0.7 to 1.3 of the mean: coefficient of variation 0.173.
LOADS = tuple({**load, "input_tokens": inputs, "output_tokens": outputs, "input_cv": 0.173, "output_cv": 0.173}
              for inputs, outputs, load in (
                  (512, 32, {"concurrency": 1, "requests": 4}), (512, 32, {"concurrency": 16, "requests": 48}),
                  (2048, 32, {"concurrency": 1, "requests": 4}), (2048, 32, {"concurrency": 8, "requests": 32}),
                  (512, 32, {"concurrency": 4, "requests": 16}), (512, 96, {"concurrency": 32, "requests": 64}),
                  (512, 32, {"requests_per_s": 2.0, "requests": 24}),
                  (2048, 32, {"requests_per_s": 2.0, "requests": 24})))


def copy_points():
    for mib in (64, 1024, 8192):
        yield "copy", "stream_time", {"kernel": "copy", "library": "torch.copy_",
                                      "working_set_bytes": 2 * (mib << 20), "cache": "cold"}


def small_points():
    for rows in (1, 16, 128, 1024, 8192):
        for kind, width in (("rms_norm", 8192), ("silu_mul", 14336), ("quantise", 8192), ("softmax", 28672)):
            # Below 128 rows no number of copies fills five L2s; 8192 rows are beyond one by themselves.
            for cache in ("warm",) if rows < 128 else ("cold",) if rows == 8192 else ("warm", "cold"):
                yield "small", "elementwise_time", {"kind": kind, "rows": rows, "width": width, "cache": cache,
                                                    "format": "bf16", "library": "inductor"}


def decode_points():
    for context in (512, 2048, 8192, 32768):
        for batch in (1, 16, 64, 128):
            for backend in SDPA_BACKENDS:
                yield "decode", "attention_decode_time", {"batch": batch, "context": context, **HEADS,
                                                          "library": backend}


def expert_points():
    for tokens in (16, 128, 512, 1024, 4096):
        for model, (hidden, intermediate, experts, top_k) in MOE_MODELS.items():
            for routing in ("equal", "skewed"):
                yield "experts", "moe_time", {"model": model, "tokens": tokens, "hidden": hidden,
                                              "intermediate": intermediate, "experts": experts, "top_k": top_k,
                                              "format": "bf16", "routing": routing,
                                              "library": "torch._grouped_mm"}


def gemm_points():
    for rows in ROWS:
        for n, k in LAYERS:
            shape = {"m": rows, "n": n, "k": k}
            yield "gemm", "gemm_time", {**shape, "format": "bf16", "library": "torch.mm"}
            for fast in (True, False):
                yield "gemm", "gemm_time", {**shape, "format": "fp8", "fast_accumulation": fast,
                                            "library": "torch._scaled_mm"}


def fp8_block_points():
    """DeepSeek's scales: of 1 x 128 activations, of 128 x 128 weights."""
    for rows in ROWS:
        for n, k in LAYERS:
            yield "fp8_blocks", "gemm_time", {"m": rows, "n": n, "k": k, "format": "fp8",
                                              "weight_scales": "block", "library": "torch._scaled_mm"}


def int4_points():
    for rows in (1, 4, 16, 64):
        for n, k in LAYERS:
            yield "int4", "gemm_time", {"m": rows, "n": n, "k": k, "format": "bf16", "weight_format": "int4",
                                        "group": 128, "library": "torch._weight_int4pack_mm"}


def fp8_expert_points():
    for _, quantity, p in expert_points():
        yield "fp8_experts", quantity, {**p, "format": "fp8", "library": "torch._scaled_grouped_mm"}


def prefill_points():
    for batch, tokens in ((1, 512), (1, 1024), (1, 2048), (1, 4096), (4, 2048), (1, 8192), (1, 16384)):
        for backend in SDPA_BACKENDS:
            yield "prefill", "attention_prefill_time", {"batch": batch, "tokens": tokens, **HEADS,
                                                        "causal": True, "library": backend}


LIBRARY_GROUPS = {"decode": decode_points, "gemm": gemm_points, "prefill": prefill_points,
                  "experts": expert_points, "copy": copy_points, "small": small_points,
                  "fp8_blocks": fp8_block_points, "int4": int4_points, "fp8_experts": fp8_expert_points}


def library_points(groups=None):
    for name in groups or LIBRARY_GROUPS:
        yield from LIBRARY_GROUPS[name]()


def model_points(model):
    """Forward passes without an engine first, then runs of the engine, the cheap ones first."""
    for batch, tokens in ((1, 512), (1, 2048), (4, 2048), (1, 8192)):
        yield "prefill", "step_time", {"model": model, "batch": 0, "sequences": batch,
                                       "prefill_tokens": batch * tokens, "format": "bf16"}
    # context: tokens of the static cache, all of which a step reads.
    for batch, context in ((1, 512), (1, 4096), (8, 512), (32, 512), (32, 2048)):
        yield "decode", "step_time", {"model": model, "batch": batch, "context": context,
                                      "prefill_tokens": 0, "format": "bf16"}
    for concurrency, inputs in ((1, 512), (8, 512), (32, 512), (64, 512), (1, 2048), (8, 2048), (32, 2048)):
        yield "engine", "request", {"model": model, "concurrency": concurrency, "requests": concurrency,
                                    "input_tokens": inputs, "output_tokens": 128,
                                    "max_batch_tokens": MAX_BATCH_TOKENS, "format": "bf16"}
    for graphs in (False, True):
        for load in LOADS:
            yield "graph_load" if graphs else "load", "load", {"model": model, **load, "cuda_graphs": graphs,
                                   "max_batch_tokens": MAX_BATCH_TOKENS, "format": "bf16"}
