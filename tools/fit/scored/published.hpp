// Published measurements compared with this library's predictions (the folder's layout is in its
// README). A function returns nothing where its table is missing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <perfmodel/hardware/accelerator.hpp>

#include <compare/comparison.hpp>
#include <compare/picture.hpp>

namespace perfmodel::validation {

/// Products, attention, experts, element-wise operators: published_kernels.cpp.
std::vector<comparison> published_kernels(const std::string& folder);
/// Collectives, and curves of them: published_links.cpp.
std::vector<comparison> published_collectives(const std::string& folder);
std::vector<picture> collective_pictures(const std::string& folder);
/// Time per output token of whole services: published_serving.cpp.
std::vector<comparison> published_serving(const std::string& folder);
/// Pointer chases, cache bandwidth and Little's law: published_memory.cpp.
std::vector<comparison> published_memory(const std::string& folder);
/// All SMs read the same `size` bytes again and again: what the L2 keeps of them comes at its rate.
void read_again(comparison& c, const accelerator& a);
/// Reads, strides and intensities of GPUs that the folder has no rows of: published_sweeps.cpp.
std::vector<comparison> published_sweeps();
std::vector<picture> memory_pictures(const std::string& folder);
/// Speculation and KV capacity: published_tokens.cpp.
std::vector<comparison> published_tokens(const std::string& folder);
std::vector<picture> token_pictures(const std::string& folder);

}  // namespace perfmodel::validation
