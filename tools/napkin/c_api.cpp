#include "c_api.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <perfmodel/core/version.hpp>
#include <sstream>

#include "ask.hpp"
#include "output.hpp"
#include "prepared_step.hpp"

struct perfmodel_step {
  napkin::prepared_step time;
};

namespace napkin {

namespace {

constexpr std::size_t longest_request = 1 << 20;

/// A copy that the caller frees; null without memory.
char* copied_out(std::string_view text, std::size_t* length) {
  if (length != nullptr) *length = text.size();
  auto* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out == nullptr) return nullptr;
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return out;
}

/// Calls a function that returns a text; null where memory runs out.
template <class Text>
char* caller_text(Text text, std::size_t* length) noexcept {
  try {
    return copied_out(text(), length);
  } catch (...) {
    if (length != nullptr) *length = 0;
    return nullptr;
  }
}

/// Throws malformed_request for what is not a text of at most 1 MiB.
std::string_view checked_request(const char* request, std::size_t length) {
  if (request == nullptr)
    throw error(code::malformed_request, "the request is a null pointer; allowed: JSON text");
  if (length > longest_request)
    throw error(code::malformed_request, "the request is longer than 1 MiB");
  return {request, length};
}

json error_of(const std::exception& e) {
  if (const auto* known = dynamic_cast<const error*>(&e)) return error_json(*known, nullptr, 1);
  return error_json(error(code::malformed_request, e.what()), nullptr, 1);
}

json answer_of(const char* request, std::size_t length) {
  try {
    return answer_line(checked_request(request, length));
  } catch (const error& e) {
    return error_of(e);
  }
}

}  // namespace

}  // namespace napkin

extern "C" {

const char* perfmodel_version(void) {
  return PERFMODEL_VERSION;
}

char* perfmodel_ask(const char* request, size_t length, size_t* result_length) {
  return napkin::caller_text([&] { return napkin::write_json(napkin::answer_of(request, length)); },
                             result_length);
}

char* perfmodel_ask_lines(const char* requests, size_t length, size_t* result_length) {
  return napkin::caller_text(
      [&] {
        std::istringstream in(requests == nullptr ? std::string() : std::string(requests, length));
        std::ostringstream out;
        napkin::run_batch(in, out);
        return out.str();
      },
      result_length);
}

void perfmodel_free(char* result) {
  std::free(result);
}

perfmodel_step* perfmodel_step_new(const char* request, size_t length, char** refusal) {
  if (refusal != nullptr) *refusal = nullptr;
  try {
    napkin::json object;
    napkin::read_json(napkin::checked_request(request, length), object);
    return new perfmodel_step{napkin::prepared_step(std::move(object))};
  } catch (const std::exception& e) {
    if (refusal != nullptr)
      *refusal =
          napkin::caller_text([&] { return napkin::write_json(napkin::error_of(e)); }, nullptr);
  } catch (...) {  // nothing else is thrown
  }
  return nullptr;
}

int perfmodel_step_time(const perfmodel_step* step, double batch, double context,
                        double prefill_tokens, double* seconds) {
  double none = 0.0;
  double& out = seconds == nullptr ? none : *seconds;
  out = std::numeric_limits<double>::infinity();
  if (step == nullptr) return PERFMODEL_STEP_REFUSED;
  try {
    const auto time = step->time(batch, context, prefill_tokens);
    if (!time) return PERFMODEL_STEP_INFEASIBLE;
    out = *time;
    return PERFMODEL_STEP_OK;
  } catch (...) {
    return PERFMODEL_STEP_REFUSED;
  }
}

void perfmodel_step_free(perfmodel_step* step) {
  delete step;
}

}  // extern "C"
