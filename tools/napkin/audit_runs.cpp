// napkin audit --runs: whether the numbers of a benchmark report hold together, and keep to bounds.
#include <algorithm>
#include <cmath>
#include <functional>
#include <perfmodel/units/text.hpp>

#include "bench_report.hpp"
#include "io/text_style.hpp"
#include "output.hpp"
#include "query.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr auto time_unit = pm::exponents_of<pm::duration<>>();

/// Checks of one run, each with what is reported, what follows from the other numbers, and the law.
class run_checks {
 public:
  explicit run_checks(const bench_report& r) : r_(r) {}

  json of(const json& service) {
    percentiles();
    whole_request();
    counts();
    rates();
    littles_law();
    if (service.contains("model") || service.contains("accelerator")) bounds(service);
    json out = {{"run", r_.where},
                {"client", r_.client},
                {"verdict", worst_},
                {"failed_requests", number_json("failed", r_.failed)},
                {"checks", std::move(checks_)}};
    return out;
  }

 private:
  void add(const std::string& check, bool holds, double reported, double expected,
           const std::string& law, const char* otherwise = "inconsistent") {
    const char* verdict = holds ? "consistent" : otherwise;
    if (!holds && worst_ != "impossible") worst_ = verdict;
    checks_.push_back({{"check", check},
                       {"verdict", verdict},
                       {"reported", number_json(check, reported)},
                       {"expected", number_json(check, expected)},
                       {"law", law}});
  }
  /// Equality within a share.
  void equal(const std::string& check, double reported, double expected, double share,
             const std::string& law) {
    add(check, std::fabs(reported - expected) <= share * std::fabs(expected), reported, expected,
        law);
  }
  /// guidellm's means of rates are over time, and leave the ramp out in part.
  double rate_tolerance() const { return r_.client == "guidellm" ? 0.1 : 0.02; }

  void percentiles() {
    const std::pair<const char*, const reported_latency*> all[] = {
        {"TTFT", &r_.ttft}, {"TPOT", &r_.tpot}, {"ITL", &r_.itl}, {"E2E", &r_.e2e}};
    for (const auto& [name, l] : all) {
      for (std::size_t i = 1; i < l->percentiles.size(); ++i) {
        const auto& [low, below] = l->percentiles[i - 1];
        const auto& [high, above] = l->percentiles[i];
        if (above < below)
          add(cat(name, " p", low, " <= p", high), false, below, above, "percentiles ascend");
      }
      if (l->percentiles.empty() || !l->mean) continue;
      const auto& [percent, at] = l->percentiles.back();
      const double least = (1.0 - percent / 100.0) * at;
      add(cat(name, " mean and percentiles"), *l->mean >= least * 0.999, *l->mean, least,
          cat("a share of ", pm::detail::significant(100.0 - percent, 3), " % takes p", percent,
              " or more, so that the mean is at least that share of it"));
    }
    for (const auto& [percent, first] : r_.ttft.percentiles) {
      for (const auto& [other, whole] : r_.e2e.percentiles) {
        if (percent == other && first > whole)
          add(cat("TTFT p", percent, " <= E2E p", percent), false, first, whole,
              "a first token is no later than the last one");
      }
    }
  }

  double whole_time() const {
    if (r_.e2e.mean) return *r_.e2e.mean;
    return *r_.ttft.mean + later_tokens() * r_.token_time().value_or(0.0);
  }
  double later_tokens() const { return std::max(0.0, r_.output_tokens - 1.0); }

  void whole_request() {
    if (!r_.token_time()) return;
    const double rest = later_tokens() * *r_.token_time();
    if (later_tokens() >= 2.0) {
      add("streamed", rest > 0.01 * *r_.ttft.mean, rest, 0.01 * *r_.ttft.mean,
          "(n - 1) TPOT of a streamed output is more than 1 % of TTFT; without streaming, TTFT is "
          "the whole request");
    }
    if (!r_.e2e.mean) return;
    // Means of products: lengths that differ move it by their covariance with TPOT.
    const double share = 0.03 + 0.2 * r_.output_cv.value_or(0.0);
    equal("E2E = TTFT + (n - 1) TPOT", *r_.e2e.mean, *r_.ttft.mean + rest, share,
          cat("the first token and ", pm::detail::significant(later_tokens(), 4),
              " others, within ", pm::detail::significant(100.0 * share, 2), " %"));
  }

  void counts() {
    if (r_.requests_per_s && r_.duration_s && *r_.duration_s > 0.0) {
      equal("requests/s", *r_.requests_per_s, r_.completed / *r_.duration_s, rate_tolerance(),
            "completed requests / duration");
    }
    if (!r_.requests_per_s) return;
    const double n = *r_.requests_per_s;
    if (r_.output_tokens_per_s) {
      equal("output tokens/s", *r_.output_tokens_per_s, n * r_.output_tokens, rate_tolerance(),
            "requests/s x mean output tokens");
    }
    if (r_.total_tokens_per_s) {
      equal("total tokens/s", *r_.total_tokens_per_s, n * (r_.input_tokens + r_.output_tokens),
            rate_tolerance(), "requests/s x mean tokens of prompt and output");
    }
  }

