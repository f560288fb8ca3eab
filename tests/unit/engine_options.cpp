// Options of an engine against sums written out by hand: LoRA adapters, weights in host memory, steps
// without CUDA graphs, CPU times, images.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/serving/simulate.hpp>
#include <perfmodel/step.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_engine_options {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

constexpr double h100_bandwidth = 3.35e12, h100_bf16 = 989.4e12, pcie_5 = 32e9 * 16 / 8 * 128 / 130;
// Llama 3 8B: 32 layers of 4096, 32 query and 8 KV heads of 128, feed-forward 14336, 128256 words.
constexpr double layer = 4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 3 * 4096.0 * 14336;
constexpr double table = 128256.0 * 4096;
constexpr double norms = 65.0 * 4096;
// An adapter of rank 1: q, k and v, o, gate and up, down; each its input and its output.
constexpr double adapter_layer = 2 * 4096 + 2 * (4096 + 1024) + 2 * 4096 + 3 * (4096 + 14336);
constexpr double adapter_16 = 16.0 * 32 * adapter_layer;

pm::deployment llama(int tensor = 1) {
  return {.device = cat::h100_sxm,
          .model = cat::llama_3_8b,
          .layout = {.tensor = tensor},
          .serving_engine = pm::engine::vllm};
}
constexpr pm::iteration decode{.batch = 8.0, .context = 1000.0};

}  // namespace

TEST_CASE("engine options: LoRA slots are rank x (in + out) over the projections, as PEFT counts") {
  CHECK(adapter_16 == 41'943'040.0);  // what PEFT prints for rank 16 on all linear layers
  CHECK(near(pm::adapter_bytes(pm::lora{.rank = 16.0}, cat::llama_3_8b).value(), 2 * adapter_16));
  // On two ranks: A of q, k, v, gate and up and B of o and down are whole.
  const double rank =
      16.0 * 32 * (3 * 4096 + 2048 + 2 * 512 + 2048 + 4096 + 2 * 4096 + 2 * 7168 + 7168 + 4096);
  CHECK(near(pm::adapter_bytes(pm::lora{.rank = 16.0}, cat::llama_3_8b, 2.0).value(), 2 * rank));

  pm::deployment d = llama();
  const auto without = pm::kv_capacity(d, 4096.0);
  d.lora = pm::lora{.rank = 16.0, .adapters = 8.0};
  const auto with = pm::kv_capacity(d, 4096.0);
  CHECK(near((without.available - with.available).value(), 8 * 2 * adapter_16, 1e-9));
  CHECK(near(pm::weight_bytes_per_device(d).value(), 2 * 8030261248.0 + 16 * adapter_16, 1e-12));
  d.model = cat::deepseek_v3;
  CHECK(refusal([&] { pm::weight_bytes_per_device(d); }).find("latent attention") !=
        std::string::npos);
}

TEST_CASE("engine options: adapters of routed experts have a slot for each expert") {
  // Qwen3-30B-A3B: 48 layers of 128 experts of 768, 8 per token, hidden 2048; rank 8, 2 adapters.
  const double attention = 2048 + 2 * (2048 + 512) + 4096 + 4096 + 2048;
  const double expert = 2 * (2048 + 768) + 768 + 2048;
  pm::lora x{.rank = 8.0, .adapters = 2.0, .active = 2.0};
  const auto bytes = [&](const pm::parallel_layout& l) {
    return pm::adapter_bytes(x, cat::qwen_3_30b_a3b, l).value();
  };
  CHECK(near(bytes({}), 2.0 * 2 * 8 * 48 * attention, 1e-12));
  x.experts = true;
  CHECK(near(bytes({}), 2.0 * 2 * 8 * 48 * (attention + 128 * expert), 1e-12));
  // Two ranks divide each expert: A of gate and up and B of down are whole. Or the experts.
  const double half = 2 * 2048 + 2 * 384 + 384 + 2048;
  const double attention_half = 3 * 2048 + 2048 + 2 * 256 + 2048 + 2048;
  CHECK(near(bytes({.tensor = 2}), 2.0 * 2 * 8 * 48 * (attention_half + 128 * half), 1e-12));
  CHECK(near(bytes({.tensor = 2, .expert = 2}), 2.0 * 2 * 8 * 48 * (attention_half + 64 * expert),
             1e-12));

  pm::deployment d{.device = cat::h100_sxm, .model = cat::qwen_3_30b_a3b};
  d.lora = x;
  d.lora->experts = false;
  const auto plain = pm::demand_of_step(d, decode);
  d.lora->experts = true;
  const auto adapted = pm::demand_of_step(d, decode);
  // 8 tokens, 4 of each adapter: 128 (1 - (1 - 8/128)^4) experts of each; 64 rows.
  const double touched = 2 * 128 * (1 - std::pow(1 - 8.0 / 128, 4));
  CHECK(near((adapted.weights - plain.weights).value(), 2 * 8 * 48 * touched * expert, 1e-9));
  CHECK(near((adapted.matrix_flop - plain.matrix_flop).value(), 2.0 * 8 * 48 * 64 * expert, 1e-9));
}

