// Asks the library a question of the sweep: the only file here that knows the library's names.
// One short function for each kind; an error and an infeasible result are answers too.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/operators/norm.hpp>
#include <perfmodel/parallel/hierarchy.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sweep/facts.hpp"
#include "sweep/questions.hpp"

namespace perfmodel_sweep {

namespace pm = perfmodel;

using dual = pm::dual<1>;
using interval = pm::interval;

/// What the library said. `values` has one number for each result, two over dual (value and
/// derivative by the logarithm of the seed) and interval (low and high).
/// `verdict` has 1 for each feasible result and 0, what is needed and what there is for another.
/// `error` is 0, or the code of the refusal.
struct reply {
  std::vector<double> values{};
  std::vector<double> verdict{};
  std::vector<std::size_t> derivatives{};  ///< which of `values` are; each stands behind its value
  int error = 0;

  /// All of it as one list; a refusal is -1000 less its code.
  std::vector<double> flat() const {
    if (error != 0) return {-1000.0 - error};
    std::vector<double> out = values;
    out.insert(out.end(), verdict.begin(), verdict.end());
    return out;
  }
};

// --- inputs --------------------------------------------------------------------------------------

/// Known to 5 %: a count stays at or above 1, and a share at or below 1.
inline interval known_to_5_percent(double x) {
  const double lo = 0.95 * x, hi = 1.05 * x;
  if (x >= 1.0) return {std::max(1.0, lo), hi};
  return {lo, std::min(1.0, hi)};
}

/// The numbers and words of a question, over one scalar.
template <class T>
class inputs {
 public:
  explicit inputs(const question& q) : q_(q) {}

  /// A number, over the scalar if it varies.
  T operator()(std::string_view name) const {
    const number& n = find(name);
    return n.varies ? vary(n.name, n.value) : T(n.value);
  }
  /// A number, but for 0: the questions have it where there is none.
  std::optional<T> stated(std::string_view name) const {
    return find(name).value > 0.0 ? std::optional<T>((*this)(name)) : std::nullopt;
  }
  double fixed(std::string_view name) const { return find(name).value; }
  int whole(std::string_view name) const { return static_cast<int>(find(name).value); }
  bool flag(std::string_view name) const { return find(name).value != 0.0; }
  const std::string& word(std::string_view name) const {
    for (const auto& [key, value] : q_.words) {
      if (key == name) return value;
    }
    throw std::logic_error("no such word: " + std::string(name));
  }
  T vary(std::string_view name, double x) const {
    if constexpr (std::is_same_v<T, dual>) {
      return name == q_.seed ? dual::log_variable(x, 0) : dual(x);
    } else if constexpr (std::is_same_v<T, interval>) {
      return known_to_5_percent(x);
    } else {
      return x;
    }
  }

