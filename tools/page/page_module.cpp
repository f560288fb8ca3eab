// The page's module has the closed form of a service alone: what napkin simulates is refused.
#include <napkin/io/codes.hpp>
#include <napkin/query.hpp>
#include <napkin/service_check.hpp>

namespace napkin {

bool take_check(json& object) {
  if (!object.contains("check")) return false;
  throw error(code::unknown_key, "check needs a simulation, which this module does not have");
}

void simulate_instead(outcome<>&, const request& r, const json&) {
  if (r.text("method") == "closed_form") return;
  throw error(code::unknown_key,
              cat("method is ", r.text("method"), "; allowed in this module: closed_form"));
}

}  // namespace napkin
