// Figures of tables: the lines of a sweep.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>

#include "figure_axis.hpp"
#include "text.hpp"

namespace common {

namespace {

constexpr double gap = std::numeric_limits<double>::quiet_NaN();

std::size_t column_of(const plot_table& t, const std::string& key) {
  const auto at = std::find(t.columns.begin(), t.columns.end(), key);
  if (at == t.columns.end())
    throw std::invalid_argument(
        cat("plot: ", in_quotes(key), " is not a column; allowed: ", listed(t.columns)));
  return static_cast<std::size_t>(at - t.columns.begin());
}

/// The number of a whole cell; not a number for other text.
double number_of(const std::string& cell) {
  if (cell.empty()) return gap;
  char* end = nullptr;
  const double x = std::strtod(cell.c_str(), &end);
  return *end == '\0' && std::isfinite(x) ? x : gap;
}

std::string unit_of(std::string_view key) {
  for (const auto& [ending, unit] :
       {std::pair<std::string_view, const char*>{"flop_per_s", "FLOP/s"},
        {"output_tokens_per_s", "tok/s"},
        {"requests_per_s", "req/s"},
        {"bytes_per_s", "B/s"},
        {"flop_per_byte", "FLOP/B"},
        {"bandwidth", "B/s"},
        {"bytes", "B"},
        {"_s", "s"}}) {
    if (key.ends_with(ending)) return unit;
  }
  return {};
}

/// Whether values ask for a logarithmic axis: positive, over a factor of 20.
bool spans_decades(const std::vector<double>& values) {
  double low = HUGE_VAL, high = 0.0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    if (!(v > 0.0)) return false;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  return high >= 20.0 * low && high > 0.0;
}
/// Whether sorted values grow by factors rather than by steps.
bool grows_by_factors(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values.size() < 4 || values[1] - values[0] < 0.5 * (values.back() - *(values.end() - 2));
}

/// The x values of the rows: numbers, or the order of words in `words`.
std::vector<double> x_values(const plot_table& t, std::size_t column,
                             std::vector<std::string>& words) {
  std::vector<double> x;
  bool all_numbers = true;
  for (const auto& row : t.rows) {
    x.push_back(number_of(row.at(column)));
    all_numbers = all_numbers && !std::isnan(x.back());
  }
  if (all_numbers) return x;
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    const std::string& word = t.rows[i].at(column);
    auto at = std::find(words.begin(), words.end(), word);
    if (at == words.end()) at = words.insert(at, word);
    x[i] = static_cast<double>(at - words.begin() + 1);
  }
  return x;
}

std::string words_label(const std::string& key, const std::vector<std::string>& words) {
  std::string label = key;
  for (std::size_t i = 0; i < words.size(); ++i)
    label += cat(i == 0 ? ": " : ", ", i + 1, " ", words[i]);
  return shown(label, 100);
}

}  // namespace

figure of_table(const plot_table& table, const std::string& x_key,
                const std::vector<std::string>& y_keys, const std::string& group_key) {
  const std::size_t x_column = column_of(table, x_key);
  std::vector<std::string> words;
  const std::vector<double> x = x_values(table, x_column, words);
  figure f{.title = cat(listed(y_keys), " over ", x_key),
           .subtitle = group_key.empty() ? "" : cat("one line per ", group_key)};
  f.columns = y_keys.size() > 1 ? 2 : 1;
  if (y_keys.size() > 1) f.panel_height = 340.0;
  if (table.rows.empty()) f.note = "The sweep has no rows.";
  for (const std::string& key : y_keys) {
    const std::size_t column = column_of(table, key);
    plot_panel p{.title = y_keys.size() > 1 ? key : "",
                 .x = {.label = words.empty() ? x_key : words_label(x_key, words),
                       .unit = words.empty() ? unit_of(x_key) : ""},
                 .y = {.label = key, .unit = unit_of(key)}};
    std::vector<std::string> groups;
    std::vector<double> all;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const std::string group =
          group_key.empty() ? "" : table.rows[i].at(column_of(table, group_key));
      auto at = std::find(groups.begin(), groups.end(), group);
      if (at == groups.end()) {
        at = groups.insert(at, group);
        p.series.push_back({.label = group, .has_marks = true});
      }
      plot_series& s = p.series[static_cast<std::size_t>(at - groups.begin())];
      s.x.push_back(x[i]);
      s.y.push_back(number_of(table.rows[i].at(column)));
      all.push_back(s.y.back());
    }
    for (plot_series& s : p.series) {
      if (words.size() > 1) s.style = plot_style::points;
    }
    p.x.is_log = words.empty() && spans_decades(x) && grows_by_factors(x);
    p.y.is_log = spans_decades(all);
    if (!p.y.is_log && std::all_of(all.begin(), all.end(), [](double v) { return !(v < 0.0); }))
      p.y.low = 0.0;
    if (!table.rows.empty()) f.panels.push_back(std::move(p));
  }
  return f;
}

}  // namespace common
