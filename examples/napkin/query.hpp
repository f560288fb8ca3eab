// One declaration per query: its name, its keys, and its answer over any scalar.
#pragma once

#include <perfmodel/collectives.hpp>
#include <perfmodel/explain.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "inputs.hpp"
#include "key.hpp"
#include "outcome.hpp"

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
  outcome<> (*answer)(const request&) = nullptr;
  explanation (*explain)(const request&) = nullptr;

  const key* find(std::string_view key_name) const {
    for (const key& k : keys) {
      if (key_name == k.name) return &k;
    }
    return nullptr;
  }
};

/// What a mode counts on. A calibrated mode is a second struct of this form, and a line in
/// checked_mode() and answer_of().
struct bound_mode {
  perfmodel::bound kernels{};
  perfmodel::full_link links{};
};

/// The steps behind all results, each once.
perfmodel::derivation derivation_of(const outcome<perfmodel::traced>& answer);
/// The answer with the derivation of the same evaluated over traced numbers. A root that an
/// iteration found may differ in its last digit; anything more is a defect, and throws logic_error.
explanation explained(outcome<> answer, const outcome<perfmodel::traced>& derived);

/// A query from a struct Q with name, help, keys() and
/// `template <Scalar T, class Mode> static outcome<T> run(inputs<T>&, const Mode&)`.
template <class Q>
query declare() {
  query q;
  q.name = Q::name;
  q.help = Q::help;
  q.keys = Q::keys();
  q.answer = [](const request& r) {
    inputs<double> in(r);
    return Q::run(in, bound_mode{});
  };
  q.explain = [](const request& r) {
    perfmodel::trace tape;
    inputs<perfmodel::traced> in(r, tape);
    return explained(r.asked().answer(r), Q::run(in, bound_mode{}));
  };
  return q;
}

std::vector<query> kernel_queries();
std::vector<query> attention_queries();
std::vector<query> collective_queries();
std::vector<query> memory_queries();
std::vector<query> step_queries();
std::vector<query> serving_queries();
std::vector<query> speculation_queries();

/// Every query, in the order of the documentation.
std::span<const query> all_queries();
/// Throws unknown_query.
const query& find_query(std::string_view name);

/// Checks a request and answers it: the one way in for the command line and for batches.
/// `object` has the query's keys, and may have query, id and mode.
outcome<> answer_of(const query& asked, const json& object);
explanation explanation_of(const query& asked, const json& object);

/// Throws unknown_name for a mode that cannot be had.
void check_mode(const json& object);

/// The query that an object names. Throws malformed_request, missing_key, wrong_type, unknown_query.
const query& query_of(const json& object);

}  // namespace napkin
