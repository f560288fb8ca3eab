#include "lines.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace common::traces {

namespace {

class text_lines : public line_reader {
 public:
  text_lines(std::string_view text, std::string name) : line_reader(std::move(name)), text_(text) {}

 protected:
  std::size_t read(char* to, std::size_t size) override {
    const std::size_t count = std::min(size, text_.size());
    std::memcpy(to, text_.data(), count);
    text_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view text_;
};

class file_lines : public line_reader {
 public:
  explicit file_lines(const std::string& path) : line_reader(path) {
    namespace fs = std::filesystem;
    std::error_code failure;
    const auto status = fs::status(path, failure);
    if (failure || !fs::exists(status)) cannot_read("does not exist, or may not be read");
    if (!fs::is_regular_file(status)) cannot_read("is not a file");
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) cannot_read(cat("cannot be read: ", std::generic_category().message(errno)));
    compressed_ = ::gzdopen(file, "rb");
    if (compressed_ == nullptr) {
      ::close(file);
      cannot_read("cannot be read: not enough memory");
    }
    ::gzbuffer(compressed_, 1U << 17U);
  }
  ~file_lines() override { ::gzclose_r(compressed_); }

 protected:
  std::size_t read(char* to, std::size_t size) override {
    const int count = ::gzread(compressed_, to, static_cast<unsigned>(size));
    int code = Z_OK;
    const char* why = ::gzerror(compressed_, &code);
    if (code == Z_BUF_ERROR) cannot_read("is a truncated gzip file");
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      cannot_read(cat("cannot be decompressed: ", why));
    }
    return static_cast<std::size_t>(count);
  }

 private:
  ::gzFile compressed_ = nullptr;
};

}  // namespace

line_reader::~line_reader() = default;

void line_reader::cannot_read(std::string_view why) const {
  unreadable("trace", name_, why);
}
void line_reader::fail(error_code code, std::string_view what) const {
  throw error(code, cat(name_, ':', line_, ": ", what));
}

/// Appends a part of the text to the buffer; false at the end.
bool line_reader::fill() {
  constexpr std::size_t part = std::size_t{1} << 16U;
  if (ended_) return false;
  if (begin_ > part) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  const std::size_t size = buffer_.size();
  buffer_.resize(size + part);
  const std::size_t count = read(buffer_.data() + size, part);
  buffer_.resize(size + count);
  ended_ = count == 0;
  refuse_binary(std::string_view(buffer_).substr(size));
  if (size == 0 && line_ == 0 && buffer_.starts_with("\xEF\xBB\xBF")) begin_ = 3;
  return !ended_;
}
void line_reader::refuse_binary(std::string_view bytes) const {
  if (bytes.find('\0') != bytes.npos) {
    cannot_read(cat("is a binary file (a byte 0 after line ", line_,
                    "); allowed: CSV, JSON, JSON lines, plain or gzip"));
  }
}

bool line_reader::peek(std::string_view& line) {
  if (!next(line)) return false;
  begin_ = static_cast<std::size_t>(line.data() - buffer_.data());
  --line_;
  return true;
}

bool line_reader::next(std::string_view& line) {
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != buffer_.npos) {
      line = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = end + 1;
      break;
    }
    if (buffer_.size() - begin_ > longest_line) {
      cannot_read(cat("has more than ", longest_line >> 20U, " MiB in line ", line_ + 1));
    }
    const std::size_t unread = buffer_.size() - begin_;
    if (!fill()) {
      if (begin_ == buffer_.size()) return false;
      line = std::string_view(buffer_).substr(begin_);
      begin_ = buffer_.size();
      break;
    }
    searched = begin_ + unread;
  }
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string line_reader::rest(std::size_t largest) {
  while (fill()) {
    if (buffer_.size() > largest) cannot_read(cat("is larger than ", largest >> 20U, " MiB"));
  }
  std::string text = buffer_.substr(begin_);
  begin_ = buffer_.size();
  if (line_ == 0) line_ = 1;
  return text;
}

std::unique_ptr<line_reader> open_lines(const std::string& path) {
  return std::make_unique<file_lines>(path);
}
std::unique_ptr<line_reader> lines_of(std::string_view text, const std::string& name) {
  return std::make_unique<text_lines>(text, name);
}

}  // namespace common::traces
