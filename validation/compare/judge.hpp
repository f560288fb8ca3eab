// What is said of recordings and their comparisons: what is broken, what is no number, and what is as
// near as it is meant to be.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../recording/read_recording.hpp"
#include "comparison.hpp"

namespace perfmodel::validation {

/// A recording and its comparisons.
struct compared_recording {
  recorded recording{};
  std::vector<comparison> rows{};
};

/// By device and quantity.
using grouped_rows = std::map<std::pair<std::string, std::string>, std::vector<const comparison*>>;
grouped_rows by_quantity(const std::vector<compared_recording>& all);

/// By the profile of another machine; on a CPU.
bool borrowed(const std::vector<const comparison*>& rows);
bool on_host(const std::vector<const comparison*>& rows);

/// Whether a stated tolerance, or bound <= measured, is broken; what is broken, one a line.
std::vector<std::string> broken(const std::vector<compared_recording>& all);

/// What the programs recorded as failed, and samples at a lowered clock, one a line. Neither is read
/// as a number.
std::vector<std::string> not_measured(const std::vector<compared_recording>& all);

/// Of every quantity that was measured on a GPU here: its median error and 90th percentile against
/// 5 % and 15 %, a step's median against 10 %. Empty where nothing was.
std::string goal_lines(const std::vector<compared_recording>& all);

/// Of the quantities that miss it: by which law, how far off and which way, and the worst point; an
/// item of a list each, for a reader to say why.
std::string wrong_laws(const std::vector<compared_recording>& all);

}  // namespace perfmodel::validation
