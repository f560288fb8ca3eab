#include "batch.hpp"

#include <istream>
#include <ostream>

#include "audit.hpp"
#include "output.hpp"
#include "require.hpp"
#include "sensitivity.hpp"
#include "thresholds.hpp"

namespace napkin {

namespace {

constexpr std::size_t longest_line = 1 << 20;

class line_reader {
 public:
  line_reader(std::istream& in, std::ostream& out) : buffer_(*in.rdbuf()), out_(out) {}

  /// Reads the next line without its end; false after the last. A line over the limit is cut and
  /// its rest skipped.
  bool next(std::string& line) {
    line.clear();
    too_long_ = false;
    using traits = std::char_traits<char>;
    for (;;) {
      if (buffer_.in_avail() <= 0) out_.flush();
      const auto c = next_byte();
      if (traits::eq_int_type(c, traits::eof())) return !line.empty();
      if (c == '\n') return true;
      if (line.size() < longest_line) {
        line += traits::to_char_type(c);
      } else {
        too_long_ = true;
      }
    }
  }
  bool too_long() const { return too_long_; }

 private:
  std::char_traits<char>::int_type next_byte() {
    try {
      return buffer_.sbumpc();
    } catch (const std::ios_base::failure&) {
      throw error(error_code::unreadable_file, "stdin: cannot be read");
    }
  }

  std::streambuf& buffer_;
  std::ostream& out_;
  bool too_long_ = false;
};

bool asks(const json& object, const char* command) {
  const auto at = object.is_object() ? object.find("query") : object.end();
  return at != object.end() && *at == command;
}

json evaluate_line(const std::string& line, bool too_long, json& object,
                   const given_profile* profile, batch_of what, earlier_claims& before) {
  if (too_long) throw error(code::malformed_request, "the line is longer than 1 MiB");
  if (line.find_first_not_of(" \t\r") == line.npos) {
    throw error(code::malformed_request, "the line is empty; a request is an object");
  }
  read_json(line, object);
  object = with_key_names(std::move(object));
  if (what == batch_of::claims || is_claim(object)) {
    keep_digits(object, line);
    return audit_json(object, profile, &before);
  }
  if (asks_sensitivity(object)) return sensitivity_json(object, profile);
  if (asks(object, "require")) return require_json(object, profile);
  if (asks(object, "thresholds")) return thresholds_json(object, profile);
  return outcome_json(evaluate(query_of(object), object, profile), object);
}

/// The id of a request, as far as it was read.
json id_of(const json& object) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find("id");
  return at == object.end() ? json(nullptr) : *at;
}

}  // namespace

bool run_batch(std::istream& in, std::ostream& out, const given_profile* profile, batch_of what) {
  line_reader lines(in, out);
  bool all_answered = true;
  earlier_claims before;
  std::string line;
  for (std::size_t number = 1; lines.next(line) && out; ++number) {
    json object;
    json answer;
    try {
      answer = evaluate_line(line, lines.too_long(), object, profile, what, before);
    } catch (const perfmodel::error& e) {
      answer = error_json(e, id_of(object), number);
      all_answered = false;
    } catch (const std::exception& e) {  // an error in one request does not affect the others
      const perfmodel::error unforeseen(code::malformed_request, e.what());
      answer = error_json(unforeseen, id_of(object), number);
      all_answered = false;
    }
    out << write_json(answer) << '\n';
  }
  out.flush();
  return all_answered;
}

}  // namespace napkin
