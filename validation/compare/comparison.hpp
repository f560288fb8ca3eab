// A measurement with the library's prediction of it, and the count of scored ones.
#pragma once

#include <map>
#include <perfmodel/tools/fit/scores.hpp>
#include <string>
#include <vector>

#include <napkin/io/text.hpp>

namespace perfmodel::validation {

using common::cat;
using common::fixed;
using common::in_quotes;
using common::listed;
using common::percent;
using common::shown;
using common::signed_percent;

/// One measurement. `predicted` and `bound` are 0 where the library says nothing.
struct comparison {
  std::string table;     ///< file that it stands in
  std::string quantity;  ///< quantity of a recording, or operation of a published table
  std::string device, format, engine, regime, shape, unit;
  double measured = 0.0, predicted = 0.0, bound = 0.0;
  /// SM clock counted during the point, 0 if unknown; `slow`: more than 3 % below the catalogue's
  /// tensor clock, by a power cap. `at_clock`: prediction of a slow point for that clock.
  double clock_hz = 0.0, at_clock = 0.0;
  bool slow = false;
  double size = 0.0;  ///< what a picture draws it over: bytes, FLOP, tokens
  /// What nothing measured may be quicker than: the bound, or, where operands may have come from a
  /// cache (`warm`), what that cache allows; 0 where no such limit is stated.
  double held_to = 0.0;
  std::string why_held{};  ///< reason, if that is no bound of the data sheet
  bool warm = false;
  bool fitted = false;    ///< the prediction's parameters were fitted to rows of this kind
  bool host = false;      ///< measured on a CPU
  bool borrowed = false;  ///< by the profile of another machine: reported, and not judged
  double log_sigma =
      0.0;           ///< stated: 80 % of |residual()| lie within z90 times this; 0: not stated
  std::string by;    ///< the law that predicted
  std::string note;  ///< why it is not judged, or what else to know

  bool predicts() const { return predicted > 0.0 && measured > 0.0; }
  bool bounded() const { return bound > 0.0 && measured > 0.0; }
  double residual() const;        ///< ln(measured / predicted)
  double clock_residual() const;  ///< residual() at the measured clock
  double bound_residual() const;  ///< ln(measured / bound)
  /// Measured below what it is held to. Half a percent is left to the timer.
  bool beats_bound() const { return held_to > 0.0 && measured < 0.995 * held_to; }
  /// Below the DRAM bound, which a warm cache explains.
  bool explained() const { return warm && bounded() && measured < bound && !beats_bound(); }
};

/// Scores of a group of comparisons. Errors are |predicted / measured - 1|.
struct group_score {
  std::string name;
  prediction_score predicted{};
  prediction_score at_clock{};  ///< score by clock_residual()
  std::size_t slow = 0;         ///< points below the tensor clock
  double ratio = 0.0;           ///< median of predicted / measured
  prediction_score bound{};
  std::size_t violations = 0;  ///< measured below what it is held to
  std::size_t stated = 0;      ///< rows with an 80 % interval of the prediction
  std::size_t covered = 0;     ///< rows that lie in their interval
  std::size_t explained = 0;   ///< measured below the DRAM bound, from a warm cache
};

group_score score(std::string name, const std::vector<const comparison*>& rows);

/// Groups in the order of their names; what `name_of` calls "" is left out.
template <class NameOf>
std::vector<group_score> scores_by(const std::vector<comparison>& rows, NameOf name_of) {
  std::map<std::string, std::vector<const comparison*>> groups;
  for (const comparison& c : rows) {
    const std::string name = name_of(c);
    if (!name.empty()) groups[name].push_back(&c);
  }
  std::vector<group_score> out;
  for (const auto& [name, members] : groups) out.push_back(score(name, members));
  return out;
}

/// A table of text. `align` as of common::table.
class text_table {
 public:
  explicit text_table(std::vector<std::string> header, std::string align)
      : align_(std::move(align)), rows_{std::move(header)} {}
  /// What a file says goes into a cell on one line.
  void add(std::vector<std::string> row) {
    for (std::string& cell : row) cell = shown(cell, 2000);
    rows_.push_back(std::move(row));
  }
  std::size_t rows() const { return rows_.size() - 1; }
  std::string plain() const { return common::table(rows_, align_); }
  std::string markdown() const { return common::markdown(rows_, align_); }

 private:
  std::string align_;
  common::table_rows rows_;
};

/// "12.3 us".
std::string amount(double x, const std::string& unit);

/// The columns of a score after those that name the group.
std::vector<std::string> score_columns();
std::vector<std::string> score_cells(const group_score& s);

/// Columns of a page: n, median and p90 of the prediction, in per cent without the sign.
std::vector<std::string> page_columns();
std::vector<std::string> page_cells(const group_score& s);
/// Share in per cent without the sign; "-" if there is none.
std::string page_percent(bool any, double share);

}  // namespace perfmodel::validation