 private:
  const number& find(std::string_view name) const {
    for (const number& n : q_.numbers) {
      if (n.name == name) return n;
    }
    throw std::logic_error("no such number: " + std::string(name));
  }
  const question& q_;
};

inline pm::number_format format_called(std::string_view name) {
  for (const pm::number_format f : pm::all_formats) {
    if (name == pm::name_of(f)) return f;
  }
  throw std::logic_error("no such format");
}
/// "fp8", or "int4_128_16": groups of 128 with a scale of 16 bits.
inline pm::storage_format storage_called(const std::string& name) {
  const std::size_t first = name.find('_');
  if (first == std::string::npos) return format_called(name);
  const std::size_t second = name.find('_', first + 1);
  return {format_called(name.substr(0, first)),
          std::stod(name.substr(first + 1, second - first - 1)),
          std::stod(name.substr(second + 1))};
}
template <class T>
pm::number_format format_of(const inputs<T>& in) {
  return format_called(in.word("format"));
}

/// States a fact, unless it is 0: the tables of the sweep have 0 for a fact that is not stated.
template <class Fact, class X>
void state(Fact& fact, const X& x) {
  using pm::upper;
  if (upper(x.value()) > 0.0) fact = x;
}
template <class T>
void set_peaks(pm::basic_peak_rates<T>& rates, const std::array<double, 9>& peaks, const char* name,
               const inputs<T>& in) {
  const auto rate = [&](std::size_t i) { return in.vary(name, peaks[i]) * pm::flop_per_s; };
  state(rates.fp64, rate(0));
  state(rates.fp32, rate(1));
  state(rates.tf32, rate(2));
  state(rates.bf16, rate(3));
  state(rates.fp16, rate(4));
  state(rates.fp8, rate(5));
  state(rates.int8, rate(6));
  state(rates.fp4, rate(7));
  state(rates.int4, rate(8));
}
/// The accelerator of the question, from the facts of the sweep. Of these DRAM and fabric bandwidth
/// and all peaks vary.
template <class T>
pm::basic_accelerator<T> device_of(const inputs<T>& in) {
  for (const facts& f : known_facts) {
    if (in.word("accelerator") != f.key) continue;
    pm::basic_accelerator<T> a;
    a.name = f.key;
    set_peaks(a.matrix.peak, f.matrix, "matrix.peak", in);
    set_peaks(a.vector.peak, f.vector, "vector.peak", in);
    a.dram.capacity = T(f.capacity) * pm::byte;
    a.dram.bandwidth = in.vary("dram.bandwidth", f.bandwidth) * pm::byte_per_s;
    state(a.l2.bandwidth, T(f.l2_bandwidth) * pm::byte_per_s);
    state(a.shared.bandwidth, T(f.shared_bandwidth) * pm::byte_per_s);
    a.fabric.kind = f.has_fabric ? pm::link_kind::nvlink : pm::link_kind::none;
    state(a.fabric.bandwidth, in.vary("fabric.bandwidth", f.fabric_bandwidth) * pm::byte_per_s);
    state(a.fabric.latency, T(f.fabric_latency) * pm::second);
    a.fabric.ranks = f.ranks;
    a.fabric.in_network_reduction = f.fabric_adds;
    return a;
  }
  throw std::logic_error("no such accelerator");
}
template <class T>
pm::basic_transformer<T> model_of(const inputs<T>& in) {
  const pm::transformer* entry = pm::catalog::find_model(in.word("model"));
  if (entry == nullptr) throw std::logic_error("no such model");
  return pm::lift<T>(*entry);
}
template <class T>
pm::basic_deployment<T> deployment_of(const inputs<T>& in) {
  pm::basic_deployment<T> d;
  d.device = device_of(in);
  d.model = model_of(in);
  d.layout.tensor = in.whole("tensor");
  d.layout.pipeline = in.whole("pipeline");
  d.layout.data = in.whole("data");
  d.layout.expert = in.whole("expert");
  const bool wide = pm::bits_of(format_of(in)) >= 16.0;  // what is no matrix stays at 16 bits
  d.weights =
      pm::weight_storage(storage_called(in.word("weights")), wide ? format_of(in) : pm::bf16);
  d.activations = format_of(in);
  d.kv = storage_called(in.word("kv"));
  d.utilization = in("utilization");
  d.activation_bytes = pm::bytes<T>{};
  d.runtime_bytes = pm::bytes<T>{};
  return d;
}
template <class T>
pm::basic_interconnect<T> link_of(const inputs<T>& in) {
  pm::basic_interconnect<T> l;
  l.kind = pm::link_kind::nvlink;
  l.bandwidth = in("link.bandwidth") * pm::byte_per_s;
  l.latency = in("link.latency") * pm::second;
  l.ranks = in.whole("link.ranks");
  l.in_network_reduction = in.flag("link.adds");
  return l;
}
template <class T>
pm::basic_collective<T> collective_of(const inputs<T>& in) {
  pm::basic_collective<T> c;
  for (int i = 0; i <= static_cast<int>(pm::collective_op::point_to_point); ++i) {
    const auto operation = static_cast<pm::collective_op>(i);
    if (in.word("operation") == pm::name_of(operation)) c.operation = operation;
  }
  c.ranks = in.whole("ranks");
  c.message = pm::message_bytes<T>(in("message") * pm::byte);
  return c;
}
template <class T>
pm::basic_collective<T> with_algorithm(pm::basic_collective<T> c, const inputs<T>& in) {
  for (int i = 0; i <= static_cast<int>(pm::collective_algorithm::best); ++i) {
    const auto algorithm = static_cast<pm::collective_algorithm>(i);
    if (in.word("algorithm") == pm::name_of(algorithm)) c.algorithm = algorithm;
  }
  return c;
}

// --- outputs -------------------------------------------------------------------------------------

/// Words an answer can hold, as their place in this list, whatever the library's own order.
inline double place_of(const char* word) {
  static constexpr std::array<const char*, 16> words = {
      "none", "compute",  "vector_compute", "memory",    "l2",   "shared",
      "link", "latency",  "launch",         "queue",     "ring", "tree",
      "best", "one_shot", "two_shot",       "in_network"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::strcmp(word, words[i]) == 0) return static_cast<double>(i);
  }
  return -1.0;
}

/// Collects results of any scalar, with or without a unit or a convention.
class answers {
 public:
  void add(double x) { r.values.push_back(x); }
  void add(const dual& x) {
    r.values.push_back(x.value());
    r.derivatives.push_back(r.values.size());
    r.values.push_back(x.partial(0));
  }
  void add(const interval& x) {
    r.values.push_back(x.lo());
    r.values.push_back(x.hi());
  }
  template <pm::Quantity Q>
  void add(const Q& q) {
    add(q.value());
  }
  template <class Convention, pm::Quantity Q>
  void add(const pm::qualified<Convention, Q>& q) {
    add(q.quantity().value());
  }
  void add(pm::limiter l) { add(place_of(pm::name_of(l))); }
  void add(pm::collective_algorithm a) { add(place_of(pm::name_of(a))); }
  void add(const pm::feasibility& f) {
    r.verdict.push_back(f.feasible ? 1.0 : 0.0);
    if (f.feasible) return;
    r.verdict.push_back(f.needed);
    r.verdict.push_back(f.available);
  }
  template <class X, class Y, class... More>
  void add(const X& x, const Y& y, const More&... more) {
    add(x);
    add(y);
    (add(more), ...);
  }

  reply r{};
};

template <class T>
void add_estimate(answers& out, const pm::basic_estimate<T>& e) {
  out.add(e.time, e.limiter, e.mfu, e.mbu, e.terms.sum(), e.feasible);
}
template <class T>
void add_terms(answers& out, const pm::basic_estimate<T>& e,
               std::initializer_list<const char*> names) {
  out.add(e.time, e.limiter, e.feasible);
  for (const char* name : names) out.add(e.terms.time_of(name));
}
template <class T>
void add_collective(answers& out, const pm::basic_collective_estimate<T>& e) {
  out.add(e.time, e.wire, e.algbw, e.busbw, e.feasible);
}

