#include "measurements.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <perfmodel/analysis/scores.hpp>
#include <perfmodel/calibrated/catalog/transfer.hpp>
#include <perfmodel/core/error.hpp>
#include <string_view>

#include "catalogues.hpp"
#include "codes.hpp"
#include "files.hpp"
#include "json.hpp"
#include "key.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
using pm::error;
using pm::error_code;

/// A format by its name in the catalogue, or by the name that PyTorch has for it.
pm::number_format format_of(std::string_view name, const std::string& where) {
  constexpr std::array<std::pair<std::string_view, pm::number_format>, 4> aliases = {
      {{"bfloat16", pm::bf16}, {"float16", pm::fp16}, {"half", pm::fp16}, {"float32", pm::fp32}}};
  for (const auto& [alias, format] : aliases) {
    if (name == alias) return format;
  }
  std::vector<std::string_view> names;
  for (const auto f : pm::all_formats) {
    if (name == pm::name_of(f)) return f;
    names.push_back(pm::name_of(f));
  }
  throw error(error_code::unknown_name, where + " is " + in_quotes(name) + "; allowed: " +
                                            listed(names) + ", bfloat16, float16, half, float32");
}

void check_dimension(double x, const std::string& where) {
  if (x >= 1.0 && x <= 1e15 && x == std::floor(x)) return;
  throw error(error_code::out_of_range,
              where + " is " + pm::detail::number_text(x) + "; allowed: a whole number, 1 to 1e15");
}
void check_time(double x, const std::string& where) {
  if (x >= 1e-12 && x <= 1e9) return;
  throw error(error_code::out_of_range,
              where + " is " + pm::detail::number_text(x) + "; allowed: 1e-12 to 1e9");
}
void check_copies(double x, const std::string& where) {
  if (x >= 0.0 && x <= 1e6) return;
  throw error(error_code::out_of_range,
              where + " is " + pm::detail::number_text(x) + "; allowed: 0 to 1e6");
}

/// What a fit can take in: a few hundred tell all, and each further one costs its time.
constexpr std::size_t most_rows = 100'000;
constexpr std::uintmax_t largest_csv = std::uintmax_t{64} << 20;
constexpr std::uintmax_t largest_recording = std::uintmax_t{16} << 20;

void check_count(const std::vector<measured_product>& rows) {
  if (rows.size() <= most_rows) return;
  throw error(error_code::out_of_range, "there are more than " + std::to_string(most_rows) +
                                            " measurements; allowed: up to that many");
}

pm::gemm product_of(double m, double n, double k, pm::number_format format) {
  pm::gemm g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.format = format;
  g.weights = format;
  g.output = format;
  return g;
}

// --- CSV ----------------------------------------------------------------------------------------

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    std::string_view cell = line.substr(begin, comma - begin);
    while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
    while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
    cells.push_back(cell);
    begin = comma + 1;
  }
  return cells;
}

/// Where each column stands, and the unit of the latency.
struct csv_header {
  static constexpr std::size_t absent = static_cast<std::size_t>(-1);
  std::size_t gpu = absent, backend = absent, dtype = absent, m = absent, n = absent, k = absent;
  std::size_t latency = absent, weight_copies = absent, columns = 0;
  std::string_view latency_name{};
  double seconds = 0.0;  ///< of its unit
};

csv_header header_of(std::string_view line) {
  csv_header h;
  constexpr std::array<std::pair<std::string_view, double>, 3> latencies = {
      {{"latency_us", 1e-6}, {"latency_ms", 1e-3}, {"latency_s", 1.0}}};
  const std::pair<std::string_view, std::size_t csv_header::*> others[] = {
      {"gpu", &csv_header::gpu},
      {"backend", &csv_header::backend},
      {"dtype", &csv_header::dtype},
      {"m", &csv_header::m},
      {"n", &csv_header::n},
      {"k", &csv_header::k},
      {"weight_copies", &csv_header::weight_copies}};
  const auto place = [&](std::size_t& at, std::string_view name) {
    if (at != csv_header::absent) {
      throw error(error_code::inconsistent,
                  "line 1: there is a second column for " + in_quotes(name));
    }
    at = h.columns;
  };
  for (const std::string_view cell : cells_of(line)) {
    bool known = false;
    for (const auto& [name, seconds] : latencies) {
      if (cell != name) continue;
      place(h.latency, "latency");
      h.latency_name = name;
      h.seconds = seconds;
      known = true;
    }
    for (const auto& [name, at] : others) {
      if (cell != name) continue;
      place(h.*at, name);
      known = true;
    }
    if (!known) {
      throw error(code::unknown_key, "line 1: the column " + in_quotes(cell) +
                                         " is not known; allowed: gpu, backend, dtype, m, n, "
                                         "k, weight_copies, and the time with its "
                                         "unit as latency_us, latency_ms or latency_s");
    }
    ++h.columns;
  }
  const std::pair<const char*, std::size_t> needed[] = {
      {"dtype", h.dtype},
      {"m", h.m},
      {"n", h.n},
      {"k", h.k},
      {"latency_us (or latency_ms, latency_s)", h.latency}};
  for (const auto& [name, at] : needed) {
    if (at == csv_header::absent)
      throw error(code::missing_key, std::string("line 1: there is no column ") + name);
  }
  return h;
}

