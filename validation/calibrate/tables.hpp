// The published tables, and what they call accelerators and formats.
#pragma once

#include <perfmodel/hardware/catalog/all.hpp>
#include <string_view>

#include "../../examples/common/table_file.hpp"

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
      {"NVIDIA B300 SXM", &pm::catalog::b300_sxm},
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

}  // namespace published
