// Reading and writing files.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "codes.hpp"
#include "text.hpp"

namespace common {

using perfmodel::error;
using perfmodel::error_code;

/// The text of a file; none where it cannot be read, with the reason in `why`. Pipes and devices
/// have no end and are not files; a file without a stated size is read as far as possible without
/// blocking.
inline std::optional<std::string> try_read(const std::string& path, std::uintmax_t largest,
                                           std::string& why) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const auto status = fs::status(path, failure);
  why = "does not exist, or may not be read";
  if (failure || !fs::exists(status)) return {};
  why = "is not a file";
  if (!fs::is_regular_file(status)) return {};
  std::string text;
  std::array<char, 65536> part{};
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  auto count = ::read(file, part.data(), part.size());
  for (; count > 0 && text.size() <= largest; count = ::read(file, part.data(), part.size())) {
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  why = cat("cannot be read: ", std::generic_category().message(errno));
  if (file >= 0) ::close(file);
  if (count < 0) return {};
  why = cat("is larger than ", largest >> 20U, " MiB");
  if (text.size() > largest) return {};
  return text;
}

[[noreturn]] inline void unreadable(std::string_view what, std::string_view path,
                                    std::string_view why) {
  throw error(error_code::unreadable_file, cat(what, ": ", in_quotes(path), ' ', why));
}

/// Text of a whole file. `what` names it in messages: "model". Throws unreadable_file.
inline std::string read_text_file(std::string_view what, const std::string& path,
                                  std::uintmax_t largest = std::uintmax_t{16} << 20U) {
  std::string why;
  if (auto text = try_read(path, largest, why)) return *std::move(text);
  unreadable(what, path, why);
}

/// Writes a file atomically: first to FILE.PROCESS.partial in its folder, then renamed; with
/// several writers the last wins. A device is written directly. A killed process leaves the file
/// unchanged, and the partial file. Throws unreadable_file.
inline void write_text_file(std::string_view what, const std::string& path,
                            std::string_view content) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const auto status = fs::status(path, failure);
  const bool replaces = !fs::exists(status) || fs::is_regular_file(status);
  // A symbolic link keeps its target.
  fs::path target = replaces ? fs::weakly_canonical(path, failure) : fs::path(path);
  if (failure || target.empty()) target = path;
  const fs::path written =
      replaces ? fs::path(cat(target.string(), '.', ::getpid(), ".partial")) : target;
  std::ofstream file(written, std::ios::binary);
  file << content;
  file.close();
  if (file && replaces) fs::rename(written, target, failure);
  if (!file || (replaces && failure)) {
    if (replaces) fs::remove(written, failure);
    unreadable(what, path, "cannot be written");
  }
}

}  // namespace common
