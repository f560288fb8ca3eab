// Batch size is the knob that trades a user's speed for everybody's: where does each turn stop paying?
#include <cstdio>
#include <perfmodel/cost.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/units/text.hpp>
#include <perfmodel/workload/catalog/llama.hpp>

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

int main() {
  const pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};
  for (const double context : {512.0, 8192.0}) {
    std::printf("Llama 3 70B in bf16 on 8 x H100, %.0f tokens of context each\n", context);
    std::printf("%8s%12s%12s%12s%12s  %s\n", "batch", "ITL", "tok/s", "USD/Mtok", "FLOP/byte", "limited by");
    for (double batch = 1; batch <= 1024; batch *= 4) {
      const pm::estimate e = pm::step(d, {.batch = batch, .context = context});
      if (!e.feasible) {
        std::printf("%8.0f  %s: %s of %s\n", batch, e.feasible.reason, pm::to_string(e.feasible.needed * pm::byte).c_str(),
                    pm::to_string(e.feasible.available * pm::byte).c_str());
        continue;
      }
      const pm::token_rate<> rate = batch * pm::token / e.time;
      const pm::step_demand s = pm::demand_of_step(d, {.batch = batch, .context = context});
      std::printf("%8.0f%12s%12.0f%12.2f%12.1f  %s\n", batch, pm::to_string(e.time).c_str(), rate.value(),
                  pm::cost_per_million_tokens(8.0, d.device.price, rate).value(),
                  (s.matrix_flop / (s.weights + s.cache)).value(), pm::name_of(e.limiter));
    }
    std::printf("\n");
  }
  std::printf("With a long context the cache grows as fast as the work, and the ridge at %.0f FLOP/byte is\n"
              "never reached: a larger batch then buys little speed for all, and costs each user his own.\n",
              pm::ridge_point(cat::h100_sxm, pm::bf16).value());
}