// --- operators on one device ---------------------------------------------------------------------

template <class T>
void answer_gemm(const inputs<T>& in, answers& out) {
  pm::basic_gemm<T> w;
  w.m = in("m");
  w.n = in("n");
  w.k = in("k");
  w.format = w.output = format_of(in);
  w.weights = storage_called(in.word("weights"));
  add_estimate(out, pm::roofline(device_of(in), w));
}
template <class T>
void answer_attention_decode(const inputs<T>& in, answers& out) {
  pm::basic_attention_decode<T> w;
  w.batch = in("batch");
  w.context = in("context");
  w.query_heads = in("query_heads");
  w.kv_heads = in("kv_heads");
  w.head_dim = in("head_dim");
  w.format = format_of(in);
  w.kv_format = storage_called(in.word("kv"));
  w.block_size = in.stated("block_size");
  w.window = in.stated("window");
  w.splits = in("splits");
  add_estimate(out, pm::roofline(device_of(in), w));
}
template <class T>
void answer_attention_prefill(const inputs<T>& in, answers& out) {
  pm::basic_attention_prefill<T> w;
  w.batch = in("batch");
  w.tokens = in("tokens");
  w.query_heads = in("query_heads");
  w.kv_heads = in("kv_heads");
  w.head_dim = in("head_dim");
  w.format = format_of(in);
  w.kv_format = storage_called(in.word("kv"));
  w.causal = in.flag("causal");
  w.window = in.stated("window");
  w.past = in("past");
  w.fused = in.flag("fused");
  w.softmax_flop = in("softmax_flop");
  add_estimate(out, pm::roofline(device_of(in), w));
}
template <class T>
void answer_moe_ffn(const inputs<T>& in, answers& out) {
  pm::basic_moe_ffn<T> w;
  w.tokens = in("tokens");
  w.hidden = in("hidden");
  w.intermediate = in("intermediate");
  w.experts = in("experts");
  w.top_k = in("top_k");
  w.shared_experts = in("shared_experts");
  w.tensor_parallel = in("tensor");
  w.expert_parallel = in("expert");
  w.format = format_of(in);
  w.weights = storage_called(in.word("weights"));
  w.gated = in.flag("gated");
  w.fused = in.flag("fused");
  add_estimate(out, pm::roofline(device_of(in), w));
  out.add(pm::experts_touched(w));
}
template <class T>
void answer_norm(const inputs<T>& in, answers& out) {
  pm::basic_norm<T> w;
  w.rows = in("rows");
  w.width = in("width");
  w.kind = in.flag("layer") ? pm::norm_kind::layer : pm::norm_kind::rms;
  w.format = format_of(in);
  w.passes = in("passes");
  w.residual = in.flag("residual");
  add_estimate(out, pm::roofline(device_of(in), w));
}
template <class T>
void answer_elementwise(const inputs<T>& in, answers& out) {
  pm::basic_elementwise<T> w;
  w.elements = in("elements");
  w.inputs = in("inputs");
  w.outputs = in("outputs");
  w.flop_per_element = in("flop_per_element");
  w.format = format_of(in);
  add_estimate(out, pm::roofline(device_of(in), w));
}
template <class T>
void answer_swiglu(const inputs<T>& in, answers& out) {
  pm::basic_swiglu<T> w;
  w.tokens = in("tokens");
  w.hidden = in("hidden");
  w.intermediate = in("intermediate");
  w.format = format_of(in);
  w.weights = storage_called(in.word("weights"));
  w.gated = in.flag("gated");
  w.fused = in.flag("fused");
  w.activation_flop = in("activation_flop");
  add_estimate(out, pm::roofline(device_of(in), w));
}
template <class T>
void answer_attainable(const inputs<T>& in, answers& out) {
  const pm::flop_rate<T> peak = in("peak") * pm::flop_per_s;
  const pm::bandwidth<T> memory = in("bandwidth") * pm::byte_per_s;
  const pm::intensity<T> intensity = in("intensity") * pm::flop_per_byte;
  out.add(pm::attainable(peak, memory, intensity), pm::ridge_point(peak, memory));
}
template <class T>
void answer_ridge_point(const inputs<T>& in, answers& out) {
  const pm::basic_accelerator<T> a = device_of(in);
  out.add(pm::ridge_point(a, format_of(in)), pm::peak(a, format_of(in)));
}

// --- models and memory ---------------------------------------------------------------------------

