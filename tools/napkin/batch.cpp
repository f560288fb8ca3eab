#include "batch.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <istream>
#include <memory>
#include <ostream>

#include "ask.hpp"
#include "audit.hpp"
#include "line_pool.hpp"
#include "output.hpp"
#include "repeated_lines.hpp"
#include "thread_pool.hpp"

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
  /// Whether a whole line has been read, so that next() does not wait.
  bool has_line() const { return read_.find('\n', std::min(at_, read_.size())) != read_.npos; }

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

struct batch_line {
  std::string text{}, answer{};
  bool too_long = false, is_error = false;
  std::atomic<bool> is_evaluated = false;  ///< set last, so that another thread may read the answer
};

/// Lines that have been read: what is there, and at least one.
class line_block {
 public:
  /// Reads the next lines; false after the last. A failure of a later line is thrown by the next
  /// call, behind the lines before it.
  bool read(line_reader& from) {
    size_ = 0;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (!add(from)) return false;
    try {
      while (size_ < most && from.has_line()) add(from);
    } catch (...) {
      failure_ = std::current_exception();
    }
    return true;
  }
  std::size_t size() const { return size_; }
  batch_line& operator[](std::size_t i) { return lines_[i]; }
  /// Whether the lines may be evaluated in any order: a claim is held against earlier ones. A
  /// backslash may hide its name.
  bool is_unordered() const {
    return std::none_of(lines_.begin(), end(), [](const batch_line& l) {
      return l.text.find("audit") != l.text.npos || l.text.find('\\') != l.text.npos;
    });
  }

 private:
  static constexpr std::size_t most = 512;

  bool add(line_reader& from) {
    if (size_ == lines_.size()) lines_.emplace_back();
    batch_line& l = lines_[size_];
    if (!from.next(l.text)) return false;
    l.too_long = from.too_long();
    l.is_evaluated = false;
    ++size_;
    return true;
  }
  std::deque<batch_line>::const_iterator end() const {
    return lines_.begin() + static_cast<std::ptrdiff_t>(size_);
  }

  std::deque<batch_line> lines_{};
  std::size_t size_ = 0;
  std::exception_ptr failure_{};
};

/// Writes the results of a block in order, as far as they are known.
class ordered_writer {
 public:
  ordered_writer(std::ostream& out, line_block& block) : out_(out), block_(block) {}
  void write_evaluated() {
    text_.clear();
    for (; next_ < block_.size() && block_[next_].is_evaluated.load(std::memory_order_acquire);
         ++next_) {
      text_.append(block_[next_].answer) += '\n';
      any_error_ = any_error_ || block_[next_].is_error;
    }
    out_ << text_;  // at once: a write for each line takes as long as a GEMM
  }
  bool any_error() const { return any_error_; }

 private:
  std::ostream& out_;
  line_block& block_;
  std::size_t next_ = 0;
  std::string text_{};
  bool any_error_ = false;
};

/// Evaluates lines, with what one thread remembers of earlier ones.
class line_evaluator {
 public:
  line_evaluator(const given_profile* profile, batch_of what, earlier_claims& before)
      : profile_(profile), what_(what), before_(before), repeated_(profile) {}

  void evaluate(batch_line& l, std::size_t number) {
    answer(l, number);
    l.is_evaluated.store(true, std::memory_order_release);
  }

 private:
  void answer(batch_line& l, std::size_t number) {
    const bool may_repeat = what_ == batch_of::requests && !l.too_long;
    l.is_error = false;
    if (const std::string_view known = may_repeat ? repeated_.answer(l.text) : ""; !known.empty()) {
      l.answer = known;
      return;
    }
    const json found = l.too_long ? error_json(too_long(), nullptr, number)
                                  : answer_line(l.text, {profile_, what_, &before_, number});
    l.is_error = found.contains("error");
    l.answer = write_json(found);
    if (may_repeat && !l.is_error) repeated_.remember(l.text);
  }

  const given_profile* profile_;
  batch_of what_;
  earlier_claims& before_;
  repeated_lines repeated_;
};

}  // namespace

bool run_batch(std::istream& in, std::ostream& out, const given_profile* profile, batch_of what,
               int threads) {
  constexpr std::size_t piece = 8;  // lines that a thread takes at a time
  line_reader lines(in, out);
  line_block block;
  bool all_answered = true;
  earlier_claims before;
  line_pool pool(thread_count(threads));
  std::vector<std::unique_ptr<line_evaluator>> evaluators;
  for (unsigned i = 0; i < pool.threads(); ++i)
    evaluators.push_back(std::make_unique<line_evaluator>(profile, what, before));
  for (std::size_t first = 1; out && block.read(lines); first += block.size()) {
    const auto evaluate = [&](unsigned thread, std::size_t i) {
      evaluators[thread]->evaluate(block[i], first + i);
    };
    ordered_writer writer(out, block);
    if (pool.threads() > 1 && what == batch_of::requests && block.size() > piece &&
        block.is_unordered()) {
      pool.run((block.size() + piece - 1) / piece, [&](unsigned thread, std::size_t p) {
        for (std::size_t i = p * piece; i < block.size() && i < (p + 1) * piece; ++i)
          evaluate(thread, i);
        if (thread == 0) writer.write_evaluated();
      });
    } else {
      for (std::size_t i = 0; i < block.size() && out; ++i) {
        evaluate(0, i);
        if (i % piece == 0) writer.write_evaluated();
      }
    }
    writer.write_evaluated();
    all_answered = all_answered && !writer.any_error();
  }
  out.flush();
  return all_answered;
}

}  // namespace napkin
