// Text in figures: its width, its lines, its length.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace common {

/// Width of text in pixels at a font size, by classes of letters. The widths are those of DejaVu
/// Sans, the widest of the fonts that figures name, so that no text is cut off.
double text_width(std::string_view text, double size);
/// Lines of at most `width` pixels, broken between words, and within words that are longer.
std::vector<std::string> wrapped_to(std::string_view text, double width, double size);
/// At most `longest` characters, the last "..." where some are left out. UTF-8 stays whole.
std::string cut(std::string_view text, std::size_t longest);
/// Characters of UTF-8 text.
std::size_t length_of(std::string_view text);

}  // namespace common