template <class T>
void answer_kv_bytes(const inputs<T>& in, answers& out) {
  const pm::basic_transformer<T> m = model_of(in);
  const pm::storage_format kv = storage_called(in.word("kv"));
  out.add(pm::kv_bytes(m, in("context"), kv), pm::kv_bytes_per_token(m, kv));
}
template <class T>
void answer_parameters(const inputs<T>& in, answers& out) {
  const pm::basic_transformer<T> m = model_of(in);
  const pm::basic_parameter_count<T> p = pm::parameters(m);
  out.add(p.total(), p.attention + p.linear, p.experts, p.embedding, pm::active_parameters(m),
          pm::matmul_parameters(m),
          pm::weight_bytes(m, storage_called(in.word("weights")), pm::bf16),
          pm::flop_per_token(m, in("context")));
}
template <class T>
void add_capacity(answers& out, const pm::basic_kv_capacity<T>& c) {
  out.add(c.available, c.blocks, c.tokens, c.sequences, c.feasible);
}
template <class T>
void answer_kv_capacity(const inputs<T>& in, answers& out) {
  add_capacity(out, pm::kv_capacity(deployment_of(in), in("context"), in("block_size")));
}
template <class T>
void answer_kv_budget(const inputs<T>& in, answers& out) {
  pm::basic_memory_budget<T> b;
  b.capacity = in("capacity") * pm::byte;
  b.utilization = in("utilization");
  b.weights = in("weights") * pm::byte;
  b.activations = in("activations") * pm::byte;
  b.runtime = in("runtime") * pm::byte;
  const pm::bytes_per_token<T> each = in("per_token") * pm::byte_per_token;
  add_capacity(out, pm::kv_capacity(b, each, in("context"), in("block_size")));
  out.add(pm::kv_bytes_available(b));
}
template <class T>
void answer_kv_waste(const inputs<T>& in, answers& out) {
  const T mean = in("mean"), block = in("block_size");
  const pm::bytes_per_token<T> each = in("per_token") * pm::byte_per_token;
  const pm::duration<T> latency = in("latency") * pm::second;
  const T waste = pm::contiguous_waste(mean, in("longest"));
  out.add(waste, pm::waste_free_gain(waste), pm::paged_waste(mean, block),
          pm::shared_prefix_saving(in("sequences"), in("prefix")),
          pm::weight_cache_crossover(pm::bytes<T>(in("weights") * pm::byte), each),
          pm::paging_tax(latency, latency, block, each,
                         pm::bandwidth<T>(in("bandwidth") * pm::byte_per_s)));
}
template <class T>
void answer_weight_bytes(const inputs<T>& in, answers& out) {
  const pm::basic_deployment<T> d = deployment_of(in);
  out.add(pm::weight_bytes_per_device(d), pm::kv_bytes_per_token_and_device(d));
}
template <class T>
void answer_fits(const inputs<T>& in, answers& out) {
  out.add(pm::fits(deployment_of(in), in("batch"), in("context")));
}
template <class T>
void answer_layout(const inputs<T>& in, answers& out) {
  pm::parallel_layout l;
  l.tensor = in.whole("tensor");
  l.pipeline = in.whole("pipeline");
  l.data = in.whole("data");
  l.context = in.whole("context");
  l.expert = in.whole("expert");
  const auto stated_whole = [&](const char* name) {
    return in.whole(name) > 0 ? std::optional<double>(in.whole(name)) : std::nullopt;
  };
  pm::sharded_dims parts;
  parts.query_heads = stated_whole("query_heads");
  parts.kv_heads = stated_whole("kv_heads");
  parts.layers = stated_whole("layers");
  parts.experts = in.whole("experts");
  parts.accelerators = stated_whole("accelerators");
  out.add(pm::layout_feasible(l, parts));
}

// --- communication -------------------------------------------------------------------------------

template <class T>
void answer_collective(const inputs<T>& in, answers& out) {
  add_collective(out, pm::collective_time(link_of(in), with_algorithm(collective_of(in), in)));
}
template <class T>
void answer_fabric_collective(const inputs<T>& in, answers& out) {
  add_collective(out,
                 pm::collective_time(device_of(in).fabric, with_algorithm(collective_of(in), in)));
}
template <class T>
void answer_collective_latency(const inputs<T>& in, answers& out) {
  const auto e =
      pm::collective_time(link_of(in), with_algorithm(collective_of(in), in), pm::stated_latency{});
  add_collective(out, e);
  out.add(e.terms.time_of("transfer"), e.terms.time_of("latency"));
  if constexpr (!std::is_same_v<T, interval>) out.add(e.algorithm);  // the choice among them
}
template <class T>
void answer_hierarchical(const inputs<T>& in, answers& out) {
  pm::basic_hierarchy<T> h;
  h.inside.kind = pm::link_kind::nvlink;
  h.inside.bandwidth = in("inside") * pm::byte_per_s;
  h.inside.ranks = 8;
  h.between.kind = pm::link_kind::infiniband;
  h.between.bandwidth = in("between") * pm::byte_per_s;
  h.between.ranks = 1024;
  h.ranks_inside = in.whole("ranks_inside");
  const auto e = pm::hierarchical_time(h, collective_of(in));
  out.add(e.time, e.wire_inside, e.wire_between, e.algbw, e.busbw, e.feasible);
}

// --- a pass of a model, and serving --------------------------------------------------------------

