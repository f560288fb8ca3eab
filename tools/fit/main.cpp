// fit: fits the catalogue of kernels (kernels/catalog) to published measurements, and prints errors
// on held-out rows.
//   fit <what> [folder of the measurements] [--record]
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "fits.hpp"

namespace {

struct fit {
  std::string_view name;
  int (*run)(const std::string& folder, bool record);
  bool records;
};

constexpr fit all[] = {
    {"amd", fits::amd::run, false},
    {"attention", fits::attention::run, false},
    {"collectives", fits::collectives::run, true},
    {"coverage", fits::coverage::run, true},
    {"elementwise", fits::elementwise::run, false},
    {"engines", fits::engines::run, true},
    {"gemm", fits::gemm::run, false},
    {"memory", fits::memory::run, false},
    {"moe", fits::moe::run, false},
    {"services", fits::services::run, false},
    {"transfer", fits::transfer::run, true},
    {"workstation", fits::workstation::run, false},
};

int usage() {
  std::fputs("usage: fit <what> [folder of the measurements] [--record]\n  what:", stderr);
  for (const fit& f : all) {
    std::fprintf(stderr, " %.*s%s", static_cast<int>(f.name.size()), f.name.data(),
                 f.records ? " (--record)" : "");
  }
  std::fputc('\n', stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> given(argv + 1, argv + argc);
  const bool record = std::erase(given, "--record") > 0;
  if (given.empty() || given.size() > 2) return usage();
  for (const fit& f : all) {
    if (f.name != given[0]) continue;
    if (record && !f.records) return usage();
    return f.run(given.size() > 1 ? given[1] : "../shared/measured", record);
  }
  return usage();
}
