// What a program may read, and how it shows what it read in a message of one line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace perfmodel::validation {

/// Why a file is not read: empty where it is. Pipes and devices have no end; what is larger than
/// `most` bytes is no such file.
inline std::string why_unreadable(const std::string& file, std::uintmax_t most) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const auto status = fs::status(file, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status)) return "is not a file";
  const std::uintmax_t size = fs::file_size(file, unknown);
  if (unknown || size == 0 || !std::ifstream(file)) return "cannot be read, or is empty";
  if (size <= most) return {};
  return std::string("is larger than ").append(std::to_string(most >> 20U)).append(" MiB");
}

/// On one line, and no longer than `longest`.
inline std::string shown(std::string_view text, std::size_t longest = 60) {
  std::string s(text.substr(0, longest));
  for (char& c : s) {
    if (static_cast<unsigned char>(c) < 0x20U || c == '\x7f') c = ' ';
  }
  return text.size() > longest ? s.append("...") : s;
}

}  // namespace perfmodel::validation
