#include "model_page.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/units/text.hpp>

#include "catalogues.hpp"
#include "io/text_style.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::string count_text(double x) {
  return pm::detail::number_text(x);
}
std::string size_text(double bytes) {
  return pm::to_string(bytes, pm::exponents_of<pm::bytes<>>(), 4);
}
std::string parameters_text(double n) {
  return n < 1e6   ? count_text(n)
         : n < 1e9 ? cat(pm::detail::significant(n / 1e6, 4), "e6")
                   : cat(pm::detail::significant(n / 1e9, 4), "e9");
}
std::string format_text(const pm::storage_format& s) {
  std::string text = s.value_bits ? cat(pm::detail::significant(*s.value_bits, 4), " bits, run as ",
                                        name_of(s.format))
                                  : std::string(name_of(s.format));
  if (s.group && s.scale_bits + s.zero_bits > 0.0) text += cat(" in ", group_text(*s.group));
  if (s.wide_share > 0.0)
    text += cat(", ", pm::detail::significant(100.0 * s.wide_share, 3), " % in 16 bits");
  return text;
}

std::string indexer_text(const std::optional<pm::attention_indexer>& indexer) {
  if (!indexer) return "";
  return cat(", sparse: top-", count_text(indexer->top_k), " tokens of ",
             indexer->shared ? "an earlier layer's indexer" : "an indexer");
}

struct in_words {
  std::string operator()(const pm::attention_shape& a) const {
    const char* kind = a.kv_heads == a.query_heads ? "multi-head attention"
                       : a.kv_heads == 1.0         ? "multi-query attention"
                                                   : "grouped-query attention";
    std::string s = cat(kind, ", ", count_text(a.query_heads), " query and ",
                        count_text(a.kv_heads), " KV heads of dimension ", count_text(a.head_dim));
    if (a.window) {
      s += cat(a.chunked ? ", chunks of " : ", sliding window of ", count_text(*a.window),
               " tokens");
    }
    if (a.shares_cache) s += ", KV cache shared with an earlier layer";
    if (a.image_tokens) {
      s += cat(", keys and values of an image: ",
               size_text(a.image_elements() * bytes_of(pm::bf16).value()), " per image of ",
               count_text(*a.image_tokens), " tokens and layer");
    }
    return s + indexer_text(a.indexer);
  }
  std::string operator()(const pm::latent_attention_shape& a) const {
    return cat("MLA, ", count_text(a.query_heads), " heads of dimension ", count_text(a.head_dim),
               ", kv_lora_rank ", count_text(a.kv_rank), ", RoPE dimension ",
               count_text(a.rope_dim), indexer_text(a.indexer));
  }
  std::string operator()(const pm::compressed_attention_shape& a) const {
    std::string s = cat("compressed attention, ", count_text(a.query_heads), " heads of ",
                        count_text(a.head_dim), ", sliding window of ", count_text(a.window));
    if (a.ratio) s += cat(" and one entry per ", count_text(*a.ratio), " tokens");
    return s + indexer_text(a.indexer);
  }
  std::string operator()(const pm::recurrent_shape& a) const {
    constexpr const char* names[] = {
        "Gated DeltaNet", "Kimi Delta Attention", "Mamba-2", "lightning attention", "Mamba",
        "RWKV-7",         "short convolution"};
    return cat(names[static_cast<int>(a.kind)], ", ", count_text(a.key_heads), " key and ",
               count_text(a.value_heads), " value heads, state ", count_text(a.key_dim), " x ",
               count_text(a.value_dim), " in ", name_of(a.state_format));
  }
  std::string operator()(const pm::dense_shape& x) const {
    return cat("dense feed-forward, intermediate size ", count_text(x.intermediate),
               x.gated ? "" : ", not gated");
  }
  std::string operator()(const pm::expert_shape& x) const {
    std::string s = cat("MoE, top-", count_text(x.top_k), " of ", count_text(x.experts),
                        " experts, intermediate size ", count_text(x.intermediate),
                        x.gated ? "" : ", not gated");
    if (x.latent) s += cat(", latent dimension ", count_text(*x.latent));
    if (x.shared_intermediate) s += cat(", shared expert ", count_text(*x.shared_intermediate));
    return s;
  }
};

struct part {
  const char* name;
  double parameters;
  pm::storage_format format;
  double bytes() const { return parameters * bytes_of(format).value(); }
};

