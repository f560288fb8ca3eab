// The keys of a query: each declared once, for checking, for --help and for the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.hpp"

namespace napkin {

using namespace common;  // text, JSON, files: what the programs of this project share

enum class key_kind {
  number,   ///< in its range
  numbers,  ///< a number, or an array of them
  flag,
  word,  ///< one of `words`
  text,  ///< a name of a catalogue, or a path
};

struct key {
  const char* name = "";
  key_kind kind = key_kind::number;
  const char* help = "";
  number_range range{};
  perfmodel::unit_exponents unit{};  ///< that the command line takes: 40ms, 80 GB
  bool required = true;
  std::string fallback{};  ///< of an optional key; "" where leaving it out has its own meaning
  std::vector<std::string_view> words{};
  const char* alias = "";  ///< a second name on the command line
  bool several = false;    ///< a text that is a list with commas

  /// Optional, with the value it then has.
  key otherwise(std::string value) const {
    key k = *this;
    k.required = false;
    k.fallback = std::move(value);
    return k;
  }
  key optional() const { return otherwise(""); }
  key above_zero() const {
    key k = *this;
    k.range.least = 0.0;
    k.range.above_least = true;
    return k;
  }

  std::string allowed() const;
  /// The units that the command line takes: "; with its unit, or in B/s: 50GB/s".
  std::string allowed_unit() const;
  bool is_time() const;
};

/// Whether a spelling of a key has its unit in it: itl_limit_s, itl-limit-s.
bool names_seconds(std::string_view spelled);

inline key number(const char* name, const char* help, const number_range& range) {
  return {.name = name, .help = help, .range = range};
}
inline key number(const char* name, const char* help, double least, double most) {
  return number(name, help, {.least = least, .most = most});
}
inline key count(const char* name, const char* help, double least = 1.0, double most = 1e15) {
  return number(name, help, {.least = least, .most = most, .whole = true});
}
/// A parallel degree, or a number of ranks.
inline key degree(const char* name, const char* help) {
  return count(name, help, 1.0, 1e6);
}
inline key positive(const char* name, const char* help, double most = 1e15) {
  return number(name, help, 0.0, most).above_zero();
}
inline key amount_of_bytes(const char* name, const char* help) {
  key k = number(name, help, 0.0, 1e24);
  k.unit = perfmodel::exponents_of<perfmodel::bytes<>>();
  return k;
}
inline key time_limit(const char* name, const char* help) {
  key k = positive(name, help, 1e12);
  k.unit = perfmodel::exponents_of<perfmodel::duration<>>();
  return k;
}
inline key flag(const char* name, const char* help) {
  return {.name = name, .kind = key_kind::flag, .help = help};
}
inline key text(const char* name, const char* help) {
  return {.name = name, .kind = key_kind::text, .help = help};
}
inline key word(const char* name, const char* help, std::vector<std::string_view> words) {
  return {.name = name, .kind = key_kind::word, .help = help, .words = std::move(words)};
}

// Keys that several queries have.
key accelerator_key();
std::vector<key> degree_keys();
std::vector<key> storage_keys();
/// shared_tokens and shared_prefixes: what prompts begin with.
std::vector<key> shared_keys();
/// Lengths of requests and their spread, how they come, and what the scheduler does with them.
std::vector<key> load_keys();
key model_key();
key format_key(const char* name, const char* help);
key engine_key();
/// What was measured of the time that a query answers.
key measured_key();
/// What was measured of a result of a law, in its unit.
key measured_key(const char* name, const perfmodel::unit_exponents& unit);
/// What is kept of a GPU's memory; where not given, as the engine keeps it.
std::vector<key> reservation_keys();
/// Where it is not given: as the published benchmark of the engine, see benchmark_weight_copies.
key weight_copies_key(const char* help);

/// Every query has these beside its own.
inline constexpr std::string_view common_keys[] = {"query", "id", "mode"};

/// Letters to insert, remove or replace.
std::size_t edits(std::string_view a, std::string_view b);
/// The name of `names` that is most like `name`, for "did you mean".
std::string nearest(std::string_view name, std::span<const std::string_view> names);
/// The nearest where it is near: a part of it, or a third of its letters amiss at most. "" else.
std::string suggested(std::string_view name, std::span<const std::string_view> names);

}  // namespace napkin
