// Sizes of models as constant expressions.
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/model/parameters.hpp>

namespace static_models {

namespace pm = perfmodel;
namespace catalog = pm::catalog;

namespace {

// Llama 3 70B by hand: 2 x 128256 x 8192 in the tables; per layer 2 x 8192^2 (query, output),
// 2 x 8192 x 1024 (key, value), 3 x 8192 x 28672 and two norms; one norm at the end.
constexpr double llama_70b =
    2.0 * 128256 * 8192 +
    80.0 * (2.0 * 8192 * 8192 + 2.0 * 8192 * 1024 + 3.0 * 8192 * 28672 + 2.0 * 8192) + 8192.0;
static_assert(llama_70b == 70553706496.0);
static_assert(pm::parameters(catalog::llama_3_70b).total() == llama_70b);
static_assert(pm::active_parameters(catalog::llama_3_70b) == llama_70b);
static_assert(pm::matmul_parameters(catalog::llama_3_70b) == llama_70b - 128256.0 * 8192);
static_assert(pm::weight_bytes(catalog::llama_3_70b, pm::bf16) == 2.0 * llama_70b * pm::byte);

// A context of 0 leaves the products alone: 2 x (parameters - embedding - 161 norms).
static_assert(pm::flop_per_token(catalog::llama_3_70b).value() ==
              2.0 * (llama_70b - 128256.0 * 8192 - 161.0 * 8192));
// 80 layers x 64 heads x 2 x (128 + 128) FLOP per cached token.
static_assert(pm::flop_per_token(catalog::llama_3_70b, 1000.0).value() -
                  pm::flop_per_token(catalog::llama_3_70b).value() ==
              80.0 * 64 * 512 * 1000);

// 2 (K and V) x layers x KV heads x width x 2 bytes; DeepSeek: layers x (512 + 64) x 2 bytes.
static_assert(pm::kv_bytes_per_token(catalog::llama_3_70b).value() == 327680.0);
static_assert(pm::kv_bytes_per_token(catalog::llama_3_8b).value() == 131072.0);
static_assert(pm::kv_bytes_per_token(catalog::llama_2_7b).value() == 524288.0);
static_assert(pm::kv_bytes_per_token(catalog::llama_3_1_405b).value() == 516096.0);
static_assert(pm::kv_bytes_per_token(catalog::qwen_2_5_3b).value() == 36864.0);
static_assert(pm::kv_bytes_per_token(catalog::deepseek_v3).value() == 70272.0);
static_assert(pm::kv_bytes_per_token(catalog::llama_3_70b, pm::fp8).value() == 163840.0);

// A sliding layer keeps its window: Gemma 3 27B at 10,000 tokens, 10 full layers and 52 of 1024.
static_assert(pm::kv_bytes(catalog::gemma_3_27b, 10000.0).value() ==
              (10.0 * 10000 + 52.0 * 1024) * 2 * 16 * 128 * 2);
static_assert(pm::kv_bytes(catalog::gemma_3_27b, 512.0).value() == 512.0 * 62 * 2 * 16 * 128 * 2);
static_assert(pm::kv_bytes(catalog::llama_3_70b, 4096.0).value() == 4096.0 * 327680);

static_assert(catalog::find_model("llama_3_70b") == &catalog::llama_3_70b);
static_assert(catalog::find_model("") == nullptr);
static_assert(catalog::find_model("llama_3_70") == nullptr);

// Copy one, change a field: a value like any other.
constexpr pm::transformer wider = [] {
  pm::transformer m = catalog::llama_3_8b;
  std::get<pm::attention_shape>(m.layers.mixers[0].shape).kv_heads = 32;
  return m;
}();
static_assert(pm::kv_bytes_per_token(wider) == 4.0 * pm::kv_bytes_per_token(catalog::llama_3_8b));

}  // namespace

}  // namespace static_models