/// Parts with parameters.
std::vector<part> parts_of(const found_model& found) {
  const pm::transformer& m = found.model;
  const pm::weight_storage& w = found.stored;
  const pm::parameter_count p = parameters(m);
  std::vector<part> all = {
      {"attention", p.attention, w.attention}, {"feed_forward", p.linear, w.linear},
      {"experts", p.experts, w.experts},       {"embedding", p.embedding, w.of_tables()},
      {"head", p.head, w.of_tables()},         {"other", p.other + p.expert_biases, w.others}};
  if (m.encoder) all.push_back({"encoder", m.encoder->parameters, w.others});
  std::erase_if(all, [](const part& x) { return x.parameters == 0.0; });
  return all;
}

/// 1Ki, 8Ki, 32Ki, 128Ki below the context limit, and the limit.
std::vector<double> contexts_of(const pm::transformer& m) {
  std::vector<double> all;
  const double limit = m.max_context.value_or(131072.0);
  for (const double c : {1024.0, 8192.0, 32768.0, 131072.0}) {
    if (c < limit) all.push_back(c);
  }
  all.push_back(limit);
  return all;
}

constexpr const char* shown_accelerators[] = {"h100_sxm", "h200_sxm",     "b200_sxm",
                                              "mi300x",   "rtx_pro_6000", "rtx_5090"};
constexpr int shown_devices[] = {1, 2, 4, 8};

/// Contexts of the capacity table.
std::vector<double> counted_contexts(const pm::transformer& m, const model_view& view) {
  if (view.context) return {*view.context};
  const double limit = m.max_context.value_or(131072.0);
  if (limit <= 8192.0) return {limit};
  return {8192.0, std::min(limit, 131072.0)};
}

/// Sequences that fit on a number of accelerators.
struct model_capacity {
  const pm::accelerator* on = nullptr;
  int devices = 1;
  std::vector<double> sequences{};  ///< per context; empty where the model does not fit
};

/// With `groups`, data-parallel attention: the experts are divided among all devices.
model_capacity capacity_of(const found_model& found, const pm::accelerator& a, int devices,
                           const std::optional<pm::storage_format>& kv, const model_view& view,
                           int groups = 1) {
  pm::deployment d;
  d.device = a;
  d.model = found.model;
  d.weights = found.stored;
  d.layout.tensor = devices / groups;
  if (groups > 1) {
    d.layout.data = groups;
    d.layout.expert = devices;
  }
  d.kv = kv ? kv : found.kv;
  model_capacity r{&a, devices};
  if (!layout_feasible(d.layout, sharded_dims_of(d.model))) return r;
  for (const double context : counted_contexts(found.model, view)) {
    const auto c = kv_capacity(d, context);
    r.sequences.push_back(c.feasible ? c.sequences : 0.0);
  }
  if (r.sequences.front() < 1.0) r.sequences.clear();
  return r;
}

std::vector<model_capacity> capacities_of(const found_model& found,
                                          const std::optional<pm::storage_format>& kv,
                                          const model_view& view) {
  std::vector<const pm::accelerator*> on;
  if (view.on != nullptr) on = {view.on};
  if (on.empty())
    for (const char* name : shown_accelerators) on.push_back(&find_accelerator(name));
  std::vector<model_capacity> all;
  for (const pm::accelerator* a : on) {
    for (const int devices : shown_devices)
      all.push_back(capacity_of(found, *a, devices, kv, view));
  }
  return all;
}

/// Sequences with data-parallel attention on all devices, where they are half as many again as with
/// tensor parallelism, which replicates a latent KV cache on every rank; else 0.
double grouped_sequences(const found_model& found, const model_capacity& tensor,
                         const std::optional<pm::storage_format>& kv, const model_view& view) {
  if (tensor.devices < 2 || tensor.sequences.empty() || !experts_of(found.model)) return 0.0;
  const model_capacity r = capacity_of(found, *tensor.on, tensor.devices, kv, view, tensor.devices);
  const bool more = !r.sequences.empty() && r.sequences.front() >= 1.5 * tensor.sequences.front();
  return more ? r.sequences.front() : 0.0;
}
/// "DP8 EP8".
std::string grouped_text(int devices) {
  return cat("DP", devices, " EP", devices);
}

/// "8Ki".
std::string context_text(double tokens) {
  return tokens >= 1024.0 && tokens == 1024.0 * std::floor(tokens / 1024.0)
             ? cat(count_text(tokens / 1024.0), "Ki")
             : count_text(tokens);
}

