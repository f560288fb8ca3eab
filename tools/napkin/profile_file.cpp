#include "profile_file.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <perfmodel/kernels/gemm.hpp>

#include "accelerator_file.hpp"
#include "io/files.hpp"
#include "service_profile.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr const char* profile_schema = "perfmodel.machine_profile";
constexpr int profile_version = 1;

/// Keys of profiles that 0.2 and earlier wrote, and their present names.
constexpr std::pair<const char*, const char*> former_keys[] = {
    {"spread", "log_sigma"},
    {"streaming_l2_bandwidth_bytes_per_s", "elementwise_l2_bandwidth_bytes_per_s"},
    {"pass_time", "step_time_factor"},
    {"step_host_s", "step_cpu_time_s"},
    {"sequence_host_s", "sequence_cpu_time_s"},
    {"prompt_time", "prefill_step_factor"},
    {"request_host_s", "request_cpu_time_s"},
    {"told", "variance_removed"},
    {"itl_spread", "itl_log_sigma"},
    {"ttft_spread", "ttft_log_sigma"},
    {"confused", "correlated"}};

/// Gives the keys of an older file their present names. A file with both names is refused later.
void rename_former_keys(json& object) {
  if (!object.is_object()) return;
  for (const auto& [former, present] : former_keys) {
    if (!object.contains(former) || object.contains(present)) continue;
    object[present] = std::move(object[former]);
    object.erase(former);
  }
}

void rename_former_keys_of_file(json& file) {
  rename_former_keys(file);
  if (!file.is_object() || !file.contains("parameters")) return;
  json& parameters = file["parameters"];
  rename_former_keys(parameters);
  if (!parameters.is_object()) return;
  for (json& one : parameters) rename_former_keys(one);
}

template <class Value>
double plain(const Value& x) {
  if constexpr (pm::detail::is_optional<Value>) {
    return x ? plain(*x) : 0.0;
  } else if constexpr (pm::Quantity<Value>) {
    return x.value();
  } else {
    return x;
  }
}

/// A parameter's name in the file, with its unit: matrix_floor_s.
template <class Value>
std::string parameter_key(const pm::field& about) {
  if constexpr (pm::detail::is_optional<Value>) {
    return parameter_key<typename Value::value_type>(about);
  } else if constexpr (!pm::Quantity<Value>) {
    return about.name;
  } else if constexpr (pm::exponents_of<Value>() == pm::exponents_of<pm::duration<>>()) {
    return cat(about.name, "_s");
  } else {
    return cat(about.name, "_bytes_per_s");
  }
}

/// Allowed range of a field. A share above 1.1 exceeds possible clock boosts.
number_range range_of(const pm::field& about) {
  const bool share = std::string_view(about.name).ends_with("_share");
  if (share) return {.least = 0.01, .most = 1.1};
  return {.least = about.allowed.refuses_some() ? about.allowed.least : 0.0, .most = 1e30};
}

/// Calls each(field, key in the file, value, standard error) for the parameters of a profile.
template <class Profile, class Each>
void each_parameter(Profile& p, Each&& each) {
  pm::machine_parameters::fields(
      [&](const pm::field& about, auto& value, auto& standard_error) {
        each(about, parameter_key<std::remove_cvref_t<decltype(value)>>(about), value,
             standard_error);
      },
      p.value, p.standard_error);
}

template <class Value>
void put(Value& into, double x) {
  if constexpr (pm::detail::is_optional<Value>) {
    put(into.emplace(), x);
  } else if constexpr (pm::Quantity<Value>) {
    into = Value::from_value(x);
  } else {
    into = x;
  }
}

/// Omits unknown values from the file.
void read_parameters(const json_field& all, pm::machine_profile& p) {
  std::vector<std::string> keys;
  each_parameter(p, [&](const pm::field&, std::string key, const auto&, const auto&) {
    keys.push_back(std::move(key));
  });
  all.only(keys);
  each_parameter(
      p, [&](const pm::field& about, const std::string& key, auto& value, auto& standard_error) {
        using type = std::remove_cvref_t<decltype(value)>;
        if (pm::detail::is_optional<type> && !all.has(key)) return;
        const json_field one = all[key].only({"value", "standard_error"});
        put(value, one["value"].number(range_of(about)));
        put(standard_error, one["standard_error"].number({.most = 1e30}));
      });
}

