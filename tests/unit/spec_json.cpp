// A spec as JSON and back: nothing is left out that reading does not restore.
#include <napkin/io/spec_json.hpp>

#include <catch2/catch_test_macros.hpp>
#include <perfmodel/model/transformer.hpp>

namespace unit_spec_json {

namespace pm = perfmodel;

/// Fields with initial values other than their types' own.
struct inner {
  double width = 7.0;
  bool on = true;
  bool off = false;
  std::optional<double> limit = 3.0;
  std::optional<double> none{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("width", s.width...);
    f("on", s.on...);
    f("off", s.off...);
    f("limit", s.limit...);
    f("none", s.none...);
  }
  friend bool operator==(const inner&, const inner&) = default;
};
struct outer {
  inner part{.on = false, .off = true};  ///< other initial values than those of its type
  std::optional<inner> more{};
  pm::short_list<double, 4> list{1.0, 2.0};
  pm::storage_format stored{pm::int4, 128, 16, 4};
  pm::label name{"initial"};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("part", s.part...);
    f("more", s.more...);
    f("list", s.list...);
    f("stored", s.stored...);
    f("name", s.name...);
  }
};

/// The spec after its JSON is read into a fresh one.
template <class Spec>
Spec there_and_back(const Spec& spec) {
  const common::json written = common::spec_json(spec);
  Spec read{};
  common::read_spec(common::json_field(written), read);
  CHECK(common::spec_json(read) == written);
  return read;
}

TEST_CASE("a flag that is false is written where reading begins with true") {
  for (const bool on : {false, true}) {
    for (const bool off : {false, true}) {
      const inner x{.on = on, .off = off};
      CHECK(there_and_back(x) == x);
      outer o;
      o.part = x;
      o.more = x;
      CHECK(there_and_back(o).part == x);
      CHECK(there_and_back(o).more == x);
    }
  }
  CHECK(common::spec_json(inner{.on = false})["on"] == false);
  CHECK_FALSE(common::spec_json(inner{}).contains("off"));
}

TEST_CASE("an optional that is empty is written where reading begins with a value") {
  const inner x{.limit = {}};
  CHECK(there_and_back(x) == x);
  CHECK(common::spec_json(x)["limit"].is_null());
  CHECK_FALSE(common::spec_json(x).contains("none"));
  const inner y{.limit = 4.0, .none = 5.0};
  CHECK(there_and_back(y) == y);
}

TEST_CASE("lists and storage formats replace what reading begins with") {
  outer o;
  CHECK(there_and_back(o).list.size() == 2);
  o.list = {5.0};
  CHECK(there_and_back(o).list[0] == 5.0);
  CHECK(there_and_back(o).list.size() == 1);
  for (const pm::storage_format s :
       {pm::storage_format(pm::bf16), pm::storage_format(pm::fp4, 16, 8), o.stored}) {
    o.stored = s;
    CHECK(there_and_back(o).stored == s);
  }
}

}  // namespace unit_spec_json
