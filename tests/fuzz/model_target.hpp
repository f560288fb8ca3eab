// A model's file: what is read of it is a model that passes, capacities and sizes can be asked of.
#pragma once

#include <napkin/model_file.hpp>
#include <napkin/output.hpp>
#include "fuzz.hpp"

#include <cstdint>

namespace fuzz {

/// What an accepted model is asked; not fitting is an answer, a refusal is one too.
inline void ask_of_model(const std::string& path) {
  for (const json& rest :
       {json{{"query", "step"}, {"batch", 3}, {"context", 700}, {"tensor_parallel", 2}},
        json{{"query", "kv_capacity"}, {"context", 700}},
        json{{"query", "serving"},
             {"concurrency", 4},
             {"input_tokens", 300},
             {"output_tokens", 20}}}) {
    json asked = rest;
    asked["model"] = path;
    asked["accelerator"] = "h100_sxm";
    try {
      const auto answer = napkin::evaluate(napkin::query_of(asked), asked);
      check_answer(napkin::outcome_json(answer, asked), asked.dump());
    } catch (const perfmodel::error&) {
    }
  }
}

inline int model_input(input_file& file, const std::uint8_t* data, std::size_t size) {
  return one_input([&] {
    const std::string& path = file.holding({reinterpret_cast<const char*>(data), size});
    napkin::read_model(path);
    ask_of_model(path);
  });
}

}  // namespace fuzz
