// Speculative decoding: expected tokens and speedup.
#include <perfmodel/laws/speculative.hpp>

#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct speculation {
  static constexpr const char* name = "speculation";
  static constexpr profile_part part = profile_part::none;
  static constexpr const char* help = "Tokens per engine step and speedup of speculative decoding";
  static std::vector<key> keys() {
    key acceptance = number("acceptance",
                            "probability that a draft token is accepted given the preceding ones: "
                            "one value, or one per position",
                            0.0, 1.0);
    acceptance.kind = key_kind::numbers;
    return {acceptance,
            number("later_acceptance",
                   "acceptance of the second and later draft tokens, where acceptance is one value",
                   0.0, 1.0)
                .optional(),
            count("draft_length",
                  "draft tokens per round; default: the best length; without a draft cost 5, or "
                  "one per acceptance given",
                  1.0, 4096.0)
                .optional(),
            number("draft_cost_ratio",
                   "time of a draft step over that of a target step; default 0: the speedup is an "
                   "upper bound",
                   0.0, 1e6)
                .optional(),
            word("counted", "count all tokens of a round, or the accepted draft tokens only",
                 {"emitted", "accepted"})
                .otherwise("emitted")};
  }

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode&) {
    const std::vector<T> positions = in.numbers("acceptance");
    const T cost = in.has("draft_cost_ratio") ? in.number("draft_cost_ratio") : T(0.0);
    const bool later = in.has("later_acceptance");
    if (!positions.empty() && later) {
      throw pm::error(pm::error_code::inconsistent,
                      "later_acceptance is given with one acceptance per position; allowed: with a "
                      "single acceptance");
    }
    if (!positions.empty()) return by_position(in, positions, cost);
    const T first = in.number("acceptance");
    if (!later) return constant(in, first, cost);
    return constant(in, pm::basic_acceptance<T>(first, in.number("later_acceptance")), cost);
  }

 private:
  /// Draft length where a request has neither a length nor a cost. Assumed: the value in vLLM's
  /// example of a draft model (docs.vllm.ai, features/speculative_decoding/draft_model).
  static constexpr int assumed_draft_length = 5;

  /// Whether drafts cost nothing: then every longer draft gains, and no length is optimal.
  template <pm::Scalar T>
  static bool is_free(const inputs<T>& in) {
    return !in.has("draft_cost_ratio") || in.plain("draft_cost_ratio") == 0.0;
  }

  template <pm::Scalar T, class Acceptance>
  static outcome<T> constant(inputs<T>& in, const Acceptance& acceptance, const T& cost) {
    const std::optional<int> best =
        is_free(in) ? std::nullopt : std::optional<int>(pm::best_draft_length(acceptance, cost));
    const int k =
        in.has("draft_length") ? in.whole("draft_length") : best.value_or(assumed_draft_length);
    return answer(in, pm::speculate(acceptance, k, cost), best, k, cost);
  }

  template <pm::Scalar T>
  static outcome<T> by_position(inputs<T>& in, const std::vector<T>& positions, const T& cost) {
    const std::span<const T> all(positions);
    const std::optional<int> best =
        is_free(in) ? std::nullopt : std::optional<int>(pm::best_draft_length(all, cost));
    const int k = in.has("draft_length") ? in.whole("draft_length")
                                         : best.value_or(static_cast<int>(positions.size()));
    if (static_cast<std::size_t>(k) > positions.size()) {
      throw pm::error(pm::error_code::inconsistent, "draft_length is " + std::to_string(k) +
                                                        " and acceptance has " +
                                                        std::to_string(positions.size()) +
                                                        " positions; allowed: one per draft token");
    }
    return answer(in, pm::speculate(all.first(static_cast<std::size_t>(k)), cost), best, k, cost);
  }

  /// Count without the target's own token, as some texts do: E - 1 tokens, and a + ... + a^k = 1 +
  /// k c.
  template <pm::Scalar T>
  static void count_accepted(pm::basic_speculation_estimate<T>& e, int k, const T& cost) {
    using pm::upper;
    const T accepted = e.accepted.quantity() / pm::lift<T>(pm::token);
    const T emitted = e.emitted.quantity() / pm::lift<T>(pm::token);
    const T above = cost + T(1.0 / k);
    e.emitted = pm::emitted_tokens_per_round<T>(e.accepted.quantity());
    e.speedup = T(e.speedup * accepted / emitted);
    e.break_even_acceptance = upper(above) > 1.0 ? T(1.0) : pm::break_even_acceptance(k, above);
  }

  template <pm::Scalar T>
  static outcome<T> answer(inputs<T>& in, pm::basic_speculation_estimate<T> e,
                           const std::optional<int>& best, int k, const T& cost) {
    if (in.text("counted") == "accepted") count_accepted(e, k, cost);
    outcome<T> out;
    out.add("emitted_tokens", "tokens per step", T(e.emitted.quantity().value()));
    out.add("speedup", "speed-up", e.speedup);
    out.add("break_even_acceptance", "break-even acceptance", e.break_even_acceptance);
    out.facts["draft_length"] = k;
    if (best) {
      out.add("best_draft_length", "best draft length", T(static_cast<double>(*best)));
    } else {
      note_free(out, in, k);
    }
    out.set(e.feasible);
    return out;
  }

  /// The reason why no draft length is optimal, and whether the length is assumed.
  template <pm::Scalar T>
  static void note_free(outcome<T>& out, const inputs<T>& in, int k) {
    const char* why = in.has("draft_cost_ratio")
                          ? "draft cost 0: a longer draft is never slower, so no length is optimal"
                          : "draft cost not given: assumed 0; the speedup is an upper bound for "
                            "this draft length";
    out.facts["best_draft_length"] = nullptr;
    out.facts["best_draft_length_reason"] = why;
    out.facts["speedup_is_upper_bound"] = !in.has("draft_cost_ratio");
    out.notes.push_back({"best draft length", "none"});
    out.notes.push_back(
        {"draft cost", std::string(why).substr(std::string_view("draft cost ").size())});
    const bool assumed = !in.has("draft_length") && in.all().at("acceptance").numbers.empty();
    if (assumed) out.notes.push_back({"draft length", cat(k, ", assumed")});
  }
};

}  // namespace

std::vector<query> speculation_queries() {
  return {declare<speculation>()};
}

}  // namespace napkin
