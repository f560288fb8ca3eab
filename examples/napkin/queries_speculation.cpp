// Speculative decoding: what a draft brings.
#include <perfmodel/speculative.hpp>

#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct speculation {
  static constexpr const char* name = "speculation";
  static constexpr profile_part part = profile_part::none;
  static constexpr const char* help = "Tokens per pass and speed-up of speculative decoding";
  static std::vector<key> keys() {
    key acceptance =
        number("acceptance",
               "probability that a draft token is accepted, given those before it; one number, or "
               "one per position",
               0.0, 1.0);
    acceptance.kind = key_kind::numbers;
    return {
        acceptance,
        number("later_acceptance",
               "that of every draft token but the first, where acceptance is one number", 0.0, 1.0)
            .optional(),
        count("draft_length", "tokens in a draft; the best length, where not given", 1.0, 4096.0)
            .optional(),
        number("draft_cost_ratio", "time of a draft step over that of a target step", 0.0, 1e6)
            .otherwise("0"),
        word("counted", "what a pass yields, or as if it were the accepted drafts alone",
             {"emitted", "accepted"})
            .otherwise("emitted")};
  }

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const std::vector<T> positions = in.numbers("acceptance");
    const T cost = in.number("draft_cost_ratio");
    const bool later = in.has("later_acceptance");
    if (!positions.empty() && later) {
      throw pm::error(pm::error_code::inconsistent,
                      "later_acceptance is given beside an acceptance for each position; allowed: "
                      "beside one number");
    }
    if (!positions.empty()) return by_position(in, positions, cost);
    const T first = in.number("acceptance");
    if (!later) return constant(in, first, cost);
    return constant(in, pm::basic_acceptance<T>(first, in.number("later_acceptance")), cost);
  }

 private:
  template <pm::Scalar T, class Acceptance>
  static outcome<T> constant(inputs<T>& in, const Acceptance& acceptance, const T& cost) {
    const int k =
        in.has("draft_length") ? in.whole("draft_length") : pm::best_draft_length(acceptance, cost);
    return answer(in, pm::speculate(acceptance, k, cost), pm::best_draft_length(acceptance, cost),
                  k, cost);
  }

  template <pm::Scalar T>
  static outcome<T> by_position(inputs<T>& in, const std::vector<T>& positions, const T& cost) {
    const std::span<const T> all(positions);
    const int best = pm::best_draft_length(all, cost);
    const int k = in.has("draft_length") ? in.whole("draft_length") : best;
    if (static_cast<std::size_t>(k) > positions.size()) {
      throw pm::error(pm::error_code::inconsistent,
                      "draft_length is " + std::to_string(k) + " and acceptance has " +
                          std::to_string(positions.size()) +
                          " positions; allowed: one for each draft token");
    }
    return answer(in, pm::speculate(all.first(static_cast<std::size_t>(k)), cost), best, k, cost);
  }

  /// Without the target's own token, which texts forget: E - 1 tokens, and a + ... + a^k = 1 + k c.
  template <pm::Scalar T>
  static void count_accepted(pm::basic_speculation_estimate<T>& e, int k, const T& cost) {
    using pm::upper;
    const T accepted = e.accepted.quantity() / pm::lift<T>(pm::token);
    const T emitted = e.emitted.quantity() / pm::lift<T>(pm::token);
    const T above = cost + T(1.0 / k);
    e.emitted = pm::emitted_tokens_per_pass<T>(e.accepted.quantity());
    e.speedup = T(e.speedup * accepted / emitted);
    e.break_even_acceptance = upper(above) > 1.0 ? T(1.0) : pm::break_even_acceptance(k, above);
  }

  template <pm::Scalar T>
  static outcome<T> answer(inputs<T>& in, pm::basic_speculation_estimate<T> e, int best, int k,
                           const T& cost) {
    if (in.text("counted") == "accepted") count_accepted(e, k, cost);
    outcome<T> out;
    out.add("emitted_tokens", "tokens per pass", T(e.emitted.quantity().value()));
    out.add("speedup", "speed-up", e.speedup);
    out.add("break_even_acceptance", "breaks even at", e.break_even_acceptance);
    out.add("best_draft_length", "best draft length", T(static_cast<double>(best)));
    out.set(e.feasible);
    return out;
  }
};

}  // namespace

std::vector<query> speculation_queries() {
  return {declare<speculation>()};
}

}  // namespace napkin
