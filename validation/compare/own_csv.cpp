#include "own_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <perfmodel/calibrated/catalog/collectives.hpp>
#include <perfmodel/calibrated/collectives.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <sstream>

#include "../calibrate/scored_rows.hpp"
#include "../recording/text_file.hpp"

namespace perfmodel::validation {

namespace {

struct schema {
  const char* operation;
  const char* columns;
  const char* optional;
};
constexpr std::array<schema, 5> schemas = {
    {{"gemm", "gpu,backend,dtype,m,n,k,latency_us", "weight_copies"},
     {"attention prefill", "gpu,backend,attn_dtype,kv_dtype,batch,s_q,h_q,h_kv,head_dim,latency_us",
      ""},
     {"attention decode",
      "gpu,backend,attn_dtype,kv_dtype,batch,kv_len,h_q,h_kv,head_dim,latency_us", ""},
     {"experts",
      "gpu,backend,dtype,num_tokens,hidden_size,inter_size,topk,num_experts,tp,ep,latency_us", ""},
     {"collective", "gpu,impl,op,dtype,num_gpus,bytes,latency_us", "version"}}};

std::vector<std::string> cells_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> out;
  std::istringstream cells(line);
  for (std::string cell; std::getline(cells, cell, ',');) out.push_back(cell);
  if (!line.empty() && line.back() == ',') out.emplace_back();
  return out;
}
bool contains(const std::vector<std::string>& list, const std::string& x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

/// One row, by the names of its columns.
class row {
 public:
  row(const std::string& where, const std::vector<std::string>& header,
      const std::vector<std::string>& cells)
      : where_(where), header_(header), cells_(cells) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw csv_error(std::string(where_).append(": ").append(what));
  }
  const std::string& text(const char* column) const {
    const auto at = std::find(header_.begin(), header_.end(), column);
    return cells_[static_cast<std::size_t>(at - header_.begin())];
  }
  bool has(const char* column) const { return contains(header_, column) && !text(column).empty(); }
  double number(const char* column, double least = 1e-15, double most = 1e30) const {
    const std::string& s = text(column);
    double x = 0.0;
    const auto end = std::from_chars(s.data(), s.data() + s.size(), x);
    if (end.ec != std::errc{} || end.ptr != s.data() + s.size() || !(x >= least) || !(x <= most)) {
      fail(std::string(column)
               .append(" is \"")
               .append(shown(s))
               .append("\"; allowed: a number ")
               .append(least == 1.0   ? "from 1 on, at most 1e15"
                       : least == 0.0 ? "from 0 on, at most 1e15"
                                      : "above 0 (1e-15 to 1e30)"));
    }
    return x;
  }
  double count(const char* column) const { return number(column, 1.0, 1e15); }
  int whole(const char* column, int most) const {
    const double x = number(column, 1.0, 1e15);
    if (x != std::floor(x) || x > most) {
      fail(std::string(column)
               .append(" is \"")
               .append(shown(text(column)))
               .append("\"; allowed: a whole number from 1 to ")
               .append(std::to_string(most)));
    }
    return static_cast<int>(x);
  }
  const accelerator& gpu() const {
    const accelerator* a = catalog::find_accelerator(text("gpu"));
    if (a == nullptr) {
      std::string names;
      for (const auto& e : catalog::accelerators) {
        names.append(names.empty() ? "" : ", ").append(e.key);
      }
      fail(std::string("gpu is \"")
               .append(shown(text("gpu")))
               .append("\"; allowed: ")
               .append(names));
    }
    return *a;
  }
  number_format format(const char* column) const {
    const std::string& name = text(column);
    if (name == "bfloat16") return bf16;
    if (name == "half") return fp16;
    for (const number_format f : all_formats) {
      if (name == name_of(f)) return f;
    }
    std::string names = "bfloat16, half";
    for (const number_format f : all_formats) names.append(", ").append(name_of(f));
    fail(std::string(column)
             .append(" is \"")
             .append(shown(name))
             .append("\"; allowed: ")
             .append(names));
  }
  double seconds() const { return 1e-6 * number("latency_us"); }

 private:
  std::string where_;
  const std::vector<std::string>& header_;
  const std::vector<std::string>& cells_;
};

comparison basic(const row& r, const char* operation, const accelerator& a) {
  comparison c;
  c.quantity = operation;
  c.device = a.name.view();
  c.unit = "s";
  c.measured = r.seconds();
  return c;
}
void set(comparison& c, const accelerator& a, const demand& d, const estimate& e, bool warm) {
  c.predicted = e.time.value();
  c.bound = roofline(a, d).time.value();
  c.warm = warm;
  c.held_to = warm ? 0.0 : c.bound;
  c.regime = published::regime_of(e);
  c.size = d.dram.total().value();
}

comparison compare_gemm(const row& r) {
  const accelerator& a = r.gpu();
  gemm g{.m = r.count("m"), .n = r.count("n"), .k = r.count("k")};
  if (r.text("dtype") != "bf16" && !published::set_formats(g, r.text("dtype"))) {
    r.fail(std::string("dtype is \"")
               .append(shown(r.text("dtype")))
               .append("\"; allowed: bf16, fp16, fp8, fp8_block, nvfp4, sq, int8_wo, int4_wo"));
  }
  const std::string engine = r.text("backend").substr(0, r.text("backend").find('-'));
  const engine_profile* found = catalog::find_engine(engine);
  if (found == nullptr) {
    r.fail(std::string("backend is \"")
               .append(shown(r.text("backend")))
               .append("\"; allowed: none, vllm, sglang, trtllm, each with a version after -"));
  }
  const double published_copies =
      engine == "none" ? 0.0
                       : catalog::benchmark_weight_copies(
                             *find_engine(engine), g.n * g.k * bytes_of(g.weights), g.format, a);
  const double copies =
      r.has("weight_copies") ? r.number("weight_copies", 0.0, 1e15) : published_copies;
  comparison c = basic(r, "gemm", a);
  const estimate e = calibrated_estimate(a, g, {catalog::machine_profile_of(a).value, *found},
                                         perfmodel::replaying(copies));
  const double weights = g.n * g.k * bytes_of(g.weights).value();
  set(c, a, demand_of(g), e, copies > 0.0 && copies * weights <= 1.5 * a.l2.capacity.value());
  c.format = r.text("dtype");
  c.engine = engine;
  c.size = demand_of(g).flop().value();
  return c;
}

comparison compare_attention(const row& r, bool decode) {
  const accelerator& a = r.gpu();
  comparison c = basic(r, decode ? "attention decode" : "attention prefill", a);
  const number_format kv = r.format("kv_dtype");
  const attention_parameters p = catalog::attention_profile_of(a).value;
  const attention_kernels& k = catalog::attention_kernels_of(a, kv);
  c.format = name_of(kv);
  c.engine = k.name.view();
  if (decode) {
    attention_decode w{.batch = r.count("batch"),
                       .context = r.count("kv_len"),
                       .query_heads = r.count("h_q"),
                       .kv_heads = r.count("h_kv"),
                       .head_dim = r.count("head_dim"),
                       .format = r.format("attn_dtype")};
    w.kv_format = kv;
    const demand d = demand_of(w);
    const bool warm = d.dram.total() <= 2.0 * a.l2.capacity.quantity();
    set(c, a, d, calibrated_estimate(a, w, {p, k}, {.cache = perfmodel::cache_state::warm}), warm);
    return c;
  }
  attention_prefill w{.batch = r.count("batch"),
                      .tokens = r.count("s_q"),
                      .query_heads = r.count("h_q"),
                      .kv_heads = r.count("h_kv"),
                      .head_dim = r.count("head_dim"),
                      .format = r.format("attn_dtype")};
  w.kv_format = kv;
  const demand d = demand_of(w);
  set(c, a, d, calibrated_estimate(a, w, {p, k}, {.cache = perfmodel::cache_state::warm}), false);
  c.size = d.flop().value();
  return c;
}

comparison compare_experts(const row& r) {
  const accelerator& a = r.gpu();
  moe_ffn w{.tokens = r.count("num_tokens"),
            .hidden = r.count("hidden_size"),
            .intermediate = r.count("inter_size"),
            .experts = r.count("num_experts"),
            .top_k = r.count("topk"),
            .tensor_parallel = r.count("tp"),
            .expert_parallel = r.count("ep")};
  const bool blocks = r.text("dtype") == "fp8_block";
  w.format = blocks ? fp8 : r.format("dtype");
  w.weights = blocks ? storage_format(fp8, 128 * 128, 32) : storage_format(w.format);
  comparison c = basic(r, "experts", a);
  const moe_kernels& k = published::moe_kernels_of(
      blocks ? std::string("fp8moe ").append(r.text("backend")) : r.text("backend"));
  const demand d = demand_of(w);
  set(c, a, d,
      calibrated_estimate(a, w, {catalog::moe_profile_of(a).value, k},
                          {.routing = routing::balanced}),
      d.dram.total() <= 2.0 * a.l2.capacity.quantity());
  c.format = r.text("dtype");
  c.engine = k.name.view();
  return c;
}

comparison compare_collective(const row& r) {
  const accelerator& a = r.gpu();
  comparison c = basic(r, "collective", a);
  collective call;
  bool known = false;
  for (const collective_op o :
       {collective_op::all_reduce, collective_op::all_gather, collective_op::reduce_scatter,
        collective_op::all_to_all, collective_op::broadcast, collective_op::point_to_point}) {
    if (r.text("op") == name_of(o)) call.operation = o, known = true;
  }
  if (!known) {
    r.fail(std::string("op is \"")
               .append(shown(r.text("op")))
               .append("\"; allowed: all_reduce, all_gather, reduce_scatter, all_to_all, "
                       "broadcast, point_to_point"));
  }
  const std::string& impl = r.text("impl");
  if (impl == "nccl" || impl == "nccl-tests") {
    call.implementation = implementation::nccl;
    call.launch = launch_mode::stream;
  } else if (impl == "custom_graph" || impl == "custom_eager") {
    call.implementation = implementation::custom;
    call.launch = impl == "custom_eager" ? launch_mode::stream : launch_mode::graph;
  } else {
    r.fail(std::string("impl is \"")
               .append(shown(impl))
               .append("\"; allowed: nccl, custom_graph, custom_eager"));
  }
  call.format = r.format("dtype");
  call.ranks = r.whole("num_gpus", 1000000);
  call.message = message_bytes<>(r.number("bytes") * byte);
  const auto cost = calibrated_collectives_on(a, catalog::collective_profile_of(a));
  c.predicted = collective_time(a.fabric, call, cost).time.value();
  call.implementation = implementation::any;
  const collective_estimate least = collective_time(a.fabric, call);
  if (!least.feasible) {
    r.fail(std::string("num_gpus is \"")
               .append(shown(r.text("num_gpus")))
               .append("\": ")
               .append(least.feasible.reason)
               .append("; allowed on ")
               .append(shown(r.text("gpu")))
               .append(": up to ")
               .append(std::to_string(std::max(1, a.fabric.ranks))));
  }
  c.bound = least.time.value();
  c.held_to = c.bound;
  c.format = r.text("dtype");
  c.engine = impl;
  c.quantity = r.text("op");
  c.size = call.message.quantity().value();
  return c;
}

const schema& schema_of(const std::string& file, const std::vector<std::string>& header) {
  const schema* nearest = nullptr;
  std::size_t most = 0;
  for (const schema& s : schemas) {
    const auto wanted = cells_of(s.columns);
    const auto shared = static_cast<std::size_t>(std::count_if(
        wanted.begin(), wanted.end(), [&](const std::string& c) { return contains(header, c); }));
    if (shared > most) most = shared, nearest = &s;
  }
  const auto fail = [&](const std::string& what) {
    throw csv_error(std::string(file).append(":1: ").append(what));
  };
  if (nearest == nullptr) fail("the header names no known column");
  for (const std::string& c : cells_of(nearest->columns)) {
    if (!contains(header, c)) {
      fail(std::string("the column ")
               .append(c)
               .append(" is missing; allowed: ")
               .append(nearest->columns));
    }
  }
  for (const std::string& c : header) {
    if (std::count(header.begin(), header.end(), c) > 1) {
      fail(std::string("the column ").append(shown(c)).append(" stands there twice"));
    }
    if (contains(cells_of(nearest->columns), c) || contains(cells_of(nearest->optional), c))
      continue;
    std::string allowed = nearest->columns;
    if (*nearest->optional != '\0') allowed.append(",").append(nearest->optional);
    fail(std::string("the column ")
             .append(shown(c))
             .append(" is not known; allowed: ")
             .append(allowed));
  }
  return *nearest;
}

}  // namespace

