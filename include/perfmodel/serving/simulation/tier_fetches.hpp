// Fetches of cached prefixes from host memory and disk, in a simulated replica.
#pragma once

#include <algorithm>
#include <perfmodel/serving/simulation/decode_batch.hpp>
#include <perfmodel/serving/simulation/kv_pool.hpp>
#include <perfmodel/serving/simulation/statistics.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Fetches over one link, one request after the other.
/// Leaves out: writes to host memory, which share the link in the other direction.
/// Test: two requests that arrive at once, by hand.
class tier_fetches {
 public:
  tier_fetches(double host_s_per_token, double disk_s_per_token)
      : host_s_per_token_(host_s_per_token), disk_s_per_token_(disk_s_per_token) {}

  /// Time of the fetch of a sequence's prefix that is cached outside the device; 0 if none is. Sets
  /// the units to fetch.
  double time_of(simulated_sequence& s, const kv_pool& pool,
                 simulation_statistics& statistics) const {
    const int unit = s.request.block_tokens;
    const std::size_t most =
        (std::min)(s.request.blocks.size(), std::size_t((s.target - 1) / unit));
    double time = 0.0;
    for (std::size_t i = pool.match(std::span(s.request.blocks).first(most)); i < most; ++i) {
      const int tier = pool.tier_of(s.request.blocks[i]);
      if (tier == 0) break;
      time += unit * (tier == 1 ? host_s_per_token_ : disk_s_per_token_);
      ++s.fetched_units;
      ++(tier == 1 ? statistics.host_units : statistics.disk_units);
    }
    return time;
  }
  void start(int entry, double at, double time) {
    link_free_ = (std::max)(link_free_, at) + time;
    fetches_.push_back({entry, link_free_});
  }
  /// End of the first fetch; `request_source::never` without fetches.
  double next() const { return fetches_.empty() ? request_source::never : fetches_.front().ready; }
  std::size_t count() const { return fetches_.size(); }
  /// Calls received(entry) for each fetch that has ended.
  template <class Received>
  void receive(double now, const Received& received) {
    std::size_t n = 0;
    for (; n < fetches_.size() && fetches_[n].ready <= now; ++n) received(fetches_[n].entry);
    fetches_.erase(fetches_.begin(), fetches_.begin() + static_cast<std::ptrdiff_t>(n));
  }

 private:
  struct fetch {
    int entry = no_sequence;
    double ready = 0.0;
  };
  double host_s_per_token_, disk_s_per_token_;
  double link_free_ = 0.0;
  std::vector<fetch> fetches_{};  ///< in the order of their ends
};

}  // namespace perfmodel::inline v0_3::detail
