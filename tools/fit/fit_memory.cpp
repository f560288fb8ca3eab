// Fits what engines keep of a device's memory to their start-up logs, and scores the KV cache that
// is left: with the limits that a log's engine was started for, and with today's defaults.
//   fit memory [folder of the measurements]
#include <cmath>
#include <cstdio>
#include <perfmodel/laws/kv_cache.hpp>

#include "fit_rows.hpp"
#include "fits.hpp"
#include "published_memory.hpp"

namespace fits::memory {

namespace {

namespace pm = perfmodel;
using published::memory_row;
using point = pm::dual<1>;

/// Bytes of a logit in the pass that is profiled.
void fit_sampler(const std::vector<memory_row>& rows) {
  const auto predict = [&](const std::array<point, 1>& v, std::size_t i) {
    auto memory = pm::lift<point>(pm::engine_memory_of(pm::engine::vllm));
    memory.logit_bytes = v[0] * pm::byte;
    const auto& w = rows[i].widths;
    return profiled_activations(pm::engine::vllm, memory, pm::lift<point>(rows[i].started),
                                pm::basic_step_dimensions<point>{w.hidden, w.widest, w.vocabulary})
        .value();
  };
  const std::array<pm::fitted_parameter, 1> p{{{"logit_bytes [B]", 30.0, 4.0, 100.0}}};
  const auto measured = published::seconds_of(rows);
  const auto fit = pm::fit_log_ratios(p, std::span<const double>(measured), predict);
  published::print_score("activations", "in sample", fit.residual);
  const auto unseen = [&](const char* what, const auto& part) {
    published::print_score("activations", what, fit_rows::held_out(p, rows, predict, part));
  };
  unseen("models held out", [](const memory_row& r) { return r.model; });
  unseen("GPUs held out", [](const memory_row& r) { return r.gpu; });
  unseen("versions held out", [](const memory_row& r) { return r.version; });
  published::print_parameters(p, fit);
}

/// What one rank has outside the allocator: the mean, since 0.7.
void mean_runtime(const std::vector<memory_row>& rows) {
  double n = 0, sum = 0, squares = 0;
  for (const memory_row& r : rows) {
    if (r.counts_context()) continue;
    n += 1;
    sum += r.runtime;
    squares += r.runtime * r.runtime;
  }
  const double mean = sum / n;
  std::printf("    runtime [GiB]            %#9.2g +- %.1g\n", mean,
              std::sqrt((squares - n * mean * mean) / (n * (n - 1.0))));
}

pm::bytes<> cache_of(const memory_row& r, const pm::engine_limits& limits) {
  const auto memory = pm::engine_memory_of(pm::engine::vllm);
  return kv_bytes_available(pm::memory_budget{
      r.total * pm::GiB, r.utilization, r.weights * pm::GiB,
      profiled_activations(pm::engine::vllm, memory, limits, r.widths), engine_runtime(memory, 1)});
}

void score_cache(const std::vector<memory_row>& rows) {
  std::vector<double> started, defaults;
  for (const memory_row& r : rows) {
    const double measured = r.cache * pm::GiB.value();
    const auto today = engine_limits_on(pm::engine::vllm, {}, r.total * pm::GiB, 1, r.is_a100());
    started.push_back(std::log(measured / cache_of(r, r.started).value()));
    defaults.push_back(std::log(measured / cache_of(r, today).value()));
    std::printf("%-20s %-28s %s  logged %7.2f GiB  as started %+5.1f %%  by default %+5.1f %%\n",
                r.model.c_str(), r.gpu.c_str(), r.version.c_str(), r.cache,
                100.0 * std::expm1(-started.back()), 100.0 * std::expm1(-defaults.back()));
  }
  published::print_score("KV cache", "limits as started", started);
  published::print_score("KV cache", "today's defaults", defaults);
}

}  // namespace

int run(const std::string& folder, bool) {
  const auto rows = published::memory_rows(folder);
  if (rows.empty()) {
    std::puts("no start-up logs in that folder");
    return 1;
  }
  fit_sampler(rows);
  mean_runtime(rows);
  score_cache(rows);
  return 0;
}

}  // namespace fits::memory
