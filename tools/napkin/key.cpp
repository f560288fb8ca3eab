#include "key.hpp"

#include <algorithm>
#include <cctype>
#include <perfmodel/hardware/number_format.hpp>

#include "io/amount.hpp"

namespace napkin {

std::string key::allowed() const {
  switch (kind) {
    case key_kind::number: return range.allowed();
    case key_kind::numbers: return range.allowed() + ", or an array of them";
    case key_kind::flag: return "true or false";
    case key_kind::text: return "a string";
    case key_kind::word: break;
  }
  return listed(words);
}

std::string key::allowed_unit() const {
  namespace pm = perfmodel;
  if (is_time()) {
    return cat("; with its unit (", latency_units, "), such as 20ms",
               names_seconds(name) ? ", or in s" : "");
  }
  if (unit == pm::exponents_of<pm::bytes<>>()) return "; with its unit, or in bytes: 80GB";
  if (unit == pm::exponents_of<pm::bandwidth<>>()) return "; with its unit, or in B/s: 50GB/s";
  return {};
}

bool key::is_time() const {
  return unit == perfmodel::exponents_of<perfmodel::duration<>>();
}

bool names_seconds(std::string_view spelled) {
  return spelled.ends_with("_s") || spelled.ends_with("-s");
}

key accelerator_key() {
  key k = text("accelerator", "one that `napkin gpus` lists, or the path of an accelerator file");
  k.alias = "gpu";
  return k;
}
key model_key() {
  return text(
      "model",
      "a name as `napkin models` or a hub has it, or the path of a directory, a config.json "
      "or an exported file");
}
key format_key(const char* name, const char* help) {
  std::vector<std::string_view> names;
  for (const auto f : perfmodel::all_formats) names.push_back(perfmodel::name_of(f));
  return word(name, help, std::move(names));
}
key engine_key() {
  return word("engine",
              "whose kernels run, and what it keeps of the memory; a bound's time does not depend "
              "on it",
              {"none", "vllm", "sglang", "trtllm"})
      .otherwise("none");
}

key weight_copies_key(const char* help) {
  return count("weight_copies", help, 0.0, 1e6).optional();
}

std::vector<key> reservation_keys() {
  return {
      positive("utilization",
               "share of the memory that may be used; where not given, the "
               "engine's: 0.9 without a name",
               1.0)
          .optional(),
      amount_of_bytes("activation_bytes",
                      "of the largest pass, on each GPU; where not given, the engine's")
          .optional(),
      amount_of_bytes("runtime_bytes",
                      "context and buffers, on each GPU; where not given, the engine's")
          .optional(),
      count("max_sequences",
            "that the engine is started for, and but for sglang's the most that it lets in; where "
            "not given, its default is kept memory for")
          .optional()};
}

key measured_key(const char* name, const perfmodel::unit_exponents& unit) {
  key k = number(name, "a measurement of it: held against the answer", 0.0, 1e30).above_zero();
  k.unit = unit;
  k.alias = "measured";
  return k.optional();
}

key measured_key() {
  key k =
      time_limit("measured_s", "a measurement of it, of serving itl_s: held against the answer");
  k.alias = "measured";
  return k.optional();
}

std::vector<key> degree_keys() {
  return {degree("tensor_parallel", "ranks that share each layer").otherwise("1"),
          degree("pipeline_parallel", "stages that share the layers").otherwise("1"),
          degree("expert_parallel", "groups that the experts are dealt to").otherwise("1")};
}

std::vector<key> storage_keys() {
  return {
      format_key("weight_format", "of the linear layers; as the checkpoint, where not given")
          .optional(),
      format_key("activation_format",
                 "of the operands beside the weights; products run in the wider of the two; what "
                 "engines take with the weights on the accelerator, where not given")
          .optional(),
      format_key("kv_format", "of the KV cache; as the checkpoint, else 16 bits").optional()};
}

namespace {
key host_memory_key() {
  key k = positive("host_memory_bytes",
                   "of the host for the cache behind each replica's: what the devices forget of "
                   "shared_tokens comes from there")
              .optional();
  k.unit = perfmodel::exponents_of<perfmodel::bytes<>>();
  return k;
}
key host_link_key() {
  key k = positive("host_link_bytes_per_s",
                   "of each GPU to its host's memory; where not given, the accelerator's")
              .optional();
  k.unit = perfmodel::exponents_of<perfmodel::bandwidth<>>();
  return k;
}
/// A coefficient of variation.
key variation(const char* name, const char* help) {
  return number(name, help, 0.0, 100.0);
}
}  // namespace

std::vector<key> shared_keys() {
  key tokens =
      count("shared_tokens",
            "that prompts begin with alike, which the cache holds once; several: what each "
            "level of a tree adds, 500,2000")
          .optional();
  key prefixes = count("shared_prefixes",
                       "different ones of them, each as often; several as shared_tokens, 1,40; "
                       "where not given, one that all have")
                     .optional();
  tokens.kind = prefixes.kind = key_kind::numbers;
  return {tokens, prefixes};
}

std::vector<key> load_keys() {
  return {
      number("input_tokens", "of a prompt, on average", 1.0, 1e9),
      number("output_tokens", "of an answer, on average", 1.0, 1e9),
      number("concurrency", "requests in the system at all times; or requests_per_s", 1.0, 1e9)
          .optional(),
      positive("requests_per_s", "arrivals; or concurrency", 1e9).optional(),
      count("requests",
            "that a run of this concurrency has in all, the first of them started together; 0: no "
            "end, a steady state",
            0.0, 1e9)
          .otherwise("0"),
      variation("arrival_cv", "of the time between arrivals at requests_per_s; 1: Poisson")
          .otherwise("1"),
      variation("input_cv", "of the lengths of prompts").otherwise("0"),
      variation("output_cv", "of the lengths of answers").otherwise("0"),
      number("prefix_hit", "share of a prompt that is found in the cache", 0.0, 0.999)
          .otherwise("0"),
      shared_keys()[0],
      shared_keys()[1],
      number("host_hit",
             "share of a prompt that comes from the host's memory, a part of prefix_hit", 0.0,
             0.999)
          .optional(),
      host_memory_key(),
      host_link_key(),
      word("preemption",
           "how sequences come back that are evicted where answers outgrow the cache of a "
           "concurrency; not counted, where not given",
           {"recompute", "swap"})
          .optional(),
      count("chunk_tokens",
            "prompt tokens in one pass at most; where not given, the engine's budget, of a bound a "
            "whole prompt")
          .optional(),
      word("scheduler", "where not given, the engine's: prefill_first of sglang, else mixed_chunks",
           {"mixed_chunks", "prefill_first", "static_batches"})
          .optional()};
}

namespace {

/// Lower case, and one separator for all.
std::string plain(std::string_view name) {
  std::string s(name.substr(0, 64));
  for (char& c : s) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == '-' || c == ' ' || c == '.') c = '_';
  }
  return s;
}

