// Makes C++ of CUDA C++, for the emulator: translate IN.cu OUT.cpp
//
//   kernel<T><<<grid, block, shared, stream>>>(a, b)   a call of emulator::launch
//   extern __shared__ float x[];                       a pointer to the block's dynamic memory
//   asm volatile("...")                                left alone: common/ptx.cuh hides it
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>

namespace {

[[noreturn]] void refuse(const std::string& why, const std::string& text, std::size_t at) {
  std::cerr << "translate: " << why << " near: " << text.substr(at, 60) << '\n';
  std::exit(1);
}

bool of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
}

/// Position of the callee's name, perhaps with template arguments, that ends before `end`.
std::size_t callee_begin(const std::string& text, std::size_t end) {
  std::size_t at = end;
  while (at > 0 && std::isspace(static_cast<unsigned char>(text[at - 1])) != 0) --at;
  if (at > 0 && text[at - 1] == '>') {
    int depth = 0;
    do {
      --at;
      if (text[at] == '>') ++depth;
      if (text[at] == '<') --depth;
    } while (at > 0 && depth > 0);
  }
  while (at > 0 && of_name(text[at - 1])) --at;
  return at;
}

/// Behind the parenthesis that closes the one at `open`.
std::size_t after_parentheses(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  refuse("no closing parenthesis", text, open);
}

std::string translated(std::string text) {
  for (std::size_t chevrons = text.find("<<<"); chevrons != std::string::npos;
       chevrons = text.find("<<<", chevrons)) {
    const std::size_t begin = callee_begin(text, chevrons);
    const std::size_t close = text.find(">>>", chevrons);
    if (close == std::string::npos) refuse("<<< without >>>", text, chevrons);
    const std::size_t open = text.find('(', close);
    if (open == std::string::npos) refuse("a launch without arguments", text, chevrons);
    const std::size_t end = after_parentheses(text, open);
    const std::string callee = text.substr(begin, chevrons - begin);
    const std::string configuration = text.substr(chevrons + 3, close - chevrons - 3);
    const std::string arguments = text.substr(open + 1, end - open - 2);
    const bool none = arguments.find_first_not_of(" \t\n") == std::string::npos;
    std::string call = "::emulator::launch(reinterpret_cast<const void*>(+" + callee;
    call += "), ::emulator::configuration(" + configuration + "), +" + callee;
    call += (none ? "" : ", " + arguments) + ")";
    text.replace(begin, end - begin, call);
    chevrons = begin + call.size();
  }
  static const std::regex dynamic(
      R"(extern\s+__shared__\s+((?:__align__\(\w+\)|alignas\(\w+\))\s+)?([\w:\s]+?)\s+(\w+)\[\];)");
  return std::regex_replace(text, dynamic,
                            "$2* const $3 = reinterpret_cast<$2*>(::emulator::dynamic_shared());");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: translate IN.cu OUT.cpp\n";
    return 2;
  }
  std::ifstream in(argv[1]);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) {
    std::cerr << "translate: cannot read " << argv[1] << '\n';
    return 2;
  }
  std::ofstream out(argv[2]);
  out << "#line 1 \"" << argv[1] << "\"\n" << translated(text.str());
  out.flush();
  return out ? 0 : 2;
}
