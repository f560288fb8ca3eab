// Files of figures, and their colours.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "figure.hpp"
#include "files.hpp"
#include "text.hpp"

namespace common {

namespace {

constexpr std::array<const char*, 8> palette = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#7f7f7f", "#333333"};

struct word_colour {
  std::string_view word;
  std::size_t index;
};
constexpr word_colour word_colours[] = {
    // engines
    {"vllm", 0},
    {"sglang", 1},
    {"trtllm", 2},
    {"none", 6},
    // formats
    {"bf16", 0},
    {"fp16", 0},
    {"fp8", 1},
    {"int8", 3},
    {"fp4", 2},
    {"int4", 4},
    {"tf32", 5},
    {"fp32", 6},
    {"fp64", 7},
    // limiters
    {"memory", 0},
    {"DRAM bandwidth", 0},
    {"compute", 1},
    {"interconnect", 2},
    {"communication", 2},
    {"CPU time", 3},
    {"host", 3},
    {"launches and latency", 4},
    {"launch", 4},
    {"queue", 5},
    {"other", 6}};

std::string ending_of(const std::string& path) {
  return lower_case(std::filesystem::path(path).extension().string());
}

[[noreturn]] void no_converter() {
  throw error(error_code::unreadable_file,
              "plot: PNG needs rsvg-convert, which is not on the PATH; install librsvg2-bin, or "
              "name a file that ends in .svg");
}

/// The program on the PATH; "" where there is none.
std::string found_program(const char* name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
    const std::string file = cat(folder.empty() ? "." : folder, "/", name);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// Removes its file.
struct scratch_file {
  std::filesystem::path path;
  ~scratch_file() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

/// The PNG of an SVG, twice as fine as its pixels.
std::string png_of(const std::string& svg, const std::string& path) {
  namespace fs = std::filesystem;
  const std::string program = found_program("rsvg-convert");
  if (program.empty()) no_converter();
  std::error_code failure;
  const fs::path folder = fs::temp_directory_path(failure);
  const scratch_file from{folder / cat("napkin_plot_", ::getpid(), ".svg")};
  const scratch_file to{folder / cat("napkin_plot_", ::getpid(), ".png")};
  write_text_file("plot", from.path.string(), svg);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string in = from.path.string(), out = to.path.string();
    ::execl(program.c_str(), program.c_str(), "--zoom", "2", "--output", out.c_str(), in.c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 1;
  if (child > 0) ::waitpid(child, &status, 0);
  std::ifstream file(to.path, std::ios::binary);
  std::string png((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (child < 0 || status != 0 || png.empty())
    unreadable("plot", path, "cannot be written: rsvg-convert failed");
  return png;
}

}  // namespace

std::string palette_colour(std::size_t index) {
  return palette[index % palette.size()];
}

std::string colour_of(std::string_view word) {
  for (const word_colour& w : word_colours) {
    if (w.word == word) return palette[w.index];
  }
  return {};
}

void require_figure_path(const std::string& path) {
  if (path == "-" || path == "text") return;
  const std::string ending = ending_of(path);
  if (ending != ".svg" && ending != ".png") {
    throw error(error_code::unknown_name,
                cat("plot is ", in_quotes(path),
                    "; allowed: a file that ends in .svg or .png, or text for the terminal"));
  }
  if (ending == ".png" && found_program("rsvg-convert").empty()) no_converter();
}

std::string write_figure(const figure& f, const std::string& path) {
  require_figure_path(path);
  if (path == "-" || path == "text") return text_of(f);
  const std::string svg = svg_of(f);
  write_text_file("plot", path, ending_of(path) == ".png" ? png_of(svg, path) : svg);
  return {};
}

}  // namespace common
