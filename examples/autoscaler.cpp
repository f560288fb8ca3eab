// How many replicas does each hour of a day need? An autoscaler that knows its machine asks for the
// largest rate of one replica within the targets, and adds replicas before users wait.
#include <cmath>
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/serving.hpp>

namespace pm = perfmodel;
namespace catalog = pm::catalog;

int main() {
  pm::deployment d;
  d.device = catalog::h100_sxm;
  d.model = catalog::llama_3_70b;
  d.layout.tensor = 4;
  d.serving_engine = pm::engine::vllm;
  const auto policy = pm::calibrated_for(d);

  pm::service_load load{.input_tokens = 1500, .output_tokens = 300, .arrivals = pm::open_loop{}};
  pm::service_targets targets;
  targets.ttft = 1.0 * pm::second;
  targets.itl = 0.05 * pm::second;
  const auto serve = [&](const pm::service_load& l) { return pm::serving(d, l, policy); };
  const double most = pm::largest_rate(load, targets, serve).value();
  std::printf("Llama 3 70B on 4 x H100 by vLLM, 1500 input and 300 output tokens\n");
  std::printf("a replica serves %.2f requests/s: mean TTFT within 1 s, mean ITL within 50 ms\n\n",
              most);

  std::printf("  %5s %12s %9s %6s %10s %8s\n", "hour", "requests/s", "replicas", "load",
              "mean TTFT", "ITL");
  for (const int hour : {0, 4, 8, 10, 12, 16, 20}) {
    // A day's curve: 2 requests/s at 4 o'clock, 22 at 16.
    const double rate = 12.0 - 10.0 * std::cos((hour - 4) * 3.14159265358979 / 12.0);
    const double replicas = std::ceil(rate / most);
    load.arrivals = pm::open_loop{.rate = rate / replicas * pm::request / pm::second};
    const auto s = serve(load);
    std::printf("  %5d %12.1f %9.0f %4.0f %% %7.0f ms %5.1f ms\n", hour, rate, replicas,
                100.0 * rate / replicas / most, s.ttft.value() * 1e3, s.itl.value() * 1e3);
  }
}
