#include "service_profile.hpp"

#include <perfmodel/tools/fit/service_run.hpp>

#include "accelerator_file.hpp"
#include "catalogues.hpp"
#include "outcome.hpp"

#include <cmath>

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr std::string_view service_schema = "perfmodel.service_profile";
constexpr int service_version = 1;

/// Allowed range of a parameter: factors from 0.01 to 100; CPU times up to 1000 s.
number_range range_of(pm::service_parameter p) {
  if (is_factor(p)) return {.least = 0.01, .most = 100.0};
  return {.least = 0.0, .most = p == pm::service_parameter::request_iterations ? 1e6 : 1000.0};
}

int degree_in(const json_field& layout, std::string_view key) {
  return static_cast<int>(layout[key].number({.least = 1.0, .most = 1e6, .whole = true}));
}

json runs_json(const pm::service_calibration& c) {
  const auto error = [](const std::optional<double>& residual) -> json {
    if (!residual) return nullptr;
    return number_json("error", std::exp(-*residual) - 1.0);
  };
  const auto note = [](json& run, const char* key, const pm::feasibility& f) {
    if (!has_latencies(f)) run[key] = sentence(f);
  };
  json runs = json::array();
  for (std::size_t i = 0; i < c.token_after.size(); ++i) {
    runs.push_back({{"itl_error_before", error(c.token_before[i])},
                    {"itl_error", error(c.token_after[i])},
                    {"ttft_error_before", error(c.first_token_before[i])},
                    {"ttft_error", error(c.first_token_after[i])}});
    note(runs.back(), "infeasible_before", c.feasible_before[i]);
    note(runs.back(), "infeasible", c.feasible_after[i]);
  }
  return runs;
}

}  // namespace

std::string file_key(pm::service_parameter p) {
  const std::string_view name = name_of(p);
  return std::string(name) += name.ends_with("_cpu_time") ? "_s" : "";
}

json service_profile_json(const own_service& of, const std::string& accelerator,
                          const std::string& source, const pm::engine_profile& shipped,
                          const pm::service_calibration& found) {
  json parameters = json::object();
  for (std::size_t i = 0; i < pm::service_parameters; ++i) {
    const auto p = static_cast<pm::service_parameter>(i);
    const std::string name = file_key(p);
    const double value = value_of(found.posterior.engine, p);
    // The error of a factor is that of its logarithm.
    const double error = found.posterior.standard_error[i] * (is_factor(p) ? value : 1.0);
    parameters[name] = {{"value", number_json(name, value)},
                        {"standard_error", number_json(name, error)},
                        {"shipped", number_json(name, value_of(shipped, p))},
                        {"variance_removed", number_json(name, found.variance_removed[i])},
                        {"prior_scale", number_json(name, found.prior_scale[i])}};
  }
  json correlated = json::array();
  for (const auto& [a, b] : found.correlated) correlated.push_back({name_of(a), name_of(b)});
  return {{"schema", service_schema},
          {"version", service_version},
          {"accelerator", accelerator},
          {"model", of.model},
          {"engine", pm::name_of(of.by)},
          {"layout",
           {{"tensor_parallel", of.tensor},
            {"pipeline_parallel", of.pipeline},
            {"expert_parallel", of.expert},
            {"data_parallel", of.data}}},
          {"source", source},
          {"parameters", std::move(parameters)},
          {"itl_log_sigma", number_json("itl_log_sigma", of.token_log_sigma)},
          {"ttft_log_sigma", number_json("ttft_log_sigma", of.first_token_log_sigma)},
          {"correlated", std::move(correlated)},
          {"runs", runs_json(found)}};
}

bool is_service_profile(const json_field& file) {
  return file.raw().is_object() && file.has("schema") && file["schema"].raw() == service_schema;
}

void parse_service_profile(const json_field& file, given_profile& into) {
  file.only({"schema", "version", "accelerator", "model", "engine", "layout", "source",
             "parameters", "itl_log_sigma", "ttft_log_sigma", "correlated", "runs"});
  if (file["version"].number() != service_version) {
    file["version"].refuse(json_fault::not_allowed, cat(service_version));
  }
  into.machine.name = named_accelerator(file["accelerator"].text())->name;
  into.text = file["source"].text();
  own_service own;
  own.model = file["model"].some_text();
  own.by = *pm::find_engine(file["engine"].word("none|vllm|sglang|trtllm"));
  const json_field layout = file["layout"].only(
      {"tensor_parallel", "pipeline_parallel", "expert_parallel", "data_parallel"});
  own.tensor = degree_in(layout, "tensor_parallel");
  own.pipeline = degree_in(layout, "pipeline_parallel");
  own.expert = degree_in(layout, "expert_parallel");
  own.data = degree_in(layout, "data_parallel");
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < pm::service_parameters; ++i) {
    keys.push_back(file_key(static_cast<pm::service_parameter>(i)));
  }
  const json_field parameters = file["parameters"].only(keys);
  for (std::size_t i = 0; i < pm::service_parameters; ++i) {
    const json_field one = parameters[keys[i]].only(
        {"value", "standard_error", "shipped", "variance_removed", "prior_scale"});
    own.value[i] = one["value"].number(range_of(static_cast<pm::service_parameter>(i)));
    one["standard_error"].number({.most = 1e30});
  }
  own.token_log_sigma = file["itl_log_sigma"].number({.most = 10.0});
  own.first_token_log_sigma = file["ttft_log_sigma"].number({.most = 10.0});
  into.service = std::move(own);
}

}  // namespace napkin
