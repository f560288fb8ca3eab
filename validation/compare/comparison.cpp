#include "comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace perfmodel::validation {

double comparison::residual() const {
  return std::log(measured / predicted);
}
double comparison::bound_residual() const {
  return std::log(measured / bound);
}

group_score score(std::string name, const std::vector<const comparison*>& rows) {
  group_score s;
  s.name = std::move(name);
  std::vector<double> predicted, bound, ratio;
  for (const comparison* c : rows) {
    if (c->predicts()) {
      predicted.push_back(c->residual());
      ratio.push_back(c->predicted / c->measured);
    }
    if (c->bounded()) bound.push_back(c->bound_residual());
    if (c->predicts() && c->log_sigma > 0.0) {
      ++s.stated;
      s.covered += std::abs(c->residual()) <= z90 * c->log_sigma ? 1 : 0;
    }
    s.violations += c->beats_bound() ? 1 : 0;
    s.explained += c->explained() ? 1 : 0;
  }
  s.predicted = score_of(predicted);
  s.bound = score_of(bound);
  s.ratio = perfmodel::detail::quantile(ratio, 0.5);
  return s;
}

std::vector<std::size_t> text_table::widths() const {
  std::vector<std::size_t> w(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < w.size(); ++i) {
      w[i] = (std::max)(w[i], row[i].size());
    }
  }
  return w;
}

std::string text_table::plain() const {
  const auto width = widths();
  std::string out;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(width[i] - row[i].size(), ' ');
      out.append(i == 0 ? "  " : "  ");
      if (i < left_) {
        out.append(row[i]);
        if (i + 1 < row.size()) out.append(pad);
      } else {
        out.append(pad).append(row[i]);
      }
    }
    while (out.back() == ' ') out.pop_back();
    out.append("\n");
  }
  return out;
}

std::string text_table::markdown() const {
  std::string out;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    out.append("|");
    for (const std::string& cell : rows_[r]) {
      out.append(" ");
      for (const char c : cell) out.append(c == '|' ? "\\|" : std::string(1, c));
      out.append(" |");
    }
    out.append("\n");
    if (r > 0) continue;
    out.append("|");
    for (std::size_t i = 0; i < rows_[r].size(); ++i) out.append(i < left_ ? "---|" : "---:|");
    out.append("\n");
  }
  return out;
}

std::string fixed(double x, int digits) {
  // Beyond 1e15 the digits say nothing, and there may be hundreds of them.
  std::array<char, 48> text{};
  const int n =
      std::snprintf(text.data(), text.size(), std::abs(x) < 1e15 ? "%.*f" : "%.*e", digits, x);
  std::string s(text.data(), static_cast<std::size_t>(n));
  // No "-0.0": it reads as if it meant something.
  if (s.front() == '-' && s.find_first_not_of("-0.") == std::string::npos) s.erase(0, 1);
  return s;
}
std::string percent(double share) {
  return fixed(100.0 * share, 1).append(" %");
}
std::string signed_percent(double share) {
  const std::string s = fixed(100.0 * share, 1);
  return std::string(s.front() == '-' ? "" : "+").append(s).append(" %");
}

std::string amount(double x, const std::string& unit) {
  if (unit == "1" || unit == "token" || unit == "cycle") {
    std::array<char, 48> text{};
    const int n = std::snprintf(text.data(), text.size(), unit == "1" ? "%.4g" : "%.6g", x);
    std::string s(text.data(), static_cast<std::size_t>(n));
    if (unit != "1") s.append(" ").append(unit);
    return s;
  }
  struct prefix {
    double factor;
    const char* name;
  };
  constexpr std::array<prefix, 8> prefixes = {{{1e12, "T"},
                                               {1e9, "G"},
                                               {1e6, "M"},
                                               {1e3, "k"},
                                               {1.0, ""},
                                               {1e-3, "m"},
                                               {1e-6, "u"},
                                               {1e-9, "n"}}};
  prefix use = prefixes.back();
  for (const prefix& p : prefixes) {
    if (x >= p.factor) {
      use = p;
      break;
    }
  }
  if (x == 0.0) use = {1.0, ""};
  if (unit == "s" && use.factor > 1.0) use = {1.0, ""};
  const double scaled = x / use.factor;
  return fixed(scaled, scaled < 10.0    ? 2
                       : scaled < 100.0 ? 1
                                        : 0)
      .append(" ")
      .append(use.name)
      .append(unit);
}

std::vector<std::string> score_columns() {
  return {"n",    "predicted/measured", "mean",          "median",     "p90",
          "bias", "bound: mean",        "bound: median", "below bound"};
}

std::vector<std::string> score_cells(const group_score& s) {
  const std::string none = "-";
  const bool p = s.predicted.n > 0;
  const bool b = s.bound.n > 0;
  std::string below = std::to_string(s.violations);
  if (s.explained > 0) below.append(" (").append(std::to_string(s.explained)).append(" warm)");
  return {std::to_string((std::max)(s.predicted.n, s.bound.n)),
          p ? fixed(s.ratio, 2) : none,
          p ? percent(s.predicted.mean) : none,
          p ? percent(s.predicted.median) : none,
          p ? percent(s.predicted.p90) : none,
          p ? signed_percent(s.predicted.bias) : none,
          b ? percent(s.bound.mean) : none,
          b ? percent(s.bound.median) : none,
          b ? below : none};
}

}  // namespace perfmodel::validation
