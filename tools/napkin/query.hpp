// Declaration of a query: its name, its keys, and its evaluation over any scalar.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/parallel/collectives.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "inputs.hpp"
#include "key.hpp"
#include "key_name.hpp"
#include "outcome.hpp"
#include "policies.hpp"

namespace napkin {

/// Whether this is the page's module (tools/page/build.sh): steps, services by their closed form,
/// rooflines and plans, with their derivations.
#ifdef NAPKIN_PAGE_MODULE
inline constexpr bool is_page_module = true;
#else
inline constexpr bool is_page_module = false;
#endif

/// A result with its derivation.
struct explanation {
  outcome<> answer{};
  perfmodel::derivation derivation{};
};

struct query {
  const char* name = "";
  const char* help = "";
  std::vector<key> keys{};
  profile_part part = profile_part::none;
  /// The bound of the query, which needs no calibration.
  outcome<> (*answer)(const request&, const calibration*) = nullptr;
  explanation (*explain)(const request&, const calibration*) = nullptr;

  /// The key of that name; null where there is none.
  const key* find(const key_name& named) const {
    if (names_.empty()) return find_in_turn(named.text);
    for (std::size_t i = named.slot;; i = (i + 1) % key_name::slots) {
      const std::uint8_t at = by_name_[i];
      if (at == 0) return nullptr;
      if (named.hash != 0 ? hashes_[at - 1] == named.hash : are_equal(names_[at - 1], named.text)) {
        return &keys[at - 1];
      }
    }
  }
  /// The key of a name or of one of its other spellings; null where there is none.
  const key* find_spelled(std::string_view spelled) const;
  /// The default of the i-th key as a number.
  double default_number(std::size_t i) const;
  /// Makes the hash table that find() reads. The keys must not change afterwards.
  void index_keys();

 private:
  /// Eight bytes at a time: names are too short for a call to pay.
  static bool are_equal(std::string_view a, std::string_view b) {
    constexpr std::size_t word = 8;
    if (a.size() != b.size()) return false;
    const auto differ = [&](std::size_t at) {
      std::uint64_t x = 0, y = 0;
      std::memcpy(&x, a.data() + at, word);
      std::memcpy(&y, b.data() + at, word);
      return x != y;
    };
    if (a.size() < word) return a == b;
    for (std::size_t i = 0; i + word < a.size(); i += word) {
      if (differ(i)) return false;
    }
    return !differ(a.size() - word);
  }

  const key* find_in_turn(std::string_view name_of_key) const;