std::string parts_text(const found_model& found) {
  table_rows rows = {{"part", "parameters", "bytes", "format"}};
  for (const part& x : parts_of(found)) {
    rows.push_back(
        {x.name, parameters_text(x.parameters), size_text(x.bytes()), format_text(x.format)});
  }
  rows.push_back({"total",
                  parameters_text(parameters(found.model).total() +
                                  (found.model.encoder ? found.model.encoder->parameters : 0.0)),
                  size_text(weight_bytes(found.model, found.stored).value()), ""});
  std::string s = headed_table(rows, "lrrl");
  if (const double mtp = mtp_parameters(found.model); mtp > 0.0) {
    s +=
        cat("  In addition, the MTP module (if enabled): ", parameters_text(mtp), " parameters.\n");
  }
  return s;
}

std::string contexts_text(const pm::transformer& m, const pm::storage_format& kv) {
  table_rows rows = {{"context", "KV cache", "recurrent state", "per sequence"}};
  const double states = state_bytes(m).value();
  for (const double c : contexts_of(m)) {
    const double cache = kv_bytes(m, c, kv).value();
    rows.push_back({context_text(c), size_text(cache), states > 0.0 ? size_text(states) : "-",
                    size_text(cache + states)});
  }
  return headed_table(rows, "r");
}

std::string capacities_text(const found_model& found, const std::optional<pm::storage_format>& kv,
                            const model_view& view) {
  table_rows rows = {{"sequences on", "memory", "context"}};
  for (const int devices : shown_devices) rows.front().push_back(cat(devices, " x"));
  const std::vector<double> contexts = counted_contexts(found.model, view);
  const std::vector<model_capacity> all = capacities_of(found, kv, view);
  const std::size_t choices = std::size(shown_devices);
  for (std::size_t first = 0; first < all.size(); first += choices) {
    for (std::size_t c = 0; c < contexts.size(); ++c) {
      const pm::accelerator& a = *all[first].on;
      rows.push_back({c == 0 ? a.name.c_str() : "",
                      c == 0 ? pm::to_string(a.dram.capacity.quantity()) : "",
                      context_text(contexts[c])});
      for (std::size_t i = first; i < first + choices; ++i)
        rows.back().push_back(all[i].sequences.empty() ? "-" : count_text(all[i].sequences[c]));
    }
  }
  std::string grouped;
  for (const model_capacity& r : all) {
    const double sequences = grouped_sequences(found, r, kv, view);
    if (sequences == 0.0) continue;
    grouped += cat(grouped.empty() ? "With data-parallel attention at " : "; ",
                   grouped.empty() ? cat(context_text(contexts.front()), " tokens: ") : "",
                   count_text(sequences), " on ", r.devices, " x ", r.on->name.c_str(), " (",
                   grouped_text(r.devices), ")");
  }
  return headed_table(rows, "lr") + (grouped.empty() ? "" : wrapped(grouped + ".", 2)) +
         styled(
             text_style::dim,
             "  Concurrent sequences with tensor parallelism; -: does not fit. Memory budget: "
             "napkin kv_capacity.\n"
             "  Memory as the driver shows it, in 1e9 B (h200_sxm: 141 GB as sold = 151e9 B).\n");
}

/// " With fp8 weights it fits on 8 x h200_sxm (--weight-format fp8).": fp8, else int4,
/// in which a 16-bit model fits on the given accelerator; "" where it does not.
std::string quantized_fit_text(const found_model& found,
                               const std::optional<pm::storage_format>& kv,
                               const model_view& view) {
  if (view.on == nullptr || bits_of(found.stored.linear.format) < 16.0) return "";
  for (const pm::number_format f : {pm::fp8, pm::int4}) {
    found_model quantized = found;
    quantized.stored = {f, pm::bf16};
    for (const model_capacity& r : capacities_of(quantized, kv, view)) {
      if (r.sequences.empty()) continue;
      return cat(" With ", name_of(f), " weights it fits on ", r.devices, " x ",
                 view.on->name.view(), " (--weight-format ", name_of(f), ").");
    }
  }
  return "";
}

/// "Fits on 8 x h200_sxm, 8 x b200_sxm, 4 x mi300x; not on 8 x h100_sxm.": the smallest count of
/// each data-centre accelerator, or of the given one, with its sequences.
std::string fit_text(const found_model& found, const std::optional<pm::storage_format>& kv,
                     const model_view& view) {
  constexpr std::string_view usual[] = {"h100_sxm", "h200_sxm", "b200_sxm", "mi300x"};
  const std::string context = context_text(counted_contexts(found.model, view).front());
  std::string on, not_on, sequences, grouped;
  std::string_view last;
  for (const model_capacity& r : capacities_of(found, kv, view)) {
    const std::string_view name = r.on->name.view();
    if (view.on == nullptr &&
        std::find(std::begin(usual), std::end(usual), name) == std::end(usual))
      continue;
    if (name == last) continue;  // fits on fewer
    const bool fits = !r.sequences.empty();
    if (!fits && r.devices < *std::rbegin(shown_devices)) continue;
    last = name;
    std::string& text = fits ? on : not_on;
    text += cat(text.empty() ? "" : ", ", r.devices, " x ", name);
    if (!fits) continue;
    sequences = count_text(r.sequences.front());
    const double with_groups = grouped_sequences(found, r, kv, view);
    if (view.on != nullptr && with_groups > 0.0)
      grouped = cat(" (with data-parallel attention, ", grouped_text(r.devices), ": ",
                    count_text(with_groups), ")");
  }
  if (on.empty())
    return wrapped(cat("Does not fit on ", not_on, ".", quantized_fit_text(found, kv, view)), 0);
  if (view.on != nullptr) on += cat(": ", sequences, " sequences of ", context, " tokens", grouped);
  return wrapped(cat("Fits on ", on, not_on.empty() ? "" : "; not on ", not_on, "."), 0);
}

}  // namespace

