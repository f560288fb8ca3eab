// Judges recordings and their comparisons: broken files, values that are not numbers, and errors
// within or beyond the tolerance.
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

/// Parts that the programs recorded as failed, and samples at a lowered clock, one a line. Neither
/// counts as a measurement.
std::vector<std::string> not_measured(const std::vector<compared_recording>& all);

/// Median error and 90th percentile of each quantity measured on a GPU, against 5 % and 15 %; a
/// step's median against 10 %. Empty without such a quantity.
std::string goal_lines(const std::vector<compared_recording>& all);

/// The quantities that miss the goal, one list item each: median error of each device, number of
/// slower points, and the worst point.
std::string wrong_laws(const std::vector<compared_recording>& all);

/// Errors of what a GPU's own profile predicts, with those of the shipped one: GEMMs of left-out
/// (n, k), verifications of drafts among them, and steps, which no fit saw.
text_table own_profile_table(const std::vector<compared_recording>& all);

/// Plain words for the user of a GPU: a line for each quantity, and how many points were slow.
std::string summary_lines(const std::vector<compared_recording>& all);

}  // namespace perfmodel::validation
