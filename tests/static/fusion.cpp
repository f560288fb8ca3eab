// Fusion in constant expressions.
#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_fusion {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

// 4096 x 2048 in 2 bytes: 16.777 MB; two intermediates, written and read: 67.1 MB; 80 layers: 5.37
// GB.
constexpr pm::bytes<> tensor = 4096.0 * 2048 * 2 * pm::byte;
constexpr pm::fusion_saving saving = pm::chain_saving(tensor, 2);
static_assert(saving.dram.total() == 67108864_B);
static_assert(saving.launches == 2);
static_assert(near(80 * saving.dram.total(), 5.36870912_GB));
static_assert(pm::chain_saving(tensor, 1, 3).dram.total() == 4 * tensor);

// X W -> Z1 -> Z2 -> Y: 3 x less activation traffic, 2 x with the 33.6 MB weight.
constexpr pm::traffic unfused{tensor + 2 * tensor + 2 * tensor, 3 * tensor};
constexpr pm::traffic fused{tensor + 2 * tensor, tensor};
static_assert(pm::traffic_ratio(unfused, fused) == 2.0);

static_assert(pm::attention_fusion_ratio(8192.0, 128.0) == 65);
static_assert(pm::attention_fusion_ratio(1920.0, 128.0) == 16);
static_assert(pm::attention_fusion_ratio(1152.0, 128.0) == 10);
static_assert(pm::attention_fusion_ratio(3712.0, 128.0) == 30);
static_assert(near(pm::attention_fusion_ratio(8192.0, 128.0, 64.0, 8.0), 114.8, 5e-4));

constexpr pm::demand multiply = [] {
  pm::demand d;
  d.matrix_flop = 1_TFLOP;
  d.dram = {20_MB, 10_MB};
  return d;
}();
constexpr pm::demand activate = [] {
  pm::demand d;
  d.format = pm::fp32;
  d.vector_flop = 1_GFLOP;
  d.dram = {10_MB, 10_MB};
  return d;
}();
constexpr pm::demand both = pm::fuse(multiply, activate, 10_MB);
static_assert(both.dram.read == 20_MB && both.dram.written == 10_MB);
static_assert(both.flop() == multiply.flop() + activate.flop());
static_assert(both.launches == 1 && both.format == pm::bf16);

}  // namespace

}  // namespace static_fusion
