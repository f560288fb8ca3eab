// Other inputs from one: a value, key or element where it is JSON, a cell or line where it is a
// table, bytes anywhere.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "fuzz.hpp"

namespace fuzz {

std::string (*fresh_input)(random_source&) = nullptr;

tally& counted() {
  static tally t;
  return t;
}

void finding(const std::string& what, const std::string& where) {
  std::cerr << "finding: " << what << "\n  in: " << where << std::endl;
  std::abort();
}

input_file::input_file(const char* name)
    : name_(name),
      folder_(std::filesystem::temp_directory_path() /
              napkin::cat("perfmodel_fuzz_", std::random_device{}())) {}
input_file::~input_file() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}
const std::string& input_file::holding(std::string_view content) {
  std::filesystem::remove_all(folder_);
  const std::filesystem::path own = folder_ / std::to_string(++inputs_);
  std::filesystem::create_directories(own);
  path_ = (own / name_).string();
  std::ofstream(path_, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  return path_;
}

void check_answer(const json& answer, const std::string& where) {
  for (const auto& item : answer.items()) {
    const std::string& key = item.key();
    const json& value = item.value();
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
      finding(key + " is not finite", where);
    }
    const bool time = key.size() > 2 && key.compare(key.size() - 2, 2, "_s") == 0;
    if (time && value.is_number() && value.get<double>() < 0.0 && key.find("gain") == key.npos) {
      finding(key + " is below 0", where);
    }
  }
}

namespace {

std::size_t below(std::size_t n, random_source& random) {
  return n == 0 ? 0 : static_cast<std::size_t>(random() % n);
}

constexpr const char* numbers[] = {"0",          "-0",          "1",    "-1",    "0.5",
                                   "2147483648", "1e15",        "1e16", "1e308", "1e-9",
                                   "4294967297", "-2147483649", "3",    "7",     "5e-324"};

json another_value(const json& now, random_source& random) {
  switch (below(8, random)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return "x";
    case 3: return json::array({now, now});
    case 4: return json::object({{"x", now}});
    default: return json::parse(numbers[below(std::size(numbers), random)]);
  }
}
void change_number(json& x, random_source& random) {
  const double v = x.get<double>();
  switch (below(6, random)) {
    case 0: x = json::parse(numbers[below(std::size(numbers), random)]); break;
    case 1: x = v * std::exp2(static_cast<double>(below(9, random)) - 4.0); break;
    case 2: x = v + 1.0; break;
    case 3: x = v - 1.0; break;
    case 4: x = std::floor(v) + 0.5; break;
    default: x = std::floor(v * 2.0);
  }
}

/// The n-th value of a tree, in the order of reading; n counts down.
json* nth(json& at, std::size_t& n) {
  if (n == 0) return &at;
  --n;
  if (!at.is_structured()) return nullptr;
  for (json& child : at) {
    if (json* found = nth(child, n)) return found;
  }
  return nullptr;
}
std::size_t size_of(const json& at) {
  std::size_t n = 1;
  if (at.is_structured()) {
    for (const json& child : at) n += size_of(child);
  }
  return n;
}

void change_json(json& root, const json& donor, random_source& random) {
  std::size_t n = below(size_of(root), random);
  json* at = nth(root, n);
  if (at == nullptr) return;
  const std::size_t kind = below(10, random);
  if (at->is_number() && kind < 6) return change_number(*at, random);
  if (at->is_object() && !at->empty() && kind < 7) {
    const auto member = std::next(at->begin(), static_cast<long>(below(at->size(), random)));
    const std::string key = member.key();
    const json value = member.value();
    if (kind < 3) {
      at->erase(key);
    } else if (kind < 5 && donor.is_object() && !donor.empty()) {
      const auto gift = std::next(donor.begin(), static_cast<long>(below(donor.size(), random)));
      (*at)[gift.key()] = gift.value();
    } else {
      (*at)[key + "_"] = value;
    }
    return;
  }
  if (at->is_array() && !at->empty() && kind < 7) {
    if (kind < 3) {
      at->erase(below(at->size(), random));
    } else if (at->size() < 64) {
      at->push_back((*at)[below(at->size(), random)]);
    }
    return;
  }
  *at = another_value(*at, random);
}

void change_bytes(std::string& s, const std::string& other, random_source& random) {
  if (s.empty()) s = "x";
  const std::size_t at = below(s.size(), random), length = 1 + below(8, random);
  switch (below(7, random)) {
    case 0: s[at] = static_cast<char>(random()); break;
    case 1: s.erase(at, length); break;
    case 2: s.insert(at, s.substr(below(s.size(), random), length)); break;
    case 3: s.insert(at, numbers[below(std::size(numbers), random)]); break;
    case 4: s.insert(at, 1, ",\n\"{}[]:-"[below(9, random)]); break;
    case 5:
      s = s.substr(0, at) + other.substr(std::min(below(other.size() + 1, random), other.size()));
      break;
    default: s.resize(at);
  }
}

/// A cell of a table, or a whole line.
void change_cell(std::string& s, random_source& random) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == ',' || s[i] == '\n') ends.push_back(i);
  }
  if (ends.size() < 2) return;
  const std::size_t which = below(ends.size() - 1, random);
  const std::size_t from = ends[which] + 1, length = ends[which + 1] - from;
  if (below(5, random) == 0) {
    const std::size_t line = s.rfind('\n', from - 1) == s.npos ? 0 : s.rfind('\n', from - 1) + 1;
    const std::size_t end = std::min(s.find('\n', from), s.size() - 1);
    if (below(2, random) == 0) {
      s.erase(line, end + 1 - line);
    } else {
      s.insert(line, s.substr(line, end + 1 - line));
    }
  } else {
    s.replace(from, length, numbers[below(std::size(numbers), random)]);
  }
}

}  // namespace

std::string mutated(const std::string& input, const std::string& other, random_source& random) {
  if (fresh_input != nullptr && below(2, random) == 0) return fresh_input(random);
  std::string out = input;
  const std::size_t times = 1 + below(3, random);
  if (below(8, random) != 0) {
    json root = json::parse(input, nullptr, false);
    if (!root.is_discarded() && root.is_structured()) {
      const json donor = json::parse(other, nullptr, false);
      for (std::size_t i = 0; i < times; ++i) change_json(root, donor, random);
      return root.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    if (input.find(',') != input.npos && below(4, random) != 0) {
      for (std::size_t i = 0; i < times; ++i) change_cell(out, random);
      return out;
    }
  }
  for (std::size_t i = 0; i < times; ++i) change_bytes(out, other, random);
  return out;
}

}  // namespace fuzz

// libFuzzer takes its changes from here, and adds its own by what they cover.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
#ifdef PERFMODEL_LIBFUZZER
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  fuzz::random_source random(seed);
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::string out = fuzz::mutated(input, input, random).substr(0, most);
  std::copy(out.begin(), out.end(), data);
  return out.size();
}
#endif
