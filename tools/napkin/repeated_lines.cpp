#include "repeated_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>

#include "ask.hpp"
#include "audit.hpp"
#include "output.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}
/// Length of the JSON number at the start of a text; 0 for another text.
std::size_t number_length(std::string_view s) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t first = i;
    while (i < s.size() && is_decimal_digit(s[i])) ++i;
    return i > first;
  };
  if (i < s.size() && s[i] == '-') ++i;
  const std::size_t first = i;
  if (!digits() || (s[first] == '0' && i > first + 1)) return 0;
  if (i < s.size() && s[i] == '.' && (++i, !digits())) return 0;
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (!digits()) return 0;
  }
  return i;
}
/// Length of the text in quotes at the start of a text, of printable ASCII; 0 for another text.
std::size_t quoted_length(std::string_view s) {
  for (std::size_t i = 1; i < s.size(); ++i) {
    if (s[i] == '"') return i + 1;
    if (s[i] < ' ' || s[i] > '~' || s[i] == '\\') return 0;
  }
  return 0;
}
std::size_t token_length(std::string_view s) {
  return !s.empty() && s.front() == '"' ? quoted_length(s) : number_length(s);
}

/// The value of a token as read_json has it; false where this reader has no such value.
bool read_token(const line_pattern::token& t, json& out) {
  const std::string_view s = t.text;
  const char* const end = s.data() + s.size();
  if (s.front() == '"') {
    out = s.substr(1, s.size() - 2);
    return true;
  }
  if (s.find_first_of(".eE") != s.npos) {
    double x = 0.0;
    const auto [last, failure] = std::from_chars(s.data(), end, x);
    if (t.is_id || failure != std::errc() || last != end) return false;
    out = x;
    return true;
  }
  if (s.size() > 18) return false;
  std::int64_t x = 0;
  std::from_chars(s.data(), end, x);
  if (s.front() == '-') {
    out = x;
  } else {
    out = static_cast<std::uint64_t>(x);
  }
  return true;
}

/// Whether another value of a key may change the deployment or the calibration of a request.
bool changes_deployment(const query& asked, const key& k) {
  constexpr std::string_view of_loads[] = {
      "batch",         "context",   "prefill_tokens", "tokens_per_sequence", "input_tokens",
      "output_tokens", "requests",  "concurrency",    "requests_per_s",      "arrival_cv",
      "input_cv",      "output_cv", "ttft_limit_s",   "itl_limit_s",         "limit_share",
      "measured_s",    "acceptance"};
  if (asked.find("model") == nullptr) return changes_calibration(k);
  return std::find(std::begin(of_loads), std::end(of_loads), k.name) == std::end(of_loads);
}

