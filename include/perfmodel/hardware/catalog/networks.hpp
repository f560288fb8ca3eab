// Network adapters in the usual node of an accelerator, for parallelism across nodes.
#pragma once

#include <optional>
#include <perfmodel/hardware/accelerator.hpp>
#include <string_view>

// clang-format off
namespace perfmodel::inline v0_3::catalog {

namespace sources {
inline constexpr source hgx_adapters{basis::copied, "8 ConnectX-7 of 400 Gb/s in a DGX or HGX node of 8 GPUs; ml-engineering, network chapter, https://github.com/stas00/ml-engineering"};
inline constexpr source dgx_b300_adapters{basis::copied, "8 ConnectX-8 of 800 Gb/s in a DGX B300; ml-engineering, network chapter, https://github.com/stas00/ml-engineering"};
inline constexpr source gb200_adapters{basis::copied, "4 ConnectX-7 of 400 Gb/s in a tray of 4 GPUs, https://github.com/ai-dynamo/aisimulate/issues/192"};
inline constexpr source azure_mi300x{basis::copied, "8 x 400 Gb/s InfiniBand NDR in an ND MI300X v5, https://github.com/MicrosoftDocs/azure-compute-docs"};
inline constexpr source gaudi_ports{basis::copied, "3 of 24 ports of 200 Gb/s leave the node; ml-engineering, network chapter, https://github.com/stas00/ml-engineering"};
inline constexpr source like_hgx{basis::assumed, "400 Gb/s for each GPU, as in an HGX H100 node"};
inline constexpr source dgx_a100_adapters{basis::assumed, "8 x 200 Gb/s for the ranks of a DGX A100; recalled, no document was read"};
}  // namespace sources

/// Network link of one accelerator in its usual node, one way.
struct network_entry {
  std::string_view key{};
  bandwidth<> rate{};
  const source* from = nullptr;
};

inline constexpr network_entry networks[] = {
    {"a100_sxm_40gb", 25.0 * GB_per_s, &sources::dgx_a100_adapters},
    {"a100_sxm_80gb", 25.0 * GB_per_s, &sources::dgx_a100_adapters},
    {"h100_sxm", 50.0 * GB_per_s, &sources::hgx_adapters},
    {"h200_sxm", 50.0 * GB_per_s, &sources::hgx_adapters},
    {"b200_sxm", 50.0 * GB_per_s, &sources::hgx_adapters},
    {"h20", 50.0 * GB_per_s, &sources::like_hgx},
    {"h20_141gb", 50.0 * GB_per_s, &sources::like_hgx},
    {"h800_sxm", 50.0 * GB_per_s, &sources::like_hgx},
    {"b300_sxm", 100.0 * GB_per_s, &sources::dgx_b300_adapters},
    {"gb200", 50.0 * GB_per_s, &sources::gb200_adapters},
    {"mi300x", 50.0 * GB_per_s, &sources::azure_mi300x},
    {"mi325x", 50.0 * GB_per_s, &sources::like_hgx},
    {"mi350x", 50.0 * GB_per_s, &sources::like_hgx},
    {"mi355x", 50.0 * GB_per_s, &sources::like_hgx},
    {"gaudi_3", 75.0 * GB_per_s, &sources::gaudi_ports},
};
// clang-format on

/// Network of an accelerator's usual node; none where none is known (workstations, PCIe boards).
/// Test: h100_sxm has 50 GB/s, rtx_4090 none.
constexpr std::optional<interconnect> network_of(std::string_view key) {
  for (const network_entry& e : networks) {
    if (e.key != key) continue;
    return interconnect{.kind = link_kind::infiniband, .bandwidth = {e.rate, *e.from}};
  }
  return std::nullopt;
}

}  // namespace perfmodel::inline v0_3::catalog
