// Mistakes that people make between a law and the number that they print: a table, and a search in it.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <perfmodel/units/named.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perfmodel {

/// What was mistaken: the answer itself, a number that the law takes, or a word that it takes.
enum class slip_place { answer, number, word };

/// How: times an amount or divided by it, the amount more or less, set to the amount, set to another
/// input of the question, or left out. Of a word: any other one.
enum class slip_change { times, plus, becomes, as_input, left_out, another };

/// One kind of mistake. `inputs` are the names that it is made with, with commas; "" is any.
struct slip {
  const char* name = "";
  slip_place place = slip_place::answer;
  slip_change change = slip_change::times;
  double amount = 0.0;
  const char* inputs = "";
  const char* other = "";  ///< as_input: which
  unit_exponents unit{};   ///< of an answer that it can happen to: those powers, where not 0
};

namespace detail {
inline constexpr unit_exponents any_unit{};
inline constexpr unit_exponents of_bytes{{0, 1}};
inline constexpr unit_exponents of_bandwidth{{-1, 1}};
inline constexpr unit_exponents of_flop{{0, 0, 1}};
}  // namespace detail

/// The likelier before the less likely: of two that explain a number the first is named. Each is looked
/// for in both directions. Sources: the mistakes of published texts that docs/laws/audit.md lists.
inline constexpr std::array slips = {
    // Conventions: the same thing counted otherwise.
    slip{"sparse for dense", slip_place::answer, slip_change::times, 2.0, "", "", detail::of_flop},
    slip{"sparse for dense", slip_place::number, slip_change::times, 2.0, "ridge_flop_per_byte"},
    slip{"two-way for one-way", slip_place::answer, slip_change::times, 2.0, "", "",
         detail::of_bandwidth},
    slip{"two-way for one-way", slip_place::number, slip_change::times, 2.0,
         "link_bytes_per_s,network_bytes_per_s"},
    slip{"bits for bytes", slip_place::answer, slip_change::times, 8.0, "", "", detail::of_bytes},
    slip{"GB for GiB", slip_place::answer, slip_change::times, 1.073741824, "", "",
         detail::of_bytes},
    slip{"another convention of counting", slip_place::word, slip_change::another, 0.0, "counted"},
    slip{"both phases for one", slip_place::answer, slip_change::times, 2.0, "", "",
         detail::of_bytes},
    slip{"another answer of the same law", slip_place::word, slip_change::another, 0.0, "key"},
    // The wrong thing looked up.
    slip{"the wrong format's peak", slip_place::word, slip_change::another, 0.0,
         "format,activation_format"},
    slip{"the wrong units' peak", slip_place::word, slip_change::another, 0.0, "units"},
    slip{"the wrong format", slip_place::word, slip_change::another, 0.0,
         "weight_format,kv_format,over"},
    slip{"another algorithm", slip_place::word, slip_change::another, 0.0,
         "algorithm,layout,how,causal,fused"},
    // Decimals.
    slip{"a factor of 10", slip_place::answer, slip_change::times, 10.0},
    slip{"a factor of 1000", slip_place::answer, slip_change::times, 1000.0},
    slip{"a factor of 100", slip_place::answer, slip_change::times, 100.0},
    slip{"a factor of a million", slip_place::answer, slip_change::times, 1e6},
    // One for many, and one more or less.
    slip{"K for K - 1", slip_place::number, slip_change::plus, 1.0,
         "draft_length,sequences,ranks,layers,tiles,block_size,intermediates,buckets,lanes"},
    slip{"per layer for all layers", slip_place::number, slip_change::becomes, 1.0,
         "layers,per_layer,launches"},
    slip{"one device for all", slip_place::number, slip_change::becomes, 1.0,
         "ranks,tensor_parallel,gpus,devices,units"},
    slip{"the limit of many ranks", slip_place::number, slip_change::becomes, 1e6, "ranks"},
    slip{"one of them for all", slip_place::number, slip_change::becomes, 1.0,
         "batch,streams,sequences,tokens,blocks,access_bytes"},
    slip{"the part for the whole", slip_place::number, slip_change::becomes, 1.0, "shares"},
    slip{"all heads for those of the cache", slip_place::number, slip_change::as_input, 0.0,
         "kv_heads", "query_heads"},
    slip{"the heads of the cache for all", slip_place::number, slip_change::as_input, 0.0,
         "query_heads", "kv_heads"},
    // Something forgotten.
    slip{"left out", slip_place::number, slip_change::left_out, 0.0},
    slip{"a factor of 10 in an input", slip_place::number, slip_change::times, 10.0},
    slip{"half or double", slip_place::answer, slip_change::times, 2.0},
    slip{"another machine", slip_place::word, slip_change::another, 0.0, "accelerator"},
};
/// Those that come in pairs: a link counted both ways in the formula of another algorithm.
inline constexpr const char* paired_inputs[] = {"link_bytes_per_s", "ranks", "algorithm",
                                                "format",           "units", "counted"};

