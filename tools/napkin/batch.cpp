#include "batch.hpp"

#include <algorithm>
#include <istream>
#include <ostream>

#include "ask.hpp"
#include "audit.hpp"
#include "output.hpp"
#include "repeated_lines.hpp"

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
    bool any = false;
    while (fill()) {
      any = true;
      const std::size_t end = read_.find('\n', at_);
      const std::size_t here = (end == read_.npos ? read_.size() : end) - at_;
      const std::size_t room = longest_line - line.size();
      line.append(read_, at_, std::min(here, room));
      too_long_ = too_long_ || here > room;
      at_ += here + 1;
      if (end != read_.npos) return true;
    }
    return any;
  }
  bool too_long() const { return too_long_; }

 private:
  /// Reads what is there; waits where nothing is. False at the end of the input.
  bool fill() {
    constexpr std::streamsize most = 1 << 16;
    if (at_ < read_.size()) return true;
    at_ = 0;
    read_.clear();
    try {
      std::streamsize there = buffer_.in_avail();
      if (there <= 0) {
        out_.flush();
        if (std::char_traits<char>::eq_int_type(buffer_.sgetc(), std::char_traits<char>::eof()))
          return false;
        there = std::max<std::streamsize>(buffer_.in_avail(), 1);
      }
      read_.resize(static_cast<std::size_t>(std::min(there, most)));
      const std::streamsize got =
          buffer_.sgetn(read_.data(), static_cast<std::streamsize>(read_.size()));
      read_.resize(static_cast<std::size_t>(got));
      return got > 0;
    } catch (const std::ios_base::failure&) {
      throw error(error_code::unreadable_file, "stdin: cannot be read");
    }
  }

  std::streambuf& buffer_;
  std::ostream& out_;
  std::string read_{};  ///< bytes read, up to several lines
  std::size_t at_ = 0;  ///< first byte of read_ that is not in a line
  bool too_long_ = false;
};

}  // namespace

bool run_batch(std::istream& in, std::ostream& out, const given_profile* profile, batch_of what) {
  line_reader lines(in, out);
  bool all_answered = true;
  earlier_claims before;
  repeated_lines repeated(profile);
  std::string line;
  for (std::size_t number = 1; lines.next(line) && out; ++number) {
    const bool may_repeat = what == batch_of::requests && !lines.too_long();
    if (const std::string_view known = may_repeat ? repeated.answer(line) : ""; !known.empty()) {
      out << known << '\n';
      continue;
    }
    const json answer = lines.too_long() ? error_json(too_long(), nullptr, number)
                                         : answer_line(line, {profile, what, &before, number});
    const bool is_error = answer.contains("error");
    all_answered = all_answered && !is_error;
    out << write_json(answer) << '\n';
    if (may_repeat && !is_error) repeated.remember(line);
  }
  out.flush();
  return all_answered;
}

}  // namespace napkin
