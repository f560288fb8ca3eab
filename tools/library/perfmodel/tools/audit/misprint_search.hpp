// Search for the error behind a number: evaluates the law with each error of the table.
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

namespace perfmodel::inline v0_3 {

/// An alternative number for an input, with the name of its model or machine.
struct named_number {
  std::string name{};
  double value = 0.0;
};

/// An input of a question: a number, or a named value with its alternatives. Inputs of a divisor or
/// a subtrahend of the claim are named "over.ranks", "minus.ranks".
struct misprint_input {
  std::string name{};
  std::optional<double> number{};
  std::string word{};
  std::vector<std::string> words{};
  bool optional = false;               ///< can be omitted
  bool whole = false;                  ///< takes whole numbers only
  std::vector<named_number> others{};  ///< values of other models and machines
};

/// A changed input: another number, another named value, or neither for an omitted input.
struct misprint_question {
  std::string_view input{};
  std::optional<double> number{};
  std::optional<std::string_view> word{};
  bool by_bits = false;  ///< multiplies the result by the ratio of the formats' bits
};

/// One or two errors that give the printed number.
struct found_misprint {
  const misprint* kind = nullptr;
  std::string input{};    ///< "" for an error in the result
  std::string instead{};  ///< alternative value, or its model or machine
  double value = 0.0;     ///< result with the error
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
inline bool can_happen_to(const misprint& s, const unit_exponents& computed,
                          std::span<const misprint_input> inputs) {
  const auto divides = [](const misprint_input& i) { return i.name.starts_with("over."); };
  if (s.change == misprint_change::inverted && !std::ranges::any_of(inputs, divides)) return false;
  for (std::size_t i = 0; i < s.unit.power.size(); ++i) {
    if (s.unit.power[i] != 0 && s.unit.power[i] != computed.power[i]) return false;
  }
  return true;
}

/// The power of ten within 25 % of a number, if there is one.
inline std::vector<double> power_of_ten_near(double x) {
  if (!(x > 0.0)) return {};
  const double y = std::pow(10.0, std::round(std::log10(x)));
  return y > 0.8 * x && y < 1.25 * x ? std::vector<double>{y} : std::vector<double>{};
}

/// The numbers that an error puts in place of one, in both directions.
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
    case misprint_change::by_bits: break;
  }
  return {};
}

/// A question with one error in it.
struct misprint_case {
  const misprint* kind = nullptr;
  misprint_question question{};
  std::string_view instead{};
};

