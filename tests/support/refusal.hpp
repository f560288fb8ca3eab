// What a call refuses, as text: "PM-E010: p is 0.5; allowed: 1 or more".
#pragma once

#include <perfmodel/core/error.hpp>
#include <string>

namespace perfmodel_test {

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const perfmodel::error& e) {
    return perfmodel::code_text(e.code()) + ": " + e.what();
  }
  return "nothing refused";
}

}  // namespace perfmodel_test