template <class T>
void add_step(answers& out, const pm::basic_estimate<T>& e) {
  add_terms(out, e, {"weights", "kv_cache", "compute", "vector", "communication"});
  out.add(e.mfu, e.mbu);
}
template <class T>
void answer_decode(const inputs<T>& in, answers& out) {
  pm::basic_iteration<T> i;
  i.batch = in("batch");
  i.context = in("context");
  add_step(out, pm::step_bound(deployment_of(in), i));
}
template <class T>
void answer_prefill(const inputs<T>& in, answers& out) {
  pm::basic_iteration<T> i;
  i.prefill_tokens = in("prefill_tokens");
  i.prefill_past = in("prefill_past");
  add_step(out, pm::step_bound(deployment_of(in), i));
}
template <class T>
void add_serving(answers& out, const pm::basic_serving_estimate<T>& s) {
  out.add(s.ttft, s.itl, s.e2e, s.wait, s.batch, s.capacity, s.output_rate, s.throughput,
          s.prefill.time, s.feasible);
}
template <class T>
void answer_closed(const inputs<T>& in, answers& out) {
  pm::basic_service_load<T> l;
  l.input_tokens = in("input_tokens");
  l.output_tokens = in("output_tokens");
  l.arrivals = pm::basic_closed_loop<T>{in("concurrency")};
  using pm::upper;  // 0 in a question: not given
  if (upper(in("chunk_tokens")) > 0.0) l.chunk_tokens = in("chunk_tokens");
  if (upper(in("batch_limit")) > 0.0) l.batch_limit = in("batch_limit");
  add_serving(out, pm::serving_bound(deployment_of(in), l));
}
/// Beyond what can be served the mean batch has no meaning: then only the verdict is recorded.
template <class T>
void answer_open(const inputs<T>& in, answers& out) {
  pm::basic_service_load<T> l;
  l.input_tokens = in("input_tokens");
  l.output_tokens = in("output_tokens");
  l.arrivals = pm::basic_open_loop<T>{in("requests_per_s") * pm::request_per_s};
  const auto s = pm::serving_bound(deployment_of(in), l);
  if (s.feasible) {
    add_serving(out, s);
  } else {
    out.r.verdict.push_back(0.0);
  }
}

// --- laws of one machine -------------------------------------------------------------------------

template <class T>
pm::duration<T> seconds(const inputs<T>& in, const char* name) {
  return in(name)*pm::second;
}
template <class T>
pm::bytes<T> bytes(const inputs<T>& in, const char* name) {
  return in(name)*pm::byte;
}

