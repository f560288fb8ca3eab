// Typed reads from a JSON object of unknown content: every refusal names the field, its value and
// the allowed values.
#pragma once

#include <initializer_list>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <set>
#include <string>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// Paths of the fields that a reader used.
using fields_read = std::set<std::string>;

/// A view of one JSON object; `path` is put before the field names of its errors. Json has the
/// interface of nlohmann::json. A field that is null counts as missing. `read`, if given, records
/// each field that is used.
/// Errors: invalid_config. Tests: every kind of wrong value in every field is refused.
template <class Json>
class config_fields {
 public:
  config_fields(const Json& object, std::string path, fields_read* read = nullptr)
      : object_(&object), path_(std::move(path)), read_(read) {
    if (!object.is_object()) {
      throw error(error_code::invalid_config,
                  (path_.empty() ? std::string("the configuration") : path_) + " is " +
                      value_text(object) + "; allowed: a JSON object");
    }
  }

  /// True where the field is named, null included.
  bool names(const char* key) const { return object_->contains(key); }
  /// True where the field is named and not null.
  bool has(const char* key) const { return names(key) && !object_->at(key).is_null(); }
  /// First of these names that is present and not null, else the first: families name fields
  /// differently.
  const char* either(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (has(key)) return key;
    }
    return *keys.begin();
  }
  const Json& at(const char* key) const {
    if (!names(key)) refuse(key, "a value");
    mark_read(key);
    return object_->at(key);
  }
  const Json& all() const { return *object_; }
  const std::string& path() const { return path_; }
  config_fields object(const char* key) const { return config_fields(at(key), field(key), read_); }
  fields_read* log() const { return read_; }
  void mark_read(const char* key) const {
    if (read_ != nullptr) read_->insert(field(key));
  }
  /// For a field that turned out to contribute nothing.
  void mark_unread(const char* key) const {
    if (read_ != nullptr) read_->erase(field(key));
  }

  /// A whole number from least to most; required.
  double whole(const char* key, double least, double most) const {
    if (!has(key)) refuse(key, whole_range(least, most));
    return whole_value(at(key), key, least, most);
  }
  double whole_or(const char* key, double fallback, double least, double most) const {
    return has(key) ? whole(key, least, most) : fallback;
  }
  std::optional<double> whole_or(const char* key, const std::optional<double>& fallback,
                                 double least, double most) const {
    return has(key) ? whole(key, least, most) : fallback;
  }
  /// A number above 0, fractions allowed.
  double positive(const char* key, double most) const {
    const bool fits = has(key) && at(key).is_number() && at(key).template get<double>() > 0.0 &&
                      at(key).template get<double>() <= most;
    if (!fits) refuse(key, "a number, more than 0, at most " + detail::number_text(most));
    return at(key).template get<double>();
  }
  bool flag_or(const char* key, bool fallback) const {
    if (!has(key)) return fallback;
    if (!at(key).is_boolean()) refuse(key, "true or false");
    return at(key).template get<bool>();
  }
  std::string text_or(const char* key, const char* fallback) const {
    if (!has(key)) return fallback;
    if (!at(key).is_string()) refuse(key, "text");
    return at(key).template get<std::string>();
  }
  /// One entry of a list.
  const Json& entry(const char* key, std::size_t i) const {
    const Json& entries = list(key);
    if (i >= entries.size())
      refuse(key,
             "a list of more than " + detail::number_text(static_cast<double>(i)) + " entries");
    return entries.at(i);
  }
  double whole_entry(const char* key, std::size_t i, double least, double most) const {
    return whole_value(entry(key, i), key, least, most);
  }
  const Json& list(const char* key) const {
    if (!has_list(key)) refuse(key, "a list");
    return at(key);
  }
  bool has_list(const char* key) const { return has(key) && object_->at(key).is_array(); }
  /// List with an entry for each of `layers` layers.
  const Json& list_for(const char* key, std::size_t layers) const {
    const Json& entries = list(key);
    if (entries.size() != layers) {
      refuse(key, "one entry for each of " + detail::number_text(static_cast<double>(layers)) +
                      " layers, and it has " +
                      detail::number_text(static_cast<double>(entries.size())));
    }
    return entries;
  }
  /// Throws: what a list holds, and what it may.
  [[noreturn]] void refuse_entry(const char* key, const Json& entry,
                                 const std::string& allowed) const {
    throw error(error_code::invalid_config,
                field(key) + " holds " + value_text(entry) + "; allowed: " + allowed);
  }

  /// Throws: the field as it stands, and what it may be.
  [[noreturn]] void refuse(const char* key, const std::string& allowed) const {
    const std::string is = names(key) ? value_text(object_->at(key)) : "missing";
    throw error(error_code::invalid_config, field(key) + " is " + is + "; allowed: " + allowed);
  }
  std::string field(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  /// The value as an error message shows it: short, and printable whatever it holds.
  static std::string value_text(const Json& value) {
    if (value.is_null()) return "null";
    if (value.is_boolean()) return value.template get<bool>() ? "true" : "false";
    if (value.is_number_integer()) return detail::number_text(value.template get<double>());
    if (value.is_number()) {
      const std::string text = detail::number_text(value.template get<double>());
      return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
    }
    if (value.is_string()) return quoted(value.template get<std::string>());
    return value.is_array() ? "a list" : value.is_object() ? "an object" : "of another type";
  }
  static std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size() && i < 60; ++i) {
      const bool printable = text[i] >= ' ' && text[i] <= '~' && text[i] != '"';
      out += printable ? text[i] : '?';
    }
    return out + (text.size() > 60 ? "...\"" : "\"");
  }

 private:
  static std::string whole_range(double least, double most) {
    return "a whole number, " + detail::number_text(least) + " to " + detail::number_text(most);
  }
  double whole_value(const Json& value, const char* key, double least, double most) const {
    const bool fits = value.is_number_integer() && value.template get<double>() >= least &&
                      value.template get<double>() <= most;
    if (!fits) {
      throw error(error_code::invalid_config,
                  field(key) + (&value == &object_->at(key) ? " is " : " holds ") +
                      value_text(value) + "; allowed: " + whole_range(least, most));
    }
    return value.template get<double>();
  }

  const Json* object_;
  std::string path_;
  fields_read* read_ = nullptr;
};

// JSON as Python's json module writes it: with Infinity and NaN, which JSON does not have.

/// The text with null in place of Infinity, -Infinity and NaN, but for those in strings.
/// Test: {"a": [0.0, Infinity], "b": "NaN"} keeps b.
inline std::string json_from_python(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      out += text[i++];
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      bool replaced = false;
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        if (!replaced && text.substr(i).starts_with(word)) {
          out += "null";
          i += word.size() - 1;
          replaced = true;
        }
      }
      if (replaced) continue;
    }
    out += text[i];
  }
  return out;
}

}  // namespace perfmodel::inline v0_3
