// Fits the collective profiles to published latencies, prints what the catalogue ships, and scores
// it on what a fit has not seen: one accelerator, one operation, one number of ranks at a time.
// A fit that sees only some ranks keeps the rows that tell what the switches do.
//
// With --record, tests/data/left_out_links.tsv.
//
//   fit collectives FOLDER [--record]     the folder of aic_nccl_collectives_public.csv
#include <cmath>
#include <cstdio>
#include <functional>
#include <perfmodel/kernels/catalog/collectives.hpp>

#include "fits.hpp"
#include "left_out_links.hpp"

namespace fits::collectives {

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
std::vector<double> residuals(const rows& r, const nccl_values& nccl, const custom_values& v) {
  std::vector<double> out;
  for (const auto& x : r) {
    out.push_back(std::log(x.seconds / time_of(x, custom_model::from(v, nccl, x))));
  }
  return out;
}
/// The shipped profile of `donor`, transferred to each row's accelerator; unchanged where its clock
/// does not count.
std::vector<double> lent_residuals(const rows& r, const pm::collective_profile& donor,
                                   bool by_clock) {
  std::vector<double> out;
  for (const auto& x : r) {
    const pm::accelerator& a = *published::device_named(x.gpu);
    const auto cost = pm::calibrated_collectives_on(
        a, by_clock ? pm::catalog::transferred_collectives(donor, a) : donor,
        published::kernels_of(x));
    out.push_back(std::log(x.seconds / time_of(x, cost)));
  }
  return out;
}
std::size_t itself(std::size_t gpu) {
  return gpu;
}

void print(const std::string& what, const std::vector<double>& residual) {
  published::print_score(what, "", residual);
}

/// NVLink 5 as Hopper at its link's rate, all that waits by one factor.
struct one_factor {
  static constexpr std::size_t count = 1;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"all waits over Hopper's", 1.5, 0.2, 5.0}}};

  template <class T>
  static pm::basic_collective_profile<T> from(const std::array<T, count>& v,
                                              const published::public_row&) {
    pm::basic_collective_profile<T> p = pm::lift<T>(pm::catalog::collectives_h100_sxm);
    p.value.launch *= v[0];
    p.value.hop *= v[0];
    p.value.simple_wait *= v[0];
    return p;
  }
};
/// Its five numbers, of which nothing is expected before a row is seen.
struct five_free {
  static constexpr std::size_t count = 5;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {published::nvlink5_model::parameters[0], published::nvlink5_model::parameters[1],
       published::nvlink5_model::parameters[2], published::nvlink5_model::parameters[3],
       published::nvlink5_model::parameters[4]}};

  template <class T>
  static pm::basic_collective_profile<T> from(const std::array<T, count>& v,
                                              const published::public_row& r) {
    return published::nvlink5_model::from(std::array<T, 6>{v[0], v[1], v[2], v[3], v[4], T(1.0)},
                                          r);
  }
};

