// Tricks that draft tokens and check several in one pass.
#pragma once

#include <perfmodel/advice/adviser.hpp>
#include <vector>

namespace perfmodel {

/// What draft tokens are taken to be kept with where a service does not say. A model's own heads:
/// DeepSeek-V3's report, section 5.4.3, has 85 to 90 % of its second tokens. A layer before the head:
/// assumed; EAGLE's paper (Li et al. 2024, table 1) has 3.3 to 4.0 tokens of a round of about 5 on chat.
struct advice_acceptance {
  double own_heads = 0.85;
  double layer = 0.7;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::fraction("own_heads"), s.own_heads...);
    f(field::fraction("layer"), s.layer...);
  }
};

namespace detail {

inline constexpr const char* no_evictions_beside_drafts =
    "nothing is known of evictions beside drafts";

/// Of one to four tokens, the length at which a request is done soonest.
inline trick drafted(const adviser& a, const trick_words& words, drafter by, double acceptance,
                     int longest) {
  trick best = named_trick(words);
  for (int length = 1; length <= longest; length *= 2) {
    speculation s{.by = by, .length = length};
    s.acceptance.push_back(acceptance);
    trick t = a.asked(words, [s](advised_service& other) { other.drafts = s; });
    t.why += say("; ", double(length), " drafted, ", acceptance, " kept of each, ", a.now().batch,
                 " sequences");
    if (length == 1 || outranks(t, best)) best = t;
  }
  return best;
}

inline trick speculative_decoding(const adviser& a, const advice_acceptance& assumed) {
  const trick_words words{
      "speculative_decoding", "speculation",
      "a drafter in memory; tokens that are computed and thrown away",
      "the batch is past what a pass has idle compute for, or few drafts are kept"};
  if (a.service().pools || a.load().evicts) {
    trick t = named_trick(words);
    t.why = a.service().pools ? "nothing is known of drafts in pools" : no_evictions_beside_drafts;
    return t;
  }
  if (a.service().drafts) {
    trick t = a.asked(
        words, [](advised_service& s) { s.drafts.reset(); }, true);
    t.why += say("; drafts of ", double(a.service().drafts->length));
    return t;
  }
  return drafted(a, words, drafter::layer, assumed.layer, 4);
}

inline trick own_heads(const adviser& a, const advice_acceptance& assumed) {
  const trick_words words{"mtp", "speculation",
                          "the module's weights and cache; trained with the model",
                          "the batch is past what a pass has idle compute for"};
  trick t = named_trick(words);
  if (!a.runs().model.mtp || a.service().drafts || a.service().pools || a.load().evicts) {
    t.in_use = a.service().drafts.has_value() && a.service().drafts->by == drafter::layer;
    t.why = !a.runs().model.mtp  ? "the model has no heads for several tokens"
            : a.service().drafts ? "the service drafts already"
            : a.service().pools  ? "nothing is known of drafts in pools"
                                 : no_evictions_beside_drafts;
    return t;
  }
  return drafted(a, words, drafter::layer, assumed.own_heads, 2);
}

}  // namespace detail

/// A drafter, and the model's own heads.
inline std::vector<trick> speculation_tricks(const adviser& a,
                                             const advice_acceptance& assumed = {}) {
  return {detail::speculative_decoding(a, assumed), detail::own_heads(a, assumed)};
}

}  // namespace perfmodel
