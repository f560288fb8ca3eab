// KV cache of a simulated engine: capacity in tokens, and prefixes that stay until eviction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Set of cached units by identifier, with reference counts and an order of last use. A unit is a
/// number of tokens that are found or evicted as one.
/// Test: against a list that is searched from its front, 10^5 random operations.
class cached_units {
 public:
  static constexpr std::int32_t none = -1;

  struct unit {
    std::uint64_t id = 0;
    std::int32_t tokens = 0;
    std::int32_t references = 0;
    std::int32_t previous = none, next = none;  ///< order of last use
    bool is_anonymous = false;                  ///< content without an identifier
  };

  std::int32_t find(std::uint64_t id) const {
    if (slots_.empty()) return none;
    for (std::size_t at = place(id);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == none || units_[std::size_t(slots_[at])].id == id) return slots_[at];
    }
  }
  unit& operator[](std::int32_t i) { return units_[std::size_t(i)]; }
  const unit& operator[](std::int32_t i) const { return units_[std::size_t(i)]; }

  /// Adds a unit that is not in the set, with one reference and outside the order of last use.
  std::int32_t add(std::uint64_t id, std::int32_t tokens) {
    if (2 * (known_ + 1) > slots_.size()) grow();
    const std::int32_t i = fresh();
    units_[std::size_t(i)] = {.id = id, .tokens = tokens, .references = 1};
    std::size_t at = place(id);
    while (slots_[at] != none) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = i;
    ++known_;
    return i;
  }
  /// Adds content without an identifier, as most recently used.
  void add_anonymous(std::int32_t tokens) {
    const std::int32_t i = fresh();
    units_[std::size_t(i)] = {.tokens = tokens, .is_anonymous = true};
    append(i);
  }
  /// Makes a unit without references the most recently used.
  void append(std::int32_t i) {
    unit& u = units_[std::size_t(i)];
    u.previous = last_;
    u.next = none;
    (last_ == none ? first_ : units_[std::size_t(last_)].next) = i;
    last_ = i;
    unused_tokens_ += u.tokens;
  }
  /// Takes a unit out of the order of last use.
  void detach(std::int32_t i) {
    unit& u = units_[std::size_t(i)];
    (u.previous == none ? first_ : units_[std::size_t(u.previous)].next) = u.next;
    (u.next == none ? last_ : units_[std::size_t(u.next)].previous) = u.previous;
    u.previous = u.next = none;
    unused_tokens_ -= u.tokens;
  }
  std::int32_t least_recently_used() const { return first_; }
  /// Takes tokens from an anonymous unit; the unit goes when none are left.
  void shrink(std::int32_t i, std::int32_t tokens) {
    unit& u = units_[std::size_t(i)];
    u.tokens -= tokens;
    unused_tokens_ -= tokens;
    if (u.tokens > 0) return;
    detach(i);
    free_.push_back(i);
  }
  /// Removes a unit without references.
  void remove(std::int32_t i) {
    detach(i);
    if (!units_[std::size_t(i)].is_anonymous) erase_slot(units_[std::size_t(i)].id);
    free_.push_back(i);
  }
  /// Tokens in units without references.
  std::int64_t unused_tokens() const { return unused_tokens_; }
  std::size_t count() const { return known_; }

 private:
  std::size_t place(std::uint64_t id) const {
    std::uint64_t z = id * 0x9E3779B97F4A7C15u;
    z ^= z >> 32;
    return static_cast<std::size_t>(z) & (slots_.size() - 1);
  }
  std::int32_t fresh() {
    if (!free_.empty()) {
      const std::int32_t i = free_.back();
      free_.pop_back();
      return i;
    }
    units_.emplace_back();
    return static_cast<std::int32_t>(units_.size() - 1);
  }
  void grow() {
    const std::vector<std::int32_t> old = slots_;
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), none);
    for (const std::int32_t i : old) {
      if (i == none) continue;
      std::size_t at = place(units_[std::size_t(i)].id);
      while (slots_[at] != none) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = i;
    }
  }
  /// Removes an identifier; later entries of its run of slots move up.
  void erase_slot(std::uint64_t id) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = place(id);
    while (units_[std::size_t(slots_[at])].id != id) at = (at + 1) & mask;
    for (std::size_t next = (at + 1) & mask; slots_[next] != none; next = (next + 1) & mask) {
      const std::size_t home = place(units_[std::size_t(slots_[next])].id);
      if (((next - home) & mask) < ((next - at) & mask)) continue;
      slots_[at] = slots_[next];
      at = next;
    }
    slots_[at] = none;
    --known_;
  }

  std::vector<unit> units_{};
  std::vector<std::int32_t> slots_{};  ///< open addressing, linear probing
  std::vector<std::int32_t> free_{};
  std::int32_t first_ = none, last_ = none;
  std::int64_t unused_tokens_ = 0;
  std::size_t known_ = 0;
};