/// A GEMM supported by every accelerator: the laws check their divisors.
void try_out(const pm::accelerator& a, const pm::machine_parameters& p) {
  for (const pm::number_format f : pm::all_formats) {
    if (!pm::supports(a, f)) continue;
    const pm::gemm g{.m = 64, .n = 64, .k = 64, .format = f, .weights = f, .output = f};
    const double t = pm::calibrated_estimate(a, g, {p}, pm::replay_conditions(1.0)).time.value();
    if (t > 0.0 && std::isfinite(t)) return;
    throw error(error_code::out_of_range, "the parameters yield no finite time");
  }
}

void parse(const json_field& file, given_profile& into) {
  file.only({"schema", "version", "accelerator", "source", "log_sigma", "held_out", "from_prior",
             "parameters"});
  if (file.has("from_prior")) {
    for (const json_field& name : file["from_prior"].list()) (void)name.text();
  }
  file["schema"].word(profile_schema);
  if (file["version"].number() != profile_version) {
    file["version"].refuse(json_fault::not_allowed, cat(profile_version));
  }
  const found_accelerator a = named_accelerator(file["accelerator"].text());
  into.machine.name = a->name;
  into.text = file["source"].text();
  read_parameters(file["parameters"], into.machine);
  into.machine.log_sigma = file["log_sigma"].number({.most = 10.0});
  const json_field score =
      file["held_out"].only({"measurements", "mean_error", "median_error", "p90_error", "bias"});
  score["measurements"].number({});  // 0: nothing held out, as of a recording without GEMMs
  for (const char* name : {"mean_error", "median_error", "p90_error"}) {
    score[name].number({.most = 1e30});
  }
  score["bias"].number({.least = -1e30, .most = 1e30});
  try_out(*a, into.machine.value);
}

}  // namespace

json profile_file_json(const pm::machine_profile& p, const std::string& accelerator,
                       const std::string& source, const pm::prediction_score& held_out) {
  json parameters = json::object();
  each_parameter(p, [&](const pm::field&, const std::string& key, const auto& value,
                        const auto& standard_error) {
    using type = std::remove_cvref_t<decltype(value)>;
    if constexpr (pm::detail::is_optional<type>) {
      if (!value) return;
    }
    parameters[key] = {{"value", number_json(key, plain(value))},
                       {"standard_error", number_json(key, plain(standard_error))}};
  });
  return {{"schema", profile_schema},
          {"version", profile_version},
          {"accelerator", accelerator},
          {"source", source},
          {"log_sigma", number_json("log_sigma", p.log_sigma)},
          {"held_out",
           {{"measurements", held_out.n},
            {"mean_error", number_json("mean_error", held_out.mean)},
            {"median_error", number_json("median_error", held_out.median)},
            {"p90_error", number_json("p90_error", held_out.p90)},
            {"bias", number_json("bias", held_out.bias)}}},
          {"parameters", std::move(parameters)}};
}

std::unique_ptr<given_profile> read_profile(const std::string& path) {
  auto p = std::make_unique<given_profile>();
  const std::string text = read_text_file("profile", path, std::uintmax_t{1} << 20U);
  try {
    json content;
    read_json(text, content);
    rename_former_keys_of_file(content);
    const json_field file(content);
    if (is_service_profile(file)) {
      parse_service_profile(file, *p);
    } else {
      parse(file, *p);
    }
  } catch (const error& e) {
    throw error(e.code(), cat("profile: ", in_quotes(path), ": ", e.what()));
  }
  p->text = cat("fitted to ", p->text, ", read from ", path);
  p->from = {pm::basis::measured, p->text.c_str()};
  p->machine.from = &p->from;
  return p;
}

}  // namespace napkin
