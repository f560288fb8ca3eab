// The search for the mistake behind a number: the law asked again with each slip of the table.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <perfmodel/tools/audit/misprints.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perfmodel {

/// A number that could stand in the place of an input, and whose it is.
struct named_number {
  std::string name{};
  double value = 0.0;
};

/// An input of a question: a number, or a word with those that could stand in its place. Those of what a
/// claim is divided by or less are named "over.ranks", "minus.ranks".
struct misprint_input {
  std::string name{};
  std::optional<double> number{};
  std::string word{};
  std::vector<std::string> words{};
  bool optional = false;               ///< may be left out
  bool whole = false;                  ///< takes whole numbers alone
  std::vector<named_number> others{};  ///< of other models and machines
};

/// What is asked again: an input with another value; neither: left out.
struct misprint_question {
  std::string_view input{};
  std::optional<double> number{};
  std::optional<std::string_view> word{};
  bool by_width = false;  ///< the answer times how much wider the word is, a format
};

/// A mistake that gives the number that was printed, or two of them together.
struct found_misprint {
  const misprint* kind = nullptr;
  std::string input{};    ///< "" of an answer
  std::string instead{};  ///< which word stood there, or whose number
  double value = 0.0;     ///< what it gives
  const misprint* second = nullptr;
  std::string second_input{}, second_instead{};
};

namespace detail {

/// "ranks" of "over.ranks".
inline std::string_view name_of_input(std::string_view input) {
  const std::size_t dot = input.find('.');
  return dot == input.npos ? input : input.substr(dot + 1);
}
inline bool names_input(const misprint& s, std::string_view input) {
  const std::string_view name = name_of_input(input);
  std::string_view rest = s.inputs;
  if (rest.empty()) return true;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == name) return true;
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}
inline bool happens_to(const misprint& s, const unit_exponents& answer,
                       std::span<const misprint_input> inputs) {
  const auto divides = [](const misprint_input& i) { return i.name.starts_with("over."); };
  if (s.change == misprint_change::inverted && !std::ranges::any_of(inputs, divides)) return false;
  for (std::size_t i = 0; i < s.unit.power.size(); ++i) {
    if (s.unit.power[i] != 0 && s.unit.power[i] != answer.power[i]) return false;
  }
  return true;
}

/// The power of ten that a number is within a quarter of; none of others.
inline std::vector<double> power_of_ten_near(double x) {
  if (!(x > 0.0)) return {};
  const double y = std::pow(10.0, std::round(std::log10(x)));
  return y > 0.8 * x && y < 1.25 * x ? std::vector<double>{y} : std::vector<double>{};
}

/// The numbers that a slip puts in place of one, in both directions.
inline std::vector<double> instead_of(const misprint& s, double x,
                                      std::span<const misprint_input> inputs,
                                      std::string_view prefix = {}) {
  switch (s.change) {
    case misprint_change::times: return {x * s.amount, x / s.amount};
    case misprint_change::plus: return {x + s.amount, x - s.amount};
    case misprint_change::becomes: return {s.amount};
    case misprint_change::as_input:
      for (const misprint_input& i : inputs) {
        if (i.name == std::string(prefix) + s.other && i.number) return {*i.number};
      }
      return {};
    case misprint_change::cut: return {x};
    case misprint_change::inverted:
      return x != 0.0 ? std::vector<double>{1.0 / x} : std::vector<double>{};
    case misprint_change::power_of_ten: return power_of_ten_near(x);
    case misprint_change::left_out:
    case misprint_change::another:
    case misprint_change::by_width: break;
  }
  return {};
}

/// A question with one mistake in it, and whose number or which word that takes.
struct misprinted {
  const misprint* kind = nullptr;
  misprint_question asked{};
  std::string_view instead{};
};

