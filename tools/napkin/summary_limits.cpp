// Limits of a result, and the time without them, by evaluating the query again.
#include <algorithm>
#include <map>

#include "summary_parts.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr double without_limit =
    1e6;  ///< resource factor; finite because laws divide by the remainder
constexpr const char* resources[] = {by_dram, by_flop, by_links, by_host, by_launches};

bool is_of_host(const std::string& path) {
  for (const char* own : {"engine.step_cpu_time", "engine.sequence_cpu_time",
                          "engine.request_cpu_time", "engine.run_start", "engine.compile_time"}) {
    if (path == own) return true;
  }
  return false;
}

bool is_resource(const std::string& name) {
  return std::find(std::begin(resources), std::end(resources), name) != std::end(resources);
}
/// Time of a part without its waits of one kind.
double without(const summary_part& part, const std::string& wait) {
  double left = part.time_s;
  for (const summary_step& s : part.steps) {
    if (s.limit == wait) left -= s.time_s;
  }
  return std::max(left, 0.0);
}
std::vector<std::string> waits_of(const summary_part& part) {
  std::vector<std::string> all;
  for (const summary_step& s : part.steps) {
    if (!is_resource(s.limit) && s.limit != other) all.push_back(s.limit);
  }
  return all;
}

struct saving {
  std::string name{};
  double left = 0.0;
  void look(const std::string& by, double then) {
    if (then < left * (1.0 - 1e-6)) *this = {by, then};
  }
};

/// The parts of a query by lifted resources; each is evaluated once.
class lifted_parts {
 public:
  explicit lifted_parts(const evaluate_again& again) : again_(again) {}
  const summary_part& at(std::size_t part, std::vector<std::string> without_them) {
    std::sort(without_them.begin(), without_them.end());
    const auto known = all_.find(without_them);
    if (known != all_.end()) return known->second.at(part);
    return all_.emplace(without_them, again_({without_them})).first->second.at(part);
  }

 private:
  const evaluate_again& again_;
  std::map<std::vector<std::string>, std::vector<summary_part>> all_{};
};

}  // namespace

bool lifted::has(std::string_view name) const {
  return std::find(resources.begin(), resources.end(), name) != resources.end();
}
pm::accelerator lifted::on(const pm::accelerator& a) const {
  return pm::map_scalars<double>(a, [&](const pm::field_path& path, double x) {
    const std::string name = path.text();
    const bool quicker = (has(by_dram) && name == "dram.bandwidth") ||
                         (has(by_flop) && name.starts_with("matrix.peak")) ||
                         (has(by_links) && name == "fabric.bandwidth");
    return quicker ? without_limit * x : x;
  });
}
pm::deployment lifted::on(pm::deployment d) const {
  d.device = on(d.device);
  return d;
}
served_load lifted::on(served_load x) const {
  x.deployment = on(x.deployment);
  if (x.drafts && x.drafts->draft) x.drafts->draft = on(*x.drafts->draft);
  if (x.pools) {
    x.pools->prefill.deployment = on(x.pools->prefill.deployment);
    x.pools->decode.deployment = on(x.pools->decode.deployment);
  }
  return x;
}
screen_calibration lifted::of(const screen_calibration& policy) const {
  if (!policy) return {};
  const auto less = [&](const pm::field_path& path, double x, const pm::source*,
                        const pm::unit_exponents& unit) {
    const std::string name = path.text();
    if (has(by_dram) && name.ends_with(".local_copy")) return without_limit * x;
    if (unit != pm::exponents_of<pm::duration<>>()) return x;
    return has(is_of_host(name) ? by_host : by_launches) ? x / without_limit : x;
  };
  return pm::map_scalars<double>(*policy, less);
}

void add_limits(std::vector<summary_part>& parts, bool predicted, const evaluate_again& again) {
  const std::vector<std::string> kinds(std::begin(resources),
                                       predicted ? std::end(resources) : std::begin(resources) + 3);
  lifted_parts known(again);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    summary_part& part = parts[k];
    saving first{{}, part.time_s};
    for (const std::string& r : kinds) first.look(r, known.at(k, {r}).time_s);
    for (const std::string& w : waits_of(part)) first.look(w, without(part, w));
    if (first.name.empty()) continue;
    saving second{{}, first.left};
    if (is_resource(first.name)) {
      for (const std::string& r : kinds) {
        if (r != first.name) second.look(r, known.at(k, {first.name, r}).time_s);
      }
      const summary_part& then = known.at(k, {first.name});
      for (const std::string& w : waits_of(then)) second.look(w, without(then, w));
    } else {
      for (const std::string& r : kinds) second.look(r, without(known.at(k, {r}), first.name));
      for (const std::string& w : waits_of(part)) {
        if (w != first.name) second.look(w, first.left + without(part, w) - part.time_s);
      }
    }
    part.limit = first.name;
    part.left_s = first.left;
    part.next = second.name;
    part.next_left_s = second.left;
  }
}

}  // namespace napkin