  void rates() {
    if (!r_.request_rate || !r_.requests_per_s) return;
    const double most = *r_.request_rate * (1.0 + 4.0 / std::sqrt(std::max(1.0, r_.completed)));
    add("requests/s <= request rate", *r_.requests_per_s <= most, *r_.requests_per_s, most,
        "a service completes no more than arrives, with four standard deviations of chance");
  }

  void littles_law() {
    if (!r_.requests_per_s) return;
    const double in_flight = *r_.requests_per_s * whole_time();
    const char* law = "Little's law: requests in flight = requests/s x E2E";
    if (r_.mean_concurrency) equal("mean concurrency", *r_.mean_concurrency, in_flight, 0.1, law);
    const double most = std::min(r_.max_concurrency.value_or(r_.completed), r_.completed);
    add(r_.max_concurrency ? "in flight <= max concurrency" : "in flight <= requests",
        in_flight <= 1.03 * most, in_flight, most, law, "impossible");
  }

  void bounds(const json& service) {
    const query& asked = find_query("serving");
    json q = serving_of_run(request_of_run(r_, service));
    q["mode"] = "bound";
    q.erase("arrival_cv");
    q.erase("arrivals_per_burst");
    const double most = std::min(r_.max_concurrency.value_or(r_.completed), r_.completed);
    q["concurrency"] = number_json("concurrency", std::max(1.0, std::round(most)));
    const outcome<> bound = evaluate_closed_form(asked, q);
    if (!bound.feasible) {
      add("fits in memory", false, 0.0, 0.0, bound.reason, "impossible");
      return;
    }
    const auto at_least = [&](const char* name, const std::optional<double>& x,
                              const std::optional<double>& least, const char* what) {
      if (x && least) add(name, *x >= *least, *x, *least, what, "impossible");
    };
    at_least("TTFT >= bound", r_.ttft.mean, bound.least_ttft,
             "prefill of a mean prompt at the roofline, without prefix-cache hits (--prefix-hit)");
    at_least("TPOT >= bound", r_.token_time(), bound.least_itl,
             "decode step of one sequence at the roofline");
    at_least("E2E >= bound", whole_time(), bound.least_e2e, "both of them");
    for (const auto& x : bound.results) {
      if (std::string_view(x.key) == "output_tokens_per_s" && r_.output_tokens_per_s) {
        add("output tokens/s <= bound", *r_.output_tokens_per_s <= x.value, *r_.output_tokens_per_s,
            x.value, "throughput of the service at the roofline", "impossible");
      }
    }
  }

  const bench_report& r_;
  json checks_ = json::array();
  std::string worst_ = "consistent";
};

/// A number of a check in the unit of its name.
std::string number_text(const std::string& check, double x) {
  const bool rate = check.find("/s") != check.npos;
  const bool time = !rate && (check.find("TTFT") != check.npos ||
                              check.find("TPOT") != check.npos || check.find("ITL") != check.npos ||
                              check.find("E2E") != check.npos || check == "streamed");
  return time ? pm::to_string(x, time_unit, 4) : pm::detail::significant(x, 4);
}

}  // namespace

json audit_runs_json(const runs_request& r) {
  json out = {{"verdict", "consistent"}, {"runs", json::array()}};
  for (const std::string& file : r.files) {
    for (const bench_report& report : read_bench_reports(file)) {
      json one = run_checks(report).of(r.service);
      const std::string verdict = one["verdict"];
      if (verdict != "consistent" && out["verdict"] != "impossible") out["verdict"] = verdict;
      out["runs"].push_back(std::move(one));
    }
  }
  return out;
}

std::string audit_runs_text(const json& found) {
  std::string s;
  for (const json& run : found["runs"]) {
    std::size_t failed = 0;
    table_rows rows = {{"check", "reported", "expected", "verdict"}};
    std::string why;
    for (const json& c : run["checks"]) {
      const std::string name = c["check"], verdict = c["verdict"];
      const bool least = name.ends_with("mean and percentiles") || name == "streamed";
      rows.push_back({name, number_text(name, c["reported"].get<double>()),
                      cat(least ? ">= " : "", number_text(name, c["expected"].get<double>())),
                      verdict});
      if (verdict == "consistent") continue;
      ++failed;
      why += wrapped(cat(name, ": ", c["law"].get<std::string>(), "."), 2);
    }
    const bool impossible = run["verdict"] == "impossible";
    s += styled(impossible ? text_style::red : text_style::bold,
                cat(run["run"].get<std::string>(), " (", run["client"].get<std::string>(),
                    "): ", run["verdict"].get<std::string>(), "; ", failed, " of ",
                    run["checks"].size(), " checks fail.\n"));
    s += why;
    if (run["failed_requests"].get<double>() > 0.0)
      s += cat("  ", run["failed_requests"].get<double>(), " failed requests are in no figure.\n");
    s += headed_table(rows, "lrr");
  }
  return s;
}

}  // namespace napkin
