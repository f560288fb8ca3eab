// The pages and pictures under validation/reports.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "judge.hpp"
#include "picture.hpp"

namespace perfmodel::validation {

/// Published tables, scored.
struct published_scores {
  std::vector<comparison> kernels{}, collectives{}, serving{}, memory{}, tokens{};
  std::vector<picture> pictures{};

  bool empty() const {
    return kernels.empty() && collectives.empty() && serving.empty() && memory.empty() &&
           tokens.empty();
  }
};
published_scores score_published(const std::string& folder);

/// What is printed of recordings: a line for each quantity of each device.
std::string recording_table(const std::vector<compared_recording>& all, bool markdown);

/// Published rows that are below their bound, and that no warm cache explains.
std::vector<std::string> below_bound(const published_scores& published);

/// A title with a table below it.
struct titled_table {
  std::string title{};
  std::string text{};  ///< below the title, above the table
  text_table table;
};
std::vector<titled_table> published_tables(const published_scores& s);

/// Writes report.md and pictures into the folder; published.md too, where there are scores. Equal
/// input gives equal bytes.
void write_report(const std::string& folder, const std::vector<compared_recording>& all,
                  const published_scores& published);

}  // namespace perfmodel::validation
