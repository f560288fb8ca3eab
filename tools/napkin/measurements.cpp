#include "measurements.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/tools/fit/scores.hpp>

#include "catalogues.hpp"
#include "io/formats.hpp"
#include "key.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Maximum rows of a fit: a few hundred suffice, and each further row costs time.
constexpr std::size_t most_measurements = 100'000;
constexpr std::uintmax_t largest_recording = std::uintmax_t{16} << 20U;
constexpr number_range copies_range{.least = 0.0, .most = 1e6};

void add(std::vector<measured_gemm>& rows, const measured_gemm& row) {
  rows.push_back(row);
  if (rows.size() <= most_measurements) return;
  throw error(error_code::out_of_range, cat("there are more than ", most_measurements,
                                            " measurements; allowed: up to that many"));
}

pm::gemm gemm_of(double m, double n, double k, pm::number_format format) {
  return {.m = m, .n = n, .k = k, .format = format, .weights = format, .output = format};
}

// --- CSV ---------------------------------------------------------------------------------

struct latency_column {
  std::string_view name;
  double seconds;  ///< seconds per unit
};
constexpr std::array<latency_column, 3> latency_columns = {
    {{"latency_us", 1e-6}, {"latency_ms", 1e-3}, {"latency_s", 1.0}}};
constexpr std::string_view known_columns[] = {"gpu", "backend", "dtype",        "m",
                                              "n",   "k",       "weight_copies"};

/// Checks the column names; returns the time column.
const latency_column& latency_of(const table_header& h) {
  const latency_column* found = nullptr;
  for (const latency_column& c : latency_columns) {
    if (!h.find(c.name)) continue;
    if (found != nullptr) {
      h.fail(error_code::inconsistent, "duplicate column for \"latency\"");
    }
    found = &c;
  }
  for (const std::string& c : h.columns) {
    if (found != nullptr && c == found->name) continue;
    if (std::find(std::begin(known_columns), std::end(known_columns), c) != std::end(known_columns))
      continue;
    h.fail(code::unknown_key,
           cat("the column ", in_quotes(c), " is unknown; allowed: ", listed(known_columns),
               ", and the time with its unit as latency_us, latency_ms or latency_s"));
  }
  for (const std::string_view needed : {"dtype", "m", "n", "k"}) {
    if (!h.find(needed)) h.fail(code::missing_key, cat("there is no column ", needed));
  }
  if (found != nullptr) return *found;
  h.fail(code::missing_key, "there is no column latency_us (or latency_ms, latency_s)");
}

/// Number of weight buffers that a backend's published benchmark reads in turn ("trtllm-1.0.0");
/// none, and thus cold weights, for an unknown benchmark.
double weight_buffers_of(std::string_view backend, const pm::gemm& g, const pm::accelerator& a) {
  const std::string_view engine = backend.substr(0, backend.find_first_of("-/"));
  const auto known = pm::find_engine(engine);
  if (!known || *known == pm::engine::none) return 0.0;
  return pm::catalog::benchmark_weight_copies(*known, g.n * g.k * bytes_of(g.weights), g.format, a);
}

/// Checks that all rows are of one GPU: the calibrated one, where its name is in the catalogue.
void check_gpu(const table_row& r, std::string& gpu, const pm::accelerator& a) {
  const std::string& named = r.text("gpu");
  const auto names = accelerator_names();
  const bool known = std::find(names.begin(), names.end(), named) != names.end();
  if (gpu.empty() && known && named != a.name.view()) {
    r.fail(error_code::inconsistent,
           cat("gpu is ", in_quotes(named), ", and the accelerator is ", in_quotes(a.name.view())));
  }
  if (gpu.empty()) gpu = named;
  if (named == gpu) return;
  r.fail(error_code::inconsistent, cat("gpu is ", in_quotes(named), ", and was ", in_quotes(gpu),
                                       " before; a profile has one GPU: select it by --gpu"));
}