template <class T>
void answer_iron_law(const inputs<T>& in, answers& out) {
  const pm::bandwidth<T> bandwidth = in("bandwidth") * pm::byte_per_s;
  const pm::flops<T> work = in("work") * pm::flop;
  const pm::flop_rate<T> rate = in("rate") * pm::flop_per_s;
  const pm::basic_overlap<T> how{in("p")};
  const auto e =
      pm::iron_law(bytes(in, "moved"), bandwidth, work, rate, seconds(in, "overhead"), how);
  add_estimate(out, e);
  out.add(e.terms.time_of("data"), e.terms.time_of("compute"), pm::share_of(e, "overhead"));
}
template <class T>
void answer_littles_law(const inputs<T>& in, answers& out) {
  const pm::duration<T> latency = seconds(in, "latency");
  const pm::bandwidth<T> bandwidth = in("bandwidth") * pm::byte_per_s;
  pm::basic_memory_parallelism<T> k;
  k.sms = in("sms");
  k.warps = in("warps");
  k.loads = in("loads");
  k.bytes_per_load = bytes(in, "bytes_per_load");
  const pm::duration<T> time = seconds(in, "time");
  out.add(pm::bytes_in_flight(latency, bandwidth), pm::bytes_in_flight(k),
          pm::warps_needed(latency, bandwidth, k),
          pm::attainable_bandwidth(bandwidth, pm::bytes_in_flight(k), latency),
          pm::requests_in_system(pm::request_rate<T>(in("arrivals") * pm::request_per_s), time),
          pm::concurrent_sequences(pm::token_rate<T>(in("arrivals") * pm::token_per_s), time),
          pm::throughput_of(in("streams"), time));
}
template <class T>
void answer_occupancy(const inputs<T>& in, answers& out) {
  pm::basic_thread_block<T> b;
  b.warps = in("warps");
  b.registers_per_thread = in("registers");
  b.shared = bytes(in, "shared");
  out.add(pm::resident_blocks(pm::basic_sm_limits<T>{}, b),
          pm::occupancy(pm::basic_sm_limits<T>{}, b));
}
template <class T>
void answer_launch(const inputs<T>& in, answers& out) {
  pm::basic_launch_costs<T> c;
  c.cpu = seconds(in, "cpu");
  c.gap = seconds(in, "gap");
  c.replay = seconds(in, "replay");
  c.node = seconds(in, "node");
  c.synchronise = seconds(in, "synchronise");
  const T n = in("launches");
  const pm::duration<T> kernels = seconds(in, "kernels");
  const auto stream = pm::stream_launch_time(c, n, kernels);
  const auto waiting = pm::synchronised_time(c, n, kernels);
  const auto graph = pm::graph_time(c, n, kernels);
  out.add(stream.time, stream.limiter, waiting.time, waiting.limiter, graph.time, graph.limiter,
          pm::exposed_launch(c, n, kernels));
  const auto pays = pm::calls_to_earn_back(seconds(in, "once"), waiting.time, graph.time);
  out.add(pays.calls, pays.saved_per_call, pays.feasible);
}
template <class T>
void answer_overlap(const inputs<T>& in, answers& out) {
  const pm::duration<T> compute = seconds(in, "compute");
  const pm::duration<T> sending = seconds(in, "communication");
  const T sms = in("sms"), taken = in("taken"), pieces = in("pieces");
  const auto beside = pm::overlap_with_collective(compute, sending, sms, taken);
  const auto training = pm::training_step(compute, compute, sending, pieces);
  out.add(pm::serial(compute, sending), pm::overlapped(compute, sending),
          pm::exposed_time(sending, compute), pm::sm_interference(compute, sms, taken),
          pm::overlap_with_dma(compute, sending),
          pm::overlap_with_sm_copy(compute, sending, sms, taken), beside.time, beside.lost,
          beside.exposed, pm::bucketed_backward(compute, sending, pieces), training.time,
          training.limiter, pm::double_buffered_time(sending, compute, pieces),
          pm::stages_needed(sending, compute),
          pm::stages_that_fit(bytes(in, "capacity"), bytes(in, "tile")));
}
template <class T>
void answer_fusion(const inputs<T>& in, answers& out) {
  const auto saving = pm::chain_saving(bytes(in, "tensor"), in("intermediates"), in("readers"));
  out.add(saving.dram.read, saving.dram.written, saving.launches);
  pm::basic_gemm<T> first;
  first.m = in("m");
  first.n = in("n");
  first.k = in("k");
  pm::basic_elementwise<T> second;
  second.elements = T(first.m * first.n);
  const pm::basic_demand<T> a = demand_of(first), b = demand_of(second);
  const pm::basic_demand<T> fused = pm::fuse(a, b, a.dram.written);
  out.add(fused.matrix_flop, fused.vector_flop, fused.dram.read, fused.dram.written,
          fused.l2.total(), fused.launches, pm::traffic_ratio(a.dram + b.dram, fused.dram),
          pm::attention_fusion_ratio(in("sequence"), in("head_dim"), in("query_heads"),
                                     in("kv_heads")));
}
template <class T>
void answer_energy(const inputs<T>& in, answers& out) {
  const pm::energy_per_flop<> each_flop = pm::joule / pm::flop;
  const pm::energy_per_byte<> each_byte = pm::joule / pm::byte;
  pm::basic_energy_costs<T> c;
  c.matrix = in("matrix") * each_flop;
  c.vector = in("vector") * each_flop;
  c.dram = in("dram") * each_byte;
  c.l2 = in("l2") * each_byte;
  c.shared = in("shared") * each_byte;
  c.link = in("link") * each_byte;
  c.idle = in("idle") * pm::watt;
  pm::basic_demand<T> d;
  d.matrix_flop = in("matrix_flop") * pm::flop;
  d.vector_flop = in("vector_flop") * pm::flop;
  d.dram.read = bytes(in, "dram_bytes");
  d.l2.read = bytes(in, "l2_bytes");
  d.shared.read = bytes(in, "shared_bytes");
  d.sent = bytes(in, "sent_bytes");
  const auto e = pm::energy_of(c, d, seconds(in, "time"));
  out.add(e.compute, e.dram, e.l2, e.shared, e.link, e.idle, e.total, e.mean_power,
          pm::memory_power(pm::bandwidth<T>(d.dram.read / seconds(in, "time")), c.dram));
}
template <class T>
void answer_power_cap(const inputs<T>& in, answers& out) {
  const auto c =
      pm::clock_under_cap(pm::power<T>(in("cap") * pm::watt), pm::power<T>(in("idle") * pm::watt),
                          pm::power<T>(in("dynamic") * pm::watt), in("exponent"));
  out.add(c.clock_share, c.feasible);
}
template <class T>
void answer_cost(const inputs<T>& in, answers& out) {
  const T gpus = in("gpus");
  const pm::price<T> price = in("price") * pm::usd_per_hour;
  const pm::token_rate<T> rate = in("throughput") * pm::token_per_s;
  const pm::money_per_token<T> cost = in("cost") * pm::usd_per_million_tokens;
  out.add(pm::cost_per_token(gpus, price, rate),
          pm::cost_per_token(gpus, price, rate, in("utilisation")),
          pm::cost_per_million_tokens(gpus, price, rate),
          pm::cost_per_thousand_tokens(gpus, price, rate), pm::implied_price(gpus, cost, rate));
}
template <class T>
void add_queue(answers& out, const pm::basic_queue_estimate<T>& q) {
  out.add(q.utilisation, q.probability_of_waiting.value_or(T(0.0)), q.wait, q.time, q.waiting,
          q.in_system, q.feasible);
}
template <class T>
void answer_queueing(const inputs<T>& in, answers& out) {
  const pm::duration<T> service = seconds(in, "service");
  const pm::request_rate<T> one = in("arrivals") * pm::request_per_s;
  const pm::request_rate<T> all = one * in("servers");
  const T ca = in("arrival_variation"), cs = in("service_variation");
  add_queue(out, pm::gg1(one, service, ca, cs));
  add_queue(out, pm::mmc(all, service, in.whole("servers")));
  out.add(pm::mg1(one, service, cs).wait, pm::mm1(one, service).wait, pm::md1(one, service).wait,
          pm::processor_sharing(one, service).time);
}
template <class T>
void answer_decode_batch(const inputs<T>& in, answers& out) {
  const auto b =
      pm::decode_batch(pm::request_rate<T>(in("arrivals") * pm::request_per_s),
                       pm::tokens_per_request<T>(in("output") * pm::token_per_request),
                       seconds(in, "fixed"), seconds(in, "per_sequence"), in("largest_batch"));
  out.add(b.batch, b.step, b.demanded, b.saturation, b.feasible);
}

// --- measures of use, speedups and drafts --------------------------------------------------------

