// Single kernels on one accelerator, by the roofline and the laws based on it.
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/operators/norm.hpp>

#include "operator_query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct ridge {
  static constexpr const char* name = "ridge";
  static constexpr profile_part part = profile_part::none;
  static constexpr const char* help =
      "Ridge point: the arithmetic intensity at which a kernel becomes compute-bound";
  static std::vector<key> keys() {
    return {accelerator_key(), format_key("format", "operand format").otherwise("bf16")};
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    outcome<T> out;
    out.add("flop_per_byte", "ridge point", pm::ridge_point(in.accelerator(), in.format("format")));
    return out;
  }
};

struct gemm : operator_query<pm::basic_gemm> {
  static constexpr const char* name = "gemm";
  static constexpr const char* help = "GEMM: C[m,n] = A[m,k] B[k,n]";
  static std::vector<key> keys() {
    return keys_of(
        {{"m", "rows of A and C: tokens, for a linear layer"},
         {"n", "columns of B and C"},
         {"k", "columns of A, rows of B"},
         {"format", "format of A, B and C"}},
        {format_key("weight_format", "format of B for weight-only quantization; default: format")
             .optional(),
         format_key("activation_format",
                    "format of A and C where only B has format; default: format")
             .optional(),
         word("weight_scales",
              "weight scales: one per tensor, per block of 128 x 128 (DeepSeek's fp8), or per 32 "
              "weights (MXFP4)",
              {"tensor", "block", "mx"})
             .otherwise("tensor"),
         weight_copies_key("number of weight buffers that the benchmark reads in turn; 0: cold "
                           "weights from DRAM, as in a model"),
         engine_key()});
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_gemm<T> g = read_operator<pm::basic_gemm>(in);
    g.weights = stored(in);
    g.format = in.format(in.has("activation_format") ? "activation_format" : "format");
    if (in.has("activation_format")) g.format = wider(g.format, g.weights.format);
    g.output = g.format;
    return kernel_outcome(in, g, mode, true);
  }

 private:
  /// Storage of B with its scales. Weight-only int4 and fp4 in an engine have the block scales of
  /// storage_of; no engine multiplies another kind. On request: an fp32 per block of fp8, or a byte
  /// per 32 values of fp4 or fp8 (OCP's MX formats).
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
    if (in.text("weight_scales") == "mx") {
      if (f != pm::fp4 && f != pm::fp8) {
        throw pm::error(pm::error_code::out_of_range,
                        std::string("weight_scales is mx with weights in ")
                            .append(pm::name_of(f))
                            .append("; allowed: mx with fp4 or fp8"));
      }
      return pm::storage_format(f, 32, 8);
    }
    const bool weight_only = in.has("weight_format") || in.has("activation_format");
    const bool scaled = f == pm::int4 ? weight_only : in.text("engine") != "none";
    return scaled ? pm::storage_of(f, pm::facts_of(in.chip().architecture).kind)
                  : pm::storage_format(f);
  }
};

struct elementwise : operator_query<pm::basic_elementwise> {
  static constexpr const char* name = "elementwise";
  static constexpr const char* help = "Element-wise kernel, or a fused chain of them";
  static std::vector<key> keys() {
    return keys_of({{"elements", "elements per tensor"},
                    {"inputs", "tensors read"},
                    {"outputs", "tensors written"},
                    {"flop_per_element", "FLOP per element, on vector units"},
                    {"format", "format of all tensors"}},
                   {weight_copies_key(
                       "number of tensor buffers that the benchmark reads in turn, as for gemm")});
  }
};

struct norm : operator_query<pm::basic_norm> {
  static constexpr const char* name = "norm";
  static constexpr const char* help = "LayerNorm or RMSNorm, row by row";
  static std::vector<key> keys() {
    return keys_of({{"rows", "rows: tokens, in a model"},
                    {"width", "elements per row"},
                    {"kind", "kind of norm", {"rms", "layer"}},
                    {"format", "format of all tensors"},
                    {"passes", "times that the input is read from DRAM"},
                    {"residual", "fused residual add: reads a second tensor and writes the sum"}});
  }
};

struct softmax : operator_query<pm::basic_softmax> {
  static constexpr const char* name = "softmax";
  static constexpr const char* help = "Softmax over each row, in its own kernel";
  static std::vector<key> keys() {
    return keys_of({{"rows", "vectors"},
                    {"width", "elements per row"},
                    {"format", "format of both tensors"},
                    {"passes", "times that the input is read from DRAM"}});
  }
};

