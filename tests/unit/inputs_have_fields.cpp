// Every spec over a scalar lists its fields, so that it can be lifted, traced and checked.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace unit_inputs_have_fields {

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The text between the brace at `open` and the one that closes it.
std::string body_at(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return text.substr(open, i - open);
  }
  return text.substr(open);
}

/// Structs that laws return or pass on, without user input: their names say so, or are listed here.
bool is_result(const std::string& name) {
  static const std::set<std::string> results = {
      "basic_achieved",          "basic_amdahl",
      "basic_ridge_batch",       "basic_service_prediction",
      "basic_time_by_profile",   "basic_batch_equilibrium",
      "basic_break_even",        "basic_collective_price",
      "basic_preemption_effect", "basic_prefix_fetch",
      "basic_kv_capacity",       "basic_operator",
      "basic_outlier_split",     "basic_parameter_count",
      "basic_power_cap",         "basic_schedule",
      "basic_prefill_steps",     "basic_service_state",
      "basic_service_terms",     "basic_latency_part",
      "basic_step_demand",       "basic_term",
      "basic_ttft_terms",        "basic_time_range",
      "basic_cost_piece",        "basic_speculation_round",
      "basic_default_link",      "basic_chased_load",
      "basic_popular_experts"};
  return name.ends_with("_estimate") || results.contains(name);
}

}  // namespace

TEST_CASE("every input over a scalar lists its fields") {
  const std::regex begin("\nstruct (basic_\\w+)[^;{]*\\{");
  int specs = 0;
  std::vector<std::filesystem::path> headers;
  for (const char* folder : {"/include/perfmodel", "/tools/library/perfmodel"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(PERFMODEL_SOURCE_DIR +
                                                                           std::string(folder))) {
      if (entry.path().extension() == ".hpp") headers.push_back(entry.path());
    }
  }
  for (const auto& header : headers) {
    const std::string text = text_of(header);
    for (std::sregex_iterator m(text.begin(), text.end(), begin), end; m != end; ++m) {
      const std::string name = (*m)[1];
      if (is_result(name)) continue;
      INFO(name << " in " << header);
      const auto open = static_cast<std::size_t>(m->position() + m->length() - 1);
      CHECK(body_at(text, open).find(" fields(F&& f") != std::string::npos);
      ++specs;
    }
  }
  CHECK(specs > 50);
}

}  // namespace unit_inputs_have_fields
