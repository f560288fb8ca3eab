#include "figures.hpp"

#include <algorithm>
#include <perfmodel/core/version.hpp>

#include "../output.hpp"

namespace napkin {

bool has_figure(const query& asked) {
  const std::string_view name = asked.name;
  return name == "gemm" || name == "roofline" || name == "step" || name == "serving" ||
         name == "model";
}

std::string figure_source(const json& answer) {
  std::string s = cat("napkin ", PERFMODEL_VERSION, ": ");
  const auto profile = answer.find("profile");
  if (profile == answer.end() || !profile->is_object()) return s + "bounds from data sheets.";
  return cat(s, "prediction by profile ", profile->value("name", ""), " (",
             profile->value("basis", ""), "); bounds from data sheets.");
}

std::string figure_request(const query& asked, const json& request) {
  json rest = request;
  rest.erase("measured_s");  // it is in the figure
  std::string s = headline(asked, rest);
  const std::string_view name = asked.name;
  if (s.starts_with(name)) s.erase(0, std::min(s.size(), name.size() + 2));
  return one_line(s.substr(0, s.find_last_not_of('\n') + 1));
}

figure figure_of(const query& asked, const json& request, const given_profile* profile,
                 const json& answer) {
  const std::string_view name = asked.name;
  const bool serves = name == "serving";
  if (!serves && answer.contains("feasible") && !answer["feasible"].get<bool>()) {
    return {.title = cat(name, ": infeasible"),
            .subtitle = figure_request(asked, request),
            .source = figure_source(answer),
            .note = answer.value("reason", "")};
  }
  if (name == "gemm") return figure_of_gemm(asked, request, answer);
  if (name == "roofline") return figure_of_roofline(asked, request, answer);
  if (name == "step") return figure_of_step(asked, request, profile, answer);
  if (serves) return figure_of_serving(asked, request, profile, answer);
  return figure_of_model(request, answer);
}

}  // namespace napkin
