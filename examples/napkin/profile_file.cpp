#include "profile_file.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/calibrated/gemm.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/units/text.hpp>
#include <vector>

#include "catalogues.hpp"
#include "codes.hpp"
#include "files.hpp"
#include "key.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
using pm::error;
using pm::error_code;

constexpr std::string_view schema = "perfmodel.machine_profile";
constexpr int version = 1;

template <class Value>
double plain(const Value& x) {
  if constexpr (pm::Quantity<Value>) {
    return x.value();
  } else {
    return x;
  }
}
template <class Value>
void assign(Value& to, double x) {
  if constexpr (pm::Quantity<Value>) {
    to = Value::from_value(x);
  } else {
    to = x;
  }
}

/// An object of the file, whose every key has to be asked for.
class strict_object {
 public:
  strict_object(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object())
      throw error(code::wrong_type, where_ + " is " + brief(object) + "; allowed: an object");
  }
  const json& at(const std::string& name) {
    asked_.push_back(name);
    const auto found = object_.find(name);
    if (found == object_.end()) throw error(code::missing_key, where_ + " has no " + name);
    return *found;
  }
  std::string text(const std::string& name) {
    const json& v = at(name);
    if (!v.is_string())
      throw error(code::wrong_type, name + " is " + brief(v) + "; allowed: a string");
    return v.get<std::string>();
  }
  double number(const std::string& name, double least, double most) {
    const json& v = at(name);
    const std::string what = where_ + ": " + name + " is " + brief(v);
    if (!v.is_number()) throw error(code::wrong_type, what + "; allowed: a number");
    const double x = v.get<double>();
    if (!(x >= least) || !(x <= most)) {
      throw error(error_code::out_of_range, what +
                                                "; allowed: " + pm::detail::significant(least, 3) +
                                                " to " + pm::detail::significant(most, 3));
    }
    return x;
  }
  bool flag(const std::string& name) {
    const json& v = at(name);
    if (!v.is_boolean())
      throw error(code::wrong_type, name + " is " + brief(v) + "; allowed: true or false");
    return v.get<bool>();
  }
  void finish() const {
    for (const auto& [name, v] : object_.items()) {
      if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
      throw error(code::unknown_key, where_ + " has " + in_quotes(name) + ", which is not known");
    }
  }

 private:
  const json& object_;
  std::string where_;
  std::vector<std::string> asked_{};
};

bool is_share(std::string_view name) {
  return name.ends_with("_share");
}

void read_parameters(const json& object, pm::machine_profile& p) {
  strict_object all(object, "parameters");
  pm::machine_parameters::fields(
      [&](const pm::field& about, auto& value, auto& standard_error) {
        const char* name = about.name;
        using type = std::remove_reference_t<decltype(value)>;
        const std::string key = parameter_key<type>(name);
        if constexpr (std::same_as<type, bool>) {
          value = all.flag(key);
        } else {
          strict_object one(all.at(key), key);
          // A share above 1.1 is beyond what clocks may boost; nothing else has a limit but that of
          // a number.
          assign(value,
                 one.number("value", is_share(name) ? 0.01 : 0.0, is_share(name) ? 1.1 : 1e30));
          assign(standard_error, one.number("standard_error", 0.0, 1e30));
          one.finish();
        }
      },
      p.value, p.standard_error);
  all.finish();
}

/// A product that every accelerator can be asked for: the laws check what they divide by.
void try_out(const pm::accelerator& a, const pm::machine_parameters& p) {
  for (const pm::number_format f : pm::all_formats) {
    if (!pm::supports(a, f)) continue;
    pm::gemm g{.m = 64, .n = 64, .k = 64, .format = f};
    g.weights = f;
    g.output = f;
    const double t = pm::calibrated_estimate(a, g, {p}, pm::replaying(1.0)).time.value();
    if (!(t > 0.0) || !std::isfinite(t))
      throw error(error_code::out_of_range, "the parameters give no time");
    return;
  }
}

void parse(const json& content, given_profile& into) {
  strict_object file(content, "the profile");
  if (file.text("schema") != schema) {
    throw error(error_code::unknown_name,
                "schema is " + brief(content["schema"]) + "; allowed: " + std::string(schema));
  }
  if (const double v = file.number("version", 0.0, 1e9); v != version) {
    throw error(error_code::out_of_range, "version is " + pm::detail::number_text(v) +
                                              "; this program reads version " +
                                              std::to_string(version));
  }
  const pm::accelerator& a = find_accelerator(file.text("accelerator"));
  into.machine.name = a.name;
  into.text = file.text("source");
  read_parameters(file.at("parameters"), into.machine);
  into.machine.log_sigma = file.number("spread", 0.0, 10.0);
  strict_object score(file.at("held_out"), "held_out");
  score.number("measurements", 1.0, 1e15);
  for (const char* name : {"mean_error", "median_error", "p90_error"})
    score.number(name, 0.0, 1e30);
  score.number("bias", -1e30, 1e30);
  score.finish();
  file.finish();
  try_out(a, into.machine.value);
}

}  // namespace

json profile_file_json(const pm::machine_profile& p, const std::string& source,
                       const pm::prediction_score& held_out) {
  json parameters = json::object();
  pm::machine_parameters::fields(
      [&](const pm::field& about, const auto& value, const auto& standard_error) {
        const char* name = about.name;
        using type = std::remove_cvref_t<decltype(value)>;
        const std::string key = parameter_key<type>(name);
        if constexpr (std::same_as<type, bool>) {
          parameters[key] = value;
        } else {
          parameters[key] = {{"value", number_json(name, plain(value))},
                             {"standard_error", number_json(name, plain(standard_error))}};
        }
      },
      p.value, p.standard_error);
  return {{"schema", schema},
          {"version", version},
          {"accelerator", p.name.c_str()},
          {"source", source},
          {"spread", number_json("spread", p.log_sigma)},
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
  const std::string text = read_text_file("profile", path, std::uintmax_t{1} << 20);
  try {
    json content;
    read_json(text, content);
    parse(content, *p);
  } catch (const error& e) {
    throw error(e.code(), "profile: " + in_quotes(path) + ": " + e.what());
  }
  p->text = "fitted to " + p->text + ", read from " + path;
  p->from = {pm::basis::measured, p->text.c_str()};
  p->machine.from = &p->from;
  return p;
}

void check_profile_of(const given_profile& p, std::string_view accelerators) {
  for (std::size_t begin = 0; begin <= accelerators.size();) {
    const std::size_t comma = std::min(accelerators.find(',', begin), accelerators.size());
    if (accelerators.substr(begin, comma - begin) == p.machine.name.view()) return;
    begin = comma + 1;
  }
  throw error(error_code::inconsistent, std::string("the profile is of ") + p.machine.name.c_str() +
                                            ", and the accelerator is " + in_quotes(accelerators));
}

}  // namespace napkin
