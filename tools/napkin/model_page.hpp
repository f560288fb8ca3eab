// Page of a model: its layers, its weights by part, its KV cache over the context, and its capacity
// on common accelerators.
#pragma once

#include <optional>
#include <perfmodel/hardware/accelerator.hpp>
#include <string>
#include <vector>

#include "model_file.hpp"

namespace napkin {

/// "60 x grouped-query attention, 64 query and 4 KV heads of dimension 128": mixers first.
std::vector<std::string> layer_kinds(const perfmodel::transformer& m);

/// Active parameters per token: all of a dense model. A mixture-of-experts model counts the routed
/// and shared experts of a token, and no input embedding, of which a token reads one row.
double counted_active(const perfmodel::transformer& m);

/// Accelerator and context of the capacity table; without them the common ones.
struct model_view {
  const perfmodel::accelerator* on = nullptr;
  std::optional<double> context{};
};

/// JSON of the page: parts, memory over the context, and capacity on common accelerators.
json model_facts(const found_model& found, const perfmodel::storage_format& kv,
                 const model_view& view = {});
std::string model_page(const found_model& found, const perfmodel::storage_format& kv,
                       const char* kv_why, const model_view& view = {});

}  // namespace napkin