inline void add_words(std::vector<misprinted>& all, const misprint& s, const misprint_input& i) {
  const bool by_width = s.change == misprint_change::by_width;
  if (by_width && name_of_input(i.name) != i.name) return;
  for (const std::string& w : i.words) {
    if (w != i.word) all.push_back({&s, {i.name, {}, std::string_view(w), by_width}, w});
  }
}
inline void add_numbers(std::vector<misprinted>& all, const misprint& s, const misprint_input& i,
                        std::span<const misprint_input> inputs) {
  if (s.change == misprint_change::left_out && i.optional)
    all.push_back({&s, {i.name, {}, {}}, {}});
  if (s.change == misprint_change::another) {
    for (const named_number& n : i.others) all.push_back({&s, {i.name, n.value, {}}, n.name});
  }
  const std::size_t dot = i.name.find('.');
  const auto prefix = std::string_view(i.name).substr(0, dot == i.name.npos ? 0 : dot + 1);
  for (const double y : instead_of(s, *i.number, inputs, prefix)) {
    if (y != *i.number) all.push_back({&s, {i.name, y, {}}, {}});
  }
}

/// Each mistake that can be made with the inputs of a question, in the order of the table. `inputs` must
/// outlive them.
inline std::vector<misprinted> misprinted_questions(std::span<const misprint_input> inputs) {
  std::vector<misprinted> all;
  for (const misprint& s : misprints) {
    for (const misprint_input& i : inputs) {
      if (!names_input(s, i.name)) continue;
      const bool part = !i.number && i.words.empty();
      if (s.place == misprint_place::part && part) all.push_back({&s, {i.name, {}, {}}, {}});
      if (s.place == misprint_place::word && !i.number) add_words(all, s, i);
      if (s.place == misprint_place::number && i.number) add_numbers(all, s, i, inputs);
    }
  }
  return all;
}

inline bool comes_in_pairs(const misprinted& s) {
  return std::ranges::find(paired_inputs, s.asked.input) != std::end(paired_inputs);
}

inline found_misprint found_at(const misprinted& q, double value) {
  return {q.kind, std::string(q.asked.input), std::string(q.instead), value};
}

/// Of a kind what comes nearest, the first of equals.
template <class Ask, class Miss>
std::optional<found_misprint> best_of(const misprint& s, double answer,
                                      std::span<const misprint_input> inputs,
                                      std::span<const misprinted> questions, const Ask& ask,
                                      const Miss& miss) {
  std::optional<found_misprint> best;
  double least = 0.0;
  const auto take = [&](found_misprint&& f) {
    const std::optional<double> off = miss(f.value, s);
    if (!off || (best && *off >= least)) return;
    best = std::move(f);
    least = *off;
  };
  if (s.place == misprint_place::answer) {
    for (const double y : instead_of(s, answer, inputs)) take({&s, {}, {}, y});
  }
  for (const misprinted& q : questions) {
    if (q.kind != &s) continue;
    if (const std::optional<double> x = ask(std::span(&q.asked, 1))) take(found_at(q, *x));
  }
  return best;
}
/// Whether the same change was found as another kind.
inline bool is_among(std::span<const found_misprint> found, const found_misprint& f) {
  return std::ranges::any_of(found, [&f](const found_misprint& other) {
    return !f.input.empty() && other.input == f.input && other.instead == f.instead &&
           other.value == f.value;
  });
}

/// Two mistakes together of those that come in pairs.
template <class Ask, class Miss>
std::vector<found_misprint> find_pair(std::span<const misprinted> questions, const Ask& ask,
                                      const Miss& miss) {
  for (const misprinted& a : questions) {
    if (!comes_in_pairs(a)) continue;
    for (const misprinted& b : questions) {
      if (&a >= &b || a.asked.input == b.asked.input || !comes_in_pairs(b)) continue;
      const std::array both = {a.asked, b.asked};
      const std::optional<double> x = ask(std::span<const misprint_question>(both));
      if (!x || !miss(*x, *b.kind)) continue;
      found_misprint f = found_at(a, *x);
      f.second = b.kind;
      f.second_input = b.asked.input;
      f.second_instead = b.instead;
      return {f};
    }
  }
  return {};
}

}  // namespace detail

