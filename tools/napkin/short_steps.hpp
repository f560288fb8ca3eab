// Derivation steps as text: the steps of a part stand below its name, with short names.
#pragma once

#include <perfmodel/explain/derivation.hpp>
#include <set>
#include <string>
#include <vector>

namespace napkin {

/// Names without the part above them: "flop" below "attention of decode pass" for "flop of
/// attention of decode pass". Names of a larger part are shortened too: "time of norms" for "time
/// of norms of decode pass". An ambiguous name keeps its part.
class short_steps {
 public:
  explicit short_steps(const perfmodel::derivation& d);

  /// The part of a step; "" for a step without one.
  const std::string& part_of(std::size_t step) const { return parts_[step]; }
  std::string name_of(std::size_t step) const;
  /// The formula of a step, with names relative to its part.
  std::string formula_of(std::size_t step) const;

 private:
  std::string shorter(const std::string& name, const std::string& part) const;

  const perfmodel::derivation& d_;
  std::vector<std::string> parts_{};
  std::set<std::string> names_{};
};

}  // namespace napkin