/// An input of a question: a number, or a word with those that could stand in its place.
struct slip_input {
  std::string name{};
  std::optional<double> number{};
  std::string word{};
  std::vector<std::string> words{};
  bool optional = false;  ///< may be left out
  bool whole = false;     ///< takes whole numbers alone
};

/// What is asked again: an input with another value; neither: left out.
struct slip_question {
  std::string_view input{};
  std::optional<double> number{};
  std::optional<std::string_view> word{};
};

/// A mistake that gives the number that was printed, or two of them together.
struct found_slip {
  const slip* kind = nullptr;
  std::string input{};    ///< "" of an answer
  std::string instead{};  ///< which word stood there
  double value = 0.0;     ///< what it gives
  const slip* second = nullptr;
  std::string second_input{}, second_instead{};
};

namespace detail {

inline bool names_input(const slip& s, std::string_view input) {
  std::string_view rest = s.inputs;
  if (rest.empty()) return true;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == input) return true;
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}
inline bool happens_to(const slip& s, const unit_exponents& answer) {
  for (std::size_t i = 0; i < s.unit.power.size(); ++i) {
    if (s.unit.power[i] != 0 && s.unit.power[i] != answer.power[i]) return false;
  }
  return true;
}

/// The numbers that a slip puts in place of one, in both directions.
inline std::vector<double> instead_of(const slip& s, double x, std::span<const slip_input> inputs) {
  switch (s.change) {
    case slip_change::times: return {x * s.amount, x / s.amount};
    case slip_change::plus: return {x + s.amount, x - s.amount};
    case slip_change::becomes: return {s.amount};
    case slip_change::as_input:
      for (const slip_input& i : inputs) {
        if (i.name == s.other && i.number) return {*i.number};
      }
      return {};
    case slip_change::left_out:
    case slip_change::another: break;
  }
  return {};
}

/// A question with one mistake in it.
struct slipped {
  const slip* kind = nullptr;
  slip_question asked{};
};

/// Each mistake that can be made with the inputs of a question, in the order of the table. `inputs` must
/// outlive them.
inline std::vector<slipped> slipped_questions(std::span<const slip_input> inputs) {
  std::vector<slipped> all;
  for (const slip& s : slips) {
    for (const slip_input& i : inputs) {
      if (!names_input(s, i.name)) continue;
      if (s.place == slip_place::word && !i.number) {
        for (const std::string& w : i.words) {
          if (w != i.word) all.push_back({&s, {i.name, {}, std::string_view(w)}});
        }
      } else if (s.place == slip_place::number && i.number) {
        if (s.change == slip_change::left_out && i.optional) all.push_back({&s, {i.name, {}, {}}});
        for (const double y : instead_of(s, *i.number, inputs)) {
          if (y != *i.number) all.push_back({&s, {i.name, y, {}}});
        }
      }
    }
  }
  return all;
}

inline bool comes_in_pairs(const slipped& s) {
  return std::ranges::find(paired_inputs, s.asked.input) != std::end(paired_inputs);
}

}  // namespace detail

/// The likeliest mistake that gives a value which `explains` takes, where one does. `answer` is the right
/// one, with its unit; ask(span of slip_question) is the law's answer to the question so changed, or none
/// where it has none. Where no single mistake does, two of conventions are tried together. Leaves out other
/// pairs: they explain nearly any number.
/// Tests: 494.7 for a peak of 989.4 TFLOP/s is sparse for dense; 26.8e9 for 2.68e9 bytes a factor of 10.
template <class Ask, class Explains>
std::optional<found_slip> find_slip(double answer, const unit_exponents& unit,
                                    std::span<const slip_input> inputs, const Ask& ask,
                                    const Explains& explains) {
  const std::vector<detail::slipped> questions = detail::slipped_questions(inputs);
  const auto word_of = [](const slip_question& q) { return std::string(q.word.value_or("")); };
  for (const slip& s : slips) {
    if (s.place == slip_place::answer && detail::happens_to(s, unit)) {
      for (const double y : detail::instead_of(s, answer, inputs)) {
        if (explains(y)) return found_slip{&s, {}, {}, y};
      }
    }
    for (const detail::slipped& q : questions) {
      if (q.kind != &s) continue;
      const std::optional<double> x = ask(std::span(&q.asked, 1));
      if (x && explains(*x))
        return found_slip{&s, std::string(q.asked.input), word_of(q.asked), *x};
    }
  }
  for (const detail::slipped& a : questions) {
    for (const detail::slipped& b : questions) {
      if (&a >= &b || a.asked.input == b.asked.input) continue;
      if (!detail::comes_in_pairs(a) || !detail::comes_in_pairs(b)) continue;
      const std::array both = {a.asked, b.asked};
      const std::optional<double> x = ask(std::span<const slip_question>(both));
      if (!x || !explains(*x)) continue;
      return found_slip{a.kind, std::string(a.asked.input), word_of(a.asked), *x,
                        b.kind, std::string(b.asked.input), word_of(b.asked)};
    }
  }
  return {};
}

}  // namespace perfmodel
