// What one load of a chain takes, each load's address being the value of the last.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/kernels/machine_profile.hpp>

namespace perfmodel::validation {

struct chased_load {
  duration<> latency{};           ///< 0 where a level that serves a part of the loads states none
  const char* level = "between";  ///< level that serves four loads in five
};

/// A chain through `working_set` bytes that one SM walks again and again: each level serves what it
/// keeps of the set, the nearest first, and an SM's near partition of the L2 is a level before the
/// far one. Leaves out: TLBs.
inline chased_load chase(const accelerator& a, double working_set, bool through_l1) {
  const bool divided = a.far_l2_latency.is_stated();
  struct level {
    const char* name;
    double holds;
    duration<> latency;
  };
  const double l2 = a.l2.capacity.value();
  const level levels[] = {{"L1", through_l1 ? a.shared.capacity.value() / a.sms.value() : 0.0,
                           a.shared.latency.quantity()},
                          {"L2", divided ? l2 / l2_partitions_of(a) : l2, a.l2.latency.quantity()},
                          {"far L2", divided ? l2 : 0.0, a.far_l2_latency.quantity()},
                          {"DRAM", 1e30, a.dram.latency.quantity()}};
  chased_load out;
  double served = 0.0;
  for (const level& at : levels) {
    if (!(at.holds > 0.0)) continue;
    const double kept =
        perfmodel::l2_resident_share(working_set * byte, bytes<>::from_value(at.holds));
    const double share = kept - served;
    served = kept;
    if (share >= 0.8) out.level = at.name;
    if (share > 1e-3 && !(at.latency.value() > 0.0)) return {{}, out.level};
    out.latency = out.latency + share * at.latency;
  }
  return out;
}

}  // namespace perfmodel::validation
