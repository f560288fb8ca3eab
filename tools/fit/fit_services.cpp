// Fits the distribution of services around the shipped profile of their engine, and what runs of
// one service tell of its other runs: prints the entry of kernels/catalog/uncertainty.hpp.
//   fit services [folder of the measurements]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "fits.hpp"
#include "published_own_services.hpp"

namespace fits::services {

namespace {

namespace pm = perfmodel;
using published::own_service;

/// Start of the search, chosen so that no scored model is in-sample.
constexpr pm::service_residual_sigma first_guess{.of = {0.15, 1e-3, 20e-6, 0.3, 30e-3, 2.0},
                                                 .token_noise = 0.05,
                                                 .first_token_noise = 0.15,
                                                 .noise_runs = 4.0};

/// Largest number of standard deviations of a residual, so that outliers have little weight.
double square(double x, double deviation, double most) {
  return std::min(x * x, most * most * deviation * deviation);
}

double digamma(double x) {
  const double step = 1e-4 * x;
  return (std::lgamma(x + step) - std::lgamma(x - step)) / (2.0 * step);
}

/// Likelihood of the noise of ITL or TTFT: each service has a scaled inverse chi-squared posterior,
/// so 1 / noise^2 is a Gamma with its degrees of freedom and mean 1 / found^2.
class own_noises {
 public:
  void add(double found, double freedom) {
    precision_ += 1.0 / (found * found);
    logarithm_ += digamma(0.5 * freedom) - std::log(0.5 * freedom) - 2.0 * std::log(found);
    services_ += 1.0;
  }
  /// The most probable scale of the prior, whatever its worth.
  double scale() const { return std::sqrt(services_ / precision_); }
  /// Mean of ln(scale^2 / noise^2), below 0; 0 where all are alike.
  double scatter() const { return logarithm_ / services_ + 2.0 * std::log(scale()); }

 private:
  double precision_ = 0.0, logarithm_ = 0.0, services_ = 0.0;
};

/// Degrees of freedom of both priors, by bisection: ln(n / 2) - digamma(n / 2) is the mean scatter.
double worth_of(const own_noises& token, const own_noises& first) {
  const double scatter = -0.5 * (token.scatter() + first.scatter());
  double low = 0.5, high = 1000.0;
  for (int i = 0; i < 60; ++i) {
    const double n = std::sqrt(low * high);
    (std::log(0.5 * n) - digamma(0.5 * n) > scatter ? low : high) = n;
  }
  return low;
}

/// Expectation maximisation: the next prior variance of a parameter is its mean square over the
/// services under the present prior; the prior of the noise is the most probable one.
/// *Source:* Dempster, Laird and Rubin 1977; Gelman et al. 2013, section 2.6.
pm::service_residual_sigma next(const std::vector<own_service>& services,
                                const pm::service_residual_sigma& from) {
  pm::service_numbers squares{};
  own_noises token, first;
  for (const own_service& s : services) {
    const pm::deployment& d = s.runs.front().deployment;
    const auto found = pm::calibrate_service(s.runs, pm::calibrated_for(d), from, false);
    const pm::service_posterior& p = found.posterior;
    for (std::size_t j = 0; j < pm::service_parameters; ++j)
      squares[j] += square(p.shift[j], from.of[j], 4.0) + p.covariance[j][j];
    const double freedom = *from.noise_runs + static_cast<double>(s.runs.size());
    token.add(p.token_noise, freedom);
    first.add(p.first_token_noise, freedom);
  }
  pm::service_residual_sigma out = from;
  for (std::size_t j = 0; j < pm::service_parameters; ++j)
    out.of[j] = std::sqrt(squares[j] / static_cast<double>(services.size()));
  out.token_noise = token.scale();
  out.first_token_noise = first.scale();
  out.noise_runs = worth_of(token, first);
  return out;
}

pm::service_residual_sigma fit_prior(const std::vector<own_service>& services, int rounds) {
  pm::service_residual_sigma out = first_guess;
  for (int i = 0; i < rounds; ++i) out = next(services, out);
  return out;
}

void print(const char* what, const pm::service_residual_sigma& s) {
  std::printf("%-28s", what);
  for (std::size_t j = 0; j < pm::service_parameters; ++j)
    std::printf(" %s %.3g", name_of(static_cast<pm::service_parameter>(j)), s.of[j]);
  std::printf(" noise %.3g %.3g worth %.3g\n", s.token_noise, s.first_token_noise, *s.noise_runs);
}

/// Medians over services of their mean errors, and the share of runs in the intervals.
struct scores {
  std::vector<double> token{}, first{};
  double itl_coverage = 0.0, ttft_coverage = 0.0, runs = 0.0;

  void add(const published::own_score& s) {
    token.push_back(pm::score_of(s.token).mean);
    first.push_back(pm::score_of(s.first).mean);
    const double n = static_cast<double>(s.token.size());
    runs += n;
    itl_coverage += n * pm::coverage_of(s.token, s.token_sigma);
    ttft_coverage += n * pm::coverage_of(s.first, s.first_sigma);
  }
  void print(const std::string& what) const {
    const double services = static_cast<double>(token.size());
    std::printf(
        "%-40s %4.0f draws, median of mean errors: ITL %4.1f %%, TTFT %4.1f %%; inside %3.0f %%, "
        "%3.0f %%\n",
        what.c_str(), services, 100.0 * pm::detail::quantile(token, 0.5),
        100.0 * pm::detail::quantile(first, 0.5), 100.0 * itl_coverage / runs,
        100.0 * ttft_coverage / runs);
  }
};

}  // namespace

int run(const std::string& folder, bool) {
  const std::vector<own_service> services = published::own_services(folder, 8);
  if (services.empty()) {
    std::puts("no published services in that folder");
    return 1;
  }
  std::printf("%zu services\n", services.size());
  const int rounds = 5;
  std::set<std::string> models;
  for (const own_service& s : services) models.insert(s.model);
  std::map<std::size_t, scores> after;
  std::map<std::string, scores> by;
  for (const std::string& model : models) {
    std::vector<own_service> others;
    for (const own_service& s : services) {
      if (s.model != model) others.push_back(s);
    }
    const pm::service_residual_sigma prior = fit_prior(others, rounds);
    print(("without " + model).c_str(), prior);
    for (const own_service& s : services) {
      if (s.model != model) continue;
      for (const std::size_t seen : {0u, 1u, 2u, 3u, 5u, 7u}) {
        for (unsigned seed = 1; seed <= 3; ++seed) {
          const auto score = published::score_after(s, seen, seed, prior);
          after[seen].add(score);
          if (seen == 5)
            by[model + ' ' + pm::name_of(s.runs.front().deployment.serving_engine)].add(score);
        }
      }
    }
  }
  for (const auto& [seen, s] : after) s.print("after " + std::to_string(seen) + " runs");
  for (const auto& [what, s] : by) s.print("after 5 runs, " + what);
  print("all services", fit_prior(services, 2 * rounds));
  return 0;
}

}  // namespace fits::services
