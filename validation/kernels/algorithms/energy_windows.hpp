// Energy over a stretch of time, from a counter that moves in steps.
#pragma once

#include <cstddef>
#include <vector>

namespace perfmodel::validation {

struct energy_reading {
  double seconds = 0;
  double joules = 0;
};

struct energy_window {
  double seconds = 0;
  double joules = 0;
};

/// Divides the time between the first and the last step of the energy counter into `parts` windows
/// of about the same length, each from one step to another. The energy not yet counted is then the
/// same at both ends of a window, and cancels. Readings are in order of time. Empty with fewer
/// steps than `parts` needs.
inline std::vector<energy_window> energy_windows(const std::vector<energy_reading>& readings,
                                                 std::size_t parts) {
  std::vector<energy_reading> steps;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    if (readings[i].joules != readings[i - 1].joules) steps.push_back(readings[i]);
  }
  std::vector<energy_window> out;
  if (parts == 0 || steps.size() < parts + 1) return out;
  const double begin = steps.front().seconds, all = steps.back().seconds - begin;
  std::size_t from = 0;
  for (std::size_t part = 1; part <= parts; ++part) {
    const double until = begin + all * static_cast<double>(part) / static_cast<double>(parts);
    // Enough steps are left for the parts that follow.
    const std::size_t last = steps.size() - 1 - (parts - part);
    std::size_t to = from + 1;
    while (to < last && steps[to].seconds < until) ++to;
    if (part == parts) to = steps.size() - 1;
    out.push_back({steps[to].seconds - steps[from].seconds, steps[to].joules - steps[from].joules});
    from = to;
  }
  return out;
}

}  // namespace perfmodel::validation
