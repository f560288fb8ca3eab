// Single kernels on one accelerator: the roofline and what stands on it.
#include <perfmodel/workload/operators/elementwise.hpp>
#include <perfmodel/workload/operators/moe.hpp>

#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct ridge {
  static constexpr const char* name = "ridge";
  static constexpr profile_part part = profile_part::none;
  static constexpr const char* help =
      "The arithmetic intensity at which a kernel becomes compute-bound";
  static std::vector<key> keys() {
    return {accelerator_key(), format_key("format", "of the operands").otherwise("bf16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    outcome<T> out;
    out.add("flop_per_byte", "ridge point", pm::ridge_point(in.accelerator(), in.format("format")));
    return out;
  }
};

struct gemm {
  static constexpr const char* name = "gemm";
  static constexpr profile_part part = profile_part::matrix;
  static constexpr const char* help = "A matrix product C[m,n] = A[m,k] B[k,n]";
  static std::vector<key> keys() {
    return {accelerator_key(),
            count("m", "rows of A and C: tokens, for a linear layer"),
            count("n", "columns of B and C"),
            count("k", "columns of A, rows of B"),
            format_key("format", "of all three matrices").otherwise("bf16"),
            format_key("weight_format",
                       "of B alone, as in weight-only quantisation; as format, where not given")
                .optional(),
            format_key("activation_format",
                       "of A and C, where B alone has format; as format, where not given")
                .optional(),
            word("weight_scales",
                 "one scale for a tensor, or one for a block of 128 x 128, as DeepSeek's fp8 has",
                 {"tensor", "block"})
                .otherwise("tensor"),
            weight_copies_key("copies of the weights that are read in turn; 0: they come from "
                              "DRAM, as within a model"),
            engine_key()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_gemm<T> g;
    g.m = in.number("m");
    g.n = in.number("n");
    g.k = in.number("k");
    g.weights = stored(in);
    g.format = in.format(in.has("activation_format") ? "activation_format" : "format");
    if (in.has("activation_format")) g.format = wider(g.format, g.weights.format);
    g.output = g.format;
    const pm::basic_demand<T> d = demand_of(g);
    const pm::basic_estimate<T> e = estimate_of(in.accelerator(), g, d, mode);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("flop", "work", d.flop());
    out.add("bytes", "DRAM traffic", d.dram.total());
    out.add("flop_per_byte", "intensity", d.intensity());
    out.explain(e);
    return out;
  }

 private:
  /// B with the scales that its format comes with: an fp16 for 128 weights of int4 (GPTQ, AWQ), in an
  /// engine an fp8 for 16 of fp4 (NVFP4), the only kind that engines multiply, and where it is asked
  /// for an fp32 for a block of fp8.
  template <pm::Scalar T>
  static pm::storage_format stored(const inputs<T>& in) {
    const pm::number_format f = in.format(in.has("weight_format") ? "weight_format" : "format");
    if (in.text("weight_scales") == "block") {
      if (f != pm::fp8) {
        throw pm::error(pm::error_code::out_of_range,
                        std::string("weight_scales is block with weights in ")
                            .append(pm::name_of(f))
                            .append("; allowed: block with fp8"));
      }
      return pm::storage_format(pm::fp8, 128 * 128, 32);
    }
    const bool weight_only = in.has("weight_format") || in.has("activation_format");
    if (f == pm::int4 && weight_only) return pm::storage_format(pm::int4, 128, 16);
    if (f == pm::fp4 && in.text("engine") != "none") return pm::storage_format(pm::fp4, 16, 8);
    return f;
  }
};

struct elementwise {
  static constexpr const char* name = "elementwise";
  static constexpr profile_part part = profile_part::matrix;
  static constexpr const char* help = "An element-wise kernel, or a fused chain of them";
  static std::vector<key> keys() {
    return {accelerator_key(),
            count("elements", "in each tensor"),
            count("inputs", "tensors read", 0.0, 1e6).otherwise("1"),
            count("outputs", "tensors written", 0.0, 1e6).otherwise("1"),
            number("flop_per_element", "on vector units", 0.0, 1e9).otherwise("1"),
            format_key("format", "of all tensors").otherwise("bf16"),
            weight_copies_key("as of gemm")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_elementwise<T> x;
    x.elements = in.number("elements");
    x.inputs = in.number("inputs");
    x.outputs = in.number("outputs");
    x.flop_per_element = in.number("flop_per_element");
    x.format = in.format("format");
    const pm::basic_demand<T> d = demand_of(x);
    const pm::basic_estimate<T> e = estimate_of(in.accelerator(), x, d, mode);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("bytes", "DRAM traffic", d.dram.total());
    out.explain(e);
    return out;
  }
};

struct moe_ffn {
  static constexpr const char* name = "moe_ffn";
  static constexpr profile_part part = profile_part::experts;
  static constexpr const char* help =
      "A mixture-of-experts feed-forward block, as one rank computes it";
  static std::vector<key> keys() {
    return {accelerator_key(),
            count("tokens", "of the whole group"),
            count("hidden", "width of the model"),
            count("intermediate", "width of one expert"),
            count("experts", "routed experts"),
            count("top_k", "experts that a token visits"),
            degree("tensor_parallel", "ranks that share each expert").otherwise("1"),
            degree("expert_parallel", "ranks that the experts are dealt to").otherwise("1"),
            format_key("format", "of weights and activations").otherwise("bf16"),
            word("routing",
                 "how tokens go to experts, for the calibrated time: as benchmarks deal them, or "
                 "at random",
                 {"balanced", "random"})
                .otherwise("balanced"),
            weight_copies_key("as of gemm"),
            engine_key()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_moe_ffn<T> x;
    x.tokens = in.number("tokens");
    x.hidden = in.number("hidden");
    x.intermediate = in.number("intermediate");
    x.experts = in.number("experts");
    x.top_k = in.number("top_k");
    x.tensor_parallel = in.number("tensor_parallel");
    x.expert_parallel = in.number("expert_parallel");
    x.format = in.format("format");
    x.weights = x.format;
    const pm::basic_estimate<T> e = estimate(in, x, mode);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("experts_touched", "experts touched", pm::experts_touched(x));
    out.explain(e);
    return out;
  }

 private:
  template <pm::Scalar T, class Mode>
  static pm::basic_estimate<T> estimate(inputs<T>& in, const pm::basic_moe_ffn<T>& x,
                                        const Mode& mode) {
    const pm::routing how =
        in.text("routing") == "random" ? pm::routing::random : pm::routing::balanced;
    if constexpr (requires { mode.kernels.conditions; }) {
      return calibrated_estimate(in.accelerator(), x, mode.kernels, {.routing = how});
    } else {
      return pm::roofline(in.accelerator(), demand_of(x), mode.kernels);
    }
  }
};

}  // namespace

std::vector<query> kernel_queries() {
  return {declare<ridge>(), declare<gemm>(), declare<elementwise>(), declare<moe_ffn>()};
}

}  // namespace napkin
