// Does tensor parallelism over 8 devices still pay, where 4 would do? More devices read less each,
// but every layer adds up over all of them twice, and a sum over 8 takes longer than one over 4.
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step.hpp>

namespace pm = perfmodel;
namespace catalog = pm::catalog;

/// One decode step of Llama 3 70B in FP8 on H200s, as engines run it: kernels captured in a graph.
pm::estimate decode(const pm::interconnect& fabric, int ranks, double batch, double context) {
  pm::deployment d;
  d.device = catalog::h200_sxm;
  d.device.fabric = fabric;
  d.model = catalog::llama_3_70b;
  d.layout.tensor = ranks;
  d.weights = pm::fp8;
  d.activations = pm::fp8;
  d.kv = pm::fp8;
  d.utilization = 0.9;

  const auto calibration = pm::calibrated_for(d);
  return pm::step(d, pm::iteration{.batch = batch, .context = context}, calibration);
}

bool slower(const pm::interconnect& fabric, double batch, double context) {
  return decode(fabric, 8, batch, context).time >= decode(fabric, 4, batch, context).time;
}
/// The batches, up to 1024, at which 8 devices are slower than 4.
void print_batches(const pm::interconnect& fabric, double context) {
  int first = 0, last = 0;
  for (int batch = 1; batch <= 1024; ++batch) {
    if (!slower(fabric, batch, context)) continue;
    if (first == 0) first = batch;
    last = batch;
  }
  std::printf("  %-7s context %5.0f: TP 8 is ", pm::name_of(fabric.kind), context);
  if (first == 0)
    std::printf("quicker at every batch up to 1024\n");
  else if (last == 1024)
    std::printf("slower from batch %d to 1024, the last tried\n", first);
  else
    std::printf("slower from batch %d to %d\n", first, last);
}
/// The context from which 8 devices are quicker than 4.
void print_context(const pm::interconnect& fabric, double batch) {
  double context = 256;
  while (context <= 131072 && slower(fabric, batch, context)) context += 256;
  std::printf("  %-7s batch %7.0f: TP 8 is ", pm::name_of(fabric.kind), batch);
  if (context == 256)
    std::printf("quicker at every context\n");
  else if (context > 131072)
    std::printf("slower at every context up to 131072\n");
  else
    std::printf("quicker from a context of %.0f on\n", context);
}

int main() {
  const pm::interconnect nvlink = catalog::h200_sxm.fabric;
  pm::interconnect pcie = catalog::h200_sxm.host;  // the same devices, could they talk only so
  pcie.ranks = 8;

  std::printf("Llama 3 70B in FP8 on H200: decode step with TP 4 and TP 8\n\n");
  std::printf("  %-7s %6s %8s %10s %10s %9s %15s\n", "link", "batch", "context", "TP 4", "TP 8",
              "speed-up", "on the wire");
  for (const pm::interconnect& fabric : {nvlink, pcie}) {
    for (const double context : {1024.0, 8192.0, 65536.0}) {
      for (const double batch : {1.0, 16.0, 128.0}) {
        const pm::estimate four = decode(fabric, 4, batch, context);
        const pm::estimate eight = decode(fabric, 8, batch, context);
        const double speed_up = four.time / eight.time;
        const double share_of_four = four.terms["communication"] / four.time;
        const double share_of_eight = eight.terms["communication"] / eight.time;
        std::printf("  %-7s %6.0f %8.0f %7.2f ms %7.2f ms %8.2fx %5.0f %% -> %2.0f %%%s\n",
                    pm::name_of(fabric.kind), batch, context, four.time.value() * 1e3,
                    eight.time.value() * 1e3, speed_up, 100.0 * share_of_four,
                    100.0 * share_of_eight,
                    !eight.feasible  ? "  fits neither"
                    : !four.feasible ? "  fits TP 8 only"
                                     : "");
      }
    }
  }

  std::printf("\n");
  for (const pm::interconnect& fabric : {nvlink, pcie}) {
    for (const double context : {1024.0, 8192.0, 32768.0}) print_batches(fabric, context);
    for (const double batch : {1.0, 16.0, 128.0}) print_context(fabric, batch);
  }
}