template <class T>
void answer_metrics(const inputs<T>& in, answers& out) {
  const pm::duration<T> time = seconds(in, "time");
  const pm::flop_rate<T> peak = in("peak") * pm::flop_per_s;
  const pm::token_rate<T> slow = in("tokens") * 1e-3 * pm::token_per_s;
  out.add(pm::mfu(pm::flops<T>(in("work") * pm::flop), time, peak),
          pm::mbu(bytes(in, "moved"), time, pm::bandwidth<T>(in("bandwidth") * pm::byte_per_s)),
          pm::mfu_from_mbu(in("use"), pm::intensity<T>(in("intensity") * pm::flop_per_byte),
                           pm::intensity<T>(in("ridge") * pm::flop_per_byte)),
          pm::training_flop_per_token(in("parameters"), in("recomputed")),
          pm::training_mfu(slow, in("parameters"), in("ranks"), peak),
          pm::hfu(in("model_use"), in("recomputed")), pm::straggler_tax(in("slowdown")),
          pm::time_with_tax(time, in("tax")), pm::scaling_tax(in("model_use"), in("use")),
          pm::amdahl_floor(time, in("use")), pm::largest_speedup(in("model_use")),
          pm::end_to_end(time, seconds(in, "deviation"), in("tokens")));
}
template <class T>
void answer_amdahl(const inputs<T>& in, answers& out) {
  const std::array<pm::basic_amdahl_part<T>, 3> parts = {{{in("share_a"), in("factor_a")},
                                                          {in("share_b"), in("factor_b")},
                                                          {in("share_c"), in("factor_c")}}};
  const auto whole = pm::amdahl(parts);
  out.add(whole.time_ratio, whole.speedup, pm::new_share(parts[0], whole));
}
template <class T>
void answer_batching(const inputs<T>& in, answers& out) {
  const std::array<T, 5> lengths = {in("length_1"), in("length_2"), in("length_3"), in("length_4"),
                                    in("length_5")};
  out.add(pm::static_batch_efficiency(lengths), pm::continuous_batching_gain(lengths));
}
inline void add_length(answers& out, int length) {
  out.add(static_cast<double>(length));
}
inline void add_length(answers& out, const std::array<int, 8>& lengths) {
  for (const int length : lengths) add_length(out, length);
}
template <class T>
void answer_speculative(const inputs<T>& in, answers& out) {
  const int k = in.whole("draft_length");
  const auto e = pm::speculate(in("acceptance"), k, in("cost_ratio"));
  pm::basic_speculative_steps<T> s;
  s.target = seconds(in, "target");
  s.draft = seconds(in, "draft");
  s.verify = seconds(in, "verify");
  out.add(e.accepted, e.emitted, e.speedup, e.break_even_acceptance, e.feasible);
  add_length(out, e.best_draft_length);
  out.add(pm::round_time(k, s), pm::time_per_token(e.emitted, k, s),
          pm::speculative_speedup(e.emitted, k, s),
          pm::verification_batch_limit(pm::intensity<T>(in("ridge") * pm::flop_per_byte),
                                       bytes(in, "bytes_per_weight"), k));
}
template <class T>
void answer_speculative_positions(const inputs<T>& in, answers& out) {
  const std::array<T, 4> kept = {in("position_1"), in("position_2"), in("position_3"),
                                 in("position_4")};
  const auto e = pm::speculate(std::span<const T>(kept), in("cost_ratio"));
  out.add(e.accepted, e.emitted, e.speedup, e.break_even_acceptance, e.feasible);
  add_length(out, e.best_draft_length);
}

// --- laws of parallel layouts --------------------------------------------------------------------

template <class T>
void answer_tensor_parallel(const inputs<T>& in, answers& out) {
  pm::basic_tensor_parallelism<T> x;
  x.ranks = in.whole("ranks");
  x.layers = in("layers");
  x.batch = in("batch");
  x.tokens = in("tokens");
  x.hidden = in("hidden");
  x.format = format_of(in);
  add_collective(out, pm::communication_time(link_of(in), x));
  out.add(pm::all_reduce_of(x).message);
}
template <class T>
void answer_pipeline(const inputs<T>& in, answers& out) {
  const T stages = in("stages"), micro = in("microbatches"), chunks = in("chunks");
  const pm::duration<T> stage = seconds(in, "stage");
  out.add(pm::pipeline_bubble(stages, micro, chunks),
          pm::pipeline_parallel_time(stage, stages, micro, chunks),
          pm::layers_per_stage(in("layers"), stages),
          pm::stage_transfer(in("batch"), in("tokens"), in("hidden"), pm::bf16).message,
          pm::kv_heads_per_rank(in("kv_heads"), in("tensor")),
          pm::kv_replication(in("kv_heads"), in("tensor")));
}
template <class T>
void answer_expert_parallel(const inputs<T>& in, answers& out) {
  pm::basic_expert_parallelism<T> x;
  x.ranks = in.whole("ranks");
  x.tokens = in("tokens");
  x.hidden = in("hidden");
  x.top_k = in("top_k");
  x.dispatch = format_called(in.word("dispatch"));
  x.combine = format_called(in.word("combine"));
  x.imbalance = in("imbalance");
  add_collective(out, pm::communication_time(link_of(in), x));
  out.add(pm::dispatch_of(x).message, pm::combine_of(x).message);
}
template <class T>
void answer_zero(const inputs<T>& in, answers& out) {
  pm::basic_data_parallel_step<T> x;
  x.ranks = in.whole("ranks");
  x.parameters = in("parameters");
  x.forward = seconds(in, "forward");
  x.backward = seconds(in, "backward");
  x.pieces = in("pieces");
  x.stage = static_cast<pm::zero_stage>(in.whole("stage"));
  x.state.parameters = in("parameter_bytes");
  x.state.gradients = in("gradient_bytes");
  x.state.optimizer = in("optimizer_bytes");
  x.sms = in("sms");
  x.taken = in("taken");
  add_terms(out, pm::data_parallel_time(link_of(in), x),
            {"exposed communication", "SMs of communication"});
  out.add(pm::zero_bytes_per_parameter(x.stage, x.ranks, x.state),
          pm::zero_memory(x.stage, x.ranks, x.parameters, x.state),
          pm::zero_traffic(x.stage, x.ranks, x.parameters, x.state),
          pm::gradient_all_reduce(x.ranks, x.parameters, pm::bf16).message);
}
template <class T>
void answer_context_parallel(const inputs<T>& in, answers& out) {
  pm::basic_ring_attention<T> x;
  x.ranks = in.whole("ranks");
  x.batch = in("batch");
  x.tokens = in("tokens");
  x.query_heads = in("query_heads");
  x.kv_heads = in("kv_heads");
  x.head_dim = in("head_dim");
  x.format = format_of(in);
  const pm::basic_interconnect<T> link = link_of(in);
  const pm::flop_rate<T> rate = in("rate") * pm::flop_per_s;
  const auto e = pm::ring_attention_time(link, rate, x);
  pm::basic_layer_activations<T> kept;
  kept.tensor = in.whole("tensor");
  kept.batch = x.batch;
  kept.tokens = x.tokens;
  kept.hidden = in("hidden");
  kept.heads = x.query_heads;
  kept.sequence = in.flag("sequence");
  kept.scores = in.flag("scores");
  out.add(e.time, e.exposed, e.transfer, e.compute, e.block, e.block_flop, e.feasible,
          pm::activation_bytes(kept));
}

