// Rows of a sweep: the results at one point after the other, as cells in columns.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sweep.hpp"

namespace napkin {

/// Column of a result: "time_s" alone, "linear" in the group "terms.", "interval_80_s" with the end
/// "_low".
struct result_column {
  std::string group{}, name{}, end{};
  perfmodel::unit_exponents unit{};

  std::string text() const { return group + name + end; }
};

/// One value, which may refer into the outcome that it is of.
struct cell_view {
  enum class kind_of { none, number, flag, text } kind = kind_of::none;
  double number = 0.0;
  std::string_view text{};

  cell owned() const;
};

/// A value of a result and its column.
struct named_cell {
  std::string_view group{}, name{}, end{};
  cell_view value{};
  perfmodel::unit_exponents unit{};

  bool is_of(const result_column& c) const {
    return name == c.name && group == c.group && end == c.end;
  }
};
/// The scalar values of a result in the order of its JSON: results, facts, mode, bounds, ends of
/// intervals, limiter, terms, feasible and reason; without lists and objects. Throws out_of_range
/// for a value that is not finite.
void cells_of(const outcome<>& answer, std::vector<named_cell>& into);

/// Evaluates the points of a sweep in order. Builds the request once, and again where a value
/// changes more than a number of it.
class point_evaluator {
 public:
  explicit point_evaluator(const sweep_request& r) : r_(r) {}
  /// The values at a point, valid until the next call. Throws the errors of the request.
  const std::vector<named_cell>& at(const std::vector<std::size_t>& place);

 private:
  void build(const std::vector<std::size_t>& place);

  const sweep_request& r_;
  std::vector<std::size_t> built_for_{};
  json object_ = nullptr;
  std::optional<request> request_{};
  std::optional<calibration> calibration_{};
  outcome<> answer_{};
  std::vector<named_cell> cells_{};
};

/// Columns of a sweep, the same for all of its shards.
struct sweep_columns {
  std::vector<result_column> results{};
  bool errors = false;  ///< whether there is a column for errors
};
/// Columns of the results at the corners and further points of the grid. Throws the first error
/// where all of these are refused.
sweep_columns columns_of(const sweep_request& r);

/// The cells of a point in the order of the columns.
void place_cells(const std::vector<named_cell>& from, const std::vector<result_column>& columns,
                 std::vector<cell_view>& into);

/// "PM-E012: batch is ...", the text of an error.
std::string refusal_text(const std::exception& e);

}  // namespace napkin
