#include "files.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <perfmodel/core/error.hpp>

#include "json.hpp"

namespace napkin {

std::string read_text_file(const std::string& what, const std::string& path,
                           std::uintmax_t largest) {
  std::error_code failure;
  const auto unreadable = [&](const std::string& why) {
    throw perfmodel::error(perfmodel::error_code::unreadable_file,
                           what + ": " + in_quotes(path) + " " + why);
  };
  const auto status = std::filesystem::status(path, failure);
  if (failure || !std::filesystem::exists(status)) unreadable("does not exist, or may not be read");
  if (!std::filesystem::is_regular_file(status)) unreadable("is not a file");
  if (std::filesystem::file_size(path, failure) > largest || failure) {
    unreadable("is larger than " + std::to_string(largest >> 20) + " MiB");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) unreadable("cannot be opened");
  return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace napkin