std::vector<comparison> compare_csv(const std::string& file) {
  constexpr std::uintmax_t largest = std::uintmax_t{64} << 20U;
  const std::string why = why_unreadable(file, largest);
  if (!why.empty()) throw csv_error(std::string(file).append(": ").append(why));
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  if (line.compare(0, 3, "\xEF\xBB\xBF") == 0) line.erase(0, 3);  // as spreadsheets write
  const std::vector<std::string> header = cells_of(line);
  const schema& s = schema_of(file, header);
  const std::string operation = s.operation;
  std::vector<comparison> out;
  for (int number = 2; std::getline(in, line); ++number) {
    if (line.empty() || line == "\r") continue;
    const std::string where = std::string(file).append(":").append(std::to_string(number));
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != header.size()) {
      throw csv_error(std::string(where)
                          .append(": ")
                          .append(std::to_string(cells.size()))
                          .append(" cells; the header has ")
                          .append(std::to_string(header.size())));
    }
    const row r(where, header, cells);
    try {
      out.push_back(operation == "gemm"      ? compare_gemm(r)
                    : operation == "experts" ? compare_experts(r)
                    : operation == "collective"
                        ? compare_collective(r)
                        : compare_attention(r, operation == "attention decode"));
    } catch (const perfmodel::error& e) {
      throw csv_error(std::string(where).append(": ").append(e.what()));
    }
    out.back().table = file;
    out.back().by = "the shipped profile";
  }
  if (out.empty()) throw csv_error(std::string(file).append(": no rows below the header"));
  return out;
}

}  // namespace perfmodel::validation