TEST_CASE("engine options: a step reads the active adapters once and multiplies each token") {
  pm::deployment d = llama();
  const auto plain = pm::demand_of_step(d, decode);
  d.lora = pm::lora{.rank = 16.0, .adapters = 8.0, .active = 3.0};
  const auto adapted = pm::demand_of_step(d, decode);
  CHECK(near((adapted.weights - plain.weights).value(), 3 * 2 * adapter_16, 1e-9));
  // q, k and v are one kernel of 3 x rank columns, and its expansion reads rank of them.
  CHECK(near((adapted.matrix_flop - plain.matrix_flop).value(), 2 * 8 * adapter_16, 1e-9));
  CHECK(adapted.launches - plain.launches == 8 * 32);
  d.lora->active = 0.0;
  CHECK(pm::demand_of_step(d, decode).weights.value() == plain.weights.value());
  d.lora->active = 50.0;  // at most one per token
  CHECK(near((pm::demand_of_step(d, decode).weights - plain.weights).value(), 8 * 2 * adapter_16,
             1e-9));
  const auto policy = pm::calibrated_for(d);
  CHECK(pm::step(d, decode, policy).time > pm::step(llama(), decode, policy).time);
}

TEST_CASE("engine options: weights in host memory leave the device and come over its host link") {
  pm::deployment d = llama();
  const auto all = pm::kv_capacity(d, 4096.0);
  d.cpu_offload_bytes = 8.0 * pm::GB;
  CHECK(near((pm::kv_capacity(d, 4096.0).available - all.available).value(), 8e9, 1e-9));
  const double stored = 2 * (32 * layer + 2 * table + norms);
  const double read = 2 * (32 * layer + table);
  const auto bound = pm::step_bound(d, decode);
  CHECK(near(bound.terms["host_link"].value(), 8e9 * read / stored / pcie_5, 1e-9));
  CHECK(near(bound.terms["weights"].value(), (1 - 8e9 / stored) * read / h100_bandwidth, 1e-9));
  CHECK(bound.time.value() == bound.terms["host_link"].value());
  CHECK(bound.limiter == pm::limiter::link);
  const auto policy = pm::calibrated_for(d);
  const auto e = pm::step(d, decode, policy);
  CHECK(
      near(e.time.value(),
           pm::step(llama(), decode, policy).time.value() + bound.terms["host_link"].value() / 0.88,
           1e-9));
  CHECK(near(pm::detail::time_of_step(d, decode, policy, policy).value(), e.time.value(), 1e-12));
  d.cpu_offload_bytes = 17.0 * pm::GB;
  CHECK(refusal([&] { pm::step_bound(d, decode); }).find("cpu_offload_bytes is 17000000000") !=
        std::string::npos);
}

TEST_CASE("engine options: 70B on GH200 with 64 GB in Grace's memory, 4.6 tokens/s in public") {
  // vllm-project/vllm#6317: 141 GB of weights, 86 GiB of the GPU's memory in use.
  pm::deployment d{
      .device = cat::gh200_96gb, .model = cat::llama_3_70b, .serving_engine = pm::engine::vllm};
  d.cpu_offload_bytes = 64.0 * pm::GB;
  const pm::iteration one{.batch = 1.0, .context = 500.0};
  CHECK(pm::step_bound(d, one).time.value() < 1 / 4.6);
  CHECK(near(pm::step(d, one, pm::calibrated_for(d)).time.value(), 1 / 4.6, 0.1));
}

