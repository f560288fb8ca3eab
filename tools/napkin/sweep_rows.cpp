#include "sweep_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>

#include "infeasible.hpp"
#include "output.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

constexpr perfmodel::unit_exponents unit_of_time{{1, 0, 0, 0, 0, 0, 0}};

cell_view number_view(std::string_view key, double x) {
  if (!std::isfinite(x)) number_json(key, x);  // throws
  return {cell_view::kind_of::number, x, {}};
}
cell_view text_view(std::string_view text) {
  return {cell_view::kind_of::text, 0.0, text};
}
cell_view flag_view(bool x) {
  return {cell_view::kind_of::flag, x ? 1.0 : 0.0, {}};
}
cell_view json_view(std::string_view key, const json& v) {
  if (v.is_boolean()) return flag_view(v.get<bool>());
  if (v.is_number()) return number_view(key, v.get<double>());
  if (v.is_string()) return text_view(v.get_ref<const std::string&>());
  return {};
}

/// Places at which the columns are found: corners, each value of an axis of texts, and points
/// spread evenly over the grid; `few`: the first and the last point, and the texts.
std::vector<std::vector<std::size_t>> probes(const std::vector<sweep_axis>& axes, bool few) {
  std::vector<std::vector<std::size_t>> all;
  constexpr std::size_t most_corners = 64, most_texts = 64, spread = 64;
  const std::size_t corners = axes.size() < 6 ? std::size_t{1} << axes.size() : most_corners;
  for (std::size_t c = 0; c < corners; ++c) {
    if (few && c != 0 && c + 1 != corners) continue;
    std::vector<std::size_t> place(axes.size(), 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (((c >> (i % 6)) & 1U) != 0) place[i] = axes[i].values.size() - 1;
    }
    all.push_back(std::move(place));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].plain_number) continue;
    for (std::size_t v = 1; v < std::min(axes[i].values.size(), most_texts); ++v) {
      std::vector<std::size_t> place(axes.size(), 0);
      place[i] = v;
      all.push_back(std::move(place));
    }
  }
  const std::uint64_t points = points_of(axes);
  for (std::uint64_t i = 1; i < (few ? 1 : spread); ++i)
    all.push_back(place_of(axes, points / spread * i + points % spread * i / spread));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Adds the columns of a result that are not known yet, each behind the one before it.
void merge(std::vector<result_column>& columns, const std::vector<named_cell>& cells) {
  std::size_t next = 0;
  for (const named_cell& c : cells) {
    const auto at =
        std::ranges::find_if(columns, [&](const result_column& known) { return c.is_of(known); });
    if (at == columns.end()) {
      columns.insert(columns.begin() + static_cast<std::ptrdiff_t>(next),
                     {std::string(c.group), std::string(c.name), std::string(c.end), c.unit});
      ++next;
    } else {
      next = static_cast<std::size_t>(at - columns.begin()) + 1;
    }
  }
}

}  // namespace

cell cell_view::owned() const {
  switch (kind) {
    case kind_of::none: break;
    case kind_of::number: return number;
    case kind_of::flag: return number != 0.0;
    case kind_of::text: return std::string(text);
  }
  return std::monostate{};
}