inline void add_words(std::vector<misprint_case>& all, const misprint& s, const misprint_input& i) {
  const bool by_bits = s.change == misprint_change::by_bits;
  if (by_bits && name_of_input(i.name) != i.name) return;
  for (const std::string& w : i.words) {
    if (w != i.word) all.push_back({&s, {i.name, {}, std::string_view(w), by_bits}, w});
  }
}
inline void add_numbers(std::vector<misprint_case>& all, const misprint& s, const misprint_input& i,
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

/// Every possible error in the inputs of a question, in the order of the table. `inputs` must
/// outlive the result.
inline std::vector<misprint_case> misprint_cases_of(std::span<const misprint_input> inputs) {
  std::vector<misprint_case> all;
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

inline bool is_paired(const misprint_case& s) {
  return std::ranges::find(paired_inputs, s.question.input) != std::end(paired_inputs);
}

inline found_misprint found_at(const misprint_case& q, double value) {
  return {q.kind, std::string(q.question.input), std::string(q.instead), value};
}

/// The nearest result of one kind of error; the first of equal ones.
template <class Ask, class Miss>
std::optional<found_misprint> best_of(const misprint& s, double computed,
                                      std::span<const misprint_input> inputs,
                                      std::span<const misprint_case> questions, const Ask& ask,
                                      const Miss& miss) {
  std::optional<found_misprint> best;
  double least = 0.0;
  const auto take = [&](found_misprint&& f) {
    const std::optional<double> off = miss(f.value, s);
    if (!off || (best && *off >= least)) return;
    best = std::move(f);
    least = *off;
  };
  if (s.place == misprint_place::result) {
    for (const double y : instead_of(s, computed, inputs)) take({&s, {}, {}, y});
  }
  for (const misprint_case& q : questions) {
    if (q.kind != &s) continue;
    if (const std::optional<double> x = ask(std::span(&q.question, 1))) take(found_at(q, *x));
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

/// Two errors at once, among the paired inputs.
template <class Ask, class Miss>
std::vector<found_misprint> find_pair(std::span<const misprint_case> questions, const Ask& ask,
                                      const Miss& miss) {
  for (const misprint_case& a : questions) {
    if (!is_paired(a)) continue;
    for (const misprint_case& b : questions) {
      if (&a >= &b || a.question.input == b.question.input || !is_paired(b)) continue;
      const std::array both = {a.question, b.question};
      const std::optional<double> x = ask(std::span<const misprint_question>(both));
      if (!x || !miss(*x, *b.kind)) continue;
      found_misprint f = found_at(a, *x);
      f.second = b.kind;
      f.second_input = b.question.input;
      f.second_instead = b.instead;
      return {f};
    }
  }
  return {};
}

}  // namespace detail

/// Kinds of error that give a stated value, the likeliest first, each once with its nearest result.
/// `computed`: the correct result, with its unit. `ask(span of misprint_question)`: result of the
/// law for the changed question, if there is one. `miss(value, kind)`: distance to the stated
/// value, or none where it does not explain the value. Where no single error explains it, pairs of
/// conventions are tried. `is_range`: the claim is a large range, for which few kinds are tried.
/// *Leaves out:* other pairs, because they explain nearly any number.
/// *Tests:* 494.7 for a peak of 989.4 TFLOP/s is sparse for dense; 26.8e9 for 2.68e9 bytes is a
/// factor of 10; of two machines the nearer.
template <class Ask, class Miss>
std::vector<found_misprint> find_misprints(double computed, const unit_exponents& unit,
                                           std::span<const misprint_input> inputs, const Ask& ask,
                                           const Miss& miss, bool is_range = false) {
  const std::vector<detail::misprint_case> questions = detail::misprint_cases_of(inputs);
  std::vector<found_misprint> found;
  for (const misprint& s : misprints) {
    if ((is_range && !s.few_values) || (s.last_resort && !found.empty())) continue;
    if (!detail::can_happen_to(s, unit, inputs)) continue;
    if (auto best = detail::best_of(s, computed, inputs, std::span(questions), ask, miss);
        best && !detail::is_among(found, *best)) {
      found.push_back(std::move(*best));
    }
  }
  return found.empty() && !is_range ? detail::find_pair(std::span(questions), ask, miss) : found;
}

// Inputs that would have to differ for a law to give a stated number.

/// An input value with which a law gives the stated number.
struct needed_input {
  std::string name{};
  double stated = 0.0;  ///< stated input, or the default of the law
  double needed = 0.0;  ///< input for which the law gives the number
};

namespace detail {

/// Steps of an eighth of a decade to either side, up to a factor of 1000.
inline constexpr int needed_steps = 24;
inline double needed_step(double x, int step) {
  return x * std::pow(10.0, 0.125 * step);
}

/// The root of law(x) = value between two x of one sign, by bisection of the logarithm.
template <class Law>
double find_root(const Law& law, double value, double from, double to) {
  const bool rises = law(from) < law(to);
  for (int i = 0; i < 50; ++i) {
    const double middle = std::sqrt(from * to);
    const auto y = law(middle);
    if (!y) break;
    ((*y < value) == rises ? from : to) = middle;
  }
  return std::sqrt(from * to);
}

/// The nearest root on one side of the stated input, if the law is within `share` of the value
/// there.
template <class Law>
std::optional<double> find_needed_input(const Law& law, double value, double stated, int side,
                                        double share) {
  std::optional<double> before = law(stated);
  double from = stated;
  for (int i = 1; i <= needed_steps; ++i) {
    const double to = needed_step(stated, side * i);
    const std::optional<double> after = law(to);
    if (before && after && (*before < value) != (*after < value)) {
      const double x = find_root(law, value, from, to);
      const std::optional<double> result = law(x);
      // A law that jumps over the value does not reach it.
      if (result && std::abs(*result - value) <= share * std::abs(value)) return x;
    }
    before = after;
    from = to;
  }
  return {};
}

}  // namespace detail

/// Numbers among the inputs, each of which would make the law give the value if it differed.
/// The search covers a factor of 1000; whole numbers reach the value within 2 %; the nearest input
/// comes first. `ask(span of misprint_question)`: result of the law for the changed question, if
/// there is one. Example: the concurrency that a claimed rate implies by Little's law.
/// *Source:* derived here, the root of the law in one input.
/// *Leaves out:* two inputs at a time.
/// *Test:* 280 tok/s of 4 streams at 85 ms would need 23.8 streams, or 14.29 ms.
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
      const auto x = detail::find_needed_input(law, value, *i.number, side, share);
      if (!x) continue;
      double best = allowed(*x);
      for (const double neighbour : {best - 1.0, best + 1.0}) {
        if (!i.whole) break;
        const auto result = law(neighbour);
        if (result && std::abs(*result - value) < std::abs(*law(best) - value)) best = neighbour;
      }
      found.push_back({i.name, *i.number, best});
    }
  }
  std::ranges::stable_sort(
      found, {}, [](const needed_input& n) { return std::abs(std::log(n.needed / n.stated)); });
  return found;
}

}  // namespace perfmodel::inline v0_3
