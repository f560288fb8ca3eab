// Fits the expert-block parameters of every published accelerator, scores them on model shapes and
// layouts left out and on the other accelerators, and prints them as catalogue entries.
//   fit_moe <folder of the published tables>
#include <cstdio>
#include <map>
#include <set>

#include "published.hpp"
#include "robust_fit.hpp"

namespace {

using published::moe_row;
using rows = std::vector<const moe_row*>;
namespace pm = perfmodel;

const std::vector<robust_fit::parameter> fitted = {{"matrix_share", 0.7, 0.1, 1.2},
                                                   {"dram_share", 0.85, 0.3, 0.98}};

pm::moe_parameters parameters_of(const std::vector<double>& v) {
  return {.matrix_share = v[0], .dram_share = v[1]};
}

robust_fit::result fit(const rows& data) {
  return robust_fit::minimise(fitted, [&](const std::vector<double>& v, std::vector<double>& r) {
    const pm::moe_parameters p = parameters_of(v);
    r.resize(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      r[i] = std::log(data[i]->estimate(p).time.value() / data[i]->seconds);
    }
  });
}

struct score {
  double sum = 0.0, squares = 0.0;
  int n = 0;
  void add(const moe_row& x, const pm::moe_parameters& p) {
    const double ratio = x.estimate(p).time.value() / x.seconds;
    sum += std::abs(ratio - 1.0);
    squares += std::log(ratio) * std::log(ratio);
    ++n;
  }
  double mean() const { return n > 0 ? 100.0 * sum / n : 0.0; }
  double spread() const { return n > 0 ? std::sqrt(squares / n) : 0.0; }
};

template <class Key>
score held_out(const rows& data, Key&& key) {
  std::set<std::string> parts;
  for (const auto* x : data) parts.insert(key(*x));
  score out;
  for (const auto& part : parts) {
    rows rest;
    for (const auto* x : data) {
      if (key(*x) != part) rest.push_back(x);
    }
    const auto p = parameters_of(fit(rest).value);
    for (const auto* x : data) {
      if (key(*x) == part) out.add(*x, p);
    }
  }
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  const auto all = published::moe_rows(count > 1 ? arguments[1] : "../shared/measured");
  if (all.empty()) {
    std::puts("no published expert tables in that folder");
    return 1;
  }
  std::map<std::string, rows> by_gpu;
  for (const auto& x : all) by_gpu[x.gpu].push_back(&x);
  std::map<std::string, pm::moe_parameters> values;
  for (const auto& [gpu, data] : by_gpu) {
    const auto r = fit(data);
    values[gpu] = parameters_of(r.value);
    std::map<std::string, score> in;
    score whole;
    for (const auto* x : data) {
      in[x->kernels->name.c_str()].add(*x, values[gpu]);
      whole.add(*x, values[gpu]);
    }
    std::printf("in sample            %s %5.1f %%\n", gpu.c_str(), whole.mean());
    for (const auto& [kernels, s] : in) std::printf("  %-20s %5.1f %%\n", kernels.c_str(), s.mean());
    const score shapes = held_out(data, [](const moe_row& x) { return x.group; });
    std::printf("shapes left out      %s %5.1f %%\n", gpu.c_str(), shapes.mean());
    const score layouts = held_out(data, [](const moe_row& x) {
      return std::to_string(x.workload.tensor_parallel) + std::to_string(x.workload.expert_parallel);
    });
    std::printf("layouts left out     %s %5.1f %%\n", gpu.c_str(), layouts.mean());
    const score sizes = held_out(data, [](const moe_row& x) {
      return std::to_string(static_cast<int>(std::log2(x.workload.tokens) / 3.0));
    });
    std::printf("token ranges left out %s %5.1f %%\n", gpu.c_str(), sizes.mean());
    std::printf(
        "inline constexpr moe_profile moe_%s{.name = \"%s\",\n"
        "    .value = {.matrix_share = %#.4g, .dram_share = %#.4g},\n"
        "    .standard_error = {.matrix_share = %#.2g, .dram_share = %#.2g},\n"
        "    .spread = %.2g,\n    .from = &sources::aic_moe};\n",
        gpu.c_str(), gpu.c_str(), r.value[0], r.value[1], r.standard_error[0], r.standard_error[1],
        shapes.spread());
  }
  for (const auto& [from, p] : values) {
    for (const auto& [gpu, data] : by_gpu) {
      if (from == gpu) continue;
      score s;
      for (const auto* x : data) s.add(*x, p);
      std::printf("parameters of %s on %s %5.1f %%\n", from.c_str(), gpu.c_str(), s.mean());
    }
  }
}
