// What a model is and needs: its layers in words, its bytes by part, its cache over the context, and
// how many sequences fit where.
#pragma once

#include "model_file.hpp"

namespace napkin {

/// "60 x grouped-query attention, 64 query and 4 KV heads of 128": mixers first.
std::vector<std::string> layer_kinds(const perfmodel::transformer& m);

/// Parameters that a token uses: all of a model without experts; of one with experts, without those
/// that its router leaves out and without the input embedding, of which a token reads one row.
double counted_active(const perfmodel::transformer& m);

/// What one more token and a sequence cost, part by part, and what fits on a handful of accelerators.
json model_facts(const found_model& found, const perfmodel::storage_format& kv);
std::string model_page(const found_model& found, const perfmodel::storage_format& kv,
                       const char* kv_why);

}  // namespace napkin