/// Tier of the prefix cache outside the device: host memory or disk. It evicts the least recently
/// used unit.
class cache_tier {
 public:
  explicit cache_tier(std::int64_t capacity_tokens = 0) : capacity_(capacity_tokens) {}
  bool exists() const { return capacity_ > 0; }
  bool has(std::uint64_t id) const { return exists() && units_.find(id) != cached_units::none; }
  /// Stores a unit, or renews its use. Calls evicted(id, tokens) for each unit that leaves.
  template <class Evicted>
  void store(std::uint64_t id, std::int32_t tokens, const Evicted& evicted) {
    if (!exists() || tokens > capacity_) return;
    if (const std::int32_t known = units_.find(id); known != cached_units::none) {
      units_.detach(known);
      units_.append(known);
      return;
    }
    while (units_.unused_tokens() + tokens > capacity_) {
      const std::int32_t oldest = units_.least_recently_used();
      const std::uint64_t gone = units_[oldest].id;
      const std::int32_t size = units_[oldest].tokens;
      units_.remove(oldest);
      evicted(gone, size);
    }
    const std::int32_t i = units_.add(id, tokens);
    units_[i].references = 0;
    units_.append(i);
  }

 private:
  cached_units units_{};
  std::int64_t capacity_;
};

/// KV cache of one data-parallel group. Tokens are private to a running sequence, shared by
/// sequences with the same prefix, cached without a user, or empty.
class kv_pool {
 public:
  kv_pool(std::int64_t tokens, bool keeps_prefixes, std::int64_t host_tokens = 0,
          std::int64_t disk_tokens = 0)
      : capacity_(tokens),
        empty_(tokens),
        keeps_prefixes_(keeps_prefixes),
        host_(host_tokens),
        disk_(disk_tokens) {}

  std::int64_t capacity() const { return capacity_; }
  /// Tokens that can be allocated: empty, or cached without a user.
  std::int64_t available() const { return empty_ + units_.unused_tokens(); }
  std::int64_t used() const { return capacity_ - available(); }
  bool keeps_prefixes() const { return keeps_prefixes_; }

  /// Takes tokens for a sequence. Evicts the least recently used prefixes if need be.
  bool allocate(std::int64_t tokens) {
    if (tokens > available()) return false;
    while (empty_ < tokens) {
      const std::int32_t oldest = units_.least_recently_used();
      const cached_units::unit u = units_[oldest];
      if (u.is_anonymous) {
        const auto part =
            static_cast<std::int32_t>((std::min<std::int64_t>)(u.tokens, tokens - empty_));
        units_.shrink(oldest, part);
        empty_ += part;
      } else {
        units_.remove(oldest);
        empty_ += u.tokens;
        host_.store(u.id, u.tokens, [&](std::uint64_t id, std::int32_t size) {
          disk_.store(id, size, [](std::uint64_t, std::int32_t) {});
        });
      }
    }
    empty_ -= tokens;
    return true;
  }
  /// Returns private tokens. Their content stays cached, without an identifier, if `is_cached`.
  void release(std::int64_t tokens, bool is_cached = false) {
    if (is_cached && tokens > 0 && keeps_prefixes_) {
      units_.add_anonymous(static_cast<std::int32_t>(tokens));
    } else {
      empty_ += tokens;
    }
  }

  /// Number of leading identifiers that are cached on the device.
  std::size_t match(std::span<const std::uint64_t> ids) const {
    if (!keeps_prefixes_) return 0;
    std::size_t n = 0;
    while (n < ids.size() && units_.find(ids[n]) != cached_units::none) ++n;
    return n;
  }
  /// Tier of an identifier outside the device: 1 host, 2 disk, 0 neither.
  int tier_of(std::uint64_t id) const { return host_.has(id) ? 1 : disk_.has(id) ? 2 : 0; }

  /// Tokens of these units that have no user now: acquiring the units makes them unavailable.
  std::int64_t unused_among(std::span<const std::uint64_t> ids) const {
    std::int64_t tokens = 0;
    for (const std::uint64_t id : ids) {
      const cached_units::unit& u = units_[units_.find(id)];
      if (u.references == 0) tokens += u.tokens;
    }
    return tokens;
  }
  /// Adds a user to cached units.
  void acquire(std::span<const std::uint64_t> ids) {
    for (const std::uint64_t id : ids) {
      const std::int32_t i = units_.find(id);
      if (units_[i].references++ == 0) units_.detach(i);
    }
  }
  /// Makes private tokens of a sequence a cached unit with this user. The tokens of a duplicate are
  /// freed.
  void publish(std::uint64_t id, std::int32_t tokens) {
    const std::int32_t known = units_.find(id);
    if (known == cached_units::none) {
      units_.add(id, tokens);
      return;
    }
    if (units_[known].references++ == 0) units_.detach(known);
    empty_ += tokens;
  }
  /// Removes a user from units; those without users become evictable, the last of a prefix first.
  void abandon(std::span<const std::uint64_t> ids) {
    for (std::size_t n = ids.size(); n-- > 0;) {
      const std::int32_t i = units_.find(ids[n]);
      if (--units_[i].references == 0) units_.append(i);
    }
  }

 private:
  std::int64_t capacity_, empty_;
  bool keeps_prefixes_;
  cached_units units_{};
  cache_tier host_, disk_;
};

}  // namespace perfmodel::inline v0_3
