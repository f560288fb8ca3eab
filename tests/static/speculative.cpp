// Speculative decoding, worked by hand.
#include <array>
#include <perfmodel/laws/speculative.hpp>

namespace static_speculative {

namespace pm = perfmodel;

namespace {

constexpr bool near_to(double a, double b, double absolute) {
  return (a < b ? b - a : a - b) <= absolute;
}

// a = 0.8, k = 4: 0.8 + 0.64 + 0.512 + 0.4096 accepted, one more emitted
static_assert(near_to(pm::accepted_tokens(0.8, 4).quantity().value(), 2.3616, 1e-12));
static_assert(near_to(pm::emitted_tokens(0.8, 4).quantity().value(), 3.3616, 1e-12));
// Nothing accepted: the target's own token. Everything accepted: k + 1.
static_assert(pm::emitted_tokens(0.0, 4).quantity() == 1.0 * pm::token);
static_assert(pm::emitted_tokens(1.0, 4).quantity() == 5.0 * pm::token);
static_assert(pm::accepted_tokens(1.0, 64).quantity() == 64.0 * pm::token);
// a = 0.25, k = 4: 1.33203125
static_assert(near_to(pm::emitted_tokens(0.25, 4).quantity().value(), 1.33203125, 1e-15));
// One convention turns into the other by name.
static_assert(pm::accepted_tokens(pm::emitted_tokens(pm::accepted_tokens(0.5, 1))).quantity() ==
              0.5 * pm::token);

// By position: 0.9 + 0.9 x 0.5 + 0.9 x 0.5 x 0.1 = 1.395
constexpr std::array<double, 3> falling{0.9, 0.5, 0.1};
static_assert(near_to(pm::accepted_tokens(std::span<const double>(falling)).quantity().value(),
                      1.395, 1e-15));
static_assert(near_to(pm::emitted_tokens(std::span<const double>(falling)).quantity().value(),
                      2.395, 1e-15));

// The first and all later ones: 0.2 (1 + 0.6 + 0.36) = 0.392
constexpr pm::basic_acceptance<double> found_then_kept(0.2, 0.6);
static_assert(near_to(pm::accepted_tokens(found_then_kept, 3).quantity().value(), 0.392, 1e-15));
static_assert(near_to(pm::speculate(found_then_kept, 3, 0.0).speedup, 1.392, 1e-15));

// A copy that holds for 5 tokens fills 6 positions, which keep 5, 4, 3, 2, 1, 0: by drafts of 2 two
// rounds of 3 tokens. Two such runs and four positions without: 16 tokens in 2 x 2 + 4 rounds.
constexpr std::array<double, 6> one_run{1, 1, 1, 1, 1, 1};
constexpr std::array<double, 6> more_runs{6, 2, 2, 2, 2, 2};
constexpr std::array<double, 1> no_run{7};
constexpr double by_runs(std::span<const double> counts, int k) {
  return pm::emitted_tokens_of_runs(counts, k).quantity().value();
}
static_assert(by_runs(one_run, 2) == 3.0);
static_assert(by_runs(one_run, 5) == 6.0);
static_assert(by_runs(one_run, 64) == 6.0);
static_assert(by_runs(more_runs, 2) == 2.0);
static_assert(by_runs(no_run, 4) == 1.0);
// Cut at 2: 6 tokens of runs 1, 1, 1, 0.75, 0.75^2, ...; every third begins a round.
constexpr std::array<double, 3> cut{1, 1, 4};
static_assert(near_to(by_runs(cut, 2), 6.0 / (1 + 0.75 / (1 - 0.421875)), 1e-12));
constexpr std::array<double, 3> long_cut{5, 3, 40};
static_assert(by_runs(long_cut, 2) < 3.0 && by_runs(long_cut, 2) > 2.5);

// An array goes as it is, as do whole numbers, and a prefix of the positions.
static_assert(near_to(pm::accepted_tokens(falling).quantity().value(), 1.395, 1e-15));
static_assert(near_to(pm::accepted_tokens(falling, 2).quantity().value(), 1.35, 1e-15));
static_assert(pm::best_draft_length(falling, 0.2) == 2);
static_assert(pm::speculate(falling, 0).speedup == pm::speculate(falling, 0.0).speedup);
static_assert(pm::emitted_tokens(1, 4).quantity() == 5.0 * pm::token);
static_assert(pm::speculative_speedup(1, 4, 0) == 5.0);

// Speed-ups of a draft of 1/70 and 1/20 of the target
static_assert(near_to(pm::speculative_speedup(0.25, 4, 1.0 / 70), 1.26003, 1e-5));
static_assert(near_to(pm::speculative_speedup(0.75, 4, 1.0 / 70), 2.88587, 1e-5));
static_assert(near_to(pm::speculative_speedup(0.5, 4, 0.05), 1.61458, 1e-5));
static_assert(near_to(pm::speculative_speedup(0.8, 4, 0.05), 2.80133, 1e-5));

// A case study: a = 0.78, k = 5, drafts 4 ms in all, 32 ms a target step: 10.22 ms a token, 3.13x
constexpr pm::speculative_steps steps{
    .target = 32.0 * pm::ms, .draft = 0.8 * pm::ms, .verify = 32.0 * pm::ms};
constexpr auto emitted = pm::emitted_tokens(0.78, 5);
static_assert(near_to(emitted.quantity().value(), 3.52182, 1e-5));
static_assert(near_to(pm::round_time(5, steps).value(), 36e-3, 1e-15));
static_assert(near_to((pm::time_per_token(emitted, 5, steps) * pm::token).value(), 10.222e-3,
                      1e-6));
static_assert(near_to(pm::speculative_speedup(emitted, 5, steps), 3.1305, 1e-4));

// Break-even, k = 4
static_assert(near_to(pm::break_even_acceptance(4, 1.0 / 70), 0.0540545, 1e-7));
static_assert(near_to(pm::break_even_acceptance(4, 0.05), 0.167, 5e-4));
static_assert(near_to(pm::break_even_acceptance(4, 0.075), 0.231, 5e-4));
static_assert(near_to(pm::break_even_acceptance(4, 0.1), 0.287, 5e-4));
// One draft token pays when it is accepted more often than it costs: a = c.
static_assert(near_to(pm::break_even_acceptance(1, 0.3), 0.3, 1e-15));
static_assert(pm::break_even_acceptance(4, 0.0) == 0.0);
static_assert(near_to(pm::break_even_acceptance(4, 1.0), 1.0, 1e-15));

// Best draft lengths at a = 0.8: 10 (3.66x) and 6 (2.67x)
static_assert(pm::best_draft_length(0.8, 0.025) == 10);
static_assert(near_to(pm::speculative_speedup(0.8, 10, 0.025), 3.66, 5e-3));
static_assert(pm::best_draft_length(0.8, 0.08) == 6);
static_assert(near_to(pm::speculative_speedup(0.8, 6, 0.08), 2.67, 5e-3));
static_assert(pm::best_draft_length(1.0, 0.0) == 64);
static_assert(pm::best_draft_length(0.0, 0.0) == 1);
// By position: the third is not worth its 0.2 of a step: 2.395 / 1.6 < 2.35 / 1.4
static_assert(pm::best_draft_length(std::span<const double>(falling), 0.2) == 2);

// Checking k + 1 = 6 tokens reaches the ridge at 49 sequences in bf16 and 12.3 in int4.
static_assert(near_to(pm::verification_batch_limit(295.2 * pm::flop_per_byte, 2.0 * pm::byte, 5),
                      49.2, 1e-9));
static_assert(near_to(pm::verification_batch_limit(295.2 * pm::flop_per_byte, 0.5 * pm::byte, 5),
                      12.3, 1e-9));

constexpr auto all = pm::speculate(0.8, 4, 0.05);
static_assert(near_to(all.emitted.quantity().value(), 3.3616, 1e-12) && all.feasible);
static_assert(all.best_draft_length == pm::best_draft_length(0.8, 0.05));

}  // namespace

}  // namespace static_speculative
