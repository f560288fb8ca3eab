#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/units/convention.hpp>
#include <variant>

#include "support/refusal.hpp"

namespace unit_fields {

namespace pm = perfmodel;
using perfmodel_test::refusal;

namespace {

template <pm::Scalar T = double>
struct basic_closed {
  T concurrency{};
  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(pm::field::count("concurrency"), s.concurrency...);
  }
};
template <pm::Scalar T = double>
struct basic_open {
  pm::request_rate<T> arrivals{};
  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(pm::field::positive("arrivals"), s.arrivals...);
  }
};
/// One field of each kind that a spec may have.
template <pm::Scalar T = double>
struct basic_everything {
  pm::fact<pm::duration<T>> latency{};
  std::optional<T> window{};
  std::variant<basic_closed<T>, basic_open<T>> load{basic_closed<T>{T(8.0)}};
  basic_open<T> nested{5.0 * pm::request_per_s};
  pm::message_bytes<T> message{};
  T share = T(1.0);
  T fraction{};
  T any{};
  int ranks = 1;
  bool flag = false;
  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(pm::field::positive("latency"), s.latency...);
    f(pm::field::count("window"), s.window...);
    f("load", s.load...);
    f("nested", s.nested...);
    f(pm::field::not_negative("message"), s.message...);
    f(pm::field::share("share"), s.share...);
    f(pm::field::fraction("fraction"), s.fraction...);
    f("any", s.any...);
    f(pm::field::within("ranks", 1, 16, "1 to 16"), s.ranks...);
    f("flag", s.flag...);
  }
};
using everything = basic_everything<>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class Change>
std::string said(Change change) {
  everything x;
  change(x);
  return refusal([&] { pm::require_valid(x, "spec"); });
}

constexpr bool passes(const everything& x) {
  pm::require_valid(x);
  return true;
}
static_assert(passes({}));

}  // namespace

TEST_CASE("each field is refused outside its range, by its path, and only there", "[fields]") {
  CHECK(said([](everything&) {}) == "nothing refused");
  CHECK(said([](everything& x) { x.share = 0.0; }) ==
        "PM-E010: spec.share is 0; allowed: more than 0");
  CHECK(said([](everything& x) { x.share = 1e-31; }) ==
        "PM-E010: spec.share is 1e-31; allowed: at least 1e-30");
  CHECK(said([](everything& x) { x.share = 1.5; }) ==
        "PM-E010: spec.share is 1.5; allowed: 0 to 1");
  CHECK(said([](everything& x) { x.fraction = 0.0; }) == "nothing refused");
  CHECK(said([](everything& x) { x.fraction = not_a_number; }) ==
        "PM-E010: spec.fraction is not a number; allowed: 0 to 1");
  CHECK(said([](everything& x) { x.any = not_a_number; }) == "nothing refused");
  CHECK(said([](everything& x) { x.ranks = 17; }) == "PM-E010: spec.ranks is 17; allowed: 1 to 16");
  CHECK(said([](everything& x) { x.message = pm::message_bytes<>(-1.0 * pm::byte); }) ==
        "PM-E010: spec.message is -1; allowed: 0 or more");
  CHECK(said([](everything& x) { x.nested.arrivals = infinity * pm::request_per_s; }) ==
        "PM-E010: spec.nested.arrivals is inf; allowed: at most 1e30");
  everything nameless;
  nameless.nested.arrivals = 0.0 * pm::request_per_s;
  CHECK(refusal([&] { pm::require_valid(nameless); }) ==
        "PM-E010: nested.arrivals is 0; allowed: more than 0");
}

TEST_CASE("what is absent is not checked: facts, optionals, the alternative not held", "[fields]") {
  CHECK(said([](everything& x) { x.latency = -1.0 * pm::second; }) ==
        "PM-E010: spec.latency is -1; allowed: more than 0");
  CHECK(said([](everything& x) { x.window = 4096.0; }) == "nothing refused");
  CHECK(said([](everything& x) { x.window = 0.5; }) ==
        "PM-E010: spec.window is 0.5; allowed: 1 or more");
  CHECK(said([](everything& x) { x.load = basic_closed<>{0.0}; }) ==
        "PM-E010: spec.load.concurrency is 0; allowed: 1 or more");
  CHECK(said([](everything& x) { x.load = basic_open<>{}; }) ==
        "PM-E010: spec.load.arrivals is 0; allowed: more than 0");
}

TEST_CASE("both ends of a range are looked at, and what is not a number", "[fields]") {
  basic_everything<pm::interval> wide = pm::lift<pm::interval>(everything{});
  wide.share = pm::interval(0.5, 1.1);
  CHECK(refusal([&] { pm::require_valid(wide, "spec"); }) ==
        "PM-E010: spec.share is 1.1; allowed: 0 to 1");
  wide.share = pm::interval(-0.1, 0.5);
  CHECK(refusal([&] { pm::require_valid(wide, "spec"); }) ==
        "PM-E010: spec.share is -0.1; allowed: more than 0");
  for (const double x : {-1.0, not_a_number}) {
    everything one;
    one.load = basic_closed<>{x};
    CHECK(refusal([&] { pm::require_valid(one); }).starts_with("PM-E010: load.concurrency is"));
  }
}

TEST_CASE("optionals and variants are lifted and traced with what they hold", "[fields]") {
  everything x;
  x.window = 4096.0;
  x.load = basic_open<>{3.0 * pm::request_per_s};
  const auto wide = pm::lift<pm::interval>(x);
  CHECK(wide.window == pm::interval(4096.0));
  CHECK(std::get<1>(wide.load).arrivals.value() == pm::interval(3.0));
  CHECK(wide.ranks == 1);
  CHECK_FALSE(pm::lift<pm::dual<2>>(everything{}).window.has_value());

  std::vector<std::string> seen;
  pm::map_scalars<pm::interval>(x, [&](const pm::field_path& path, double value) {
    seen.push_back(path.text());
    return pm::interval(value);
  });
  CHECK(seen == std::vector<std::string>{"window", "load.arrivals", "nested.arrivals", "message",
                                         "share", "fraction", "any"});
  pm::trace t;
  const auto traced = pm::trace_inputs(x, t, "spec");
  const pm::derivation d = pm::derivation_of(*traced.window * std::get<1>(traced.load).arrivals);
  REQUIRE(d.inputs.size() == 2);
  CHECK(d.inputs[0].name == "spec.window");
  CHECK(d.inputs[1].name == "spec.load.arrivals");
  CHECK(d.inputs[1].value == "3 req/s");
}

}  // namespace unit_fields
