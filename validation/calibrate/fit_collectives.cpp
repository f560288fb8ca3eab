// Fits the collective profiles to published latencies, prints what the catalogue ships, and scores
// it on what a fit has not seen: one accelerator, one operation, one number of ranks at a time.
// A fit that sees only some ranks keeps the rows that tell what the switches do.
//
//   fit_collectives FOLDER     the folder of aic_nccl_collectives_public.csv
#include <cmath>
#include <cstdio>
#include <functional>
#include <perfmodel/calibrated/catalog/collectives.hpp>

#include "published_collectives.hpp"

namespace {

namespace pm = perfmodel;
using published::append;
using published::collective_row;
using published::custom_model;
using published::fit_custom;
using published::fit_nccl;
using published::nccl_model;
using published::print_coverage;
using published::time_of;
using rows = std::vector<collective_row>;
using nccl_values = std::array<double, nccl_model::count>;
using custom_values = std::array<double, custom_model::count>;
using keep = std::function<bool(const collective_row&)>;
using nccl_fit = decltype(fit_nccl(rows()));
using custom_fit = decltype(fit_custom(rows(), nccl_values()));

rows only(const rows& all, const keep& wanted) {
  rows out;
  for (const auto& x : all) {
    if (wanted(x)) out.push_back(x);
  }
  return out;
}

/// ln(measured / predicted), with the profile of accelerator `as(gpu)`.
std::vector<double> residuals(const rows& r, const nccl_values& v,
                              const std::function<std::size_t(std::size_t)>& as) {
  std::vector<double> out;
  for (const auto& x : r) {
    pm::calibrated_collectives cost;
    cost.profile = nccl_model::from(v, as(published::index_of(x.gpu)));
    out.push_back(std::log(x.seconds / time_of(x, cost)));
  }
  return out;
}
std::vector<double> residuals(const rows& r, const nccl_values& nccl, const custom_values& v,
                              const std::function<std::size_t(std::size_t)>& as) {
  std::vector<double> out;
  for (const auto& x : r) {
    const std::size_t gpu = as(published::index_of(x.gpu));
    out.push_back(std::log(x.seconds /
                           time_of(x, custom_model::from(v, gpu, nccl_model::from(nccl, gpu), x))));
  }
  return out;
}
std::size_t itself(std::size_t gpu) {
  return gpu;
}

void print(const std::string& what, const std::vector<double>& residual) {
  published::print_score(what, "", residual);
}

/// A default from public tables: its parameters, and how far it is on each table left out.
template <class Model>
void print_default(const char* what, std::span<const published::public_row> all, double spread) {
  const auto f = published::fit_public<Model>(all);
  published::print_parameters(Model::parameters, f);
  print(std::string(what) + ", in sample", f.residual);
  std::vector<double> unseen;
  for (std::size_t first = 0; first < all.size();) {
    std::vector<published::public_row> out, most;
    const std::string source = all[first].source;
    for (const auto& r : all) (r.source == source ? out : most).push_back(r);
    std::vector<double> residual;
    // What only this table shows keeps its value: a fit without it says that it cannot tell.
    auto v = f.value;
    try {
      v = published::fit_public<Model>(most).value;
    } catch (const pm::error& e) {
      std::printf("  (%s)\n", e.what());
    }
    for (const auto& r : out)
      residual.push_back(std::log(1e-6 * r.us / published::time_of(r, Model::from(v, r))));
    print("  without " + source, residual);
    append(unseen, residual);
    while (first < all.size() && all[first].source == source) ++first;
  }
  print(std::string(what) + ", each table left out", unseen);
  print_coverage(what, unseen, spread);
}

/// Sums of large messages on 8 ranks: nothing else tells what the switches do, so a fit that sees
/// only some rows keeps them.
bool tells_switches(const collective_row& x) {
  return x.operation == "all_reduce" && x.call.ranks == 8 && x.call.format != pm::int8 &&
         x.call.message.quantity().value() > 6e7;
}

/// Prints how far NCCL's model is off on rows that no fit has seen.
void report_nccl(const rows& nccl, const nccl_fit& n, double stated) {
  print("nccl, in sample", n.residual);
  for (const char* gpu : published::measured_gpus) {
    const auto own = only(nccl, [&](const auto& x) { return x.gpu == gpu; });
    print(std::string("  ") + gpu, residuals(own, n.value, itself));
  }
  std::vector<double> unseen;
  const auto hold_out = [&](const std::string& what, const keep& left_out) {
    const auto fit =
        fit_nccl(only(nccl, [&](const auto& x) { return !left_out(x) || tells_switches(x); }));
    const auto r = residuals(only(nccl, left_out), fit.value, itself);
    append(unseen, r);
    print("nccl, without " + what, r);
  };
  for (const std::string op : {"all_reduce", "all_gather"}) {
    hold_out(op, [&](const auto& x) { return x.operation == op; });
  }
  for (const int ranks : {2, 4, 8}) {
    hold_out(std::to_string(ranks) + " ranks",
             [&](const auto& x) { return x.call.ranks == ranks; });
  }
  // An accelerator not seen takes the profile of its sibling: its own rows are not used.
  const std::array<std::size_t, 3> sibling = {1, 2, 1};
  for (std::size_t g = 0; g < 3; ++g) {
    const auto out = only(nccl, [&](const auto& x) { return published::index_of(x.gpu) == g; });
    print(std::string("nccl, ") + published::measured_gpus[g] + " with the profile of " +
              published::measured_gpus[sibling[g]],
          residuals(out, n.value, [&](std::size_t i) { return sibling[i]; }));
  }
  print_coverage("nccl", unseen, stated);
}

/// The same of the engines' own kernels.
void report_custom(const rows& nccl, const rows& custom, const nccl_fit& n, const custom_fit& c,
                   double stated) {
  print("custom, in sample", c.residual);
  for (const bool captured : {true, false}) {
    for (const char* gpu : {"a100_sxm", "h200_sxm"}) {
      const auto own =
          only(custom, [&](const auto& x) { return x.gpu == gpu && x.captured() == captured; });
      print(std::string("  ") + gpu + (captured ? ", captured" : ", streamed"),
            residuals(own, n.value, c.value, itself));
    }
  }
  std::vector<double> unseen;
  const auto hold_out = [&](const std::string& what, const keep& left_out) {
    const auto most = only(custom, [&](const auto& x) { return !left_out(x); });
    const auto r =
        residuals(only(custom, left_out), n.value, fit_custom(most, n.value).value, itself);
    append(unseen, r);
    print("custom, without " + what, r);
  };
  for (const int ranks : {2, 4, 8}) {
    hold_out(std::to_string(ranks) + " ranks",
             [&](const auto& x) { return x.call.ranks == ranks; });
  }
  for (const std::string kernels : {"vllm", "sglang/0.5.10", "sglang/0.5.14", "trtllm"}) {
    hold_out(kernels, [&](const auto& x) { return x.kernels.starts_with(kernels); });
  }
  const auto a100 = [](const auto& x) { return published::index_of(x.gpu) == 0; };
  auto r = residuals(only(nccl, a100), n.value, [](std::size_t) { return 1u; });
  append(r, residuals(only(custom, a100), n.value, c.value, [](std::size_t) { return 2u; }));
  std::printf("spread of a100_sxm with Hopper's profile: %.3f\n", pm::log_sigma_of(r));
  for (const std::size_t g : {std::size_t{0}, std::size_t{2}}) {
    const auto out = only(custom, [&](const auto& x) { return published::index_of(x.gpu) == g; });
    print(std::string("custom, ") + published::measured_gpus[g] + " with the other's profile",
          residuals(out, n.value, c.value, [](std::size_t i) { return i == 0 ? 2u : 0u; }));
  }
  print_coverage("custom", unseen, stated);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fit_collectives FOLDER\n");
    return 2;
  }
  const rows nccl = published::nccl_rows(argv[1]);
  const rows custom = published::custom_rows(argv[1]);
  if (nccl.empty() || custom.empty()) {
    std::fprintf(stderr, "no measurements in %s\n", argv[1]);
    return 1;
  }
  const auto n = fit_nccl(nccl);
  const auto c = fit_custom(custom, n.value);
  published::print_parameters(nccl_model::parameters, n);
  published::print_parameters(custom_model::parameters, c);
  const double stated = pm::catalog::collectives_h100_sxm.log_sigma;
  report_nccl(nccl, n, stated);
  report_custom(nccl, custom, n, c, stated);

  const double nvlink5 = pm::catalog::collectives_nvlink5.log_sigma;
  print_default<published::nvlink5_model>("NVLink 5", published::public_nvlink5, nvlink5);
  print_default<published::nvlink5_kernels_model>("NVLink 5, custom",
                                                  published::public_nvlink5_kernels, nvlink5);
  const double pcie =
      pm::catalog::collective_profile_of(pm::catalog::rtx_pro_6000.fabric).log_sigma;
  print_default<published::pcie_model>("PCIe", published::public_pcie, pcie);
  return 0;
}