/// Tables of NVLink 5 left out, over the numbers that are fitted; and chips left out.
void print_nvlink5() {
  const std::span<const published::public_row> all = published::public_nvlink5;
  std::vector<double> hopper;
  for (const auto& r : all) {
    hopper.push_back(
        std::log(1e-6 * r.us / published::time_of(r, one_factor::from(std::array{1.0}, r))));
  }
  published::print_score("NVLink 5, tables left out", "Hopper's", hopper);
  published::print_score("NVLink 5, tables left out", "one factor",
                         left_out::without_tables<one_factor>(all));
  published::print_score("NVLink 5, tables left out", "five, free",
                         left_out::without_tables<five_free>(all));
  published::print_score("NVLink 5, tables left out", "five, expected by one factor",
                         left_out::without_tables<published::nvlink5_model>(all));
  for (const std::string gpu : {"b200_sxm", "b300_sxm", "gb300"}) {
    const auto split = left_out::without(std::vector<published::public_row>(all.begin(), all.end()),
                                         [&](const auto& r) { return r.gpu == gpu; });
    const auto v = published::fit_public<published::nvlink5_model>(split.most).value;
    std::vector<double> unseen;
    for (const auto& r : split.out) {
      unseen.push_back(
          std::log(1e-6 * r.us / published::time_of(r, published::nvlink5_model::from(v, r))));
    }
    published::print_score("NVLink 5, chip left out", gpu, unseen);
  }
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

/// Prints how far NCCL's model is off on rows that no fit has seen.
void report_nccl(const rows& nccl, const nccl_fit& n, double stated) {
  print("nccl, in sample", n.residual);
  for (const char* gpu : published::measured_gpus) {
    const auto own = only(nccl, [&](const auto& x) { return x.gpu == gpu; });
    print(std::string("  ") + gpu, residuals(own, n.value, itself));
  }
  std::vector<double> unseen;
  const auto hold_out = [&](const std::string& what, const keep& held_out_rows) {
    const auto fit = fit_nccl(only(
        nccl, [&](const auto& x) { return !held_out_rows(x) || left_out::tells_switches(x); }));
    const auto r = residuals(only(nccl, held_out_rows), fit.value, itself);
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
  print_coverage("nccl", unseen, stated);
}

/// Residuals for the engines' own kernels.
void report_custom(const rows& custom, const nccl_fit& n, const custom_fit& c, double stated) {
  print("custom, in sample", c.residual);
  const auto posted = [](const auto& x) {
    return x.call.implementation != pm::collective_implementation::custom;
  };
  for (const char* gpu : {"a100_sxm", "h200_sxm"}) {
    for (const bool captured : {true, false}) {
      const auto own = only(custom, [&](const auto& x) {
        return x.gpu == gpu && x.captured() == captured && !posted(x);
      });
      print(std::string("  ") + gpu + (captured ? ", captured" : ", streamed"),
            residuals(own, n.value, c.value));
    }
  }
  std::vector<double> unseen;
  const auto hold_out = [&](const std::string& what, const keep& left_out) {
    const auto most = only(custom, [&](const auto& x) { return !left_out(x); });
    const auto r = residuals(only(custom, left_out), n.value, fit_custom(most, n.value).value);
    print("custom, without " + what, r);
    return r;
  };
  for (const int ranks : {2, 4, 8}) {
    append(unseen, hold_out(std::to_string(ranks) + " ranks",
                            [&](const auto& x) { return x.call.ranks == ranks; }));
  }
  for (const std::string kernels : {"vllm/", "sglang/0.5.10", "sglang/0.5.14", "trtllm"}) {
    append(unseen,
           hold_out(kernels, [&](const auto& x) { return x.kernels.starts_with(kernels); }));
  }
  hold_out("what was posted of H100", [&](const auto& x) { return x.gpu == "h100_sxm"; });
  for (const auto kernel :
       {pm::collective_implementation::one_shot, pm::collective_implementation::two_shot}) {
    hold_out(std::string("B300's ") + name_of(kernel),
             [&](const auto& x) { return x.gpu == "b300_sxm" && x.call.implementation == kernel; });
  }
  print_coverage("custom", unseen, stated);
}

/// Each accelerator by another's profile, as it is and with what waits by their clocks.
void report_transfers(const rows& nccl, const rows& custom) {
  using namespace pm::catalog;
  constexpr std::pair<const char*, const pm::collective_profile*> transfers[] = {
      {"a100_sxm", &collectives_h100_sxm},
      {"h100_sxm", &collectives_a100_sxm},
      {"h200_sxm", &collectives_a100_sxm},
      {"h100_sxm", &collectives_h200_sxm},
      {"h200_sxm", &collectives_h100_sxm}};
  for (const auto& transfer : transfers) {
    const std::string gpu = transfer.first;
    const pm::collective_profile* donor = transfer.second;
    for (const rows& all : {nccl, custom}) {
      const auto own = only(all, [&](const auto& x) {
        return x.gpu == gpu &&
               (x.nccl() || x.call.implementation == pm::collective_implementation::custom);
      });
      if (own.empty()) continue;
      for (const bool by_clock : {false, true}) {
        print(std::string(own.front().nccl() ? "nccl, " : "custom, ") + gpu + " by " +
                  donor->name.c_str() + (by_clock ? ", by clock" : ""),
              lent_residuals(own, *donor, by_clock));
      }
    }
  }
}

double log_sigma_at(const std::vector<double>& residual, double share) {
  std::vector<double> off;
  for (const double r : residual) off.push_back(std::abs(r));
  return pm::detail::quantile(off, share) / pm::z90;
}

/// The log_sigma that covers 72, 80 and 90 % of held-out rows and of transfers, and the stated one.
void print_uncertainty(const std::string& folder, bool record) {
  if (record) std::puts("what\tchip\tkind\tby\trows\tholds_72\tholds_80\tholds_90");
  const auto line = [&](const char* what, const std::string& chip, const std::string& kind,
                        const std::string& by, const std::vector<double>& r, double stated) {
    const double at72 = log_sigma_at(r, 0.72), at80 = log_sigma_at(r, 0.80),
                 at90 = log_sigma_at(r, 0.90);
    if (record) {
      std::printf("%s\t%s\t%s\t%s\t%zu\t%.3f\t%.3f\t%.3f\n", what, chip.c_str(), kind.c_str(),
                  by.c_str(), r.size(), at72, at80, at90);
    } else {
      std::printf(
          "%-8s %-14s %-12s by %-14s n %5zu  72 %% %.3f  80 %% %.3f  90 %% %.3f  stated %.3f holds "
          "%3.0f %%\n",
          what, chip.c_str(), kind.c_str(), by.c_str(), r.size(), at72, at80, at90, stated,
          100.0 * pm::coverage_of(r, stated));
    }
  };
  left_out::residuals unseen;
  left_out::add_links(unseen, folder);
  for (const auto& [who, r] : unseen) {
    const auto chip = who.substr(6, who.rfind(' ') - 6), kind = who.substr(who.rfind(' ') + 1);
    line("unseen", chip, kind, chip, r, left_out::stated_log_sigma(who));
  }
  left_out::residuals transfers;
  left_out::add_lent_links(transfers, folder);
  for (const auto& [who, r] : transfers) {
    const left_out::link_transfer_name name(who);
    line("lent", name.chip, name.kind, name.by, r, name.stated());
  }
}

}  // namespace

int run(const std::string& folder, bool record) {
  const rows nccl = published::nccl_rows(folder);
  const rows custom = published::kernel_rows(folder);
  if (nccl.empty() || custom.empty()) {
    std::fprintf(stderr, "no measurements in %s\n", folder.c_str());
    return 1;
  }
  if (record) {
    print_uncertainty(folder, true);
    return 0;
  }
  const auto n = fit_nccl(nccl);
  const auto c = fit_custom(custom, n.value);
  published::print_parameters(nccl_model::parameters, n);
  published::print_parameters(custom_model::parameters, c);
  const double stated = pm::catalog::collectives_h100_sxm.log_sigma;
  report_nccl(nccl, n, stated);
  report_custom(custom, n, c, stated);
  report_transfers(nccl, custom);

  const double nvlink5 = pm::catalog::collectives_nvlink5.log_sigma;
  print_default<published::nvlink5_model>("NVLink 5", published::public_nvlink5, nvlink5);
  print_nvlink5();
  print_default<published::nvlink5_kernels_model>("NVLink 5, custom",
                                                  published::public_nvlink5_kernels, nvlink5);
  const double pcie =
      pm::catalog::collective_profile_of(pm::catalog::rtx_pro_6000.fabric).log_sigma;
  print_default<published::pcie_model>("PCIe", published::public_pcie, pcie);
  print_uncertainty(folder, false);
  return 0;
}

}  // namespace fits::collectives
