// Fits the attention parameters of every published accelerator, scores them on head counts and
// batches left out and on other accelerators, and prints them as catalogue entries.
//   fit_attention <folder of the published tables>
#include <cstdio>
#include <map>
#include <set>

#include "published.hpp"
#include "robust_fit.hpp"

namespace {

using published::attention_row;
using rows = std::vector<const attention_row*>;
namespace pm = perfmodel;

const std::vector<robust_fit::parameter> fitted = {
    {"floor", 6e-6, 1e-7, 1e-4},        {"further_kernel", 2e-6, 1e-8, 2e-5},
    {"tile_latency", 3e-6, 1e-8, 5e-5}, {"element_rate", 25e9, 1e9, 1e12},
    {"matrix_share", 0.8, 0.1, 1.2},    {"dram_share", 0.85, 0.3, 0.98},
    {"l2_ratio", 2.0, 1.0, 20.0}};  // l2_bandwidth over the DRAM bandwidth reached

pm::attention_parameters parameters_of(const pm::accelerator& a, const std::vector<double>& v) {
  return {.floor = pm::duration<>::from_value(v[0]),
          .further_kernel = pm::duration<>::from_value(v[1]),
          .tile_latency = pm::duration<>::from_value(v[2]),
          .element_rate = pm::frequency<>::from_value(v[3]),
          .matrix_share = v[4],
          .dram_share = v[5],
          .l2_bandwidth = v[6] * v[5] * a.dram.bandwidth.quantity()};
}

robust_fit::result fit(const rows& data) {
  return robust_fit::minimise(fitted, [&](const std::vector<double>& v, std::vector<double>& r) {
    const pm::attention_parameters p = parameters_of(*data.front()->device, v);
    r.resize(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      r[i] = std::log(data[i]->estimate(p).time.value() / data[i]->seconds);
    }
  });
}

struct score {
  double sum = 0.0, squares = 0.0;
  int n = 0;
  void add(const attention_row& x, const pm::attention_parameters& p) {
    const double ratio = x.estimate(p).time.value() / x.seconds;
    sum += std::abs(ratio - 1.0);
    squares += std::log(ratio) * std::log(ratio);
    ++n;
  }
  double mean() const { return n > 0 ? 100.0 * sum / n : 0.0; }
  double spread() const { return n > 0 ? std::sqrt(squares / n) : 0.0; }
};
using scores = std::map<bool, score>;

/// Scores each part of `data` with what is fitted to the others.
template <class Key>
scores held_out(const rows& data, Key&& key) {
  std::set<std::string> parts;
  for (const auto* x : data) parts.insert(key(*x));
  scores out;
  for (const auto& part : parts) {
    rows rest;
    for (const auto* x : data) {
      if (key(*x) != part) rest.push_back(x);
    }
    const auto p = parameters_of(*data.front()->device, fit(rest).value);
    for (const auto* x : data) {
      if (key(*x) == part) out[x->decode].add(*x, p);
    }
  }
  return out;
}

void print(const char* what, const std::string& gpu, scores& s) {
  std::printf("%-24s %-9s decode %5.1f %%  prefill %5.1f %%\n", what, gpu.c_str(), s[true].mean(),
              s[false].mean());
}

void print_entry(const char* field, const std::vector<double>& v) {
  std::printf("    .%s = {.floor = %#.4g * us,\n        .further_kernel = %#.4g * us,\n"
              "        .tile_latency = %#.4g * us,\n        .element_rate = %#.4g * GHz,\n"
              "        .matrix_share = %#.4g,\n        .dram_share = %#.4g,\n"
              "        .l2_bandwidth = %#.4g * TB_per_s},\n",
              field, v[0] * 1e6, v[1] * 1e6, v[2] * 1e6, v[3] * 1e-9, v[4], v[5], v[6] * 1e-12);
}

}  // namespace

int main(int count, char** arguments) {
  const auto all = published::attention_rows(count > 1 ? arguments[1] : "../shared/measured");
  if (all.empty()) {
    std::puts("no published attention tables in that folder");
    return 1;
  }
  std::map<std::string, rows> by_gpu;
  for (const auto& x : all) by_gpu[x.gpu].push_back(&x);
  std::map<std::string, pm::attention_parameters> values;
  std::string entries;
  for (const auto& [gpu, data] : by_gpu) {
    const auto r = fit(data);
    values[gpu] = parameters_of(*data.front()->device, r.value);
    scores in;
    for (const auto* x : data) in[x->decode].add(*x, values[gpu]);
    print("in sample", gpu, in);
    scores heads = held_out(data, [](const attention_row& x) { return x.group; });
    print("head counts left out", gpu, heads);
    scores batches = held_out(data, [](const attention_row& x) {
      return std::to_string(static_cast<int>(std::log2(x.batch) / 3.0));
    });
    print("batch ranges left out", gpu, batches);
    scores lengths = held_out(data, [](const attention_row& x) {
      return std::to_string(static_cast<int>(std::log2(x.length) / 3.0));
    });
    print("length ranges left out", gpu, lengths);
    std::printf("inline constexpr attention_profile attention_%s{\n    .name = \"%s\",\n", gpu.c_str(),
                gpu.c_str());
    const double dram = data.front()->device->dram.bandwidth.value();
    auto value = r.value, error = r.standard_error;
    value[6] *= value[5] * dram;
    error[6] *= r.value[5] * dram;
    print_entry("value", value);
    print_entry("standard_error", error);
    std::printf("    .spread = %.2g,\n    .from = &sources::aic_attention};\n",
                std::fmax(heads[true].spread(), heads[false].spread()));
  }
  for (const auto& [from, p] : values) {
    for (const auto& [gpu, data] : by_gpu) {
      if (from == gpu) continue;
      scores s;
      for (const auto* x : data) s[x->decode].add(*x, p);
      print(("parameters of " + from).c_str(), gpu, s);
    }
  }
}