/// Queries that `answer_line` evaluates as they are.
const query* plain_query(const json& object) {
  if constexpr (!is_page_module) {
    if (is_claim(object)) return nullptr;
  }
  const auto at = object.find("query");
  if (at == object.end() || !at->is_string()) return nullptr;
  const auto all = all_queries();
  const auto found = std::find_if(all.begin(), all.end(), [&](const query& q) {
    return at->get_ref<const std::string&>() == q.name;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::optional<line_pattern> line_pattern::of(std::string_view line) {
  line_pattern p;
  std::size_t begin = 0, member = 0, depth = 0;
  std::string_view key{};
  const auto add = [&](std::size_t at, std::size_t length, bool is_id) {
    p.around_.emplace_back(line.substr(begin, at - begin));
    p.tokens_.push_back({member, is_id, {}});
    begin = at + length;
  };
  bool is_value = false;
  for (std::size_t i = 0; i < line.size();) {
    const char c = line[i];
    std::size_t length = 1;
    if (c == '"') {
      length = quoted_length(line.substr(i));
      if (length == 0) return {};
      if (!is_value) key = line.substr(i + 1, length - 2);
      if (is_value && key == "id") add(i, length, true);
    } else if (c == '[' || c == '\\' || (c == '{' && ++depth > 1)) {
      return {};
    } else if (is_value && (c == '-' || is_decimal_digit(c))) {
      length = number_length(line.substr(i));
      if (length == 0) return {};
      add(i, length, key == "id");
    } else if (c == ':') {
      is_value = true;
    } else if (c == ',') {
      is_value = false;
      ++member;
    }
    i += length;
  }
  if (p.tokens_.empty()) return {};
  p.around_.emplace_back(line.substr(begin));
  p.hash_ = 14695981039346656037U;
  for (const std::string& s : p.around_) {
    for (const char c : s) p.hash_ = (p.hash_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
    p.hash_ *= 1099511628211U;
  }
  return p;
}

bool line_pattern::match(std::string_view line, std::vector<token>& tokens) const {
  tokens.clear();
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (!line.starts_with(around_[i])) return false;
    line.remove_prefix(around_[i].size());
    const std::size_t length = token_length(line);
    if (length == 0) return false;
    tokens.push_back({tokens_[i].member, tokens_[i].is_id, line.substr(0, length)});
    if (!tokens_[i].is_id && line.front() == '"') return false;
    line.remove_prefix(length);
  }
  return line == around_.back();
}

/// A pattern with the request of the line that had it last.
struct repeated_lines::repeated {
  line_pattern pattern;
  json object{};
  const query& asked;
  std::optional<request> r{};
  std::optional<mode> wanted{};
  std::optional<calibration> c{};
  bool is_stale = false;  ///< whether c is of earlier numbers
  struct token_key {
    const key* of = nullptr;  ///< null: the id
    bool is_target = false;
  };
  std::vector<token_key> keys{};  ///< one for each token
  result_line line{};
};

repeated_lines::repeated_lines(const given_profile* profile) : profile_(profile) {}
repeated_lines::~repeated_lines() = default;

bool repeated_lines::put(repeated& known) const {
  auto& members = known.object.get_ref<json::object_t&>();
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    json& value = (members.begin() + static_cast<std::ptrdiff_t>(tokens_[i].member))->second;
    if (!read_token(tokens_[i], value)) return false;
    const auto [k, is_target] = known.keys[i];
    if (k == nullptr) continue;
    const double x = value.get<double>();
    if (!k->range.holds(x) || (is_target && is_long_target(k->name, x))) return false;
    const auto at = static_cast<std::size_t>(k - known.asked.keys.data());
    if (x == known.r->at(at).number) continue;
    known.is_stale = known.is_stale || changes_deployment(known.asked, *k);
    known.r->put_number(at, x);
  }
  if (known.is_stale) {
    known.c = calibration_of_request(known.asked, *known.r, known.wanted);
    known.r->share_texts();
    known.is_stale = false;
  }
  return true;
}

std::string_view repeated_lines::answer(std::string_view line) {
  is_known_ = false;
  for (const auto& known : known_) {
    if (!known->pattern.match(line, tokens_)) continue;
    is_known_ = true;
    try {
      if (!put(*known)) return {};
      known->r->texts()->load.reset();
      const outcome<> answer = evaluate(*known->r, known->object, known->wanted, known->c);
      if (answer.has_feasibility && !answer.feasible) return {};
      return write_outcome(known->line, answer, known->object) ? known->line.text.view()
                                                               : std::string_view();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception&) {  // answer_line has the error
      return {};
    }
  }
  return {};
}

void repeated_lines::remember(std::string_view line) {
  constexpr std::size_t most = 8;
  if (is_known_) return;
  std::optional<line_pattern> pattern = line_pattern::of(line);
  if (!pattern) return;
  const auto seen = std::find(seen_.begin(), seen_.end(), pattern->hash());
  if (seen == seen_.end()) {
    seen_[next_seen_++ % seen_.size()] = pattern->hash();
    return;
  }
  json object;
  read_json(line, object);
  object = with_key_names(std::move(object));
  const query* const asked = plain_query(object);
  std::vector<line_pattern::token> tokens;
  // A check is no key of its query, and has two results.
  if (asked == nullptr || object.contains("check") || !pattern->match(line, tokens)) return;
  auto made = std::make_unique<repeated>(
      repeated{.pattern = std::move(*pattern), .object = std::move(object), .asked = *asked});
  made->wanted = mode_in(made->object);
  for (const line_pattern::token& t : tokens) {
    const auto& members = made->object.get_ref<const json::object_t&>();
    const key* k = asked->find((members.begin() + static_cast<std::ptrdiff_t>(t.member))->first);
    if (k == nullptr ? !t.is_id : k->kind != key_kind::number && k->kind != key_kind::numbers)
      return;
    made->keys.push_back({k, k != nullptr && is_latency_target(k->name)});
  }
  try {
    made->r.emplace(*asked, made->object, profile_);
    made->c = calibration_of_request(*asked, *made->r, made->wanted);
    made->r->share_texts();
  } catch (const perfmodel::error&) {
    return;  // evaluated without a memory, as before
  }
  if (known_.size() < most) {
    known_.push_back(std::move(made));
  } else {
    known_[next_known_++ % most] = std::move(made);
  }
}

}  // namespace napkin
