// Text of napkin roofline.
#include <algorithm>
#include <perfmodel/units/text.hpp>

#include "io/figure_axis.hpp"
#include "io/figure_text.hpp"
#include "io/text_style.hpp"
#include "queries_roofline.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

std::string rate_text(const json& x, const char* unit) {
  return amount_text(x.get<double>(), unit);
}
std::string three(const json& x) {
  return perfmodel::detail::significant(x.get<double>(), 3);
}
std::string share_of(const json& x) {
  return cat(fixed(100.0 * x.get<double>(), 0), " %");
}

/// "the roof of bf16 is 989 TFLOP/s, its ridge point 295 FLOP/B".
std::string roofs_text(const json& facts, const std::string& accelerator) {
  std::string s =
      cat(accelerator, ", ", rate_text(facts["bytes_per_s"], "B/s"), " of DRAM bandwidth: ");
  bool first = true;
  for (const json& r : facts["roofs"]) {
    s += cat(first ? "" : "; ", r["format"].get<std::string>(), " ",
             rate_text(r["flop_per_s"], "FLOP/s"), " from ", three(r["ridge_flop_per_byte"]),
             " FLOP/B on (ridge point)");
    first = false;
  }
  return s + ".";
}

std::string step_sentence(const json& facts) {
  const std::string time = rate_text(facts["time_s"], "s");
  const bool is_step = facts["operators"].size() > 1;
  if (!is_step)
    return cat("Predicted: ", time, ", ", rate_text(facts["operators"][0]["flop_per_s"], "FLOP/s"),
               "; limited by ", facts["operators"][0]["limiter"].get<std::string>(), ".");
  if (!facts.contains("share_by_memory")) return cat("Bound of the engine step: ", time, ".");
  return cat("Predicted engine step: ", time, "; ", share_of(facts["share_by_memory"]),
             " in memory-bound operators, ", share_of(facts["share_by_compute"]),
             " in compute-bound ones, ", share_of(facts["share_by_launch"]),
             " in operators limited by launches, ", share_of(facts["share_outside"]),
             " outside operators (communication, CPU).");
}

std::string kernel_text(const json& facts) {
  std::string s;
  if (facts.contains("attainable_flop_per_s"))
    s = cat("At ", three(facts["kernel_flop_per_byte"]), " FLOP/B: at most ",
            rate_text(facts["attainable_flop_per_s"], "FLOP/s"), ", limited by ",
            facts["kernel_limiter"].get<std::string>(), ".");
  if (!facts.contains("measured")) return s;
  const json& m = facts["measured"];
  return cat(s, s.empty() ? "" : " ", "Measured ", rate_text(m["flop_per_s"], "FLOP/s"), ": ",
             share_of(m["share_of_roof"]), " of the roof",
             m["possible"].get<bool>() ? "." : ": impossible, above a hard bound.");
}

std::string operators_table(const json& facts) {
  const bool predicted = facts["operators"][0].contains("share");
  table_rows rows = {{"operator", "format", "limiter", "FLOP/B"}};
  if (predicted) rows[0].insert(rows[0].end(), {"predicted", "roof", "of roof", "time", "share"});
  if (!predicted) rows[0].insert(rows[0].end(), {"roof", "time"});
  for (const json& o : facts["operators"]) {
    const bool has_flop = o.contains("bound_flop_per_s");
    std::vector<std::string> row = {cut(o["name"].get<std::string>(), 28), o["format"],
                                    o["limiter"], has_flop ? three(o["flop_per_byte"]) : "-"};
    if (predicted) row.push_back(has_flop ? rate_text(o["flop_per_s"], "FLOP/s") : "-");
    row.push_back(has_flop ? rate_text(o["bound_flop_per_s"], "FLOP/s") : "-");
    if (predicted)
      row.push_back(
          o["time_s"].get<double>() > 0.0
              ? cat(fixed(100.0 * o["bound_time_s"].get<double>() / o["time_s"].get<double>(), 0),
                    " %")
              : "-");
    row.push_back(rate_text(o["time_s"], "s"));
    if (predicted) row.push_back(share_of(o["share"]));
    rows.push_back(std::move(row));
  }
  return headed_table(rows, "lllr");
}

}  // namespace

std::string roofline_page(const json& facts, const std::string& accelerator) {
  std::string s;
  const bool infeasible = facts.contains("feasible") && !facts["feasible"].get<bool>();
  if (infeasible) s += wrapped(cat("Infeasible: ", facts["reason"].get<std::string>(), "."), 0);
  const bool has_operators = facts.contains("operators");
  if (has_operators && !infeasible &&
      (facts.contains("share_by_memory") || facts["operators"].size() > 1 ||
       facts["operators"][0].contains("flop_per_s")))
    s += wrapped(step_sentence(facts), 0);
  if (const std::string k = kernel_text(facts); !k.empty()) s += wrapped(k, 0);
  s += wrapped(roofs_text(facts, accelerator), 0);
  s = with_styled_sentence(infeasible ? text_style::red : text_style::bold, s);
  if (has_operators && !infeasible)
    s += "\n" + operators_table(facts) +
         styled(text_style::dim,
                "  roof: the lower of peak and FLOP/B x DRAM bandwidth; all amounts of one GPU.\n");
  return s;
}

}  // namespace napkin
