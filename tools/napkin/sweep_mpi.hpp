// Ranks of MPI that share a sweep. Without MPI in the build there is one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sweep.hpp"

namespace napkin {

/// The ranks of a sweep: rank r of n evaluates part r + 1 of n, and rank 0 writes all parts in
/// order.
class sweep_ranks {
 public:
  /// Joins the other ranks where `uses_mpi`. Throws inconsistent in a build without MPI.
  explicit sweep_ranks(bool uses_mpi);
  ~sweep_ranks();
  sweep_ranks(const sweep_ranks&) = delete;
  sweep_ranks& operator=(const sweep_ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// On rank 0: writes the text of each other rank in order. Returns the sum of the errors.
  std::uint64_t append(const std::string& own, std::uint64_t errors,
                       const std::function<void(std::string_view)>& write);
  /// On rank 0: adds the rows of each other rank in order, and their errors.
  void gather(sweep_table& t, const std::function<void(std::vector<cell>&&)>& add);

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace napkin
