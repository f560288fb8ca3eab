// Detection of the format of a trace by its content.
#include <algorithm>
#include <napkin/io/json.hpp>
#include <set>

#include "rows.hpp"

namespace common::traces {

namespace {

/// Keys of the outermost object of a JSON text, which may be incomplete.
class key_collector {
 public:
  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(json::number_integer_t) { return true; }
  bool number_unsigned(json::number_unsigned_t) { return true; }
  bool number_float(json::number_float_t, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(json::binary_t&) { return true; }
  bool start_object(std::size_t) { return ++depth_ <= 32; }
  bool end_object() { return --depth_ >= 0; }
  bool start_array(std::size_t) { return ++depth_ <= 32; }
  bool end_array() { return --depth_ >= 0; }
  bool key(std::string& name) {
    if (depth_ == 1) keys.insert(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) { return false; }

  std::set<std::string, std::less<>> keys{};

 private:
  int depth_ = 0;
};

std::string format_of_json(std::string_view line) {
  key_collector found;
  const bool complete = json::sax_parse(line.begin(), line.end(), &found);
  const auto has = [&found](std::string_view key) { return found.keys.contains(key); };
  if (has("input_lens") || has("prompt_input") || has("load_summary") ||
      has("total_input_tokens")) {
    return "vllm_bench";
  }
  if (has("requests")) return "agentic_claude";
  if (has("metadata") && has("metrics")) return "aiperf";
  if (has("sub_requests") || has("input_toks")) return "llmservingsim";
  if (has("chat_id")) return "bailian";
  if (has("timestamp") && has("input_length") && has("output_length")) return "mooncake";
  return complete ? "jsonl" : "vllm_bench";  // else JSON over several lines
}

std::string format_of_header(std::string_view header) {
  std::string names = lower_case(header);
  std::erase(names, ' ');
  const auto has = [&names](std::string_view name) { return names.find(name) != names.npos; };
  if (has("contexttokens") && has("generatedtokens")) return "azure";
  if (has("requesttokens") && has("responsetokens")) return "burstgpt";
  if (has("num_prefill_tokens") && has("num_decode_tokens")) return "vidur";
  if (has("leading_blocks_seen")) return "agentic_claude";
  if (has("server_input_tokens") && has("arrival_time_us")) return "blis";
  return "csv";
}

}  // namespace

bool begins_json(line_reader& lines) {
  std::string_view line;
  while (lines.peek(line)) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != line.npos && line[first] != '#') return line[first] == '{' || line[first] == '[';
    lines.next(line);
  }
  return false;
}

std::string detect_format(line_reader& lines) {
  const bool is_json = begins_json(lines);
  std::string_view line;
  if (!lines.peek(line)) {
    throw error(code::missing_key,
                cat(lines.name(), ":1: the file is empty; it needs requests, and CSV a header"));
  }
  return is_json ? format_of_json(line) : format_of_header(line);
}

}  // namespace common::traces
