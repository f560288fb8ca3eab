// Demands are constant expressions; these are the ones a reader can check by hand.
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/operators/norm.hpp>
#include <perfmodel/operators/quantized.hpp>

namespace static_operators {

namespace pm = perfmodel;

namespace {

constexpr bool near_to(double x, double expected, double relative) {
  const double gap = x < expected ? expected - x : x - expected;
  return gap <= relative * expected;
}

// GEMM: 2 n^3 FLOP over 3 n^2 values of 2 bytes is n / 3.
constexpr pm::demand square = demand_of(pm::gemm{.m = 4096, .n = 4096, .k = 4096});
static_assert(square.matrix_flop == 137438953472.0 * pm::flop);
static_assert(square.dram.total() == 100663296.0 * pm::byte);
static_assert(near_to(square.intensity().value(), 4096.0 / 3.0, 1e-15));

// GELU, counted as 5 FLOP: 5 over 4 bytes.
static_assert(demand_of(pm::elementwise{.elements = 1e6, .flop_per_element = 5}).intensity() ==
              1.25 * pm::flop_per_byte);

// Softmax: 5 over 4 bytes. RoPE: 3 over 4.
static_assert(demand_of(pm::softmax{.rows = 10, .width = 100}).intensity() ==
              1.25 * pm::flop_per_byte);
static_assert(demand_of(pm::rope{.tokens = 7, .heads = 72, .head_dim = 128}).intensity() ==
              0.75 * pm::flop_per_byte);

// Fused attention without grouping and mask: 4 S^2 d FLOP over 4 S d b bytes is S / 2 in 16 bit.
constexpr pm::attention_prefill multi_head{.batch = 1,
                                           .tokens = 8192,
                                           .query_heads = 64,
                                           .kv_heads = 64,
                                           .head_dim = 128,
                                           .causal = false};
static_assert(demand_of(multi_head).intensity() == 4096.0 * pm::flop_per_byte);
static_assert(demand_of(multi_head).dram.total() == 536870912.0 * pm::byte);
static_assert(demand_of(multi_head).matrix_flop == 64.0 * 4.0 * 8192.0 * 8192.0 * 128.0 * pm::flop);

constexpr pm::bytes<> unfused_bytes() {
  pm::attention_prefill a = multi_head;
  a.fused = false;
  return demand_of(a).dram.total();
}
static_assert(unfused_bytes() == 34896609280.0 * pm::byte);
static_assert(unfused_bytes() == 65.0 * demand_of(multi_head).dram.total());  // 1 + 8192 / 128

static_assert(pm::flash_attention_reread_bytes(8192.0, 128.0, 128.0) == 272629760.0 * pm::byte);
static_assert(pm::flash_attention_reread_bytes(8192.0, 128.0, 8192.0) == 8388608.0 * pm::byte);

// Decode, a 70B layer: 2 x 8 heads x 128 x 2 bytes a token; 4 x 64 x 128 FLOP a token.
constexpr pm::attention_decode layer_70b{
    .batch = 1, .context = 1048576, .query_heads = 64, .kv_heads = 8, .head_dim = 128};
static_assert(demand_of(layer_70b).matrix_flop == 1048576.0 * 4.0 * 64.0 * 128.0 * pm::flop);
static_assert(near_to(demand_of(layer_70b).dram.read.value(), 1048576.0 * 4096.0, 1e-5));
static_assert(near_to(demand_of(layer_70b).intensity().value(), 8.0, 2e-5));

// Latent attention, DeepSeek-V3: 512 + 64 values a token.
constexpr pm::mla_decode layer_v3{
    .batch = 1, .context = 1048576, .heads = 128, .latent = 512, .rope = 64};
static_assert(near_to(demand_of(layer_v3).dram.read.value(), 1048576.0 * 1152.0, 1e-3));

// Experts: one token touches top_k, exactly.
static_assert(near_to(pm::expected_experts(256.0, 8.0, 1.0), 8.0, 1e-13));
static_assert(near_to(pm::expected_experts(256.0, 8.0, 32.0), 163.3138, 1e-6));
static_assert(near_to(pm::expected_experts(256.0, 8.0, 256.0), 255.9244, 1e-6));
static_assert(pm::expected_experts(8.0, 8.0, 1.0) == 8.0);

// Embedding reads the rows asked for and not the table.
static_assert(demand_of(pm::embedding{.tokens = 1, .vocabulary = 128256, .hidden = 8192})
                  .dram.total() == 32.0 * pm::KiB);

// 4-bit weights with a 16-bit scale for every 64; 2:4 sparsity.
static_assert(pm::storage_format(pm::int4, 64, 16).bits() == 4.25);
static_assert(pm::storage_format(pm::int4, 64, 16, 4).bits() == 4.3125);
static_assert(pm::storage_format(pm::int4, 64, 16, 16).bits() == 4.5);
static_assert(pm::sparse_2_4_byte_share(pm::bf16) == 0.5625);
static_assert(pm::sparse_2_4_byte_share(pm::fp8) == 0.625);
static_assert(pm::sparse_2_4_byte_share(pm::int4) == 0.75);

}  // namespace

}  // namespace static_operators
