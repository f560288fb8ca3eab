// Lines of `napkin batch`: each gets one line of output, a result with finite numbers or an error
// with a code.
#include <cstdint>
#include <sstream>

#include <napkin/batch.hpp>
#include "fuzz.hpp"

namespace {

void check_line(const std::string& line, const std::string& asked) {
  const auto answer = fuzz::json::parse(line, nullptr, false);
  if (answer.is_discarded() || !answer.is_object()) fuzz::finding("no object: " + line, asked);
  const auto error = answer.find("error");
  if (error == answer.end()) {
    ++fuzz::counted().answered;
    return fuzz::check_answer(answer, asked);
  }
  ++fuzz::counted().refused;
  const std::string code = error->at("code"), message = error->at("message");
  if (code.rfind("PM-E", 0) != 0 || message.empty())
    fuzz::finding("an error without a code", asked);
  if (message.find('\n') != message.npos) fuzz::finding("an error of two lines", asked);
}

}  // namespace

namespace fuzz {

int input_of_batch(const std::uint8_t* data, std::size_t size) {
  fuzz::fresh_input = fuzz::random_request;
  const std::string lines(reinterpret_cast<const char*>(data), size);
  std::istringstream in(lines);
  std::ostringstream out;
  napkin::run_batch(in, out);
  std::istringstream answers(out.str());
  std::size_t answered = 0;
  for (std::string line; std::getline(answers, line); ++answered) check_line(line, lines);
  std::size_t asked = 0;
  for (const char c : lines) asked += c == '\n';
  asked += !lines.empty() && lines.back() != '\n';
  if (answered != asked) fuzz::finding("not one answer for each line", lines);
  return 0;
}

}  // namespace fuzz