TEST_CASE("engine options: without CUDA graphs a step takes its launches, where they are longer") {
  pm::deployment d{
      .device = cat::a100_sxm_80gb, .model = cat::llama_3_8b, .serving_engine = pm::engine::vllm};
  const auto policy = pm::calibrated_for(d);
  const auto graph = pm::step(d, decode, policy);
  d.cuda_graphs = false;
  const auto eager = pm::step(d, decode, policy);
  // Per layer: 2 norms, qkv, rotary, cache write, attention, o, gate and up, activation, down; then
  // embedding, last norm, head, sampler.
  const double kernels = 32 * 10 + 4;
  CHECK(near(eager.time.value(), kernels * 63e-6 + 601.4e-6, 1e-9));
  CHECK(graph.time < eager.time);
  CHECK(eager.terms["launches"].value() > 0.0);
  const pm::iteration prefill{.batch = 0.0, .prefill_tokens = 8192.0};
  pm::deployment captured = d;
  captured.cuda_graphs = true;  // the kernels of a prefill outlast the launches
  CHECK(pm::step(d, prefill, policy).time == pm::step(captured, prefill, policy).time);
  CHECK(
      near(pm::detail::time_of_step(d, decode, policy, policy).value(), eager.time.value(), 1e-12));
}

TEST_CASE("engine options: launches that outlast the kernels are as uncertain as CPUs differ") {
  // Three runs have 45, 70 and 79 us per kernel: mean of ln 4.141, deviation 0.296.
  const double mean = (std::log(45.0) + std::log(70.0) + std::log(79.0)) / 3;
  CHECK(near(pm::eager_launch_time / pm::us, std::exp(mean), 0.01));
  double squares = 0.0;
  for (const double t : {45.0, 70.0, 79.0}) squares += std::pow(std::log(t) - mean, 2);
  CHECK(near(pm::eager_launch_log_sigma, std::sqrt(squares / 2), 0.02));
  pm::deployment d{
      .device = cat::a100_sxm_80gb, .model = cat::qwen_3_8b, .serving_engine = pm::engine::vllm};
  const auto policy = pm::calibrated_for(d);
  const auto sigma = [&](double batch, double context) {
    const pm::iteration i{.batch = batch, .context = context};
    return pm::predict(d, i, policy).stands_on.log_sigma();
  };
  const double kernels = sigma(8, 1024);
  CHECK(kernels < 0.2);
  d.cuda_graphs = false;
  CHECK(sigma(8, 1024) == pm::eager_launch_log_sigma);
  CHECK(near(sigma(64, 16384), kernels, 0.3));  // kernels outlast the launches
  // vllm-project/vllm#42058: 8 sequences of 16k, 36.5 ms with a 16-bit and 34.6 ms with an 8-bit
  // cache.
  for (const auto& [cache, measured] :
       {std::pair(pm::number_format::bf16, 36.5e-3), std::pair(pm::number_format::fp8, 34.6e-3)}) {
    d.kv = pm::storage_format(cache);
    const auto p = pm::predict(d, pm::iteration{.batch = 8.0, .context = 16384.0}, policy);
    CHECK(p.low.value() < measured);
    CHECK(measured < p.high.value());
  }
}

TEST_CASE("engine options: a stated CPU time replaces the engine's") {
  pm::deployment d = llama();
  const auto policy = pm::calibrated_for(d);
  const double plain = pm::step(d, decode, policy).time.value();
  d.step_cpu_time = 5.0 * pm::ms;
  CHECK(near(pm::step(d, decode, policy).time.value() - plain, 5e-3 - 601.4e-6, 1e-9));
  d.sequence_cpu_time = 20.0 * pm::us;
  CHECK(near(pm::step(d, decode, policy).terms["host"].value(), 5e-3 + 8 * 20e-6, 1e-9));
}

TEST_CASE("engine options: patches of images are two FLOP per encoder parameter") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};
  d.model.encoder = pm::encoder_shape{.parameters = 12.0 * 27 * 1152 * 1152};
  const pm::iteration prefill{.batch = 0.0, .prefill_tokens = 2000.0};
  const auto text = pm::demand_of_step(d, prefill);
  d.encoder_rows = 4096.0 / 2000.0;  // one image of 4096 patches
  const auto image = pm::demand_of_step(d, prefill);
  CHECK(near((image.matrix_flop - text.matrix_flop).value(), 2 * 4096 * d.model.encoder->parameters,
             1e-9));
  CHECK(near((image.weights - text.weights).value(), 2 * d.model.encoder->parameters, 1e-9));
  CHECK(near((pm::step_bound(d, prefill).time - text.compute).value(),
             2 * 4096 * d.model.encoder->parameters / h100_bf16, 1e-9));
  CHECK(pm::demand_of_step(d, decode).weights.value() ==
        pm::demand_of_step(pm::deployment{.device = cat::h100_sxm, .model = d.model}, decode)
            .weights.value());
}

