#include "numeric_facts.hpp"

#include <algorithm>
#include <cmath>

#include "io/amount.hpp"

namespace napkin {

std::vector<numeric_input> numeric_facts_of(const request& r) {
  std::vector<numeric_input> all;
  if (r.accelerators().empty()) return all;
  const json facts = accelerator_file_json(r.accelerator());
  for (const auto& [name, fact] : facts.items()) {
    if (!fact.is_object()) continue;
    const json& v = fact["value"];
    if (v.is_number()) {
      const double number = v.get<double>();
      all.push_back({name, true, name == "sms" && number == std::floor(number), number, ""});
    } else if (v.is_string()) {
      std::string_view rest;
      const auto x = parse_number(v.get_ref<const std::string&>(), rest);
      if (!x) continue;
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      all.push_back({name, true, false, *x, std::string(rest)});
    }
  }
  return all;
}

json fact_value(const numeric_input& x, double value) {
  if (x.rest.empty()) return value;
  return cat(json(value).dump(), " ", x.rest);  // the shortest text of this number
}

}  // namespace napkin