struct moe_ffn : operator_query<pm::basic_moe_ffn> {
  static constexpr const char* name = "moe_ffn";
  static constexpr profile_part part = profile_part::experts;
  static constexpr const char* help = "Mixture-of-experts (MoE) feed-forward block on one rank";
  static std::vector<key> keys() {
    return keys_of(
        {{"tokens", "tokens of the whole expert-parallel group"},
         {"hidden", "hidden size of the model"},
         {"intermediate", "intermediate size of one expert"},
         {"experts", "routed experts"},
         {"top_k", "experts per token (top-k)"},
         {"tensor_parallel", "ranks that share each expert"},
         {"expert_parallel", "expert-parallel size"},
         {"format", "format of weights and activations"},
         {"gated", "three matrices per expert (gate, up, down); false: two"}},
        {word("routing",
              "routing of tokens to experts, for the calibrated time: balanced as in benchmarks, "
              "random, all to the same half of the experts, or skewed by a power law",
              {"balanced", "random", "grouped", "power_law"})
             .otherwise("balanced"),
         number("popularity_exponent",
                "exponent of power_law routing: 1.01 and 1.2 in AIConfigurator's benchmarks", 0.1,
                4.0)
             .otherwise("1.2"),
         word("weight_scales",
              "scales of fp8 weights, for the calibrated time: one per block of 128 x 128, or one "
              "per tensor, which CUTLASS multiplies on Hopper",
              {"block", "tensor"})
             .otherwise("block"),
         word("kernels",
              "library of the grouped GEMMs, for the calibrated time; default: the engine's",
              {"triton", "cutlass", "trtllm", "marlin"})
             .optional(),
         number("imbalance",
                "load imbalance: rows of the busiest rank over the mean, for the calibrated time",
                1.0, 1e6)
             .otherwise("1"),
         number("capacity_factor", "capacity factor: maximum rows of a rank over the mean", 1.0,
                1e6)
             .optional(),
         weight_copies_key(
             "number of weight buffers that the benchmark reads in turn, as for gemm"),
         engine_key()});
  }
  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    pm::basic_moe_ffn<T> x = read_operator<pm::basic_moe_ffn>(in);
    // An engine's 4-bit weights have block scales, as in gemm and in a model.
    x.weights = in.text("engine") == "none"
                    ? pm::storage_format(x.format)
                    : pm::storage_of(x.format, pm::facts_of(in.chip().architecture).kind);
    x.format = operands_of(x.format, in.accelerator());
    const pm::basic_estimate<T> e = estimate(in, x, mode);
    outcome<T> out;
    out.add("time_s", "time", e.time);
    out.add("experts_touched", "experts touched", pm::experts_touched(x));
    out.explain(e);
    note_work(in, out, work_of(in, x));
    if constexpr (requires { mode.notes; }) {
      out.log_sigma = pm::stated_log_sigma(x, mode);
      if (in.text("routing") == "power_law") {
        out.log_sigma = pm::catalog::in_quadrature(*out.log_sigma, popularity_log_sigma);
      }
      if (runs_per_tensor(in)) {
        out.log_sigma = pm::catalog::in_quadrature(*out.log_sigma, per_tensor_log_sigma);
      }
      if (x.format == pm::fp4 && in.chip().architecture == pm::chip_architecture::blackwell) {
        out.log_sigma = pm::catalog::in_quadrature(*out.log_sigma, four_bit_log_sigma);
      }
    }
    return out;
  }

 private:
  /// Added for power_law routing: a benchmark's rows are single draws of a popularity. With it the
  /// intervals hold 75 to 91 % of the skewed rows of each library, and 97 % of NVFP4's.
  static constexpr double popularity_log_sigma = 0.15;
  /// Added for experts with a scale per tensor: one of H100 and H200 predicts the other within
  /// 0.165 to 0.176, 80 % of rows.
  static constexpr double per_tensor_log_sigma = 0.09;
  /// Added for experts that compute in 4 bits on Blackwell's data-centre GPUs: none are published,
  /// and two libraries that engines choose from differ by 1.5 to 2.3.
  static constexpr double four_bit_log_sigma = 0.2;

  /// True for fp8 weights with a scale per tensor on Hopper. Elsewhere fp8 experts are either
  /// fitted to such rows (RTX PRO 6000) or none were measured.
  template <pm::Scalar T>
  static bool runs_per_tensor(const inputs<T>& in) {
    const auto architecture = in.chip().architecture;
    return in.text("weight_scales") == "tensor" && in.format("format") == pm::fp8 &&
           architecture == pm::chip_architecture::hopper;
  }
  /// Format of the operands: bf16 for int4 weights, and for 4-bit weights on a chip that does not
  /// compute in them (Marlin, Triton's MXFP4); else that of the weights.
  template <pm::Scalar T>
  static pm::number_format operands_of(pm::number_format weights,
                                       const pm::basic_accelerator<T>& a) {
    const bool dequantised =
        weights == pm::int4 || (weights == pm::fp4 && !a.matrix.peak.fp4.is_stated());
    return dequantised ? pm::bf16 : weights;
  }
  /// CUTLASS's experts on Blackwell workstation cards, which vLLM 0.24 runs there.
  template <pm::Scalar T>
  static void take_workstation_cutlass(pm::basic_calibrated<T>& c) {
    namespace cat = pm::catalog;
    c.moe_kernels = pm::lift<T>(cat::cutlass_bf16_experts_rtx_pro_6000);
    c.low_precision_moe_kernels = pm::lift<T>(cat::cutlass_fp8_experts_rtx_pro_6000);
    c.expert_parallel_moe_kernels = c.low_precision_moe_kernels;
    c.four_bit_moe_kernels = pm::lift<T>(cat::cutlass_nvfp4_experts_rtx_pro_6000);
  }
  /// Grouped GEMMs of one library, on any accelerator.
  template <pm::Scalar T>
  static void take_kernels(pm::basic_calibrated<T>& c, std::string_view library) {
    namespace cat = pm::catalog;
    if (library == "marlin") {
      c.dequantised_moe_kernels = pm::lift<T>(cat::marlin_experts);
      return;
    }
    if (library == "triton") c.dequantised_moe_kernels = pm::lift<T>(cat::triton_mxfp4_experts);
    c.four_bit_moe_kernels.reset();
    const bool triton = library == "triton", cutlass = library == "cutlass";
    // NVFP4's tiles of 128 rows, which start and end in 4 us on RTX PRO 6000.
    if (cutlass) c.four_bit_moe_kernels = pm::lift<T>(cat::cutlass_nvfp4_experts_rtx_pro_6000);
    if (!triton) c.untuned_moe_kernels.reset();
    c.moe_kernels = pm::lift<T>(triton || cutlass ? cat::triton_experts : cat::trtllm_experts);
    c.low_precision_moe_kernels = pm::lift<T>(triton    ? cat::triton_fp8_experts
                                              : cutlass ? cat::cutlass_experts
                                                        : cat::trtllm_fp8_experts);
    c.expert_parallel_moe_kernels = c.low_precision_moe_kernels;
  }
  template <pm::Scalar T, class Mode>
  static pm::basic_estimate<T> estimate(inputs<T>& in, const pm::basic_moe_ffn<T>& x,
                                        const Mode& mode) {
    if constexpr (requires { mode.conditions; }) {
      pm::basic_call_conditions<T> how;
      const std::string_view routing = in.text("routing");
      how.routing = routing == "random"      ? pm::expert_routing::random
                    : routing == "grouped"   ? pm::expert_routing::grouped
                    : routing == "power_law" ? pm::expert_routing::power_law
                                             : pm::expert_routing::balanced;
      how.popularity_exponent = in.number("popularity_exponent");
      how.imbalance = in.number("imbalance");
      if (in.has("capacity_factor")) how.capacity_factor = in.number("capacity_factor");
      Mode calibration = mode;
      const bool workstation =
          in.accelerator().architecture == pm::chip_architecture::blackwell_rtx;
      const std::string_view library = in.has("kernels") ? in.text("kernels") : "";
      if (workstation && (library == "cutlass" ||
                          (library.empty() && mode.target.serving_engine == pm::engine::vllm))) {
        take_workstation_cutlass(calibration);
      } else if (!library.empty()) {
        take_kernels(calibration, library);
      }
      if (runs_per_tensor(in)) {
        calibration.low_precision_moe_kernels =
            pm::lift<T>(pm::catalog::cutlass_fp8_per_tensor_experts);
        calibration.expert_parallel_moe_kernels = calibration.low_precision_moe_kernels;
      }
      // TensorRT-LLM's kernel sums the rank's own rows: 3.3 % off B200's published rows of eight
      // ranks, 3.0 with those of all. Services on 32 and 48 ranks take the time of all.
      using pm::upper;
      if (calibration.moe_kernels.launcher_tiles && upper(x.expert_parallel) > 1.0) {
        calibration.moe_kernels.sums_own_rows = true;
      }
      return calibrated_estimate(in.accelerator(), x, calibration, how);
    } else {
      return pm::roofline(in.accelerator(), work_of(in, x), mode);
    }
  }
  /// Demand, with a power law that of the experts that it touches where they are fewer.
  template <pm::Scalar T>
  static pm::basic_demand<T> work_of(inputs<T>& in, const pm::basic_moe_ffn<T>& x) {
    pm::basic_demand<T> d = demand_of(x);
    if (in.text("routing") != "power_law") return d;
    const T popular = pm::popular_experts_of(x.tokens, x.top_k, x.experts, x.expert_parallel,
                                             in.number("popularity_exponent"))
                          .touched();
    using pm::scalar_max;
    const T fewer = scalar_max(T(0.0), T(pm::experts_touched(x) - popular));
    d.dram.read -= fewer * pm::ffn_matrices(x.gated) * x.hidden *
                   (x.intermediate / x.tensor_parallel) * pm::lift<T>(pm::bytes_of(x.weights));
    return d;
  }
};

}  // namespace

std::vector<query> kernel_queries() {
  return {declare<ridge>(), declare<gemm>(),    declare<elementwise>(),
          declare<norm>(),  declare<softmax>(), declare<moe_ffn>()};
}

}  // namespace napkin
