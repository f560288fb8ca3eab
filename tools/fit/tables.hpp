// The published tables, and what they call accelerators and formats.
#pragma once

#include <cstdio>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/tools/fit/scores.hpp>
#include <string_view>

#include <napkin/io/table_file.hpp>

namespace published {

namespace pm = perfmodel;

/// The rows of a table of a folder; none where it is not there.
inline common::table_file rows_of(const std::string& folder, const char* file) {
  return common::read_table_if_there(common::cat(folder, '/', file));
}

/// An accelerator by any name that a published table has for it, the catalogue's own among them;
/// null where it is none of those measured.
inline const pm::accelerator* device_named(std::string_view name) {
  struct device {
    std::string_view names;
    const pm::accelerator* is;
  };
  static constexpr device devices[] = {
      {"a100_sxm,A100-SXM4-80GB,NVIDIA A100 SXM,a100,A100,a100_80", &pm::catalog::a100_sxm_80gb},
      {"h100_sxm,H100-SXM5-80GB,NVIDIA H100 SXM,h100", &pm::catalog::h100_sxm},
      {"h200_sxm,H200-SXM,NVIDIA H200 SXM,h200", &pm::catalog::h200_sxm},
      {"b200_sxm,B200-SXM,NVIDIA B200 SXM", &pm::catalog::b200_sxm},
      {"b300_sxm,NVIDIA B300 SXM", &pm::catalog::b300_sxm},
      {"NVIDIA GB200 SXM", &pm::catalog::gb200},
      {"l40s,L40S", &pm::catalog::l40s},
      {"h100_pcie", &pm::catalog::h100_pcie},
      {"v100", &pm::catalog::v100_sxm_32gb},
      {"mi210", &pm::catalog::mi210},
      {"AMD MI300X", &pm::catalog::mi300x}};
  for (const device& d : devices) {
    for (const std::string_view known : common::split(d.names, ',')) {
      if (name == known) return d.is;
    }
  }
  return nullptr;
}

/// Names in gpu-benches' tables. Their h200 is a GH200: it reads memory at 3.9 TB/s, 97 % of a
/// GH200's and 81 % of an H200's, and was measured before the H200 was sold.
inline const pm::accelerator* gpu_benches_device(std::string_view name) {
  return name == "h200" ? &pm::catalog::gh200_96gb : device_named(name);
}

/// A line of a fit's report: what was predicted, of whom, and how far it was off.
inline void print_score(const std::string& what, const std::string& who,
                        const std::vector<double>& residual) {
  const auto s = pm::score_of(residual);
  std::printf("%-30s %-26s n %4zu  mean %5.1f %%  median %5.1f %%  p90 %5.1f %%  bias %+5.1f %%\n",
              what.c_str(), who.c_str(), s.n, 100.0 * s.mean, 100.0 * s.median, 100.0 * s.p90,
              100.0 * s.bias);
}
/// The parameters that a fit found.
template <class Parameters, class Fit>
void print_parameters(const Parameters& p, const Fit& fit) {
  for (std::size_t j = 0; j < p.size(); ++j) {
    std::printf("    %-24s %#9.4g +- %.2g\n", p[j].name, fit.value[j], fit.standard_error[j]);
  }
}
/// Share of rows inside the stated 80 % interval.
inline void print_coverage(const std::string& who, const std::vector<double>& residual,
                           double spread) {
  std::printf("80 %% interval of %-24s spread %.3f, stated %.3f, which holds %.0f %%\n",
              who.c_str(), pm::log_sigma_of(residual), spread,
              100.0 * pm::coverage_of(residual, spread));
}
template <class Row>
std::vector<double> seconds_of(const std::vector<Row>& rows) {
  std::vector<double> out;
  for (const Row& r : rows) out.push_back(r.seconds);
  return out;
}
inline void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace published
