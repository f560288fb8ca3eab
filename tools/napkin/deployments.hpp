// Deployments, loads and prefixes of a request.
#pragma once

#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/deployment.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/step.hpp>

#include "engine_settings.hpp"
#include "inputs.hpp"
#include "outcome.hpp"
#include "policies.hpp"

namespace napkin {

/// Whether a request has a key that its query may lack.
template <perfmodel::Scalar T>
bool states(const inputs<T>& in, const key_name& name) {
  const value* given = in.all().find(name);
  return given != nullptr && given->present;
}

/// Tokens of one image: given, or the model's. Throws missing_key and inconsistent.
template <perfmodel::Scalar T>
T image_tokens_of(inputs<T>& in) {
  const perfmodel::transformer& m = find_model_with_images(in.text("model")).model;
  const auto cached = perfmodel::detail::cross_attended_tokens(m);
  if (!m.encoder) {
    throw perfmodel::error(
        perfmodel::error_code::inconsistent,
        cat("images is ", in.plain("images"), ", and ", in.text("model"),
            " has no image encoder; allowed: 0, with the images' tokens in input_tokens"));
  }
  if (in.has("image_tokens")) return in.number("image_tokens");
  if (cached && *cached > 1.0) return T(*cached);  // 1: a file without the size of its images
  if (!m.encoder->tokens_per_item)
    in.missing("image_tokens", "prompt tokens of one image, which depend on its size");
  return T(*m.encoder->tokens_per_item);
}
/// Whether the model's images are keys and values of cross-attention layers, not prompt tokens.
template <perfmodel::Scalar T>
bool attends_to_images(const inputs<T>& in) {
  const perfmodel::transformer& m = find_model(in.text("model")).model;
  return perfmodel::detail::cross_attended_tokens(m).has_value();
}
/// Prompt tokens of a request: input_tokens and its images, unless cross-attention reads those.
template <perfmodel::Scalar T>
T prompt_tokens(inputs<T>& in) {
  T all = in.number("input_tokens");
  if (states(in, "images") && in.plain("images") > 0.0 && !attends_to_images(in))
    all += in.number("images") * image_tokens_of(in);
  return all;
}
/// Encoder patches of a request's images; 0 without images.
template <perfmodel::Scalar T>
T image_patches(inputs<T>& in) {
  if (!states(in, "images") || !(in.plain("images") > 0.0)) return T(0.0);
  if (in.has("image_patches")) return in.number("images") * in.number("image_patches");
  const auto& tower = find_model_with_images(in.text("model")).model.encoder;
  if (tower && tower->patches_per_item && !in.has("image_tokens"))
    return in.number("images") * T(*tower->patches_per_item);
  return in.number("images") * T((attends_to_images(in) ? 1.0 : 4.0) * image_tokens_of(in));
}

/// Whether prefixes are cached: as stated, else if the request has tokens found in the cache.
/// Throws inconsistent for such tokens without a cache. A simulation finds them in its own cache.
template <perfmodel::Scalar T>
bool caches_prefixes(const inputs<T>& in) {
  if (in.asked().find("prefix_caching") == nullptr) return false;
  const bool hits = states(in, "prefix_hit") && in.plain("prefix_hit") > 0.0;
  const char* const found = hits ? "prefix_hit" : "shared_tokens";
  const bool is_simulation = in.asked().find("turns") != nullptr;
  const bool finds =
      hits || states(in, "shared_tokens") || (is_simulation && in.plain("turns") > 1.0);
  const bool states_it = in.given("prefix_caching");
  if (finds && states_it && !in.flag("prefix_caching") && !is_simulation) {
    throw perfmodel::error(
        perfmodel::error_code::inconsistent,
        cat("prefix_caching is false, and ", found, " is of a prefix cache; allowed: one of them"));
  }
  return states_it ? in.flag("prefix_caching") : finds;
}
/// Whether LoRA adapters have matrices for routed experts: stated, or the engine's default.
/// Throws inconsistent for a model without routed experts.
template <perfmodel::Scalar T>
bool adapts_experts(const inputs<T>& in, const perfmodel::basic_deployment<T>& d) {
  const bool has_experts = experts_of(d.model).has_value();
  if (!states(in, "lora_experts")) {
    return has_experts && perfmodel::adapts_routed_experts(d.serving_engine, d.release);
  }
  const bool stated = in.flag("lora_experts");
  if (stated && !has_experts) {
    throw perfmodel::error(perfmodel::error_code::inconsistent,
                           cat("lora_experts is true, and ", in.text("model"),
                               " has no routed experts; allowed: false"));
  }
  return stated;
}
/// Reads moe_backend. Throws inconsistent where the experts have kernels of one library.
template <perfmodel::Scalar T>
void read_moe_backend(const inputs<T>& in, perfmodel::basic_deployment<T>& d) {
  if (!states(in, "moe_backend") || in.text("moe_backend") == "auto") return;
  d.moe_backend = *perfmodel::find_moe_backend(in.text("moe_backend"));
  const bool runs_experts = perfmodel::detail::layers_with<perfmodel::basic_expert_shape<T>, T>(
                                d.model.layers.feed_forwards) > 0.0;
  const auto operands = perfmodel::formats_of(d).experts.format;
  if (runs_experts && operands == perfmodel::number_format::fp4 &&
      perfmodel::has_two_moe_backends(d.serving_engine, d.device.architecture))
    return;
  throw perfmodel::error(perfmodel::error_code::inconsistent,
                         cat("moe_backend is ", name_of(d.moe_backend),
                             ", which the time does not depend on here; "
                             "allowed: auto, or experts in NVFP4 by engine trtllm on Blackwell"));
}

/// Reads engine_option_keys().
template <perfmodel::Scalar T>
void read_engine_options(inputs<T>& in, perfmodel::basic_deployment<T>& d) {
  using perfmodel::bytes, perfmodel::duration;
  const auto refuse = [&](const key_name& name) {
    if (states(in, name) && in.given(name)) in.missing("lora_rank", cat(name.text, " needs it"));
  };
  if (states(in, "lora_rank")) {
    perfmodel::basic_lora<T> x{.rank = in.number("lora_rank"),
                               .adapters = in.number("lora_adapters")};
    x.active = states(in, "lora_active") ? in.number("lora_active") : x.adapters;
    if (states(in, "lora_active") && in.plain("lora_active") > in.plain("lora_adapters")) {
      throw perfmodel::error(
          perfmodel::error_code::inconsistent,
          cat("lora_active is ", in.plain("lora_active"), " and lora_adapters is ",
              in.plain("lora_adapters"), "; allowed: at most lora_adapters"));
    }
    x.experts = adapts_experts(in, d);
    d.lora = x;
  } else {
    refuse("lora_adapters");
    refuse("lora_experts");
    refuse("lora_active");
  }
  if (states(in, "cpu_offload_bytes"))
    d.cpu_offload_bytes = in.template amount<bytes<T>>("cpu_offload_bytes");
  if (states(in, "cuda_graphs")) d.cuda_graphs = in.flag("cuda_graphs");
  d.prefix_caching = caches_prefixes(in);
  if (states(in, "cuda_graph_tokens")) {
    d.limits.graph_tokens = in.number("cuda_graph_tokens");
    const auto memory = engine_memory_of(d.serving_engine, d.release);
    if (!(memory.graphs.value() > 0.0) || !d.cuda_graphs) {
      throw perfmodel::error(perfmodel::error_code::inconsistent,
                             "cuda_graph_tokens is of vLLM from 0.21 on, which counts its CUDA "
                             "graphs; allowed: with engine vllm, and cuda_graphs");
    }
  }
  read_moe_backend(in, d);
  if (states(in, "step_cpu_s")) d.step_cpu_time = in.template amount<duration<T>>("step_cpu_s");
  if (states(in, "sequence_cpu_s"))
    d.sequence_cpu_time = in.template amount<duration<T>>("sequence_cpu_s");
}
/// Reads image_keys() of a service: patches per prompt token.
template <perfmodel::Scalar T>
void read_images(inputs<T>& in, perfmodel::basic_deployment<T>& d) {
  if (!states(in, "images")) return;
  if (!(in.plain("images") > 0.0)) {
    for (const char* name : {"image_tokens", "image_patches"}) {
      if (in.has(name)) in.missing("images", cat(name, " is of one image"));
    }
    return;
  }
  d.encoder_rows = image_patches(in) / prompt_tokens(in);
  if (attends_to_images(in)) d.image_tokens = in.number("images") * image_tokens_of(in);
}
/// Reads cached_image_keys(): images that cross-attention layers cache per sequence. Throws
/// inconsistent for a model with images as prompt tokens.
template <perfmodel::Scalar T>
void read_cached_images(inputs<T>& in, perfmodel::basic_deployment<T>& d, const char* tokens) {
  if (!(in.plain("images") > 0.0)) {
    if (in.has("image_tokens")) in.missing("images", "image_tokens is of one image");
    return;
  }
  if (!attends_to_images(in)) {
    throw perfmodel::error(
        perfmodel::error_code::inconsistent,
        cat("images is ", in.plain("images"), ", and ", in.text("model"),
            " has no cross-attention; allowed: 0, with the images' tokens in ", tokens));
  }
  d.image_tokens = in.number("images") * image_tokens_of(in);
}

/// Whether an attention layer chooses its tokens among latent or compressed entries (DeepSeek-V3.2
/// and V4, GLM-5).
inline bool has_sparse_latents(const perfmodel::transformer& m) {
  for (const auto& kind : m.layers.mixers) {
    if (std::holds_alternative<perfmodel::basic_compressed_attention_shape<double>>(kind.shape))
      return true;
    const auto* a = std::get_if<perfmodel::basic_latent_attention_shape<double>>(&kind.shape);
    if (a != nullptr && a->indexer) return true;
  }
  return false;
}
/// Throws inconsistent for a release of vLLM that has no kernels for the model on the GPU.
/// Source: vllm-project/vllm#43477, "Enable DeepSeek V4 and GLM-5.1 on SM120", of 0.24.
template <perfmodel::Scalar T>
void require_kernels(const inputs<T>& in, const perfmodel::basic_deployment<T>& d) {
  const bool is_older = d.release == perfmodel::engine_release::vllm_0_10 ||
                        d.release == perfmodel::engine_release::vllm_0_14;
  if (!is_older ||
      in.all().accelerator().architecture != perfmodel::chip_architecture::blackwell_rtx ||
      !has_sparse_latents(find_model(in.text("model")).model))
    return;
  throw perfmodel::error(perfmodel::error_code::inconsistent,
                         cat("engine_version is ", in.text("engine_version"),
                             ": before 0.24 vLLM had no kernels for "
                             "the sparse attention of ",
                             in.text("model"), " on compute capability 12 (",
                             in.text("accelerator"), "); allowed: from 0.24 on"));
}

/// Reads engine_version. Throws inconsistent for another engine.
template <perfmodel::Scalar T>
void read_version(const inputs<T>& in, perfmodel::basic_deployment<T>& d) {
  if (!states(in, "engine_version")) return;
  d.release = release_of(in.text("engine_version"));
  require_kernels(in, d);
  const auto by = engine_of_version(in.text("engine_version"));
  if (!by || *by == d.serving_engine) return;
  throw perfmodel::error(
      perfmodel::error_code::inconsistent,
      cat("engine_version is ", in.text("engine_version"), " and engine is ",
          name_of(d.serving_engine), "; allowed: latest, or engine ", name_of(*by)));
}

/// Reads reservation_keys(), engine_option_keys(), image_keys(), engine and chunk_tokens.
template <perfmodel::Scalar T>
void reserve_memory(inputs<T>& in, perfmodel::basic_deployment<T>& d) {
  using perfmodel::bytes;
  d.serving_engine = *perfmodel::find_engine(in.text("engine"));
  if (in.has("utilization")) d.utilization = in.number("utilization");
  if (in.has("activation_bytes"))
    d.activation_bytes = in.template amount<bytes<T>>("activation_bytes");
  if (in.has("runtime_bytes")) d.runtime_bytes = in.template amount<bytes<T>>("runtime_bytes");
  if (in.has("chunk_tokens")) d.limits.tokens = in.number("chunk_tokens");
  if (in.has("max_sequences")) d.limits.sequences = in.number("max_sequences");
  read_version(in, d);
  read_engine_options(in, d);
  if (in.asked().find("input_tokens") != nullptr) read_images(in, d);
}
/// Adds the memory budget of a GPU, part by part.
template <perfmodel::Scalar T>
void add_reservation(outcome<T>& out, const perfmodel::basic_memory_budget<T>& b) {
  out.add("utilization", "gpu_memory_utilization", b.utilization);
  out.add("weight_bytes_per_gpu", "weights, per GPU", b.weights);
  out.add("activation_bytes", "activation reserve, per GPU", b.activations);
  out.add("runtime_bytes", "runtime reserve, per GPU", b.runtime);
}

/// Network of a replica on several nodes: given, or where a stage has more ranks than the fabric
/// joins the usual one. Throws inconsistent where it is given for one node.
template <perfmodel::Scalar T>
std::optional<perfmodel::basic_interconnect<T>> network_of(
    inputs<T>& in, const perfmodel::basic_deployment<T>& d) {
  const int node = d.device.fabric.reach();
  const bool given = states(in, "network_bytes_per_s");
  if (given && d.layout.ranks() <= node) {
    throw perfmodel::error(
        perfmodel::error_code::inconsistent,
        cat("network_bytes_per_s is ", in.plain("network_bytes_per_s"), " and one node holds the ",
            d.layout.ranks(), " GPUs of a replica; allowed: more than ", node, " GPUs"));
  }
  perfmodel::basic_interconnect<T> n;
  n.kind = perfmodel::link_kind::infiniband;
  if (given) {
    n.bandwidth = in.template amount<perfmodel::bandwidth<T>>("network_bytes_per_s");
    return n;
  }
  if (d.layout.stage_ranks() <= node) return std::nullopt;
  const auto usual = perfmodel::catalog::network_of(d.device.name.view());
  if (!usual) return std::nullopt;
  n.bandwidth = perfmodel::lift<T>(usual->bandwidth.quantity());
  return n;
}
/// Says which network was taken where the request states none.
template <perfmodel::Scalar T>
void note_network(outcome<T>& out, const inputs<T>& in) {
  if (states(in, "network_bytes_per_s")) return;
  const perfmodel::accelerator& a = in.all().accelerator();
  const int node = a.fabric.reach();
  for (const char* pool : {"", "prefill_", "decode_"}) {
    const auto degree = [&](const char* name) {
      const std::string key = cat(pool, name);
      return in.asked().find(key) != nullptr && in.has(key) ? in.all().whole(key) : 1;
    };
    const int tensor = degree("tensor_parallel");
    const int groups = degree("expert_parallel") > tensor ? degree("data_parallel") : 1;
    const auto usual =
        tensor * groups > node ? perfmodel::catalog::network_of(a.name.view()) : std::nullopt;
    if (!usual) continue;
    const double rate = usual->bandwidth.quantity().value();
    out.notes.push_back(
        {"network between nodes", cat(perfmodel::detail::significant(rate / 1e9, 4),
                                      " GB/s of each GPU: ", usual->bandwidth.from().text,
                                      "; network_bytes_per_s states another")});
    out.facts["network_bytes_per_s"] = rate;
    return;
  }
}

/// Throws impossible_layout where a degree does not fit the model.
template <perfmodel::Scalar T>
perfmodel::basic_deployment<T> deployment_of(inputs<T>& in,
                                             const perfmodel::parallel_layout& layout) {
  perfmodel::basic_deployment<T> d;
  d.device = in.accelerator();
  d.model = in.model();
  d.layout = layout;
  require_layout(d.layout, sharded_dims_of(d.model));
  in.state_formats(d);
  if (in.asked().find("network_bytes_per_s") != nullptr) d.network = network_of(in, d);
  return d;
}
/// The deployment that `make` reads; that of an earlier request where it has the same. Images make
/// it depend on the load.
template <perfmodel::Scalar T, class Make>
perfmodel::basic_deployment<T> shared_deployment(const inputs<T>& in, const Make& make) {
  if constexpr (std::same_as<T, double>) {
    shared_texts* const shared = in.all().texts();
    if (shared == nullptr || in.asks_of_images()) return make();
    if (!shared->deployment) shared->deployment = make();
    return *shared->deployment;
  }
  return make();
}
/// `data` is the number of data-parallel attention groups of a replica.
template <perfmodel::Scalar T>
perfmodel::basic_deployment<T> deployment_of(inputs<T>& in, int data = 1) {
  return deployment_of(
      in, perfmodel::parallel_layout{.tensor = in.whole("tensor_parallel"),
                                     .pipeline = in.whole("pipeline_parallel"),
                                     .expert = in.whole("expert_parallel"),
                                     .data = data,
                                     .redundant_experts = in.whole("redundant_experts")});
}

/// Deployment of a step: with its engine, the engine's options, and the patches of its prefill.
template <perfmodel::Scalar T>
perfmodel::basic_deployment<T> step_deployment_of(inputs<T>& in) {
  perfmodel::basic_deployment<T> d = shared_deployment(in, [&in] {
    perfmodel::basic_deployment<T> made = deployment_of(in);
    made.serving_engine = *perfmodel::find_engine(in.text("engine"));
    read_version(in, made);
    read_engine_options(in, made);
    return made;
  });
  read_cached_images(in, d, "context and prefill_tokens");
  if (!(in.plain("image_patches") > 0.0)) return d;
  const auto refuse = [&](const char* why) {
    throw perfmodel::error(perfmodel::error_code::inconsistent,
                           cat("image_patches is ", in.plain("image_patches"), ", and ", why));
  };
  if (!d.model.encoder) refuse("the model has no image encoder; allowed: 0");
  if (!(in.plain("prefill_tokens") > 0.0))
    refuse("prefill_tokens is 0; allowed: 0, or a step with prefill");
  d.encoder_rows = in.number("image_patches") / in.number("prefill_tokens");
  return d;
}
/// The bound or the prediction of a step.
template <perfmodel::Scalar T, class Mode>
perfmodel::basic_estimate<T> step_in(const Mode& mode, const perfmodel::basic_deployment<T>& d,
                                     const perfmodel::basic_iteration<T>& i) {
  if constexpr (std::same_as<Mode, bound_mode>) {
    return perfmodel::step_bound(d, i);
  } else {
    return perfmodel::step(d, i, mode);
  }
}

// Derivations of steps are compiled once: they take a compiler 0.2 GB.
extern template perfmodel::basic_estimate<perfmodel::traced> step_in(
    const bound_mode&, const perfmodel::basic_deployment<perfmodel::traced>&,
    const perfmodel::basic_iteration<perfmodel::traced>&);
extern template perfmodel::basic_estimate<perfmodel::traced> step_in(
    const perfmodel::basic_calibrated<perfmodel::traced>&,
    const perfmodel::basic_deployment<perfmodel::traced>&,
    const perfmodel::basic_iteration<perfmodel::traced>&);

/// "fp4 in groups of 32".
inline std::string storage_text(const perfmodel::storage_format& s) {
  std::string text = name_of(s.format);
  if (s.value_bits) text = cat(*s.value_bits, "-bit values as ", text);
  if (s.group && s.scale_bits + s.zero_bits > 0.0) text += cat(" in ", group_text(*s.group));
  if (s.wide_share > 0.0)
    text += cat(", ", perfmodel::detail::significant(100.0 * s.wide_share, 3), " % in 16 bits");
  return text;
}

/// Adds the KV-cache format and the reason for it.
template <perfmodel::Scalar T>
void note_cache_format(outcome<T>& out, const perfmodel::engine_formats& f) {
  out.notes.push_back({"KV-cache format", cat(storage_text(f.kv), ": ", f.kv_why)});
  out.facts["formats"]["kv"] = {{"format", storage_text(f.kv)}, {"why", f.kv_why}};
}

/// Says that the longest request exceeds the context that the model states.
template <perfmodel::Scalar T>
void note_context(outcome<T>& out, const inputs<T>& in) {
  const auto most = find_model(in.text("model")).model.max_context;
  const auto tokens = [&in](const key_name& name) {
    return states(in, name) ? in.plain(name) : 0.0;
  };
  const double longest = tokens("input_tokens") + tokens("output_tokens") + tokens("context");
  if (!most || !(longest > *most)) return;
  const auto text = [](double x) { return perfmodel::detail::number_text(x); };
  out.notes.push_back({"context", cat(text(longest), " tokens, and the model's limit is ",
                                      text(*most), "; engines refuse longer requests")});
  out.facts["context_limit"] = *most;
}

/// Adds the formats of a deployment and the reasons for them.
template <perfmodel::Scalar T>
void note_formats(outcome<T>& out, const inputs<T>& in) {
  if (!in.wants_texts()) return;
  note_context(out, in);
  shared_texts* const shared = in.all().texts();
  if (shared != nullptr && shared->formats) {
    if (shared->network) out.facts["network_bytes_per_s"] = *shared->network;
    out.facts["formats"] = *shared->formats;
    return;
  }
  if (in.asked().find("network_bytes_per_s") != nullptr) note_network(out, in);
  const perfmodel::engine_formats f = in.formats();
  const perfmodel::weight_storage& w = f.weights;
  const bool routed = experts_of(find_model(in.text("model")).model).has_value();
  const auto note = [&](const char* part, const perfmodel::storage_format& stored,
                        const perfmodel::operand_format& beside) {
    out.notes.push_back(
        {cat("formats of ", part), cat("weights ", storage_text(stored), ", activations ",
                                       name_of(beside.format), ": ", beside.why)});
    out.facts["formats"][part] = {{"weights", storage_text(stored)},
                                  {"activations", name_of(beside.format)},
                                  {"why", beside.why}};
  };
  note("layers", w.linear, f.linear);
  if (routed) note("experts", w.experts, f.experts);
  note_cache_format(out, f);
  if (shared == nullptr) return;
  if (out.facts.contains("network_bytes_per_s")) shared->network = out.facts["network_bytes_per_s"];
  const std::string text = write_json(out.facts["formats"]);
  shared->formats = json::binary({text.begin(), text.end()});
}

/// Closed-loop or open-loop arrivals; a closed loop of 0 requests where the request has neither.
/// Throws inconsistent for both, or for a key of the other kind.
template <perfmodel::Scalar T>
auto arrivals_of(inputs<T>& in) -> decltype(perfmodel::basic_service_load<T>{}.arrivals) {
  using perfmodel::scalar_min;
  const auto refuse = [](const char* why) {
    throw perfmodel::error(perfmodel::error_code::inconsistent, why);
  };
  const bool closed = in.has("concurrency"), open = in.has("requests_per_s");
  if (closed && open) refuse("give one of concurrency and requests_per_s, and not both");
  if (open) {
    if (in.plain("requests") > 0.0) {
      refuse("requests is the length of a run at a concurrency; requests_per_s is a steady state");
    }
    return perfmodel::basic_open_loop<T>{
        in.template amount<perfmodel::request_rate<T>>("requests_per_s"), in.number("arrival_cv")};
  }
  if (in.given("arrival_cv"))
    refuse("arrival_cv is a property of requests_per_s; a concurrency has no arrival process");
  perfmodel::basic_closed_loop<T> loop{closed ? in.number("concurrency") : T(0.0)};
  if (in.plain("requests") > 0.0) {
    loop.requests = in.number("requests");
    if (closed) loop.concurrency = scalar_min(loop.concurrency, *loop.requests);
  }
  return loop;
}

/// The iteration of a `step` request. Throws missing_key where sequences decode and no context is
/// given.
template <perfmodel::Scalar T>
perfmodel::basic_iteration<T> iteration_of(inputs<T>& in) {
  perfmodel::basic_iteration<T> i;
  i.batch = in.number("batch");
  if (in.has("context")) {
    i.context = in.number("context");
  } else if (in.plain("batch") > 0.0) {
    in.missing("context", "tokens in the KV cache of each decoding sequence; batch 0 has none");
  }
  i.prefill_tokens = in.number("prefill_tokens");
  if (in.has("tokens_per_sequence")) i.tokens_per_sequence = in.number("tokens_per_sequence");
  return i;
}

/// Reads shared_keys(). Throws missing_key and inconsistent.
template <perfmodel::Scalar T>
perfmodel::basic_prefix_levels<T> shared_of(inputs<T>& in) {
  const auto all_of = [&](const key_name& name) {
    std::vector<T> all = in.numbers(name);
    if (all.empty() && in.has(name)) all.push_back(in.number(name));
    return all;
  };
  const std::vector<T> tokens = all_of("shared_tokens"), prefixes = all_of("shared_prefixes");
  if (tokens.empty() && !prefixes.empty())
    in.missing("shared_tokens", "shared_prefixes is the number of distinct ones");
  perfmodel::basic_prefix_levels<T> levels;
  const auto refuse = [](const std::string& why) {
    throw perfmodel::error(perfmodel::error_code::inconsistent, why);
  };
  if (tokens.size() > levels.capacity)
    refuse(cat("shared_tokens has ", tokens.size(), " levels; allowed: 1 to ", levels.capacity));
  if (!prefixes.empty() && prefixes.size() != tokens.size()) {
    refuse(cat("shared_prefixes has ", prefixes.size(), " levels and shared_tokens has ",
               tokens.size(), "; allowed: equal numbers of levels"));
  }
  for (std::size_t i = 0; i < tokens.size(); ++i)
    levels.push_back({tokens[i], prefixes.empty() ? T(1.0) : prefixes[i]});
  return levels;
}

/// Reads host_hit, host_memory_bytes and host_link_bytes_per_s; none where all are absent. Throws
/// missing_key and inconsistent.
template <perfmodel::Scalar T>
std::optional<perfmodel::basic_host_cache<T>> host_of(inputs<T>& in, bool shares) {
  const auto refuse = [](const char* why) {
    throw perfmodel::error(perfmodel::error_code::inconsistent, why);
  };
  const bool hit = in.has("host_hit"), memory = in.has("host_memory_bytes");
  if (hit && memory) refuse("give one of host_hit and host_memory_bytes, and not both");
  if (memory && !shares)
    in.missing("shared_tokens", "the prefixes cached in host memory; or give host_hit");
  if (memory && in.plain("prefix_hit") > 0.0)
    refuse("host_memory_bytes determines the hits of shared_tokens; with prefix_hit give host_hit");
  const bool link = in.has("host_link_bytes_per_s");
  if (!hit && !memory && !link) return {};
  if (!hit && !memory && in.text("preemption") != "swap")
    in.missing("host_hit", "the tokens fetched over the link; or give preemption swap");
  perfmodel::basic_host_cache<T> host;
  if (hit) host.hit = in.number("host_hit");
  if (memory) host.memory = in.template amount<perfmodel::bytes<T>>("host_memory_bytes");
  if (link)
    host.bandwidth_per_device =
        in.template amount<perfmodel::bandwidth<T>>("host_link_bytes_per_s");
  return host;
}

/// Throws inconsistent where a request has a preemption mode for a service without a law of
/// preemption. A simulation has no such key.
template <perfmodel::Scalar T>
void refuse_preemption(const inputs<T>& in, const char* allowed) {
  if (in.asked().find("preemption") == nullptr || !in.has("preemption")) return;
  throw perfmodel::error(perfmodel::error_code::inconsistent,
                         cat("preemption is ", in.text("preemption"), "; allowed: ", allowed));
}

/// Reads load_keys().
template <perfmodel::Scalar T>
perfmodel::basic_service_load<T> load_of(inputs<T>& in) {
  perfmodel::basic_service_load<T> l;
  l.input_tokens = prompt_tokens(in);
  l.output_tokens = in.number("output_tokens");
  l.arrivals = arrivals_of(in);
  l.input_cv = in.number("input_cv");
  l.output_cv = in.number("output_cv");
  l.prefix_hit = in.number("prefix_hit");
  l.shared = shared_of(in);
  l.host = host_of(in, !l.shared.empty());
  if (in.has("chunk_tokens")) l.chunk_tokens = in.number("chunk_tokens");
  for (const auto p : {perfmodel::preemption::recompute, perfmodel::preemption::swap}) {
    if (in.text("preemption") == name_of(p)) l.preemption_mode = p;
  }
  for (const auto s : {perfmodel::scheduling::mixed_chunks, perfmodel::scheduling::prefill_first,
                       perfmodel::scheduling::static_batches}) {
    if (in.text("scheduler") == name_of(s)) l.scheduler = s;
  }
  if (!l.is_closed()) refuse_preemption(in, "none; preemption is modelled at a concurrency only");
  if (l.scheduler == perfmodel::scheduling::static_batches)
    refuse_preemption(in, "none with static_batches, which admit no request into a running batch");
  return l;
}

}  // namespace napkin
