// Tricks of memory beside the device: cache kept in the host's, and copies that nobody waits for.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/advice/adviser.hpp>
#include <perfmodel/advice/kernel_laws.hpp>
#include <perfmodel/service/host_tier.hpp>
#include <perfmodel/service/prefix_fetch.hpp>
#include <vector>

namespace perfmodel {
namespace detail {

/// The host's link, where a machine states it; 25 GB/s of a pinned copy are assumed of one that does not.
inline bandwidth<> host_rate(const accelerator& a) {
  return a.host.exists() && a.host.bandwidth.is_stated() ? a.host.bandwidth.quantity()
                                                         : bandwidth<>::from_value(25e9);
}

/// What comes from the host now, against computing it anew.
inline trick offload_in_use(const adviser& a, const trick_words& words) {
  const service_load found = found_of(a.runs(), a.load());
  const auto anew = [here = found.prefix_hit - found.host->hit](advised_service& s) {
    s.load.prefix_hit = here;
    s.load.host.reset();
  };
  trick t = a.asked(words, anew, true);
  t.why += say("; ", 100.0 * found.host->hit, " % of a prompt comes from the host, in ",
               prefix_fetch_of(a.runs(), found).each);
  return t;
}

/// A prompt's cache fetched from the host, against computing it.
inline trick offload(const adviser& a) {
  const trick_words words{"kv_offload", "memory", "memory of the host, and its link",
                          "the link is slower than computing the prompt anew"};
  if (a.load().host) return offload_in_use(a, words);
  trick t = named_trick(words);
  const double tokens = std::floor(a.load().input_tokens);
  if (a.load().prefix_hit > 0.0 || !a.load().shared.empty()) {
    t.why = "prefixes are found on the devices";
    return t;
  }
  const host_tier tier{.tokens = 1e9, .per_device = host_rate(a.runs().device)};
  const duration<> fetch = fetch_time(a.runs(), tier, tokens), anew = a.now().prefill.time;
  t = a.saving(words, duration<>{}, anew - fetch, false);
  t.harmful = !(fetch < anew);
  t.why = say("were a prompt of ", tokens, " tokens in the host: fetched in ", fetch,
              ", computed in ", anew);
  return t;
}

/// Token ids and results of a pass between host and device.
inline trick async_pinned_copy(const adviser& a) {
  const trick_words words{"async_pinned_copy", "memory",
                          "pinned memory, which the host cannot page",
                          "copies are off the critical path"};
  const bytes<> copied =
      a.batch() * 64.0 * byte;  // ids, positions, a row of a block table: assumed
  const bandwidth<> link = host_rate(a.runs().device), copy = bandwidth<>::from_value(10e9);
  const double gain = pinned_copy_gain(a.now().itl, copied, link, copy);
  trick t = a.saving(words, (gain - 1.0) * a.now().itl, duration<>{}, true);
  t.why = say(copied, " of a pass of ", a.now().itl);
  t.harmful = gain < 1.001;
  return t;
}

}  // namespace detail

/// Offload, and pinned copies beside work.
inline std::vector<trick> memory_tricks(const adviser& a) {
  return {detail::offload(a), detail::async_pinned_copy(a)};
}

}  // namespace perfmodel