// --- which function answers which kind -----------------------------------------------------------

template <class T>
struct answerer {
  const char* kind;
  void (*answer)(const inputs<T>&, answers&);
};
template <class T>
inline constexpr std::array<answerer<T>, kinds.size()> answerers = {{
    {"roofline of gemm", answer_gemm<T>},
    {"roofline of attention_decode", answer_attention_decode<T>},
    {"roofline of attention_prefill", answer_attention_prefill<T>},
    {"roofline of moe_ffn", answer_moe_ffn<T>},
    {"roofline of norm", answer_norm<T>},
    {"roofline of elementwise", answer_elementwise<T>},
    {"roofline of swiglu", answer_swiglu<T>},
    {"attainable", answer_attainable<T>},
    {"ridge_point", answer_ridge_point<T>},
    {"kv_bytes", answer_kv_bytes<T>},
    {"kv_capacity", answer_kv_capacity<T>},
    {"kv_capacity of a budget", answer_kv_budget<T>},
    {"kv cache waste", answer_kv_waste<T>},
    {"parameters", answer_parameters<T>},
    {"weight_bytes_per_device", answer_weight_bytes<T>},
    {"fits", answer_fits<T>},
    {"layout_feasible", answer_layout<T>},
    {"collective_time", answer_collective<T>},
    {"collective_time on a fabric", answer_fabric_collective<T>},
    {"collective_time with stated latency", answer_collective_latency<T>},
    {"hierarchical_time", answer_hierarchical<T>},
    {"step, decode, dense", answer_decode<T>},
    {"step, decode, experts", answer_decode<T>},
    {"step, prefill, dense", answer_prefill<T>},
    {"step, prefill, experts", answer_prefill<T>},
    {"serving, closed loop, dense", answer_closed<T>},
    {"serving, closed loop, experts", answer_closed<T>},
    {"serving, closed loop, chunked prompts", answer_closed<T>},
    {"serving, open loop, dense", answer_open<T>},
    {"iron law", answer_iron_law<T>},
    {"Little's law", answer_littles_law<T>},
    {"occupancy", answer_occupancy<T>},
    {"launch", answer_launch<T>},
    {"overlap", answer_overlap<T>},
    {"fusion", answer_fusion<T>},
    {"energy", answer_energy<T>},
    {"power cap", answer_power_cap<T>},
    {"cost", answer_cost<T>},
    {"queueing", answer_queueing<T>},
    {"decode_batch", answer_decode_batch<T>},
    {"metrics", answer_metrics<T>},
    {"Amdahl", answer_amdahl<T>},
    {"static batching", answer_batching<T>},
    {"speculative", answer_speculative<T>},
    {"speculative, by position", answer_speculative_positions<T>},
    {"tensor parallel", answer_tensor_parallel<T>},
    {"pipeline", answer_pipeline<T>},
    {"expert parallel", answer_expert_parallel<T>},
    {"zero and data parallel", answer_zero<T>},
    {"context parallel", answer_context_parallel<T>},
}};

/// The answer over one scalar.
template <class T>
reply answer_over(const question& q) {
  for (const answerer<T>& a : answerers<T>) {
    if (q.kind != a.kind) continue;
    answers out;
    try {
      a.answer(inputs<T>(q), out);
    } catch (const pm::error& e) {
      out.r = {};
      out.r.error = static_cast<int>(e.code());
    }
    return out.r;
  }
  throw std::logic_error("no function answers " + q.kind);
}

/// The answer over the question's own scalar.
inline reply answer(const question& q) {
  switch (q.over) {
    case scalar::dual: return answer_over<dual>(q);
    case scalar::interval: return answer_over<interval>(q);
    case scalar::number: break;
  }
  return answer_over<double>(q);
}

}  // namespace perfmodel_sweep