/// Each kind of mistake that gives a value which was said, the likeliest first, each kind once, with what
/// comes nearest: more than one where it cannot be told which was made. `answer` is the right one, with its
/// unit; ask(span of misprint_question) is the law's answer to the question so changed, or none where it has none;
/// miss(value, slip) is how far off that is, or none where it does not explain what was said. Where no single
/// mistake does, two of conventions are tried together. `wide`: what was said is a wide range, and few kinds
/// are tried. Leaves out other pairs: they explain nearly any number.
/// Tests: 494.7 for a peak of 989.4 TFLOP/s is sparse for dense; 26.8e9 for 2.68e9 bytes a factor of 10; of
/// two machines the nearer.
template <class Ask, class Miss>
std::vector<found_misprint> find_misprints(double answer, const unit_exponents& unit,
                                           std::span<const misprint_input> inputs, const Ask& ask,
                                           const Miss& miss, bool wide = false) {
  const std::vector<detail::misprinted> questions = detail::misprinted_questions(inputs);
  std::vector<found_misprint> found;
  for (const misprint& s : misprints) {
    if ((wide && !s.wide) || (s.last && !found.empty())) continue;
    if (!detail::happens_to(s, unit, inputs)) continue;
    if (auto best = detail::best_of(s, answer, inputs, std::span(questions), ask, miss);
        best && !detail::is_among(found, *best)) {
      found.push_back(std::move(*best));
    }
  }
  return found.empty() && !wide ? detail::find_pair(std::span(questions), ask, miss) : found;
}

// What a number that a law does not give would take: each input that could be another one.

/// An input with which a law gives what was said.
struct needed_input {
  std::string name{};
  double said = 0.0;    ///< or the default of the law
  double needed = 0.0;  ///< makes the law say the value
};

namespace detail {

/// Steps of an eighth of a decade to either side, nearest first, up to a factor of a thousand.
inline constexpr int needed_steps = 24;
inline double needed_step(double x, int step) {
  return x * std::pow(10.0, 0.125 * step);
}

/// The root of law(x) = value between two x of one sign, halved in logarithms.
template <class Law>
double needed_between(const Law& law, double value, double from, double to) {
  const bool rises = law(from) < law(to);
  for (int i = 0; i < 50; ++i) {
    const double middle = std::sqrt(from * to);
    const auto y = law(middle);
    if (!y) break;
    ((*y < value) == rises ? from : to) = middle;
  }
  return std::sqrt(from * to);
}

/// The nearest such input on one side: where the law passes the value, to within a share of it.
template <class Law>
std::optional<double> needed_on(const Law& law, double value, double said, int side, double share) {
  std::optional<double> before = law(said);
  double from = said;
  for (int i = 1; i <= needed_steps; ++i) {
    const double to = needed_step(said, side * i);
    const std::optional<double> after = law(to);
    if (before && after && (*before < value) != (*after < value)) {
      const double x = needed_between(law, value, from, to);
      const std::optional<double> there = law(x);
      // A step that jumps over the value is not a way to it.
      if (there && std::abs(*there - value) <= share * std::abs(value)) return x;
    }
    before = after;
    from = to;
  }
  return {};
}

}  // namespace detail

/// Each number among the inputs that alone would make the law say the value, within a factor of a
/// thousand, the nearest to what was said first; a whole number within 2 % of the value. ask(span of misprint_question) is the law's answer to the
/// question so changed, or none where it has none. Not a mistake that was made, as a slip is, but what
/// would have to be true: of a claim against Little's law the concurrency that the claimed rate implies.
/// Derived here: the root of the law in that input. Leaves out two inputs at a time.
/// Test: 280 tokens/s of 4 streams at 85 ms would take 23.8 streams, or 14.29 ms.
template <class Ask>
std::vector<needed_input> needed_inputs(double value, std::span<const misprint_input> inputs,
                                        const Ask& ask) {
  std::vector<needed_input> found;
  for (const misprint_input& i : inputs) {
    if (!i.number || *i.number == 0.0) continue;
    const auto allowed = [&](double x) { return i.whole ? std::round(x) : x; };
    const auto law = [&](double x) -> std::optional<double> {
      const misprint_question q{i.name, allowed(x), {}};
      return ask(std::span(&q, 1));
    };
    for (const int side : {1, -1}) {
      const double share = i.whole ? 0.02 : 1e-3;
      const auto x = detail::needed_on(law, value, *i.number, side, share);
      if (!x) continue;
      double best = allowed(*x);
      for (const double beside : {best - 1.0, best + 1.0}) {
        if (!i.whole) break;
        const auto there = law(beside);
        if (there && std::abs(*there - value) < std::abs(*law(best) - value)) best = beside;
      }
      found.push_back({i.name, *i.number, best});
    }
  }
  std::ranges::stable_sort(
      found, {}, [](const needed_input& n) { return std::abs(std::log(n.needed / n.said)); });
  return found;
}

}  // namespace perfmodel