  std::array<std::uint8_t, key_name::slots> by_name_{};  ///< 1 + position of a key; 0: empty slot
  std::vector<std::string_view> names_{};
  std::vector<std::uint64_t> hashes_{};
  std::vector<double> default_numbers_{};
};
/// The request with the names of its keys in place of other spellings; `of`, `against` and
/// `conditions` too. Throws inconsistent where one key has two spellings.
json with_key_names(json object);
/// Puts a request into an object that asks about it: as `of`, and its id as that of the object.
void put_request(json& object, json request);

/// The steps behind all results, each once.
perfmodel::derivation derivation_of(const outcome<perfmodel::traced>& answer);
/// The result with its derivation from the same evaluation over traced numbers. A root found by
/// iteration may differ in its last digit; any larger difference is a defect and throws
/// logic_error.
explanation explained(outcome<> answer, const outcome<perfmodel::traced>& derived);

/// Weight buffers that the published benchmark of this kernel reads in turn.
template <perfmodel::Scalar T>
double benchmark_buffers(const inputs<T>& in) {
  if (in.asked().find("n") == nullptr || in.asked().find("k") == nullptr)
    return default_benchmark_buffers;
  const perfmodel::number_format f = in.format("format");
  return perfmodel::catalog::benchmark_weight_copies(*perfmodel::find_engine(in.text("engine")),
                                                     in.plain("n") * in.plain("k") * bytes_of(f), f,
                                                     in.chip());
}

/// Weight buffers that the benchmark of the request's kernel reads in turn; 0: cold weights, as in
/// whole models.
template <perfmodel::Scalar T>
T weight_buffers_of(inputs<T>& in) {
  if (in.asked().find("weight_copies") == nullptr) return T(0.0);
  return in.has("weight_copies") ? in.number("weight_copies") : T(benchmark_buffers(in));
}

/// The calibration over the scalar of `in`.
template <perfmodel::Scalar T>
perfmodel::basic_calibrated<T> calibration_over(const calibration& c, inputs<T>& in) {
  return calibration_over<T>(
      c, weight_buffers_of(in),
      [&](const auto& spec, const char* prefix, const perfmodel::source* from) {
        return in.constants(spec, prefix, from);
      });
}

/// The calibration of a request, in `own`; that of an earlier request where they share it.
inline const perfmodel::calibrated& shared_calibration(const calibration& c, const request& r,
                                                       double weight_buffers,
                                                       std::optional<perfmodel::calibrated>& own) {
  auto& made = r.texts() != nullptr ? r.texts()->policy : own;
  if (!made) made = c.calibration;
  made->conditions = perfmodel::replay_conditions(weight_buffers);
  return *made;
}

/// Whether a query accepts a measurement of its time.
template <class Q>
inline constexpr bool measurable = requires {
  Q::takes_a_measurement;
};

/// Whether a law names the result that a measurement is compared with.
template <class Q>
inline constexpr bool measurable_law = requires {
  Q::measured;
};

/// Whether a query has the bounds that a prediction states without the rest of its bound.
template <class Q>
inline constexpr bool has_stated_bounds = requires(inputs<double>& in) {
  Q::stated_bounds(in);
};

/// The bound of a prediction, which has texts of its own: as far as the prediction states it, or
/// all of it.
template <class Q>
outcome<> bound_of_prediction(const request& r, double weight_buffers, bool is_measured) {
  inputs<double> in(r);
  in.leave_out_texts();
  if constexpr (has_stated_bounds<Q>) {
    if (!is_measured) {
      if (std::optional<outcome<>> stated = Q::stated_bounds(in)) return std::move(*stated);
    }
  }
  bound_mode sheets;
  if (weight_buffers > 0.0 && !in.has("weight_copies")) sheets.weight_copies = weight_buffers;
  return Q::run(in, sheets);
}
/// The prediction of a query, with its bounds.
template <class Q>
outcome<> predicted(const request& r, const calibration& c) {
  inputs<double> in(r);
  const double buffers = weight_buffers_of(in);
  bool is_measured = false;
  if constexpr (measurable<Q>) is_measured = r.has("measured_s");
  const outcome<> bound = bound_of_prediction<Q>(r, buffers, is_measured);
  std::optional<perfmodel::calibrated> own;
  outcome<> answer = Q::run(in, shared_calibration(c, r, buffers, own));
  note_calibration(answer, bound, c, Q::part, !r.scalars_only(), r.texts());
  if (is_measured) note_measured(answer, bound, r.number("measured_s"));
  return answer;
}
/// The prediction of a query, or without a calibration its bound.
template <class Q>
outcome<> answered(const request& r, const calibration* c) {
  if constexpr (Q::part != profile_part::none) {
    if (c != nullptr) return predicted<Q>(r, *c);
  }
  inputs<double> in(r);
  outcome<> answer = Q::run(in, bound_mode{});
  if constexpr (measurable<Q>) {
    if (r.has("measured_s")) note_measured(answer, answer, r.number("measured_s"));
  }
  return answer;
}

/// A query from a struct Q with name, help, part, keys() and `template <Scalar T, class Mode>
/// static outcome<T> run(inputs<T>&, const Mode&)`.
template <class Q>
query declare() {
  query q;
  q.name = Q::name;
  q.help = Q::help;
  q.keys = Q::keys();
  q.part = Q::part;
  if constexpr (measurable<Q>) q.keys.push_back(measured_key());
  if constexpr (measurable_law<Q>) {
    for (const measurable_result& m : Q::measured) {
      q.keys.push_back(measured_key(m.measurement, m.unit));
      if (q.keys.size() > Q::keys().size() + 1)
        q.keys.back().alias = "";  // alias of the first key only
    }
  }
  q.answer = [](const request& r, const calibration* c) {
    outcome<> answer = answered<Q>(r, c);
    if constexpr (measurable_law<Q>) {
      for (const measurable_result& m : Q::measured) {
        if (r.has(m.measurement)) note_measured(answer, m, r.number(m.measurement));
      }
    }
    return answer;
  };
  q.explain = [](const request& r, const calibration* c) {
    perfmodel::trace tape;
    inputs<perfmodel::traced> in(r, tape);
    if constexpr (Q::part != profile_part::none) {
      if (c != nullptr)
        return explained(r.asked().answer(r, c), Q::run(in, calibration_over(*c, in)));
    }
    return explained(r.asked().answer(r, nullptr), Q::run(in, bound_mode{}));
  };
  return q;
}

std::vector<query> kernel_queries();
std::vector<query> attention_queries();
std::vector<query> collective_queries();
std::vector<query> memory_queries();
std::vector<query> model_queries();
std::vector<query> step_queries();
std::vector<query> serving_queries();
std::vector<query> simulation_queries();
std::vector<query> speculation_queries();
std::vector<query> advise_queries();
std::vector<query> trust_queries();
std::vector<query> machine_queries();
std::vector<query> roofline_queries();
std::vector<query> time_queries();
std::vector<query> path_queries();
std::vector<query> capacity_queries();

/// Every query, in the order of the documentation.
std::span<const query> all_queries();
/// Throws unknown_query.
const query& find_query(std::string_view name);

/// Checks a request and evaluates it, for the command line and for batches. `object` has the
/// query's keys, and may have query, id and mode. `profile` replaces the shipped one where it
/// belongs to the request's accelerator.
outcome<> evaluate(const query& asked, const json& object, const given_profile* profile = nullptr);
/// Evaluates a request that is checked already, with its calibration.
outcome<> evaluate(const request& r, const json& object, std::optional<mode> wanted,
                   const std::optional<calibration>& c);
/// The result without a simulation, which a derivation explains.
outcome<> evaluate_closed_form(const query& asked, const json& object,
                               const given_profile* profile = nullptr);
explanation explanation_of(const query& asked, const json& object,
                           const given_profile* profile = nullptr);

/// Evaluates requests that differ from one in numbers only, each with the calibration that it has
/// alone; with a profile from a file, with that profile.
class similar_requests {
 public:
  /// Throws the errors of the request itself.
  similar_requests(const query& asked, const json& object, const given_profile* profile);
  outcome<> operator()(const json& object) const;
  const request& base() const { return base_; }
  const json& base_object() const { return object_; }
  const query& asked() const { return asked_; }

 private:
  const query& asked_;
  json object_;
  request base_;
  std::optional<calibration> calibration_;
  const given_profile* profile_;
};

/// Whether a request with another value of this key may have another calibration.
bool changes_calibration(const key& k);
/// Evaluates a request again with some of its numbers changed. Unlike evaluate it adds no text and
/// no remedies; the results are those of evaluate.
outcome<> evaluate_numbers(const request& r, const calibration* c, const json& object);

/// Whether a query is of a model on an engine, so that a service profile applies to it.
bool takes_services(const query& asked);

/// The mode of a request object; none where it has no mode. Throws wrong_type, unknown_name.
std::optional<mode> mode_in(const json& object);

/// The query named by an object. Throws malformed_request, missing_key, wrong_type, unknown_query.
const query& query_of(const json& object);

}  // namespace napkin
