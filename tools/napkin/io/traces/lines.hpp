// Lines of a text file, plain or compressed by gzip, or of a text.
#pragma once

#include <cstdint>
#include <memory>
#include <napkin/io/files.hpp>
#include <string>
#include <string_view>

namespace common::traces {

inline constexpr std::size_t longest_line = std::size_t{64} << 20U;

/// Source of lines. A line is valid until the next call.
class line_reader {
 public:
  virtual ~line_reader();
  line_reader(const line_reader&) = delete;
  line_reader& operator=(const line_reader&) = delete;

  /// The next line, without its end; false at the end of the text. Throws unreadable_file.
  bool next(std::string_view& line);
  /// The next line, which stays the next one.
  bool peek(std::string_view& line);
  /// Number of the last line, from 1.
  std::int64_t line() const { return line_; }
  const std::string& name() const { return name_; }
  /// All of the text that was not read yet. Throws unreadable_file over `largest` bytes.
  std::string rest(std::size_t largest = std::size_t{512} << 20U);

  /// Throws an error at the last line.
  [[noreturn]] void fail(error_code code, std::string_view what) const;

 protected:
  explicit line_reader(std::string name) : name_(std::move(name)) {}
  /// Reads up to `size` bytes; 0 at the end.
  virtual std::size_t read(char* to, std::size_t size) = 0;
  [[noreturn]] void cannot_read(std::string_view why) const;

 private:
  bool fill();
  void refuse_binary(std::string_view bytes) const;

  std::string name_;
  std::string buffer_{};
  std::size_t begin_ = 0;
  std::int64_t line_ = 0;
  bool ended_ = false;
};

std::unique_ptr<line_reader> open_lines(const std::string& path);
std::unique_ptr<line_reader> lines_of(std::string_view text, const std::string& name);

}  // namespace common::traces
