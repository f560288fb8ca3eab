// fuzz_<target> CORPUS [--seconds N] [--runs N] [--seed N]: the plain driver, where there is no
// libFuzzer. Every input of the corpus once, then changes of them, until the time or the runs are
// over. An input that ends the program is left in crash-<target>; fuzz_<target> FILE runs it again.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "fuzz.hpp"

namespace {

namespace fs = std::filesystem;

constexpr unsigned longest_seconds = 60;  // of one input: more is a hang

const std::string* current = nullptr;
std::string crash_file;

/// Calls of the system alone: the heap may be what broke.
extern "C" void on_signal(int signal) {
  if (current != nullptr) {
    const int file = ::open(crash_file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (file >= 0) {
      const ssize_t written = ::write(file, current->data(), current->size());
      ::close(file);
      const char text[] = "the input is in ";
      if (written >= 0 && ::write(2, text, sizeof text - 1) >= 0 &&
          ::write(2, crash_file.data(), crash_file.size()) >= 0 && ::write(2, "\n", 1) >= 0) {
      }
    }
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run(const std::string& input) {
  current = &input;
  ::alarm(longest_seconds);
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  } catch (const std::exception& e) {
    fuzz::finding(e.what(), input);
  }
  ::alarm(0);
  current = nullptr;
}

struct options {
  double seconds = 10.0;
  std::uint64_t runs = ~std::uint64_t{0};
  std::uint64_t seed = 1;
  std::vector<std::string> paths{};
};

options read_options(int argc, char** argv) {
  options o;
  bool timed = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--seconds" && has_value) {
      o.seconds = std::strtod(argv[++i], nullptr);
      timed = true;
    } else if (word == "--runs" && has_value) {
      o.runs = std::strtoull(argv[++i], nullptr, 10);
      if (!timed) o.seconds = 1e9;
    } else if (word == "--seed" && has_value) {
      o.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (!word.empty() && word[0] == '-') {
      std::cerr << word << ": not an option; there are --seconds, --runs and --seed\n";
      std::exit(2);
    } else {
      o.paths.push_back(word);
    }
  }
  return o;
}

std::vector<std::string> inputs_of(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> out;
  for (const fs::path& file : files) out.push_back(read_all(file));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const options o = read_options(argc, argv);
  const std::string name = fs::path(argv[0]).filename().string();
  crash_file = "crash-" + name;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) {
    std::signal(signal, on_signal);
  }
  std::vector<std::string> corpus = inputs_of(o.paths);
  for (const std::string& input : corpus) run(input);
  if (corpus.empty()) corpus.emplace_back("{}");

  fuzz::random_source random(o.seed);
  const auto started = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  };
  std::uint64_t runs = 0;
  const bool one_file = o.paths.size() == 1 && !fs::is_directory(o.paths[0]);
  for (; !one_file && runs < o.runs && elapsed() < o.seconds; ++runs) {
    const std::string& from = corpus[static_cast<std::size_t>(random() % corpus.size())];
    const std::string& other = corpus[static_cast<std::size_t>(random() % corpus.size())];
    run(fuzz::mutated(from, other, random));
  }
  std::cout << name << ": " << runs << " inputs in " << static_cast<int>(elapsed()) << " s, "
            << fuzz::counted().answered << " answered, " << fuzz::counted().refused
            << " refused, no finding\n";
}