TEST_CASE("engine options: cross-attention caches an image, and reads it") {
  // 24 layers of text and 8 of images, as Llama 3.2 11B Vision: 8 KV heads of 128 in 16 bits.
  const double text_layers = 24, image_layers = 8, token = 2 * 8 * 128 * 2, image = 1601;
  pm::deployment d = llama();
  d.model.layers = {};
  pm::attention_shape a{.query_heads = 32.0, .kv_heads = 8.0, .head_dim = 128.0};
  d.model.layers.add({text_layers, a, pm::dense_shape{14336.0}});
  a.image_tokens = image;
  d.model.layers.add({image_layers, a, pm::dense_shape{14336.0}});
  const auto bytes_of_sequence = [&] { return pm::detail::sequence_on_device(d, 1000.0).value(); };
  CHECK(near(bytes_of_sequence(), 1000 * text_layers * token, 1e-12));
  const pm::iteration prefill{.batch = 0.0, .prefill_tokens = 2000.0};
  const auto decode_text = pm::demand_of_step(d, decode), text = pm::demand_of_step(d, prefill);

  d.image_tokens = 2 * image;  // two images of one tile each
  d.encoder_rows = d.image_tokens / 2000.0;
  CHECK(near(bytes_of_sequence(), (1000 * text_layers + 2 * image * image_layers) * token, 1e-12));
  const auto c = pm::kv_capacity(d, 1000.0);
  CHECK(near(c.sequences, std::floor(c.available.value() / bytes_of_sequence()), 1e-12));
  const auto decode_image = pm::demand_of_step(d, decode);
  const double pair = 4 * 32 * 128;  // FLOP of a query and a key in all heads
  CHECK(near((decode_image.cache - decode_text.cache).value(), image_layers * 8 * 2 * image * token,
             1e-9));
  CHECK(near((decode_image.matrix_flop - decode_text.matrix_flop).value(),
             image_layers * 8 * 2 * image * pair, 1e-9));
  CHECK(decode_image.weights.value() == decode_text.weights.value());
  const auto with = pm::demand_of_step(d, prefill);
  const double projection = image_layers * 4096 * 2048;
  CHECK(near((with.weights - text.weights).value(), 2 * projection, 1e-9));
  CHECK(near((with.matrix_flop - text.matrix_flop).value(),
             2 * 2 * image * projection + image_layers * 2000 * 2 * image * pair, 1e-9));
  CHECK(near((with.cache - text.cache).value(), image_layers * 2 * image * token, 1e-9));
}

TEST_CASE("engine options: an fp8 cache on A100 is converted on the vector units") {
  pm::basic_attention_decode<> w{.batch = 8.0,
                                 .context = 16384.0,
                                 .query_heads = 32.0,
                                 .kv_heads = 8.0,
                                 .head_dim = 128.0,
                                 .format = pm::bf16,
                                 .kv_format = pm::fp8};
  // 8 x 16384 x 8 x 256 elements, 0.02885 cycles of an SM each, 108 SMs at 1.41 GHz: 50.9 us.
  const auto c = pm::calibrated_for(cat::a100_sxm_80gb, pm::engine::vllm);
  auto hardware = c;
  hardware.low_precision_attention_kernels.dequantisation_cycles = 0.0;
  const double converted = c.time(cat::a100_sxm_80gb, w).value();
  const double free = hardware.time(cat::a100_sxm_80gb, w).value();
  CHECK(near(converted - free, 8.0 * 16384 * 8 * 256 * 0.02885 / 108 / 1.41e9, 1e-3));
  const auto l40s = pm::calibrated_for(cat::l40s, pm::engine::vllm);
  auto same = l40s;
  same.low_precision_attention_kernels.dequantisation_cycles = 0.0;
  CHECK(l40s.time(cat::l40s, w) == same.time(cat::l40s, w));  // converts in hardware
}

TEST_CASE("engine options: a release selects the simulated scheduler and its limits") {
  pm::deployment d = llama();
  CHECK(pm::scheduler_of(d).asynchronous);
  d.release = pm::engine_release::vllm_0_10;
  CHECK(std::string_view(pm::scheduler_of(d).name) == "vllm-0.10");
  CHECK(!pm::scheduler_of(d).asynchronous);
  d.device.dram.capacity = 180.0 * pm::GiB;
  CHECK(pm::scheduler_of(d).token_budget == 8192);
  d.release = pm::engine_release::latest;
  CHECK(pm::scheduler_of(d).token_budget == 16384);
  // SGLang divides its limit among data-parallel groups.
  d.layout.data = 8;
  CHECK(pm::max_running_of(d, 100) == 100);
  d.serving_engine = pm::engine::sglang;
  CHECK(pm::max_running_of(d, 100) == 12);
  CHECK(pm::max_running_of(d, 4) == 1);
}

}  // namespace unit_engine_options
