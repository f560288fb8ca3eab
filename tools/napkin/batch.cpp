#include "batch.hpp"

#include <istream>
#include <ostream>

#include "ask.hpp"
#include "audit.hpp"
#include "output.hpp"

namespace napkin {

namespace {

constexpr std::size_t longest_line = 1 << 20;

error too_long() {
  return error(code::malformed_request, "the line is longer than 1 MiB");
}

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

}  // namespace

bool run_batch(std::istream& in, std::ostream& out, const given_profile* profile, batch_of what) {
  line_reader lines(in, out);
  bool all_answered = true;
  earlier_claims before;
  std::string line;
  for (std::size_t number = 1; lines.next(line) && out; ++number) {
    const json answer = lines.too_long() ? error_json(too_long(), nullptr, number)
                                         : answer_line(line, {profile, what, &before, number});
    all_answered = all_answered && !answer.contains("error");
    out << write_json(answer) << '\n';
  }
  out.flush();
  return all_answered;
}

}  // namespace napkin