std::vector<measured_gemm> latencies_of_csv(const table_file& table, const pm::accelerator& a,
                                            const row_choice& choice) {
  const latency_column& latency = latency_of(*table.header);
  const bool has_gpu = table.header->find("gpu").has_value();
  const bool has_backend = table.header->find("backend").has_value();
  std::vector<measured_gemm> rows;
  std::string gpu;
  for (const table_row& r : table) {
    const std::string_view backend = has_backend ? std::string_view(r.text("backend")) : "";
    if (has_backend && !choice.backend.empty() && backend != choice.backend) continue;
    if (has_gpu && !choice.gpu.empty() && r.text("gpu") != choice.gpu) continue;
    if (has_gpu) check_gpu(r, gpu, a);
    const pm::gemm product = gemm_of(r.number("m", whole_count), r.number("n", whole_count),
                                     r.number("k", whole_count), format_in(r, "dtype"));
    const double copies = table.header->find("weight_copies")
                              ? r.number("weight_copies", copies_range)
                              : weight_buffers_of(backend, product, a);
    add(rows, {product, r.seconds(latency.name, latency.seconds) * pm::second, copies});
  }
  if (!rows.empty()) return rows;
  const bool chosen = !choice.gpu.empty() || !choice.backend.empty();
  throw error(error_code::unidentifiable, chosen ? cat("no row is of --gpu ", in_quotes(choice.gpu),
                                                       " --backend ", in_quotes(choice.backend))
                                                 : "there are no rows below the header");
}

// --- recordings --------------------------------------------------------------------------

measured_gemm latency_of_point(const json_field& point) {
  point["unit"].word("s");
  const json_field p = point["parameters"];
  std::vector<double> seconds;
  for (const json_field& s : point["samples"].list()) seconds.push_back(s.number(measured_seconds));
  if (seconds.empty()) point["samples"].refuse(json_fault::missing_key, "at least one sample");
  const auto format = find_format(p["format"].text());
  if (!format) p["format"].refuse(json_fault::unknown_word, format_names());
  pm::gemm product = gemm_of(p["m"].number(whole_count), p["n"].number(whole_count),
                             p["k"].number(whole_count), *format);
  // The programs write results of 8-bit GEMMs as bf16.
  if (pm::bits_of(*format) < 16.0) product.output = pm::bf16;
  const bool cold = !p.has("weight_copies");
  return {product, pm::detail::quantile(std::move(seconds), 0.5) * pm::second,
          cold ? 0.0 : p["weight_copies"].number(copies_range)};
}

/// Adds the GEMMs of a recording; those with cold weights to `fitted` and `verify`.
void add_recording(gemm_latencies& into, std::string_view text, const pm::accelerator& a) {
  if (text.size() > largest_recording) {
    throw error(error_code::unreadable_file,
                cat("the recording is larger than ", largest_recording >> 20U, " MiB"));
  }
  json content;
  read_json(text, content, {.depth = 64, .keys = 4096});
  const json_field r(content);
  r["schema"].word("perfmodel.recording");
  if (r["version"].number() != 1.0) r["version"].refuse(json_fault::not_allowed, "1");
  if (r.has("run") && r["run"].has("reduced") && r["run"]["reduced"].truth()) {
    throw error(error_code::inconsistent,
                "the recording is a reduced trial run; it measures nothing");
  }
  const std::string of = r["device"]["accelerator"].text();
  if (!of.empty() && of != a.name.view()) {
    throw error(error_code::inconsistent, cat("the recording is for ", in_quotes(of), ", not for ",
                                              in_quotes(a.name.view())));
  }
  for (const json_field& point : r["points"].list()) {
    const std::string quantity = point["quantity"].text();
    if (quantity == "verify_time") add(into.verify, latency_of_point(point));
    if (quantity != "gemm_time") continue;
    const json_field p = point["parameters"];
    const bool warm = p.has("cache") && p["cache"].text() == "warm";
    add(warm ? into.warm : into.fitted, latency_of_point(point));
  }
}

/// Files of a path: itself, or the .json files of a folder in the order of their names.
std::vector<std::string> recordings_at(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) return {path};
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(path, unknown)) {
    if (entry.path().extension() == ".json" && entry.is_regular_file(unknown)) {
      out.push_back(entry.path().string());
    }
  }
  if (out.empty()) unreadable("data", path, "is a folder without a .json file");
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

gemm_latencies read_gemm_latencies(const std::string& path, const pm::accelerator& a,
                                   const row_choice& choice) {
  gemm_latencies out;
  for (const std::string& file : recordings_at(path)) {
    const std::string text = read_text_file("data", file, largest_table);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    out.recorded = file != path || (first != text.npos && text[first] == '{');
    if (!out.recorded) {
      out.fitted = latencies_of_csv(read_table(text, shown(path, 200)), a, choice);
      return out;
    }
    try {
      add_recording(out, text, a);
    } catch (const error& e) {
      throw error(e.code(), cat("data: ", in_quotes(file), ": ", e.what()));
    }
  }
  if (out.fitted.empty() && out.verify.empty()) out.fitted.swap(out.warm);
  return out;
}

}  // namespace napkin
