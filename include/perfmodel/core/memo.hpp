// Memo of computed values, for constant expressions too: the values of the last N keys.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace perfmodel::inline v0_3::detail {

/// Values of the last N keys. Keys of a service come in the same order step after step, so that a
/// search starts behind the entry found last. A new key replaces the entry there if all are in use.
/// Tests: tests/property/memoised_steps.cpp, against the values without a memo.
template <class Key, class Value, std::size_t N>
class memo {
 public:
  /// Value of the key that equals `query`; null without one.
  template <class Query>
  constexpr const Value* find(const Query& query) const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (entries_[i]->key == query) return &entries_[i]->value;
    }
    return nullptr;
  }
  /// Value of the key that equals `query`. If there is none, it is make(), stored under
  /// Key(query).
  template <class Query, class Make>
  constexpr Value& value_of(const Query& query, const Make& make) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (next_ >= size_) next_ = 0;
      entry& known = *entries_[next_++];
      if (known.key == query) return known.value;
    }
    if (size_ < N) {
      next_ = size_++;
    } else if (next_ >= N) {
      next_ = 0;
    }
    std::optional<entry>& replaced = entries_[next_++];
    replaced = entry{Key(query), make()};
    return replaced->value;
  }

 private:
  struct entry {
    Key key;
    Value value;
  };
  std::array<std::optional<entry>, N> entries_{};
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

}  // namespace perfmodel::inline v0_3::detail
