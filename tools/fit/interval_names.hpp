// Names of a kind of operator on one chip in the tables of intervals, and its stated log_sigma.
#pragma once

#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <sstream>
#include <string>

namespace left_out {

namespace pm = perfmodel;

inline const char* name_of(pm::gemm_kind k) {
  constexpr const char* names[] = {"sixteen_bit", "eight_bit", "eight_bit_blocks",
                                   "four_bit",    "integer",   "widened"};
  return names[static_cast<int>(k)];
}
inline const char* name_of(pm::attention_kind k) {
  constexpr const char* names[] = {"decode", "narrow_decode", "prefill", "narrow_prefill"};
  return names[static_cast<int>(k)];
}
inline const char* name_of(pm::expert_kind k) {
  constexpr const char* names[] = {"as_stored", "widened", "narrow", "spread"};
  return names[static_cast<int>(k)];
}
inline const char* name_of(pm::collective_kind k) {
  constexpr const char* names[] = {"library", "own_kernels", "between_nodes"};
  return names[static_cast<int>(k)];
}

/// log_sigma that the catalogue states for "gemm h100_sxm eight_bit".
inline double stated_log_sigma(const std::string& who) {
  std::istringstream words(who);
  std::string about, chip, name;
  words >> about >> chip >> name;
  const pm::calibrated c = pm::calibrated_for(*pm::catalog::find_accelerator(chip));
  const auto of = [&](pm::profile_part part, auto first, int kinds) {
    for (int k = 0; k < kinds; ++k) {
      const auto kind = static_cast<decltype(first)>(k);
      if (name == name_of(kind)) return c.note(part).log_sigma_of(kind);
    }
    return 0.0;
  };
  if (about == "gemm") return of(pm::profile_part::gemms, pm::gemm_kind{}, 6);
  if (about == "attention") return of(pm::profile_part::attention, pm::attention_kind{}, 4);
  if (about == "links") return of(pm::profile_part::links, pm::collective_kind{}, 2);
  return of(pm::profile_part::experts, pm::expert_kind{}, 4);
}

/// A transfer of links by its name, "h200_sxm library a100_sxm_80gb", and its stated log_sigma.
struct link_transfer_name {
  std::string chip, kind, by;

  explicit link_transfer_name(const std::string& who) {
    std::istringstream words(who);
    words >> chip >> kind >> by;
  }
  double stated() const {
    for (const pm::collective_profile* donor : pm::catalog::measured_collective_profiles) {
      if (!(donor->name == pm::label(by.c_str()))) continue;
      return pm::catalog::transferred_link_log_sigmas(
          *donor, *pm::catalog::find_accelerator(chip))[kind == "library" ? 0 : 1];
    }
    return 0.0;
  }
};

}  // namespace left_out
