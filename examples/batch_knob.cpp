// Batch size is the control knob of a service: what does each turn buy, and what does it cost?
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/units/text.hpp>

namespace pm = perfmodel;

int main() {
  const pm::accelerator& h100 = pm::catalog::h100_sxm;
  const pm::deployment d{
      .device = h100, .model = pm::catalog::llama_3_70b, .layout = {.tensor = 8}};

  std::printf("Llama 3 70B in bf16 on 8 x H100 at %s each; bounds\n",
              pm::to_string(h100.price).c_str());
  for (const double context : {512.0, 4096.0}) {
    std::printf("\n%.0f tokens of context each\n", context);
    std::printf("%7s %10s %12s %9s %10s %8s  %s\n", "batch", "ITL", "tok/s each", "tok/s",
                "USD/Mtok", "FLOP/B", "limited by");
    for (double batch = 1; batch <= 1024; batch *= 4) {
      const pm::iteration decode{.batch = batch, .context = context};
      const pm::estimate e = pm::step_bound(d, decode);
      if (!e.feasible) {
        std::printf("%7.0f  %s: %s needed, %s usable\n", batch, e.feasible.reason,
                    pm::to_string(e.feasible.needed * pm::byte).c_str(),
                    pm::to_string(e.feasible.available * pm::byte).c_str());
        continue;
      }
      const pm::token_rate<> all = batch * pm::token / e.time;
      const pm::step_demand moved = pm::demand_of_step(d, decode);
      const pm::intensity<> i = moved.matrix_flop / (moved.weights + moved.cache);
      std::printf("%7.0f %10s %12.1f %9.0f %10.2f %8.1f  %s\n", batch,
                  pm::to_string(e.time).c_str(), 1.0 / e.time.value(), all.value(),
                  pm::cost_per_million_tokens(8, h100.price, all).value(), i.value(),
                  pm::name_of(e.limiter));
    }
  }
  std::printf("\nWith short contexts a batch shares the weights up to the ridge at %.0f FLOP/B.\n",
              pm::ridge_point(h100, pm::bf16).value());
  std::printf("With long ones each sequence brings its own cache, and memory stays the limit.\n");
}
