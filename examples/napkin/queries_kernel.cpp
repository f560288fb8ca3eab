// Single kernels on one accelerator: the roofline and what stands on it.
#include <perfmodel/workload/elementwise.hpp>
#include <perfmodel/workload/moe.hpp>

#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct ridge {
  static constexpr const char* name = "ridge";
  static constexpr const char* help = "The arithmetic intensity at which a kernel becomes compute-bound";
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
  static constexpr const char* help = "A matrix product C[m,n] = A[m,k] B[k,n]";
  static std::vector<key> keys() {
    return {accelerator_key(),
            count("m", "rows of A and C: tokens, for a linear layer"),
            count("n", "columns of B and C"),
            count("k", "columns of A, rows of B"),
            format_key("format", "of all three matrices").otherwise("bf16"),
            engine_key()};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_gemm<T> g;
    g.m = in.number("m");
    g.n = in.number("n");
    g.k = in.number("k");
    g.format = in.format("format");
    g.weights = g.format;
    g.output = g.format;
    const pm::basic_demand<T> d = demand_of(g);
    const auto e = pm::roofline(in.accelerator(), d, mode.kernels);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("flop", "work", d.flop());
    out.add("bytes", "DRAM traffic", d.dram.total());
    out.add("flop_per_byte", "intensity", d.intensity());
    out.explain(e);
    return out;
  }
};

struct elementwise {
  static constexpr const char* name = "elementwise";
  static constexpr const char* help = "An element-wise kernel, or a fused chain of them";
  static std::vector<key> keys() {
    return {accelerator_key(),
            count("elements", "in each tensor"),
            count("inputs", "tensors read", 0.0, 1e6).otherwise("1"),
            count("outputs", "tensors written", 0.0, 1e6).otherwise("1"),
            number("flop_per_element", "on vector units", 0.0, 1e9).otherwise("1"),
            format_key("format", "of all tensors").otherwise("bf16")};
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
    const auto e = pm::roofline(in.accelerator(), d, mode.kernels);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("bytes", "DRAM traffic", d.dram.total());
    out.explain(e);
    return out;
  }
};

struct moe_ffn {
  static constexpr const char* name = "moe_ffn";
  static constexpr const char* help = "A mixture-of-experts feed-forward block, as one rank computes it";
  static std::vector<key> keys() {
    return {accelerator_key(),
            count("tokens", "of the whole group"),
            count("hidden", "width of the model"),
            count("intermediate", "width of one expert"),
            count("experts", "routed experts"),
            count("top_k", "experts that a token visits"),
            degree("tensor_parallel", "ranks that share each expert").otherwise("1"),
            degree("expert_parallel", "ranks that the experts are dealt to").otherwise("1"),
            format_key("format", "of weights and activations").otherwise("bf16")};
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
    const auto e = pm::roofline(in.accelerator(), demand_of(x), mode.kernels);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("experts_touched", "experts touched", pm::experts_touched(x));
    out.explain(e);
    return out;
  }
};

}  // namespace

std::vector<query> kernel_queries() {
  return {declare<ridge>(), declare<gemm>(), declare<elementwise>(), declare<moe_ffn>()};
}

}  // namespace napkin
