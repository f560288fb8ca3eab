// A line of JSON written member by member, without a tree: lines of a batch, which have the same
// members again and again.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"

namespace common {

/// Largest number of bytes of a number.
inline constexpr std::size_t most_digits = 40;

/// Bytes of a line; the storage remains for the next one.
class line_text {
 public:
  void clear() { size_ = 0; }
  std::string_view view() const { return {bytes_.data(), size_}; }

  void append(std::string_view text) {
    text.copy(place_of(text.size()), text.size());
    size_ += text.size();
  }
  /// A text in quotes.
  void append_text(std::string_view text) {
    if (detail::is_plain(text)) {
      char* const to = place_of(text.size() + 2);
      *to = '"';
      text.copy(to + 1, text.size());
      to[text.size() + 1] = '"';
      size_ += text.size() + 2;
    } else {
      std::string escaped;
      detail::append_text(escaped, text);
      append(escaped);
    }
  }
  void append_whole(std::int64_t x) { append_by_to_chars(x); }
  void append_whole(std::uint64_t x) { append_by_to_chars(x); }
  /// A finite number; whole ones without a fraction. Returns its text.
  std::string_view append_number(double x) {
    const std::size_t before = size_;
    if (is_written_whole(x)) {
      append_whole(static_cast<std::int64_t>(x));
    } else {
      char* const to = place_of(most_digits);
      size_ += static_cast<std::size_t>(nlohmann::detail::to_chars(to, to + most_digits, x) - to);
    }
    return view().substr(before);
  }

 private:
  template <class Whole>
  void append_by_to_chars(Whole x) {
    constexpr std::size_t most = 24;
    char* const to = place_of(most);
    size_ += static_cast<std::size_t>(std::to_chars(to, to + most, x).ptr - to);
  }
  /// Place for n more bytes.
  char* place_of(std::size_t n) {
    if (bytes_.size() - size_ < n) bytes_.resize(2 * (size_ + n) + 2048);
    return bytes_.data() + size_;
  }

  std::string bytes_{};
  std::size_t size_ = 0;
};

/// Members of the line before, in order, each with its text, such as ,"time_s": of time_s. As long
/// as a line has the same members, no name has to be searched for.
class known_members {
 public:
  /// Starts a line.
  void restart() { next_ = 0; }
  void open(line_text& to) { put(to, part::open, {}); }
  void close(line_text& to) { put(to, part::close, {}); }
  /// Appends the name of a member; false where its object has it already.
  bool begin(line_text& to, std::string_view name) { return put(to, part::name, name); }
  /// Appends the number of the member that begun last; its text where the line before has the same.
  void put_number(line_text& to, double x) {
    number& n = all_[next_ - 1].value;
    if (n.size != 0 && std::bit_cast<std::uint64_t>(n.value) == std::bit_cast<std::uint64_t>(x))
      return to.append({n.text.data(), n.size});
    const std::string_view text = to.append_number(x);
    n.value = x;
    n.size = text.copy(n.text.data(), n.text.size());
  }

 private:
  enum class part { open, name, close };
  struct number {
    double value = 0.0;
    std::array<char, most_digits> text{};
    std::size_t size = 0;
  };
  struct member {
    part of = part::name;
    std::string name{}, text{};
    number value{};
  };

  bool put(line_text& to, part of, std::string_view name) {
    if (next_ < all_.size() && all_[next_].of == of && all_[next_].name == name) {
      to.append(all_[next_++].text);
      return true;
    }
    return put_other(to, of, name);
  }
  bool put_other(line_text& to, part of, std::string_view name) {
    all_.resize(next_);
    member made{of, std::string(name), of == part::open ? "{" : "}", {}};
    if (of == part::name) {
      if (has(name)) return false;
      made.text = next_ == 0 || all_.back().of == part::open ? "" : ",";
      detail::append_text(made.text, name);
      made.text += ':';
    }
    to.append(made.text);
    all_.push_back(std::move(made));
    ++next_;
    return true;
  }
  /// Whether the object that is open has a member of that name.
  bool has(std::string_view name) const {
    std::size_t depth = 0;
    for (auto m = all_.rbegin(); m != all_.rend(); ++m) {
      if (m->of == part::close) ++depth;
      if (m->of == part::open && depth-- == 0) return false;
      if (m->of == part::name && depth == 0 && m->name == name) return true;
    }
    return false;
  }

  std::vector<member> all_{};
  std::size_t next_ = 0;
};

/// Writes the members of an object as text. An object with a name twice is given up.
class text_members {
 public:
  text_members(line_text& to, known_members& known) : to_(to), known_(known) { known_.open(to_); }
  void put(std::string_view name, std::string_view value) {
    begin(name);
    to_.append_text(value);
  }
  void put(std::string_view name, const std::string& value) { put(name, std::string_view(value)); }
  void put(std::string_view name, const char* value) { put(name, std::string_view(value)); }
  template <class Truth>
    requires std::same_as<Truth, bool>
  void put(std::string_view name, Truth value) {
    begin(name);
    to_.append(value ? "true" : "false");
  }
  void put(std::string_view name, const json& value) {
    begin(name);
    switch (value.type()) {
      case json::value_t::binary: {  // the text of a value
        const auto& bytes = value.get_binary();
        to_.append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        return;
      }
      case json::value_t::string: to_.append_text(value.get_ref<const std::string&>()); return;
      case json::value_t::number_unsigned: to_.append_whole(value.get<std::uint64_t>()); return;
      case json::value_t::number_integer: to_.append_whole(value.get<std::int64_t>()); return;
      default: break;
    }
    std::string text;
    is_whole_ = detail::append_json(text, value) && is_whole_;
    to_.append(text);
  }
  /// Puts the result of number_json(name, x).
  void put_number(std::string_view name, double x) {
    require_finite(name, x);
    if (begin(name)) known_.put_number(to_, x);
  }
  void put_range(std::string_view name, double low, double high) {
    require_finite(name, low);
    require_finite(name, high);
    begin(name);
    to_.append("[");
    to_.append_number(low);
    to_.append(",");
    to_.append_number(high);
    to_.append("]");
  }
  /// Puts a value from its text.
  bool put_text(std::string_view name, const std::string& text) {
    begin(name);
    to_.append(text);
    return true;
  }
  template <class Fill>
  void put_object(std::string_view name, const Fill& fill) {
    begin(name);
    text_members members(to_, known_);
    fill(members);
    is_whole_ = members.end() && is_whole_;
  }
  /// Ends the object. False where its text cannot be used.
  bool end() {
    known_.close(to_);
    return is_whole_;
  }

 private:
  bool begin(std::string_view name) { return is_whole_ = known_.begin(to_, name) && is_whole_; }

  line_text& to_;
  known_members& known_;
  bool is_whole_ = true;
};

}  // namespace common