double number_in(std::string_view cell, const std::string& where) {
  double x = 0.0;
  const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), x);
  if (failure == std::errc::result_out_of_range) {
    throw error(error_code::out_of_range,
                where + " is " + in_quotes(cell) + ", beyond what a double holds");
  }
  if (cell.empty() || failure != std::errc() || end != cell.data() + cell.size()) {
    throw error(code::wrong_type, where + " is " + in_quotes(cell) + "; allowed: a number");
  }
  return x;
}

/// Copies of the weights that a backend's published benchmark reads in turn ("trtllm-1.0.0"); none,
/// and so cold weights, for a benchmark that is not known.
double copies_of(std::string_view backend, const pm::gemm& g, const pm::accelerator& a) {
  const std::string_view engine = backend.substr(0, backend.find_first_of("-/"));
  const auto known = pm::find_engine(engine);
  if (!known || *known == pm::engine::none) return 0.0;
  return pm::catalog::benchmark_weight_copies(*known, g.n * g.k * bytes_of(g.weights), g.format, a);
}

/// A gpu that is named as in the catalogue has to be the one that is calibrated.
void check_gpu(std::string_view gpu, const pm::accelerator& a, const std::string& where) {
  const auto names = accelerator_names();
  if (gpu == a.name.view() || std::find(names.begin(), names.end(), gpu) == names.end()) return;
  throw error(error_code::inconsistent, where + " is " + in_quotes(gpu) +
                                            ", and the accelerator is " + in_quotes(a.name.view()));
}

std::vector<measured_product> products_of_csv(std::string_view text, const pm::accelerator& a,
                                              const row_choice& choice) {
  std::vector<measured_product> rows;
  csv_header h;
  std::string gpu;
  std::size_t number = 0;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the mark that spreadsheets write
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (h.columns == 0) {
      h = header_of(line);
      continue;
    }
    const auto cells = cells_of(line);
    const auto at = [number](std::string_view name) {
      return "line " + std::to_string(number) + ": " + std::string(name);
    };
    if (cells.size() != h.columns) {
      throw error(error_code::inconsistent, at(std::to_string(cells.size())) +
                                                " cells, and the header has " +
                                                std::to_string(h.columns));
    }
    if (h.backend != csv_header::absent && !choice.backend.empty() &&
        cells[h.backend] != choice.backend)
      continue;
    if (h.gpu != csv_header::absent) {
      if (!choice.gpu.empty() && cells[h.gpu] != choice.gpu) continue;
      if (gpu.empty()) check_gpu(cells[h.gpu], a, at("gpu"));
      if (gpu.empty()) gpu = cells[h.gpu];
      if (cells[h.gpu] != gpu) {
        throw error(error_code::inconsistent, at("gpu") + " is " + in_quotes(cells[h.gpu]) +
                                                  ", and was " + in_quotes(gpu) +
                                                  " before; a profile is of one: choose by --gpu");
      }
    }
    const double m = number_in(cells[h.m], at("m")), n = number_in(cells[h.n], at("n"));
    const double k = number_in(cells[h.k], at("k"));
    check_dimension(m, at("m"));
    check_dimension(n, at("n"));
    check_dimension(k, at("k"));
    const double latency = number_in(cells[h.latency], at(h.latency_name));
    check_time(latency, at(h.latency_name));
    const pm::gemm product = product_of(m, n, k, format_of(cells[h.dtype], at("dtype")));
    double copies = copies_of(
        h.backend == csv_header::absent ? std::string_view() : cells[h.backend], product, a);
    if (h.weight_copies != csv_header::absent)
      copies = number_in(cells[h.weight_copies], at("weight_copies"));
    check_copies(copies, at("weight_copies"));
    rows.push_back({product, pm::duration<>::from_value(latency * h.seconds), copies});
    check_count(rows);
  }
  if (h.columns == 0)
    throw error(code::missing_key, "the file is empty; it needs a header and rows");
  if (rows.empty()) {
    const bool chosen = !choice.gpu.empty() || !choice.backend.empty();
    throw error(error_code::unidentifiable,
                chosen ? "no row is of --gpu " + in_quotes(choice.gpu) + " --backend " +
                             in_quotes(choice.backend)
                       : std::string("there are no rows below the header"));
  }
  return rows;
}

