#include "own_csv.hpp"

#include <algorithm>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/kernels/collectives.hpp>

#include <fit/scored_rows.hpp>
#include <napkin/io/formats.hpp>

namespace perfmodel::validation {

namespace {

using common::format_in;
using common::table_header;
using csv_row = common::table_row;

const accelerator& gpu_of(const csv_row& r) {
  const accelerator* a = catalog::find_accelerator(r.text("gpu"));
  if (a == nullptr) {
    r.refuse(error_code::unknown_accelerator, "gpu",
             listed(catalog::accelerators, [](const auto& e) { return e.key; }));
  }
  return *a;
}

comparison basic(const csv_row& r, const char* operation, const accelerator& a) {
  comparison c;
  c.table = r.file();
  c.quantity = operation;
  c.device = a.name.view();
  c.unit = "s";
  c.measured = 1e-6 * r.number("latency_us", {.least = 1e-15, .most = 1e30});
  c.by = "the shipped profile";
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

comparison compare_gemm(const csv_row& r) {
  const accelerator& a = gpu_of(r);
  gemm g{.m = r.count("m"), .n = r.count("n"), .k = r.count("k")};
  if (r.text("dtype") != "bf16" && !published::set_formats(g, r.text("dtype"))) {
    r.refuse(error_code::unknown_name, "dtype",
             "bf16, fp16, fp8, fp8_block, nvfp4, sq, int8_wo, int4_wo");
  }
  const std::string engine(common::split(r.text("backend"), '-').front());
  const engine_profile* found = catalog::find_engine(engine);
  if (found == nullptr) {
    r.refuse(error_code::unknown_name, "backend",
             "none, vllm, sglang, trtllm, each with a version after -");
  }
  const bytes<> weights = g.n * g.k * bytes_of(g.weights);
  const double copies = r.has("weight_copies") ? r.number("weight_copies", {})
                        : engine == "none"     ? 0.0
                                           : catalog::benchmark_weight_copies(*find_engine(engine),
                                                                              weights, g.format, a);
  comparison c = basic(r, "gemm", a);
  const estimate e = calibrated_estimate(a, g, {catalog::machine_profile_of(a).value, *found},
                                         perfmodel::replay_conditions(copies));
  set(c, a, demand_of(g), e, copies > 0.0 && copies * weights <= 1.5 * a.l2.capacity.quantity());
  c.format = r.text("dtype");
  c.engine = engine;
  c.size = demand_of(g).flop().value();
  return c;
}

/// The shape that a prompt and a cache have in common.
template <class Attention>
comparison compare_attention(const csv_row& r, const char* operation, Attention w) {
  const accelerator& a = gpu_of(r);
  w.batch = r.count("batch");
  w.query_heads = r.count("h_q");
  w.kv_heads = r.count("h_kv");
  w.head_dim = r.count("head_dim");
  w.format = format_in(r, "attn_dtype");
  w.kv_format = format_in(r, "kv_dtype");
  const attention_kernels& k = catalog::attention_kernels_of(a, w.kv_format);
  comparison c = basic(r, operation, a);
  const bool decode = requires {
    w.context;
  };
  const demand d = demand_of(w);
  set(c, a, d,
      calibrated_estimate(
          a, w, {catalog::machine_profile_of(a).value, catalog::attention_profile_of(a).value, k},
          {.cache = perfmodel::cache_state::warm}),
      decode && d.dram.total() <= 2.0 * a.l2.capacity.quantity());
  if (!decode) c.size = d.flop().value();
  c.format = name_of(w.kv_format.format);
  c.engine = k.name.view();
  return c;
}
comparison compare_prefill(const csv_row& r) {
  return compare_attention(r, "attention prefill", attention_prefill{.tokens = r.count("s_q")});
}
comparison compare_decode(const csv_row& r) {
  return compare_attention(r, "attention decode", attention_decode{.context = r.count("kv_len")});
}

comparison compare_experts(const csv_row& r) {
  const accelerator& a = gpu_of(r);
  moe_ffn w{.tokens = r.count("num_tokens"),
            .hidden = r.count("hidden_size"),
            .intermediate = r.count("inter_size"),
            .experts = r.count("num_experts"),
            .top_k = r.count("topk"),
            .tensor_parallel = r.count("tp"),
            .expert_parallel = r.count("ep")};
  const bool blocks = r.text("dtype") == "fp8_block";
  w.format = blocks ? fp8 : format_in(r, "dtype");
  w.weights = blocks ? storage_format(fp8, 128 * 128, 32) : storage_format(w.format);
  comparison c = basic(r, "experts", a);
  const moe_kernels& k =
      published::moe_kernels_of(cat(blocks ? "fp8moe " : "", r.text("backend")),
                                w.experts / w.expert_parallel, w.intermediate / w.tensor_parallel);
  const demand d = demand_of(w);
  set(c, a, d,
      calibrated_estimate(a, w, {catalog::moe_profile_of(a).value, k},
                          {.routing = expert_routing::balanced}),
      d.dram.total() <= 2.0 * a.l2.capacity.quantity());
  c.format = r.text("dtype");
  c.engine = k.name.view();
  return c;
}

collective call_of(const csv_row& r) {
  constexpr std::array operations = {collective_op::all_reduce,     collective_op::all_gather,
                                     collective_op::reduce_scatter, collective_op::all_to_all,
                                     collective_op::broadcast,      collective_op::point_to_point};
  const auto found = std::find_if(operations.begin(), operations.end(),
                                  [&](collective_op o) { return r.text("op") == name_of(o); });
  if (found == operations.end()) {
    r.refuse(error_code::unknown_name, "op",
             listed(operations, [](collective_op o) { return name_of(o); }));
  }
  const std::string& impl = r.text("impl");
  const bool nccl = impl == "nccl" || impl == "nccl-tests", eager = impl == "custom_eager";
  if (!nccl && !eager && impl != "custom_graph") {
    r.refuse(error_code::unknown_name, "impl", "nccl, custom_graph, custom_eager");
  }
  return {
      .operation = *found,
      .ranks = static_cast<int>(r.number("num_gpus", {.least = 1.0, .most = 1e6, .whole = true})),
      .message = message_bytes<>(r.number("bytes", {.least = 1e-15, .most = 1e30}) * byte),
      .implementation = nccl ? collective_implementation::nccl : collective_implementation::custom,
      .launch = nccl || eager ? launch_mode::stream : launch_mode::graph,
      .format = format_in(r, "dtype")};
}

comparison compare_collective(const csv_row& r) {
  const accelerator& a = gpu_of(r);
  comparison c = basic(r, r.text("op").c_str(), a);
  collective call = call_of(r);
  const auto cost = calibrated_collectives_on(a, catalog::collective_profile_of(a));
  c.predicted = collective_time(a.fabric, call, cost).time.value();
  call.implementation = collective_implementation::any;
  const collective_estimate least = collective_time(a.fabric, call);
  if (!least.feasible) {
    r.fail(error_code::inconsistent,
           cat("num_gpus is ", in_quotes(r.text("num_gpus")), ": ", least.feasible.reason,
               "; allowed on ", shown(r.text("gpu")), ": up to ", std::max(1, a.fabric.ranks)));
  }
  c.bound = least.time.value();
  c.held_to = c.bound;
  c.format = r.text("dtype");
  c.engine = r.text("impl");
  c.size = call.message.quantity().value();
  return c;
}

struct schema {
  comparison (*compare)(const csv_row&);
  const char* columns;
  const char* optional;
};
constexpr std::array<schema, 5> schemas = {
    {{compare_gemm, "gpu,backend,dtype,m,n,k,latency_us", "weight_copies"},
     {compare_prefill, "gpu,backend,attn_dtype,kv_dtype,batch,s_q,h_q,h_kv,head_dim,latency_us",
      ""},
     {compare_decode, "gpu,backend,attn_dtype,kv_dtype,batch,kv_len,h_q,h_kv,head_dim,latency_us",
      ""},
     {compare_experts,
      "gpu,backend,dtype,num_tokens,hidden_size,inter_size,topk,num_experts,tp,ep,latency_us", ""},
     {compare_collective, "gpu,impl,op,dtype,num_gpus,bytes,latency_us", "version"}}};

/// The one with the most columns in common.
const schema& schema_of(const table_header& header) {
  const schema* nearest = nullptr;
  long most = 0;
  for (const schema& s : schemas) {
    const auto wanted = common::split(s.columns, ',');
    const long shared = std::count_if(wanted.begin(), wanted.end(),
                                      [&](std::string_view c) { return header.find(c); });
    if (shared > most) most = shared, nearest = &s;
  }
  if (nearest == nullptr)
    header.fail(common::code::unknown_key, "the header names no known column");
  const auto wanted = common::split(nearest->columns, ',');
  for (const std::string_view c : wanted) {
    if (header.find(c)) continue;
    header.fail(common::code::missing_key,
                cat("the column ", c, " is missing; allowed: ", nearest->columns));
  }
  for (const std::string& c : header.columns) {
    if (c == nearest->optional || std::find(wanted.begin(), wanted.end(), c) != wanted.end()) {
      continue;
    }
    header.fail(common::code::unknown_key,
                cat("the column ", shown(c), " is not known; allowed: ", nearest->columns,
                    *nearest->optional == '\0' ? "" : ",", nearest->optional));
  }
  return *nearest;
}

}  // namespace

std::vector<comparison> compare_csv(const std::string& file) {
  const common::table_file table = common::read_table_file("--csv", file);
  const schema& s = schema_of(*table.header);
  std::vector<comparison> out;
  for (const csv_row& r : table) {
    try {
      out.push_back(s.compare(r));
    } catch (const error& e) {
      if (std::string_view(e.what()).starts_with(file)) throw;
      r.fail(e.code(), e.what());  // of a law
    }
  }
  if (out.empty()) table.header->fail(common::code::missing_key, "no rows below the header");
  return out;
}

}  // namespace perfmodel::validation
