// Lines of a batch that differ from an earlier line in numbers only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query.hpp"

namespace napkin {

/// A request of a batch as text around its numbers: {"query":"gemm","m":1,"n":2} is a pattern of
/// two numbers. A string as id counts as a number, as every line has another one.
class line_pattern {
 public:
  /// A number or an id of the line.
  struct token {
    std::size_t member = 0;  ///< position of the member in the object
    bool is_id = false;
    std::string_view text{};
  };

  /// None for a line with nested values or escapes, and for one without numbers.
  static std::optional<line_pattern> of(std::string_view line);
  /// Tokens of a line of this pattern; empty for another line.
  bool match(std::string_view line, std::vector<token>& tokens) const;
  /// Hash of the text around the tokens.
  std::uint64_t hash() const { return hash_; }

 private:
  std::vector<std::string> around_{};  ///< one more than tokens
  std::vector<token> tokens_{};        ///< without their texts
  std::uint64_t hash_ = 0;
};

/// Results of lines with a pattern of an earlier line. Such a line is not parsed again: its request
/// is the earlier one with other numbers: names, texts, calibration and deployment remain.
/// Test: tests/cli/batch_repeats.sh, equal to the results of lines by themselves byte for byte.
class repeated_lines {
 public:
  explicit repeated_lines(const given_profile* profile);
  ~repeated_lines();
  repeated_lines(const repeated_lines&) = delete;
  repeated_lines& operator=(const repeated_lines&) = delete;

  /// The line of the result; empty where the line repeats no pattern, or where its result is
  /// infeasible or an error. Valid until the next call.
  std::string_view answer(std::string_view line);
  /// Remembers the line of the last call, where it was answered without an error, from its
  /// pattern's second time on.
  void remember(std::string_view line);

 private:
  struct repeated;
  bool put(repeated& known) const;

  const given_profile* profile_;
  std::vector<std::unique_ptr<repeated>> known_{};
  std::array<std::uint64_t, 8> seen_{};  ///< hashes of patterns seen once
  std::size_t next_seen_ = 0, next_known_ = 0;
  std::vector<line_pattern::token> tokens_{};
  bool is_known_ = false;  ///< whether the last line repeats a pattern
};

}  // namespace napkin
