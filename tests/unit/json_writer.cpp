// The writer of JSON lines against nlohmann's dump(), which it replaces.
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <napkin/io/json.hpp>
#include <napkin/io/line_text.hpp>
#include <random>
#include <string>
#include <string_view>

namespace unit_json_writer {

using common::cat;
using common::json;

namespace {

std::string dumped(const json& v) {
  return v.dump(-1, ' ', false, json::error_handler_t::replace);
}

json random_json(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 3 ? 7 : 9)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return static_cast<std::int64_t>(random());
    case 3: return static_cast<std::uint64_t>(random());
    case 4: return std::bit_cast<double>(random());  // any double, infinities and NaN too
    case 5: return static_cast<double>(random() % 100000) / 1024.0;
    case 6: {
      std::string text;
      for (std::uint64_t n = random() % 12; n > 0; --n)
        text += static_cast<char>(random() % 3 == 0 ? random() % 256 : 'a' + random() % 26);
      return text;
    }
    case 7: {
      json list = json::array();
      for (std::uint64_t n = random() % 4; n > 0; --n)
        list.push_back(random_json(random, depth + 1));
      return list;
    }
    default: {
      json object = json::object();
      for (std::uint64_t n = random() % 4; n > 0; --n)
        object[std::string(1, static_cast<char>(random() % 256))] = random_json(random, depth + 1);
      return object;
    }
  }
}

}  // namespace

TEST_CASE("write_json writes the bytes of dump()") {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const json v = random_json(random, 0);
    const std::string text = common::write_json(v);
    INFO(dumped(v));
    REQUIRE(text == dumped(v));
  }
}

TEST_CASE("a text is written as it is where JSON has all its bytes, each at each place") {
  for (std::size_t n = 1; n < 20; ++n) {
    for (std::size_t at = 0; at < n; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(n, byte % 2 == 0 ? '~' : ' ');
        text[at] = static_cast<char>(byte);
        const bool plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
        REQUIRE(common::detail::is_plain(text) == plain);
      }
    }
  }
  CHECK(common::detail::is_plain(""));
}

TEST_CASE("members written one by one are the text of the object, whatever the line before had") {
  std::mt19937_64 random(5);
  common::line_text text;
  common::known_members known;
  const auto name_of = [](std::uint64_t n) {
    return n % 7 == 0 ? cat("a \"name\" ", n) : cat("key", n);
  };
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t members = random() % 8, first = random() % 2;
    const bool has_object = random() % 4 == 0;
    json expected = json::object();
    text.clear();
    known.restart();
    common::text_members all(text, known);
    const auto put = [&random](auto& to, json& same, const std::string& name) {
      const double x = std::round(1e6 * std::ldexp(static_cast<double>(random() % 4096), -8)) / 1e6;
      to.put_number(name, x);
      same[name] = common::number_json(name, x);
    };
    for (std::uint64_t m = first; m < first + members; ++m) {
      if (m == 3 && has_object) {
        all.put_object("inner", [&](auto& inner) {
          expected["inner"] = json::object();
          for (std::uint64_t k = 0; k < members; ++k) put(inner, expected["inner"], name_of(k));
        });
      }
      put(all, expected, name_of(m));
    }
    all.put("text", "a\nb");
    expected["text"] = "a\nb";
    all.put("list", json({1, 2.5, nullptr}));
    expected["list"] = {1, 2.5, nullptr};
    all.put_range("range", 0.5, 2.0);
    expected["range"] = {0.5, 2};
    CHECK(all.end());
    REQUIRE(text.view() == dumped(expected));
  }
}

TEST_CASE("an object with a name twice is given up, each time") {
  common::line_text text;
  common::known_members known;
  const auto has_each_once = [&](std::string_view last) {
    text.clear();
    known.restart();
    common::text_members all(text, known);
    all.put("a", true);
    all.put_object("b", [](auto& inner) { inner.put("a", true); });
    all.put(last, true);
    all.put("d", true);
    return all.end();
  };
  CHECK(has_each_once("c"));
  CHECK_FALSE(has_each_once("a"));
  CHECK_FALSE(has_each_once("a"));
  CHECK_FALSE(has_each_once("b"));
  CHECK(has_each_once("c"));
}

TEST_CASE("an id keeps its digits, and other numbers are shortest") {
  json request;
  common::read_json(R"({"id":[1.50,{"x":2.0e3}],"m":0.1})", request);
  CHECK(common::write_json(request) == R"({"id":[1.50,{"x":2.0e3}],"m":0.1})");
  CHECK(common::write_json(request["id"][0]) == "1.50");
}

}  // namespace unit_json_writer