/// As edits; where one name is a part of the other, half of the rest.
double distance(const std::string& a, const std::string& b) {
  if (!a.empty() && !b.empty() && (a.find(b) != a.npos || b.find(a) != b.npos)) {
    const auto longer = std::max(a.size(), b.size()), shorter = std::min(a.size(), b.size());
    return 0.5 * static_cast<double>(longer - shorter) / static_cast<double>(longer);
  }
  return static_cast<double>(edits(a, b));
}

}  // namespace

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string_view> names) {
  const std::string wanted = plain(name);
  std::string best;
  double least = 1e9;
  for (const auto candidate : names) {
    const double d = distance(wanted, plain(candidate));
    if (d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string suggested(std::string_view name, std::span<const std::string_view> names) {
  const std::string wanted = plain(name);
  std::string best;
  double least = 1e9;
  for (const auto candidate : names) {
    const std::string known = plain(candidate);
    const bool letters = std::min(wanted.size(), known.size()) < 3;  // m is a part of any word
    const double d = letters ? static_cast<double>(edits(wanted, known)) : distance(wanted, known);
    const double letters_of = static_cast<double>(known.size());
    if (d >= least || d >= letters_of || d > std::max(1.0, letters_of / 3.0)) continue;
    least = d;
    best = candidate;
  }
  return best;
}

}  // namespace napkin