// --- recordings ---------------------------------------------------------------------------------

const json& member(const json& object, const char* name, const std::string& where) {
  if (object.is_object()) {
    if (const auto at = object.find(name); at != object.end()) return *at;
  }
  throw error(code::missing_key, where + " has no " + name);
}
double number_of(const json& object, const char* name, const std::string& where) {
  const json& v = member(object, name, where);
  if (!v.is_number())
    throw error(code::wrong_type, where + ": " + name + " is " + brief(v) + "; allowed: a number");
  return v.get<double>();
}
std::string_view text_in(const json& object, const char* name, const std::string& where) {
  const json& v = member(object, name, where);
  if (!v.is_string())
    throw error(code::wrong_type, where + ": " + name + " is " + brief(v) + "; allowed: a string");
  return v.get_ref<const std::string&>();
}

measured_product product_of_point(const json& point, const std::string& where) {
  if (text_in(point, "unit", where) != "s") {
    throw error(error_code::unknown_name,
                where + ": the unit of a gemm_time is s, and not " + brief(point["unit"]));
  }
  const json& p = member(point, "parameters", where);
  const double m = number_of(p, "m", where), n = number_of(p, "n", where),
               k = number_of(p, "k", where);
  check_dimension(m, where + ": m");
  check_dimension(n, where + ": n");
  check_dimension(k, where + ": k");
  const double copies = number_of(p, "weight_copies", where);
  check_copies(copies, where + ": weight_copies");
  const json& samples = member(point, "samples", where);
  if (!samples.is_array() || samples.empty())
    throw error(code::missing_key, where + " has no samples");
  std::vector<double> seconds;
  for (const json& s : samples) {
    if (!s.is_number())
      throw error(code::wrong_type, where + ": a sample is " + brief(s) + "; allowed: a number");
    seconds.push_back(s.get<double>());
    check_time(seconds.back(), where + ": a sample");
  }
  return {product_of(m, n, k, format_of(text_in(p, "format", where), where + ": format")),
          pm::duration<>::from_value(pm::detail::quantile(std::move(seconds), 0.5)), copies};
}

std::vector<measured_product> products_of_recording(std::string_view text,
                                                    const pm::accelerator& a) {
  if (text.size() > largest_recording) {
    throw error(error_code::unreadable_file,
                "the recording is larger than " + std::to_string(largest_recording >> 20) + " MiB");
  }
  json r;
  read_json(text, r, {.depth = 64, .keys = 4096});
  const std::string whole = "the recording";
  if (text_in(r, "schema", whole) != "perfmodel.recording") {
    throw error(error_code::unknown_name,
                "schema is " + brief(r["schema"]) + "; allowed: perfmodel.recording");
  }
  if (const double version = number_of(r, "version", whole); version != 1.0) {
    throw error(error_code::out_of_range,
                "version is " + pm::detail::number_text(version) + "; allowed: 1");
  }
  if (const auto run = r.find("run");
      run != r.end() && run->is_object() && run->value("reduced", json()) == json(true)) {
    throw error(error_code::inconsistent,
                "the recording was reduced to try its program out; it measures nothing");
  }
  const std::string_view of = text_in(member(r, "device", whole), "accelerator", "device");
  if (!of.empty() && of != a.name.view()) {
    throw error(error_code::inconsistent, "the recording is of " + in_quotes(of) + ", and not of " +
                                              in_quotes(a.name.view()));
  }
  const json& points = member(r, "points", whole);
  if (!points.is_array())
    throw error(code::wrong_type, "points is " + brief(points) + "; allowed: an array");
  std::vector<measured_product> rows;
  std::size_t number = 0;
  for (const json& point : points) {
    const std::string where = "point " + std::to_string(++number);
    if (text_in(point, "quantity", where) == "gemm_time")
      rows.push_back(product_of_point(point, where));
    check_count(rows);
  }
  if (rows.empty())
    throw error(error_code::unidentifiable,
                "no point is a gemm_time; the experiment gemm_sweep has them");
  return rows;
}

}  // namespace

std::vector<measured_product> read_products(const std::string& path, const pm::accelerator& a,
                                            const row_choice& choice) {
  const std::string text = read_text_file("data", path, largest_csv);
  try {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != text.npos && text[first] == '{') return products_of_recording(text, a);
    return products_of_csv(text, a, choice);
  } catch (const error& e) {
    throw error(e.code(), "data: " + in_quotes(path) + ": " + e.what());
  }
}

}  // namespace napkin
