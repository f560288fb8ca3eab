#include "json.hpp"

#include <cmath>
#include <perfmodel/core/error.hpp>
#include <vector>

#include "codes.hpp"

namespace napkin {

namespace {

using perfmodel::error;
using perfmodel::error_code;

[[noreturn]] void malformed(const std::string& why) {
  throw error(code::malformed_request, why);
}

/// Builds the value while it is read; the library calls these by name.
class builder {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  builder(json& root, const json_limits& limits) : root_(root), limits_(limits) { root_ = nullptr; }

  bool null() { return put(nullptr), true; }
  bool boolean(bool x) { return put(x), true; }
  bool number_integer(number_integer_t x) { return put(x), true; }
  bool number_unsigned(number_unsigned_t x) { return put(x), true; }
  bool number_float(number_float_t x, const string_t&) { return put(x), true; }
  bool string(string_t& x) { return put(std::move(x)), true; }
  bool binary(binary_t&) { return false; }

  bool start_object(std::size_t) { return open(json::object()); }
  bool end_object() { return stack_.pop_back(), true; }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_array() { return stack_.pop_back(), true; }

  bool key(string_t& name) {
    auto& object = stack_.back()->get_ref<json::object_t&>();
    if (object.size() >= limits_.keys) {
      malformed("an object has more than " + std::to_string(limits_.keys) + " keys");
    }
    const auto [at, fresh] = object.emplace(name, nullptr);
    if (!fresh) malformed("the key " + in_quotes(name) + " stands there twice");
    member_ = &at->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const json::exception& e) {
    constexpr int number_overflow = 406;
    if (e.id == number_overflow) {
      throw error(error_code::out_of_range, "the number " + in_quotes(token) +
                                                " is beyond what a double holds, about 1.8e308");
    }
    malformed("not JSON at byte " + std::to_string(position));
  }

 private:
  json& put(json x) {
    if (stack_.empty()) return root_ = std::move(x);
    json& parent = *stack_.back();
    if (parent.is_object()) return *member_ = std::move(x);
    parent.push_back(std::move(x));
    return parent.back();
  }
  bool open(json container) {
    if (stack_.size() >= limits_.depth) {
      malformed("nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    stack_.push_back(&put(std::move(container)));
    return true;
  }

  json& root_;
  json_limits limits_;
  std::vector<json*> stack_{};
  json* member_ = nullptr;
};

}  // namespace

void read_json(std::string_view text, json& into, const json_limits& limits) {
  builder build(into, limits);
  if (text.find('\0') != text.npos)
    malformed("a byte 0 stands in the text");  // JSON ends there for the library
  json::sax_parse(text.begin(), text.end(), &build);
}

std::string write_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json number_json(const char* key, double x) {
  if (!std::isfinite(x)) {
    throw error(
        error_code::out_of_range,
        std::string(key) + " is not a finite number for these inputs; allowed: smaller ones");
  }
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (std::fabs(x) < exact && x == std::floor(x)) return static_cast<std::int64_t>(x);
  return x;
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  const bool cut = text.size() > longest;
  std::string quoted(1, '"');
  quoted.append(one_line(std::string(text.substr(0, longest)))).append(cut ? "...\"" : "\"");
  return quoted;
}

std::string brief(const json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return write_json(value);
}

}  // namespace napkin
