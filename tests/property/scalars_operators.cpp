// Every operator over the four scalars. Head counts and parallel degrees stay whole numbers, since
// one has to divide the other.
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/operators/norm.hpp>
#include <perfmodel/operators/quantized.hpp>

#include "support/scalars.hpp"

namespace property_scalars_operators {

namespace pm = perfmodel;
using perfmodel_test::check_scalars;

namespace {
/// One number that every part of a demand changes.
template <class T>
T sum_of(const pm::basic_demand<T>& d) {
  return d.matrix_flop.value() + 3.0 * d.vector_flop.value() + 5.0 * d.dram.read.value() +
         7.0 * d.dram.written.value() + 11.0 * d.l2.read.value() + 13.0 * d.l2.written.value() +
         17.0 * d.launches;
}
}  // namespace

TEST_CASE("scalars: gemm, lm_head, embedding, router", "[scalars][operators]") {
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return sum_of(demand_of(pm::basic_gemm<T>{.m = x[0], .n = x[1], .k = x[2]}));
      },
      100.0, 4096.0, 2048.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return sum_of(
            demand_of(pm::basic_lm_head<T>{.tokens = x[0], .hidden = x[1], .vocabulary = x[2]}));
      },
      100.0, 4096.0, 32000.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return sum_of(
            demand_of(pm::basic_embedding<T>{.tokens = x[0], .vocabulary = x[1], .hidden = x[2]}));
      },
      100.0, 32000.0, 4096.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return sum_of(
            demand_of(pm::basic_moe_router<T>{.tokens = x[0], .hidden = x[1], .experts = x[2]}));
      },
      100.0, 4096.0, 64.0);
}

TEST_CASE("scalars: elementwise, norm, softmax, sampling, rope, kv_write", "[scalars][operators]") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return sum_of(demand_of(pm::basic_elementwise<T>{
            .elements = x[0], .inputs = x[1], .outputs = x[2], .flop_per_element = x[3]}));
      },
      1e6, 2.0, 1.0, 5.0);
  for (const pm::norm_kind kind : {pm::norm_kind::rms, pm::norm_kind::layer}) {
    check_scalars(
        [kind]<class T>(const std::array<T, 3>& x) {
          return sum_of(demand_of(pm::basic_norm<T>{
              .rows = x[0], .width = x[1], .kind = kind, .passes = x[2], .residual = true}));
        },
        100.0, 4096.0, 2.0);
  }
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return sum_of(demand_of(pm::basic_softmax<T>{.rows = x[0], .width = x[1], .passes = x[2]}));
      },
      100.0, 4096.0, 2.0);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return sum_of(demand_of(pm::basic_sampling<T>{.rows = x[0], .vocabulary = x[1]}));
      },
      100.0, 4096.0);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return sum_of(demand_of(pm::basic_rope<T>{
            .tokens = x[0], .heads = x[1], .head_dim = x[2], .rotary_dim = x[3]}));
      },
      100.0, 72.0, 128.0, 64.0);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return sum_of(demand_of(pm::basic_kv_write<T>{
            .tokens = x[0], .kv_heads = x[1], .head_dim = x[2], .value_dim = x[3]}));
      },
      100.0, 8.0, 192.0, 128.0);
}

TEST_CASE("scalars: attention_prefill", "[scalars][operators]") {
  for (const bool fused : {true, false}) {
    check_scalars(
        [fused]<class T>(const std::array<T, 6>& x) {
          return sum_of(demand_of(pm::basic_attention_prefill<T>{.batch = x[0],
                                                                 .tokens = x[1],
                                                                 .query_heads = T(32.0),
                                                                 .kv_heads = T(8.0),
                                                                 .head_dim = x[2],
                                                                 .value_dim = x[3],
                                                                 .past = x[4],
                                                                 .fused = fused,
                                                                 .softmax_flop = x[5]}));
        },
        4.0, 512.0, 192.0, 128.0, 1000.0, 5.0);
  }
  // A window within the new tokens, and one that the cache alone fills.
  for (const double window : {300.0, 700.0}) {
    check_scalars(
        []<class T>(const std::array<T, 4>& x) {
          return sum_of(demand_of(pm::basic_attention_prefill<T>{.batch = x[0],
                                                                 .tokens = x[1],
                                                                 .query_heads = T(32.0),
                                                                 .kv_heads = T(8.0),
                                                                 .head_dim = T(128.0),
                                                                 .window = x[2],
                                                                 .past = x[3]}));
        },
        4.0, 512.0, window, 400.0);
  }
  check_scalars(
      []<class T>(const std::array<T, 3>& x) { return pm::causal_pairs(x[0], x[1], x[2]); }, 512.0,
      400.0, 700.0);
}