void cells_of(const outcome<>& answer, std::vector<named_cell>& into) {
  into.clear();
  const bool none = answer.has_feasibility && !answer.feasible;
  for (const auto& r : answer.results) {
    if (!std::isfinite(r.value)) number_json(r.key, r.value);  // throws
    const std::optional<double> x = value_in(answer, r);
    into.push_back({"", r.key, "", x ? number_view(r.key, *x) : cell_view{}, r.unit});
  }
  for (const auto& [name, v] : answer.facts.items()) {
    if (v.is_primitive()) into.push_back({"", name, "", json_view(name, v)});
  }
  into.push_back({"", "mode", "", text_view(answer.calibrated ? "calibrated" : "bound")});
  if (answer.calibrated) {
    const calibrated_note& note = *answer.calibrated;
    for (const auto& b : note.bounds) {
      const cell_view x = number_view(b.key, b.value);
      into.push_back({"", b.key, "", none ? cell_view{} : x, b.unit});
    }
    const auto interval = [&](const char* key, const perfmodel::time_range& range) {
      const cell_view low = number_view(key, range.low.value());
      const cell_view high = number_view(key, range.high.value());
      into.push_back({"", key, "_low", none ? cell_view{} : low, unit_of_time});
      into.push_back({"", key, "_high", none ? cell_view{} : high, unit_of_time});
    };
    interval("interval_80_s", note.range);
    if (note.first_token) interval("ttft_interval_80_s", *note.first_token);
  }
  if (answer.is_time) {
    into.push_back({"", "limiter", "", text_view(perfmodel::name_of(answer.limiter))});
    for (const auto& t : answer.terms) {
      into.push_back({"terms.", t.name, "",
                      none ? cell_view{} : number_view(t.name, t.time.value()), unit_of_time});
    }
  }
  if (answer.has_feasibility) {
    into.push_back({"", "feasible", "", flag_view(answer.feasible)});
    into.push_back({"", "reason", "", text_view(answer.reason)});
  }
}

void point_evaluator::build(const std::vector<std::size_t>& place) {
  built_for_.clear();
  request_.reset();
  object_ = request_at(r_.base, r_.axes, place);
  const std::optional<mode> wanted = mode_in(object_);
  request_.emplace(*r_.asked, object_, r_.profile);
  request_->want_scalars_only();
  calibration_ = calibration_of_request(*r_.asked, *request_, wanted);
  built_for_ = place;
}

const std::vector<named_cell>& point_evaluator::at(const std::vector<std::size_t>& place) {
  bool changed = built_for_.empty();
  // A service may be simulated, which reads the request itself.
  const bool reads_object = r_.asked->name == std::string_view("serving");
  for (std::size_t i = 0; i < place.size() && !changed; ++i)
    changed = built_for_[i] != place[i] && (reads_object || !r_.axes[i].plain_number);
  if (changed) {
    build(place);
  } else {
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (built_for_[i] == place[i]) continue;
      request_->put_number(r_.axes[i].key, r_.axes[i].values[place[i]].get<double>());
      built_for_[i] = place[i];
    }
  }
  answer_ = evaluate_numbers(*request_, calibration_ ? &*calibration_ : nullptr, object_);
  cells_of(answer_, cells_);
  return cells_;
}

sweep_columns columns_of(const sweep_request& r) {
  sweep_columns columns;
  point_evaluator evaluator(r);
  std::exception_ptr first;
  bool answered = false;
  // A simulation may take seconds: two corners will do.
  const std::string_view name = r.asked->name;
  for (const auto& place : probes(r.axes, name == "simulate" || name == "serving")) {
    try {
      merge(columns.results, evaluator.at(place));
      answered = true;
    } catch (const std::exception&) {
      if (!first) first = std::current_exception();
    }
  }
  if (!answered && first) std::rethrow_exception(first);
  columns.errors = first != nullptr;
  return columns;
}

void place_cells(const std::vector<named_cell>& from, const std::vector<result_column>& columns,
                 std::vector<cell_view>& into) {
  into.assign(columns.size(), {});
  std::size_t next = 0;
  for (const named_cell& c : from) {
    std::size_t at = next;  // results mostly come in the order of the columns
    while (at < columns.size() && !c.is_of(columns[at])) ++at;
    if (at == columns.size()) {
      at = 0;
      while (at < next && !c.is_of(columns[at])) ++at;
      if (at == next) continue;  // a value that no probed point has
    }
    into[at] = c.value;
    next = at + 1;
  }
}

std::string refusal_text(const std::exception& e) {
  if (const auto* known = dynamic_cast<const perfmodel::error*>(&e))
    return cat(perfmodel::code_text(known->code()), ": ", one_line(message_of(*known)));
  return one_line(e.what());
}

}  // namespace napkin
