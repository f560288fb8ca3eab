// The steps of a derivation as text: what a part has is written below the part's name, by short names.
#pragma once

#include <perfmodel/explain/derivation.hpp>
#include <set>
#include <string>
#include <vector>

namespace napkin {

/// Names without the part that they stand below: "flop" below "attention of decode pass" for "flop of
/// attention of decode pass". What belongs to a larger part of it is short as well: "time of norms" for "time of
/// norms of decode pass". A name that another step or input has keeps its part.
class short_steps {
 public:
  explicit short_steps(const perfmodel::derivation& d);

  /// What a step belongs to: "" of what stands by itself.
  const std::string& part_of(std::size_t step) const { return parts_[step]; }
  std::string name_of(std::size_t step) const;
  /// The formula of a step, over names as they are below its part.
  std::string formula_of(std::size_t step) const;

 private:
  std::string shorter(const std::string& name, const std::string& part) const;

  const perfmodel::derivation& d_;
  std::vector<std::string> parts_{};
  std::set<std::string> names_{};
};

}  // namespace napkin
