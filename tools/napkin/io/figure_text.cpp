#include "figure_text.hpp"

#include <algorithm>

namespace common {

namespace {

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}
double width_of(char c) {
  constexpr std::string_view narrow = "iljtfrI.,:;'|!()[] -/\"", wide = "mwMW%@";
  if (!begins_character(c)) return 0.0;
  if (static_cast<unsigned char>(c) >= 0xE0U) return 1.0;
  if (narrow.find(c) != narrow.npos) return 0.39;
  if (wide.find(c) != wide.npos) return 0.95;
  return c >= 'A' && c <= 'Z' ? 0.71 : 0.62;
}

}  // namespace

std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

double text_width(std::string_view text, double size) {
  double sum = 0.0;
  for (const char c : text) sum += width_of(c);
  return sum * size;
}

std::string cut(std::string_view text, std::size_t longest) {
  if (length_of(text) <= longest) return std::string(text);
  constexpr std::string_view dots = "...";
  if (longest <= dots.size()) return std::string(dots.substr(0, longest));
  std::size_t end = 0, count = 0;
  while (end < text.size()) {
    if (begins_character(text[end]) && count++ == longest - dots.size()) break;
    ++end;
  }
  return std::string(text.substr(0, end)).append(dots);
}

std::vector<std::string> wrapped_to(std::string_view text, double width, double size) {
  std::vector<std::string> lines;
  std::string line, word;
  const auto end_line = [&] {
    if (!line.empty()) lines.push_back(line);
    line.clear();
  };
  const auto end_word = [&] {
    if (word.empty()) return;
    if (!line.empty() && text_width(line, size) + text_width(word, size) + 0.39 * size > width)
      end_line();
    line += (line.empty() ? "" : " ") + word;
    word.clear();
  };
  for (const char c : text) {
    if (c == ' ' || c == '\n') {
      end_word();
      if (c == '\n') end_line();
      continue;
    }
    if (begins_character(c) && text_width(word, size) + size > width) {
      end_word();
      end_line();
    }
    word += c;
  }
  end_word();
  end_line();
  return lines;
}

}  // namespace common