std::vector<std::string> layer_kinds(const pm::transformer& m) {
  std::vector<std::string> all;
  const auto add = [&](const auto& kinds) {
    for (const auto& kind : kinds) {
      all.push_back(cat(count_text(kind.layers), " x ", std::visit(in_words{}, kind.shape)));
    }
  };
  add(m.layers.mixers);
  add(m.layers.feed_forwards);
  return all;
}

double counted_active(const pm::transformer& m) {
  return !experts_of(m) ? parameters(m).total() : matmul_parameters(m);
}

json model_facts(const found_model& found, const pm::storage_format& kv, const model_view& view) {
  const pm::transformer& m = found.model;
  json out = json::object();
  for (const part& x : parts_of(found)) {
    out["parts"][x.name] = {{"count", number_json(x.name, x.parameters)},
                            {"bytes", number_json(x.name, x.bytes())},
                            {"format", format_text(x.format)}};
  }
  if (const double mtp = mtp_parameters(m); mtp > 0.0) {
    out["mtp_parameters"] = number_json("mtp_parameters", mtp);
  }
  out["layer_kinds"] = layer_kinds(m);
  json over = json::array();
  for (const double c : contexts_of(m)) {
    over.push_back({{"context", number_json("context", c)},
                    {"kv_bytes", number_json("kv_bytes", kv_bytes(m, c, kv).value())},
                    {"state_bytes", number_json("state_bytes", state_bytes(m).value())}});
  }
  out["over_context"] = std::move(over);
  const auto counted = counted_contexts(m, view);
  json rooms = json::array();
  for (const model_capacity& r : capacities_of(found, kv, view)) {
    json sequences = json::object();
    for (std::size_t i = 0; i < r.sequences.size(); ++i) {
      sequences[count_text(counted[i])] = number_json("sequences", r.sequences[i]);
    }
    rooms.push_back({{"accelerator", r.on->name.c_str()},
                     {"devices", r.devices},
                     {"fits", !r.sequences.empty()},
                     {"sequences_at_context", std::move(sequences)}});
  }
  out["fits_on"] = std::move(rooms);
  out["source"] = found.source;
  return out;
}

std::string model_page(const found_model& found, const pm::storage_format& kv, const char* kv_why,
                       const model_view& view) {
  const pm::transformer& m = found.model;
  const double all = parameters(m).total(), active = counted_active(m);
  std::string s = cat(m.name.view(), ": ", found.draft.empty() ? "" : found.draft,
                      found.draft.empty() ? "" : " draft head, for draft_model; ",
                      parameters_text(all), " parameters");
  if (active < all) s += cat(" (", parameters_text(active), " active per token)");
  s += cat(", ", size_text(weight_bytes(m, found.stored).value()), " of weights, ",
           size_text(kv_growth_per_token(m, kv).value()), " of KV cache per token.");
  s = styled(text_style::bold, wrapped(s, 0) + fit_text(found, kv, view));
  s += cat("\n", count_text(m.layers.count), " layers, ",
           m.max_context ? cat("context up to ", count_text(*m.max_context), " tokens")
                         : "no stated context limit",
           "\n");
  for (const std::string& kind : layer_kinds(m)) s += wrapped(kind, 2);
  s += cat("\nWeights as stored\n", parts_text(found));
  s += cat("\n", wrapped(cat("KV cache in ", format_text(kv), " (", kv_why,
                             "): ", size_text(kv_growth_per_token(m, kv).value()),
                             " per token at long context"),
                         0));
  s += contexts_text(m, kv);
  s += cat("\nCapacity\n", capacities_text(found, kv, view));
  return s + styled(text_style::dim, wrapped(cat("source: ", one_line(found.source)), 2));
}

}  // namespace napkin
