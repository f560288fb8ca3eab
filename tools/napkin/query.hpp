// One declaration per query: its name, its keys, and its answer over any scalar.
#pragma once

#include <optional>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/parallel/collectives.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "inputs.hpp"
#include "key.hpp"
#include "outcome.hpp"
#include "policies.hpp"

namespace napkin {

/// An answer with its derivation.
struct explanation {
  outcome<> answer{};
  perfmodel::derivation derivation{};
};

struct query {
  const char* name = "";
  const char* help = "";
  std::vector<key> keys{};
  profile_part part = profile_part::none;
  /// Of the bound where there is no calibration.
  outcome<> (*answer)(const request&, const calibration*) = nullptr;
  explanation (*explain)(const request&, const calibration*) = nullptr;

  const key* find(std::string_view key_name) const {
    for (const key& k : keys) {
      if (key_name == k.name) return &k;
    }
    return nullptr;
  }
};

/// The steps behind all results, each once.
perfmodel::derivation derivation_of(const outcome<perfmodel::traced>& answer);
/// The answer with the derivation of the same evaluated over traced numbers. A root that an
/// iteration found may differ in its last digit; anything more is a defect, and throws logic_error.
explanation explained(outcome<> answer, const outcome<perfmodel::traced>& derived);

/// Copies of the weights that the published benchmark of such a kernel reads in turn.
template <perfmodel::Scalar T>
double benchmark_copies(const inputs<T>& in) {
  if (in.asked().find("n") == nullptr || in.asked().find("k") == nullptr)
    return copies_in_benchmarks;
  const perfmodel::number_format f = in.format("format");
  return perfmodel::catalog::benchmark_weight_copies(*perfmodel::find_engine(in.text("engine")),
                                                     in.plain("n") * in.plain("k") * bytes_of(f), f,
                                                     in.chip());
}

/// What a calibration counts on, over the scalar of `in`. Whole models run with cold weights; a
/// query of one kernel says how many copies of them its benchmark reads in turn.
template <perfmodel::Scalar T>
perfmodel::basic_calibrated<T> silicon_of(const calibration& c, inputs<T>& in) {
  const T copies = in.asked().find("weight_copies") == nullptr ? T(0.0)
                   : in.has("weight_copies")                   ? in.number("weight_copies")
                                                               : T(benchmark_copies(in));
  return silicon_of<T>(c, copies,
                       [&](const auto& spec, const char* prefix, const perfmodel::source* from) {
                         return in.constants(spec, prefix, from);
                       });
}

/// Whether a query takes a measurement of its time.
template <class Q>
inline constexpr bool measurable = requires {
  Q::takes_a_measurement;
};

/// Whether a law says which of its results a measurement is held against.
template <class Q>
inline constexpr bool measurable_law = requires {
  Q::measured;
};

/// A query from a struct Q with name, help, part, keys() and
/// `template <Scalar T, class Mode> static outcome<T> run(inputs<T>&, const Mode&)`.
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
      if (q.keys.size() > Q::keys().size() + 1) q.keys.back().alias = "";  // of the first alone
    }
  }
  q.answer = [](const request& r, const calibration* c) {
    inputs<double> in(r);
    const outcome<> bound = Q::run(in, bound_mode{});
    outcome<> answer = bound;
    if constexpr (Q::part != profile_part::none) {
      if (c != nullptr) {
        answer = Q::run(in, silicon_of(*c, in));
        note_calibration(answer, bound, *c, Q::part);
      }
    }
    if constexpr (measurable<Q>) {
      if (r.has("measured_s")) note_measured(answer, bound, r.number("measured_s"));
    }
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
      if (c != nullptr) return explained(r.asked().answer(r, c), Q::run(in, silicon_of(*c, in)));
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
std::vector<query> speculation_queries();
std::vector<query> advise_queries();
std::vector<query> machine_queries();
std::vector<query> time_queries();
std::vector<query> room_queries();

/// Every query, in the order of the documentation.
std::span<const query> all_queries();
/// Throws unknown_query.
const query& find_query(std::string_view name);

/// Checks a request and answers it: the one way in for the command line and for batches.
/// `object` has the query's keys, and may have query, id and mode.
/// `profile` stands for the machine's own where it is of the request's accelerator.
outcome<> answer_of(const query& asked, const json& object, const given_profile* profile = nullptr);
explanation explanation_of(const query& asked, const json& object,
                           const given_profile* profile = nullptr);

/// Answers requests that differ from one in numbers alone, all by the calibration of that one: a chip
/// with another bandwidth keeps the shares that were fitted to it.
class answers_beside {
 public:
  /// Throws what the request itself would.
  answers_beside(const query& asked, const json& object, const given_profile* profile);
  outcome<> operator()(const json& object) const;
  const request& base() const { return base_; }
  const query& asked() const { return asked_; }

 private:
  const query& asked_;
  json object_;
  request base_;
  std::optional<calibration> calibration_;
  const given_profile* profile_;
};

/// Whether a query is of a model by an engine, so that a profile of a service says something of it.
bool takes_services(const query& asked);

/// The mode that an object asks for; none where it does not. Throws wrong_type, unknown_name.
std::optional<mode> mode_in(const json& object);

/// The query that an object names. Throws malformed_request, missing_key, wrong_type, unknown_query.
const query& query_of(const json& object);

}  // namespace napkin
