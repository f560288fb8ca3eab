// All-reduce as the transfers it is made of: who sends which chunk to whom, for any memory to carry
// out and to count.
#pragma once

#include <cstddef>

namespace perfmodel::validation {

enum class all_reduce { ring, one_shot, two_shot };

/// Rank `from` sends a chunk of what it holds to rank `to`, who adds it to his own or keeps it.
/// Every rank holds its input, and a result that begins as a copy of it.
struct chunk_transfer {
  int from = 0;
  int to = 0;
  int chunk = 0;       ///< chunk, one per rank; -1: the whole message
  bool adds = true;    ///< to the result of `to`; else it replaces the chunk
  bool input = false;  ///< reads the input of `from`; else its result
};

/// Begin of chunk c of n: the first `count % n` chunks are longer by one.
constexpr std::size_t chunk_begin(std::size_t count, int n, int c) {
  const auto ranks = static_cast<std::size_t>(n), chunk = static_cast<std::size_t>(c);
  const std::size_t longer = count % ranks;
  return count / ranks * chunk + (chunk < longer ? chunk : longer);
}

/// Calls visit(chunk_transfer) for all of them in an order that is right also one after the other.
/// ring: in each of n - 1 rounds a rank passes on the chunk that it added to last, then n - 1
/// rounds pass the finished chunks on (Patarasuk and Yuan 2009). one_shot: everyone sends
/// everything to everyone. two_shot: chunk c of all goes to rank c, which sends the sum to
/// everyone.
template <class Visit>
constexpr void for_each_transfer(all_reduce how, int ranks, Visit&& visit) {
  const auto around = [ranks](int r) { return (r % ranks + ranks) % ranks; };
  if (how == all_reduce::ring) {
    for (const bool adds : {true, false}) {
      for (int round = 0; round + 1 < ranks; ++round) {
        for (int r = 0; r < ranks; ++r) {
          visit(chunk_transfer{r, around(r + 1), around(r - round + (adds ? 0 : 1)), adds, false});
        }
      }
    }
    return;
  }
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to)
        visit(chunk_transfer{from, to, how == all_reduce::one_shot ? -1 : to, true, true});
    }
  }
  if (how == all_reduce::one_shot) return;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) visit(chunk_transfer{from, to, from, false, false});
    }
  }
}

/// What all ranks together send, over the message's size: n times 2 (n - 1) / n for ring and
/// two-shot, n times n - 1 for one-shot.
constexpr double messages_sent(all_reduce how, int ranks) {
  const double others = ranks - 1;
  return how == all_reduce::one_shot ? ranks * others : 2.0 * others;
}

}  // namespace perfmodel::validation
