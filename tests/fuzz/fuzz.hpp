// What every fuzz target has: an input, what must hold of an answer, and what became of the inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include <napkin/query.hpp>

/// Entry of the program's target, input_of_<name> in target_<name>.cpp (entry.cpp calls it). Takes
/// one input. Returns 0; what it must not do (crash, hang, answer a NaN, throw) is the finding.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

using napkin::json;
using random_source = std::mt19937_64;

/// Inputs that were answered, and those refused by an error of the library.
struct tally {
  std::uint64_t answered = 0, refused = 0;
};
tally& counted();

/// Ends the program with a message: a property is broken.
[[noreturn]] void finding(const std::string& what, const std::string& where);

/// A file that holds the input, since the readers take paths: another path for each input, since
/// some remember what they read. It goes with the program.
class input_file {
 public:
  explicit input_file(const char* name);
  ~input_file();
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;
  const std::string& holding(std::string_view content);

 private:
  std::string name_;
  std::filesystem::path folder_;
  std::uint64_t inputs_ = 0;
  std::string path_;
};

/// Calls the target's body: an error of the library counts as refused, anything else that it throws
/// is a finding.
template <class Body>
int one_input(const Body& body) {
  try {
    body();
    ++counted().answered;
  } catch (const perfmodel::error& e) {
    if (std::string_view(e.what()).empty()) finding("an error without a text", "");
    ++counted().refused;
  }
  return 0;
}

/// Every number of an answer is finite, and no time, share of bytes or rate below 0.
void check_answer(const json& answer, const std::string& where);

/// A request of a random query, most of it allowed.
std::string random_request(random_source& random);

/// Another input from one, and sometimes a second: a value, key or line changed where it is JSON or
/// a table, else bytes. `fresh` makes one from nothing; none where null.
std::string mutated(const std::string& input, const std::string& other, random_source& random);

/// Set by a target that can make its own inputs.
extern std::string (*fresh_input)(random_source&);

}  // namespace fuzz
