#include "judge.hpp"

#include <algorithm>

#include "tolerances.hpp"

namespace perfmodel::validation {

grouped_rows by_quantity(const std::vector<compared_recording>& all) {
  grouped_rows groups;
  for (const compared_recording& r : all) {
    for (const comparison& c : r.rows) {
      // What a law was fitted to says little of it: apart, and not judged.
      std::string quantity = c.quantity;
      if (c.fitted) quantity += ", fitted to";
      groups[{c.device, quantity}].push_back(&c);
    }
  }
  return groups;
}

bool borrowed(const std::vector<const comparison*>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const comparison* c) { return c->borrowed; });
}

bool on_host(const std::vector<const comparison*>& rows) {
  return rows.front()->host;
}

std::vector<std::string> broken(const std::vector<compared_recording>& all) {
  std::vector<std::string> out;
  for (const auto& [key, rows] : by_quantity(all)) {
    std::string what = key.second;
    what += cat(" on ", key.first);
    const group_score s = score("", rows);
    const tolerance* allowed = find_tolerance(key.second, on_host(rows));
    if (allowed != nullptr && allowed->median > 0.0 && s.predicted.n > 0 && !borrowed(rows)) {
      if (s.at_clock.median > allowed->median) {
        out.push_back(cat(what, ": median error ", percent(s.at_clock.median), ", allowed ",
                          percent(allowed->median)));
      }
      if (s.at_clock.p90 > allowed->p90) {
        out.push_back(cat(what, ": 90th percentile ", percent(s.at_clock.p90), ", allowed ",
                          percent(allowed->p90)));
      }
    }
    for (const comparison* c : rows) {
      if (!c->beats_bound()) continue;
      out.push_back(cat(what, ", ", c->shape, ", in ", c->table, ": measured ",
                        amount(c->measured, c->unit), ", below ", amount(c->held_to, c->unit), ", ",
                        c->why_held.empty() ? "which nothing is quicker than" : c->why_held));
    }
  }
  return out;
}

std::vector<std::string> not_measured(const std::vector<compared_recording>& all) {
  std::vector<std::string> out;
  for (const compared_recording& r : all) {
    for (const failed_part& f : r.recording.failed) {
      out.push_back(
          cat(r.recording.device.name, ", ", r.recording.experiment, ", ", f.part, ": ", f.reason));
    }
    std::size_t samples = 0, points = 0;
    for (const point& p : r.recording.points) {
      samples += p.throttled.size();
      points += p.throttled.empty() ? 0 : 1;
    }
    if (samples == 0) continue;
    out.push_back(cat(r.recording.device.name, ", ", r.recording.experiment, ": ", samples,
                      " samples of ", points,
                      " points more than 3 % below their point's median clock"));
  }
  return out;
}

}  // namespace perfmodel::validation
