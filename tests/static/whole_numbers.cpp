// Whole numbers are taken wherever a number is, and answer as the same doubles do.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/units/constants.hpp>

#ifdef PERFMODEL_WHOLE_NUMBERS
#error "PERFMODEL_WHOLE_NUMBERS leaks from the headers"
#endif

namespace static_whole_numbers {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using pm::catalog::h100_sxm;
using pm::catalog::llama_3_70b;

namespace {

constexpr pm::deployment eight{.device = h100_sxm, .model = llama_3_70b, .layout = {.tensor = 8}};
constexpr pm::memory_budget budget{.capacity = 80_GB, .weights = 17_GB};
constexpr auto per_token = 40'960 * pm::byte_per_token;

// Caches.
static_assert(pm::kv_bytes(llama_3_70b, 4096) == pm::kv_bytes(llama_3_70b, 4096.0));
static_assert(pm::kv_capacity(budget, per_token, 4096, 16).sequences ==
              pm::kv_capacity(budget, per_token, 4096.0, 16.0).sequences);
static_assert(pm::kv_capacity(eight, 4096).sequences == pm::kv_capacity(eight, 4096.0).sequences);
static_assert(pm::fits(eight, 1, 4096).feasible);
static_assert(pm::contiguous_waste(500, 4096) == pm::contiguous_waste(500.0, 4096.0));
static_assert(pm::contiguous_waste(500, 4096.0) == pm::contiguous_waste(500.0, 4096.0));
static_assert(pm::paged_waste(500, 16) == pm::paged_waste(500.0, 16.0));
static_assert(pm::shared_prefix_saving(64, 2000) == 126000_tok);
static_assert(pm::paging_tax(500_ns, 500_ns, 16, per_token, 20_GB_per_s) ==
              pm::paging_tax(500_ns, 500_ns, 16.0, per_token, 20_GB_per_s));

// Operators.
static_assert(pm::attention_fusion_ratio(8192, 128) == 65.0);
static_assert(pm::attention_fusion_ratio(8192, 128, 64, 8) ==
              pm::attention_fusion_ratio(8192.0, 128.0, 64.0, 8.0));
static_assert(pm::expected_experts(256, 8, 32) == pm::expected_experts(256.0, 8.0, 32.0));
static_assert(pm::tokens_on_rank(64, 8, 8) == pm::tokens_on_rank(64.0, 8.0, 8.0));
static_assert(pm::causal_pairs(7, 2) == pm::causal_pairs(7.0, 2.0));
static_assert(pm::attended_tokens(4096, 128) == 128.0);
static_assert(pm::page_table_bytes(4096, 16) == pm::page_table_bytes(4096.0, 16.0));
static_assert(pm::split_bytes(64, 128, 4) == pm::split_bytes(64.0, 128.0, 4.0));
static_assert(pm::flash_attention_reread_bytes(8192, 128, 128) ==
              pm::flash_attention_reread_bytes(8192.0, 128.0, 128.0));
static_assert(pm::flash_attention_accesses(8192, 128, 100'000) ==
              pm::flash_attention_accesses(8192.0, 128.0, 1e5));
static_assert(pm::unfused_attention_accesses(8192, 128) ==
              pm::unfused_attention_accesses(8192.0, 128.0));
static_assert(pm::flop_per_token(llama_3_70b, 4096) == pm::flop_per_token(llama_3_70b, 4096.0));
static_assert(pm::gemm{.m = 1, .n = 8192, .k = 8192}.m == 1.0);

// Machines.
static_assert(pm::peak_from_clock(132, 4096_FLOP, 1.83_GHz) ==
              pm::peak_from_clock(132.0, 4096_FLOP, 1.83_GHz));
static_assert(pm::bandwidth_from_bus(5120, 5.2_GHz) == pm::bandwidth_from_bus(5120.0, 5.2_GHz));

// Facts and layouts take an int variable in braces; a double member cannot
// (docs/troubleshooting.md).
constexpr pm::accelerator machine_of(int sms) {
  return {.name = "mine", .sms = sms};
}
constexpr pm::deployment on_ranks(int ranks) {
  return {.device = h100_sxm, .model = llama_3_70b, .layout = {.tensor = ranks}};
}
static_assert(machine_of(64).sms == 64.0);
static_assert(pm::fits(on_ranks(8), 1, 4096).feasible && !pm::fits(on_ranks(1), 1, 4096).feasible);

// Ranks.
static_assert(pm::kv_heads_per_rank(8, 16) == pm::kv_heads_per_rank(8.0, 16.0));
static_assert(pm::kv_replication(8, 16) == 2.0);
static_assert(pm::layers_per_stage(80, 4) == 20.0);
static_assert(pm::pipeline_bubble(4, 9) == pm::pipeline_bubble(4.0, 9.0));
static_assert(pm::pipeline_parallel_time(1_ms, 4, 8) == pm::pipeline_parallel_time(1_ms, 4.0, 8.0));
static_assert(pm::stage_transfer(8, 1, 8192, pm::bf16).message.quantity() ==
              pm::stage_transfer(8.0, 1.0, 8192.0, pm::bf16).message.quantity());
static_assert(pm::gradient_all_reduce(8, 8'030'000'000, pm::bf16).message.quantity() ==
              pm::gradient_all_reduce(8, 8.03e9, pm::bf16).message.quantity());

// Rates and shares.
static_assert(pm::concurrent_sequences(280 * pm::token_per_s, 85_ms) ==
              pm::concurrent_sequences(280.0 * pm::token_per_s, 85_ms));
static_assert(pm::throughput_of(64, 120_ms) == pm::throughput_of(64.0, 120_ms));
static_assert(pm::training_flop_per_token(70'000'000'000) == pm::training_flop_per_token(70e9));
static_assert(pm::training_flop_per_token(70'000'000'000, 1) ==
              pm::training_flop_per_token(70e9, 1.0));
static_assert(pm::training_mfu(1000 * pm::token_per_s, 8'000'000'000, 1, 989_TFLOP_per_s) ==
              pm::training_mfu(1000 * pm::token_per_s, 8e9, 1.0, 989_TFLOP_per_s));
static_assert(pm::hfu(0.4, 1) == pm::hfu(0.4, 1.0));
static_assert(pm::straggler_tax(1) == 0.5);
static_assert(pm::scaling_tax(1, 0.5) == 0.5);
static_assert(pm::cost_per_token(4, 2.7_USD_per_h, 533 * pm::token_per_s) ==
              pm::cost_per_token(4.0, 2.7_USD_per_h, 533.0 * pm::token_per_s));
static_assert(pm::end_to_end(500_ms, 40_ms, 200) == pm::end_to_end(500_ms, 40_ms, 200.0));

// A double with another scalar becomes that scalar.
using d1 = pm::dual<1>;
static_assert(std::same_as<decltype(pm::contiguous_waste(d1(500.0), 4096)), d1>);
static_assert(std::same_as<decltype(pm::contiguous_waste(500.0, d1(4096.0))), d1>);
static_assert(std::same_as<pm::promoted<int, long>, double>);
static_assert(std::same_as<pm::promoted<int, pm::number_format, d1, double>, d1>);

}  // namespace

}  // namespace static_whole_numbers