TEST_CASE("scalars: attention_decode and mla_decode", "[scalars][operators]") {
  check_scalars(
      []<class T>(const std::array<T, 5>& x) {
        return sum_of(demand_of(pm::basic_attention_decode<T>{.batch = x[0],
                                                              .context = x[1],
                                                              .query_heads = T(32.0),
                                                              .kv_heads = T(8.0),
                                                              .head_dim = x[2],
                                                              .value_dim = x[3],
                                                              .splits = x[4]}));
      },
      4.0, 5000.0, 192.0, 128.0, 8.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return sum_of(demand_of(pm::basic_attention_decode<T>{.batch = x[0],
                                                              .context = x[1],
                                                              .query_heads = T(32.0),
                                                              .kv_heads = T(8.0),
                                                              .head_dim = T(128.0),
                                                              .window = x[2]}));
      },
      4.0, 5000.0, 1024.0);
  check_scalars(
      []<class T>(const std::array<T, 6>& x) {
        return sum_of(demand_of(pm::basic_mla_decode<T>{.batch = x[0],
                                                        .context = x[1],
                                                        .heads = x[2],
                                                        .latent = x[3],
                                                        .rope = x[4],
                                                        .splits = x[5]}));
      },
      4.0, 5000.0, 128.0, 512.0, 64.0, 8.0);
  // One entry for the whole box: 0.5 % around 500 tokens stays within the blocks of 1,000.
  check_scalars(
      []<class T>(const std::array<T, 1>& x) {
        return pm::page_table_bytes(x[0], T(1000.0)).value();
      },
      500.0);
}

TEST_CASE("scalars: flash attention", "[scalars][operators]") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::flash_attention_reread_bytes(x[0], x[1], T(128.0)).value();
      },
      8100.0, 128.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return pm::flash_attention_accesses(x[0], x[1], x[2]);
      },
      8192.0, 128.0, 50000.0);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) { return pm::unfused_attention_accesses(x[0], x[1]); },
      8192.0, 128.0);
}

TEST_CASE("scalars: swiglu and moe_ffn", "[scalars][operators]") {
  for (const bool fused : {true, false}) {
    check_scalars(
        [fused]<class T>(const std::array<T, 4>& x) {
          return sum_of(demand_of(pm::basic_swiglu<T>{.tokens = x[0],
                                                      .hidden = x[1],
                                                      .intermediate = x[2],
                                                      .fused = fused,
                                                      .activation_flop = x[3]}));
        },
        100.0, 4096.0, 14336.0, 5.0);
    check_scalars(
        [fused]<class T>(const std::array<T, 4>& x) {
          return sum_of(demand_of(pm::basic_moe_ffn<T>{.tokens = x[0],
                                                       .hidden = x[1],
                                                       .intermediate = T(2048.0),
                                                       .experts = T(256.0),
                                                       .top_k = x[2],
                                                       .shared_experts = x[3],
                                                       .tensor_parallel = T(2.0),
                                                       .expert_parallel = T(8.0),
                                                       .fused = fused}));
        },
        32.0, 7168.0, 8.0, 1.0);
  }
  check_scalars(
      []<class T>(const std::array<T, 3>& x) { return pm::expected_experts(x[0], x[1], x[2]); },
      256.0, 8.0, 32.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) { return pm::tokens_on_rank(x[0], x[1], x[2]); }, 32.0,
      8.0, 4.0);
}

TEST_CASE("scalars: quantised operators", "[scalars][operators]") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return sum_of(
            demand_of(pm::basic_conversion<T>{.elements = x[0], .flop_per_element = x[1]}));
      },
      1e6, 2.0);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return sum_of(
            with_dequantisation(demand_of(pm::basic_conversion<T>{.elements = x[0]}), x[0], x[1]));
      },
      1e6, 3.0);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        const auto s =
            split_outliers(pm::basic_gemm<T>{.m = x[0], .n = T(256.0), .k = T(1024.0)}, x[1]);
        return sum_of(s.regular) + 2.0 * sum_of(s.outliers);
      },
      100.0, 0.25);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return sum_of(sparse_2_4(pm::basic_gemm<T>{.m = x[0], .n = x[1], .k = x[2]}));
      },
      100.0, 256.0, 1024.0);
}

TEST_CASE("operators: counts and every end of a range are checked", "[scalars][operators]") {
  pm::attention_decode d{
      .batch = 1.0, .context = 10.0, .query_heads = 24.0, .kv_heads = 8.0, .head_dim = 64.0};
  CHECK_NOTHROW(demand_of(d));
  d.kv_heads = 16.0;
  CHECK_THROWS_AS(demand_of(d), pm::error);
  CHECK_THROWS_AS(
      pm::expected_experts(pm::interval(8.0, 16.0), pm::interval(4.0, 9.0), pm::interval(1.0)),
      pm::error);
  CHECK_NOTHROW(
      pm::expected_experts(pm::interval(8.0, 16.0), pm::interval(4.0, 8.0), pm::interval(1.0)));
  CHECK_THROWS_AS(demand_of(pm::basic_swiglu<pm::interval>{
                      .tokens = {0.5, 2.0}, .hidden = 64.0, .intermediate = 64.0}),
                  pm::error);
}

}  // namespace property_scalars_operators
