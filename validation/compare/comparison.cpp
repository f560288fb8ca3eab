#include "comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace perfmodel::validation {

double comparison::residual() const {
  return std::log(measured / predicted);
}
double comparison::clock_residual() const {
  return std::log(measured / (slow && at_clock > 0.0 ? at_clock : predicted));
}
double comparison::bound_residual() const {
  return std::log(measured / bound);
}

group_score score(std::string name, const std::vector<const comparison*>& rows) {
  group_score s;
  s.name = std::move(name);
  std::vector<double> predicted, at_clock, bound, ratio;
  for (const comparison* c : rows) {
    if (c->predicts()) {
      predicted.push_back(c->residual());
      at_clock.push_back(c->clock_residual());
      s.slow += c->slow ? 1 : 0;
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
  s.at_clock = score_of(at_clock);
  s.bound = score_of(bound);
  s.ratio = perfmodel::detail::quantile(ratio, 0.5);
  return s;
}

std::string amount(double x, const std::string& unit) {
  if (unit == "1" || unit == "token" || unit == "cycle") {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), unit == "1" ? "%.4g" : "%.6g", x);
    return unit == "1" ? cat(text.data()) : cat(text.data(), ' ', unit);
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
  const auto fits = [x](const prefix& p) { return x >= p.factor; };
  const auto found = std::find_if(prefixes.begin(), prefixes.end(), fits);
  prefix use = found == prefixes.end() ? prefixes.back() : *found;
  if (x == 0.0 || (unit == "s" && use.factor > 1.0)) use = {1.0, ""};
  const double scaled = x / use.factor;
  return cat(fixed(scaled, scaled < 10.0 ? 2 : scaled < 100.0 ? 1 : 0), ' ', use.name, unit);
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
  if (s.explained > 0) below += cat(" (", s.explained, " warm)");
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

std::string page_percent(bool any, double share) {
  return any ? fixed(100.0 * share, 1) : std::string("-");
}

std::vector<std::string> page_columns() {
  return {"n", "median", "p90"};
}

std::vector<std::string> page_cells(const group_score& s) {
  const bool any = s.predicted.n > 0;
  return {std::to_string((std::max)(s.predicted.n, s.bound.n)),
          page_percent(any, s.predicted.median), page_percent(any, s.predicted.p90)};
}

}  // namespace perfmodel::validation
