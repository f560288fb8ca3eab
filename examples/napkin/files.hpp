// Files as a request names them: read whole, with a limit.
#pragma once

#include <cstdint>
#include <string>

namespace napkin {

/// The text of a file. Throws unreadable_file, naming `what` it is: it is not there, is no file, is
/// larger than `largest` bytes, or cannot be read.
std::string read_text_file(const std::string& what, const std::string& path,
                           std::uintmax_t largest = 16 << 20);

}  // namespace napkin
