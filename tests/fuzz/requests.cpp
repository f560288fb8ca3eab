// Requests from the declarations of the queries: names that exist, numbers within their ranges and
// at their ends, now and then something else.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>

#include "fuzz.hpp"

namespace fuzz {

namespace {

using napkin::key;
using napkin::key_kind;

bool chance(random_source& random, double share) {
  return std::generate_canonical<double, 32>(random) < share;
}
template <class List>
const auto& any_of(const List& list, random_source& random) {
  return list[static_cast<std::size_t>(random() % std::size(list))];
}

/// Over the range, evenly in its logarithm; mostly of sizes that deployments have.
double random_number(const key& k, random_source& random) {
  const double least = std::max(k.range.least, -1e6), most = std::min(k.range.most, 1e30);
  if (chance(random, 0.03)) return chance(random, 0.5) ? k.range.least : k.range.most;
  const double ordinary =
      std::min(most, chance(random, 0.9) ? std::max(4096.0, 4.0 * least) : 1e12);
  const double low = std::max(least, 1e-6), high = std::max(ordinary, low);
  double x = low * std::pow(high / low, std::generate_canonical<double, 32>(random));
  if (chance(random, 0.3)) x = std::exp2(std::floor(std::log2(x)));
  if (k.range.whole) x = std::floor(std::max(x, std::ceil(least)));
  return std::min(std::max(x, least), most);
}

json random_text(const key& k, random_source& random) {
  const std::string_view name = k.name;
  if (name.find("accelerator") != name.npos)
    return any_of(perfmodel::catalog::accelerators, random).key;
  if (name.find("model") != name.npos) return any_of(perfmodel::catalog::models, random).key;
  static constexpr const char* words[] = {"bf16",     "fp8",         "int4",   "fp16",   "mxfp4",
                                          "h100_sxm", "vllm",        "trtllm", "sglang", "none",
                                          "1,2,4",    "llama_3_70b", ""};
  return any_of(words, random);
}

json random_value(const key& k, random_source& random) {
  if (chance(random, 0.01)) return nullptr;
  switch (k.kind) {
    case key_kind::flag: return chance(random, 0.5);
    case key_kind::word:
      if (k.words.empty()) return "";
      return std::string(any_of(k.words, random));
    case key_kind::text: return random_text(k, random);
    case key_kind::numbers:
      if (chance(random, 0.5)) {
        json list = json::array();
        for (std::uint64_t n = random() % 6 + 1; n > 0; --n)
          list.push_back(random_number(k, random));
        return list;
      }
      return random_number(k, random);
    case key_kind::number: return random_number(k, random);
  }
  return nullptr;
}

}  // namespace

std::string random_request(random_source& random) {
  const napkin::query& q = any_of(napkin::all_queries(), random);
  json request = {{"query", q.name}};
  const double share = std::generate_canonical<double, 32>(random) * 0.4;
  for (const key& k : q.keys) {
    if (k.required ? chance(random, 0.99) : chance(random, share)) {
      request[k.name] = random_value(k, random);
    }
  }
  if (request["query"] == "simulate") {  // a run takes a microsecond a request
    request["requests"] = static_cast<int>(random() % 200) + 1;
    request["seeds"] = 1;
    if (request.contains("chunk_tokens")) request["chunk_tokens"] = 2048;
  }
  if (chance(random, 0.2)) request["mode"] = chance(random, 0.5) ? "bound" : "calibrated";
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace fuzz
