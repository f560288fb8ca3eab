// Operand formats of engines with quantised weights, against their documents and sources.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <string>

namespace unit_engine_formats {

namespace pm = perfmodel;
namespace catalog = pm::catalog;
using pm::engine;
using enum pm::number_format;

namespace {

constexpr pm::storage_format nvfp4{fp4, 16, 8}, fp8_blocks{fp8, 16384, 32}, awq{int4, 128, 16, 4};

pm::number_format beside(const pm::storage_format& w, const char* accelerator,
                         engine by = engine::none) {
  return pm::engine_formats_of(pm::weight_storage(w), {}, *catalog::find_accelerator(accelerator),
                               by)
      .linear.format;
}

}  // namespace

TEST_CASE(
    "8-bit weights with 8-bit activations where the machine multiplies them, else weight-only") {
  CHECK(beside(fp8_blocks, "a100_sxm_80gb") == bf16);  // Marlin W8A16
  for (const char* a : {"l40s", "h100_sxm", "h200_sxm", "b200_sxm", "rtx_5090", "mi300x"}) {
    CAPTURE(a);
    CHECK(beside(fp8_blocks, a) == fp8);
    CHECK(beside(fp8, a) == fp8);
  }
  CHECK(beside(int8, "a100_sxm_80gb") == int8);
  CHECK(beside({int8, 128, 16}, "a100_sxm_80gb") == bf16);  // GPTQ with 8 bits is weight-only
}

TEST_CASE("4-bit integers are weight-only everywhere") {
  for (const auto& entry : catalog::accelerators) {
    CAPTURE(entry.key);
    const auto f = pm::engine_formats_of(pm::weight_storage(awq), {}, *entry.spec);
    CHECK(pm::bits_of(f.linear.format) == 16.0);
  }
}

TEST_CASE("NVFP4 multiplies in fp4 since Blackwell and is weight-only before") {
  CHECK(beside(nvfp4, "h100_sxm") == bf16);
  CHECK(beside(nvfp4, "a100_sxm_80gb") == bf16);
  CHECK(beside(nvfp4, "mi300x") == bf16);
  CHECK(beside(nvfp4, "b200_sxm") == fp4);
  CHECK(beside(nvfp4, "rtx_5090") == fp4);
  CHECK(beside(nvfp4, "mi355x") == bf16);  // its matrix units scale 32 values, not 16
}

TEST_CASE("MXFP4 in all layers multiplies in MXFP4 on CDNA 4, and is simulated before") {
  for (const engine by : {engine::none, engine::vllm, engine::sglang}) {
    CHECK(beside(catalog::mxfp4, "mi355x", by) == fp4);
    CHECK(beside(catalog::mxfp4, "mi350x", by) == fp4);
    CHECK(beside(catalog::mxfp4, "mi300x", by) == bf16);
    CHECK(beside(fp4, "mi355x", by) == fp4);  // the name alone
    CHECK(beside(fp4, "b200_sxm", by) == fp4);
    CHECK(beside(fp4, "mi325x", by) == bf16);
  }
  // Experts alone, as in gpt-oss, run with 8-bit activations.
  const auto experts =
      pm::engine_formats_of(catalog::gpt_oss_120b.stored, {}, *catalog::find_accelerator("mi355x"));
  CHECK(experts.experts.format == fp8);
}

TEST_CASE("MXFP4 experts: 16-bit operands up to Hopper and on RTX cards, fp8 on B200") {
  const pm::weight_storage stored = catalog::gpt_oss_120b.stored;
  const auto experts = [&](const char* accelerator, engine by) {
    const auto f = pm::engine_formats_of(stored, {}, *catalog::find_accelerator(accelerator), by);
    CHECK(f.linear.format == bf16);  // attention is stored in bf16
    CHECK(f.kv == pm::storage_format(bf16));
    return f.experts.format;
  };
  for (const engine by : {engine::none, engine::vllm, engine::sglang, engine::trtllm}) {
    CHECK(experts("h100_sxm", by) == bf16);
    CHECK(experts("a100_sxm_80gb", by) == bf16);
    CHECK(experts("mi300x", by) == bf16);
  }
  CHECK(experts("b200_sxm", engine::vllm) == fp8);  // as its recipe sets it
  CHECK(experts("b200_sxm", engine::sglang) == fp8);
  CHECK(experts("b200_sxm", engine::trtllm) == fp8);
  CHECK(experts("b200_sxm", engine::none) == fp8);
  CHECK(experts("rtx_5090", engine::vllm) == bf16);
  CHECK(experts("rtx_5090", engine::trtllm) == fp8);
}

TEST_CASE("MXFP4 experts with fp8 weights run with fp8 operands in every engine on B200") {
  const pm::weight_storage deepseek_v4(fp8_blocks, catalog::mxfp4, bf16);
  const auto f =
      pm::engine_formats_of(deepseek_v4, {}, *catalog::find_accelerator("b200_sxm"), engine::vllm);
  CHECK(f.linear.format == fp8);
  CHECK(f.experts.format == fp8);
  const auto hopper =
      pm::engine_formats_of(deepseek_v4, {}, *catalog::find_accelerator("h100_sxm"));
  CHECK(hopper.linear.format == fp8);
  CHECK(hopper.experts.format == bf16);
}

TEST_CASE("a machine without bf16 runs in fp16; the cache is the checkpoint's own, else 16 bits") {
  const auto v100 = pm::engine_formats_of(pm::weight_storage(bf16), {},
                                          *catalog::find_accelerator("v100_sxm_32gb"));
  CHECK(v100.linear.format == fp16);
  CHECK(v100.kv == pm::storage_format(fp16));
  const auto h100 = pm::engine_formats_of(pm::weight_storage(fp8), pm::storage_format(fp8),
                                          *catalog::find_accelerator("h100_sxm"));
  CHECK(h100.kv == pm::storage_format(fp8));
  const auto mixed =
      pm::engine_formats_of({fp16, fp8, fp16}, {}, *catalog::find_accelerator("h100_sxm"));
  CHECK(mixed.linear.format == fp16);
  CHECK(mixed.experts.format == fp8);
}

TEST_CASE(
    "the operand format of attention's weights counts where it has fewer bits than the linear "
    "layers'") {
  const pm::accelerator& h100 = *catalog::find_accelerator("h100_sxm");
  pm::weight_storage stored(awq, bf16);
  stored.attention = bf16;
  CHECK(std::string(pm::engine_formats_of(stored, {}, h100).linear.why) ==
        "integer weights in groups: engines dequantise them before a GEMM");
  stored.attention = fp8;
  CHECK(pm::engine_formats_of(stored, {}, h100).linear.format == fp8);
}

}  // namespace unit_engine_formats
