// What a checkpoint leaves unquantised, by projection: shares of the weights of each part.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <perfmodel/model/parameters.hpp>
#include <string>
#include <string_view>
#include <vector>

// Patterns of modules that a checkpoint leaves unquantised: globs, parts of names, simple
// expressions.

namespace perfmodel::inline v0_3::detail {

/// True where `text` matches `pattern`; * matches anything. Linear in both.
constexpr bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Globs of a regular expression: .* is *, \. a dot, (a|b) two globs; ends are open unless ^ or $
/// closes them. Other syntax matches anything.
inline std::vector<std::string> globs_of(std::string_view regex) {
  std::vector<std::string> out{regex.starts_with('^') ? "" : "*"};
  if (regex.starts_with('^')) regex.remove_prefix(1);
  const bool closed = regex.ends_with('$');
  if (closed) regex.remove_suffix(1);
  const auto append = [&](std::string_view text) {
    for (std::string& glob : out) glob += text;
  };
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const char ch = regex[i];
    if (ch == '\\' && i + 1 < regex.size()) {
      append(regex[i + 1] == 'd' ? std::string_view("*") : regex.substr(i + 1, 1));
      ++i;
    } else if (ch == '(') {
      const std::size_t end = regex.find(')', i);
      if (end == std::string_view::npos || out.size() > 64) return {"*"};
      std::vector<std::string> every;
      std::size_t from = i + 1;
      while (from <= end) {
        const std::size_t to = regex.find_first_of("|)", from);
        for (const std::string& glob : out)
          every.push_back(glob + std::string(regex.substr(from, to - from)));
        from = to + 1;
      }
      out = every;
      i = end;
    } else if (ch == '.' || ch == '[' || ch == '+' || ch == '?' || ch == '*') {
      if (ch == '[')
        i = regex.find(']', i) == std::string_view::npos ? regex.size() : regex.find(']', i);
      append("*");
    } else {
      append(regex.substr(i, 1));
    }
  }
  if (!closed) append("*");
  return out;
}

/// True where a list of patterns names a module. "re:..." is a regular expression, a * makes a
/// glob. Anything else is the module itself, a parent of it, or a part of its name between dots.
inline bool pattern_names(std::string_view pattern, std::string_view module) {
  if (pattern.starts_with("re:")) {
    for (const std::string& glob : globs_of(pattern.substr(3))) {
      if (glob_matches(glob, module)) return true;
    }
    return false;
  }
  if (pattern.find('*') != std::string_view::npos) return glob_matches(pattern, module);
  const std::size_t at = module.find(pattern);
  if (pattern.empty() || at == std::string_view::npos) return false;
  const bool starts = at == 0 || module[at - 1] == '.';
  const std::size_t end = at + pattern.size();
  return starts && (end == module.size() || module[end] == '.');
}

/// Patterns of a file, sorted by the layer that each names, so that a layer's modules are matched
/// with few of them.
class module_patterns {
 public:
  void add(const std::string& pattern) {
    const int layer = layer_in(pattern);
    (layer < 0 ? of_any_ : of_layer_[layer]).push_back(pattern);
  }
  bool empty() const { return of_any_.empty() && of_layer_.empty(); }

  /// True where a pattern names the module of a layer, under any of the usual prefixes.
  bool name(int layer, std::string_view module) const {
    const auto own = of_layer_.find(layer);
    const std::string number = std::to_string(layer) + ".";
    for (const char* prefix :
         {"model.layers.", "backbone.layers.", "language_model.model.layers.",
          "model.language_model.layers.", "language_model.layers.", "thinker.model.layers.",
          "llm.model.layers.", "layers.", "transformer.h.", "transformer.encoder.layers.",
          "model.decoder.layers.", "model.text_model.layers."}) {
      const std::string whole = prefix + number + std::string(module);
      if (any_names(of_any_, whole)) return true;
      if (own != of_layer_.end() && any_names(own->second, whole)) return true;
    }
    return false;
  }
  /// True where a pattern names a module that is in no layer.
  bool name(std::string_view module) const { return any_names(of_any_, module); }

 private:
  static bool any_names(const std::vector<std::string>& patterns, std::string_view module) {
    for (const std::string& p : patterns) {
      if (pattern_names(p, module)) return true;
    }
    return false;
  }
  /// The layer of a pattern that names one by number; -1 for expressions and other patterns.
  static int layer_in(std::string_view pattern) {
    if (pattern.starts_with("re:")) return -1;
    for (const std::string_view stem : {"layers.", "h."}) {
      const std::size_t at = pattern.find(stem);
      if (at == std::string_view::npos || (at > 0 && pattern[at - 1] != '.')) continue;
      std::size_t i = at + stem.size();
      int n = 0;
      const std::size_t first = i;
      for (; i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9' && n < 100000; ++i)
        n = 10 * n + (pattern[i] - '0');
      if (i > first && (i == pattern.size() || pattern[i] == '.')) return n;
    }
    return -1;
  }

  std::vector<std::string> of_any_{};
  std::map<int, std::vector<std::string>> of_layer_{};
};

}  // namespace perfmodel::inline v0_3::detail

namespace perfmodel::inline v0_3::detail {

/// Layers of a model in their order, as a checkpoint names them.
struct ordered_layers {
  struct entry {
    int layer = 0;
    layer_shape shape{};
  };
  double hidden = 0;
  bool sibling_experts = false;  ///< experts next to a dense `mlp`, not in it (Gemma 4)
  bool tied = false;             ///< head and embedding are one table
  std::vector<entry> all{};
};

/// Sum of weights, and of those that some patterns name.
struct named_weights {
  double all = 0, named = 0;
  void add(double weights, bool is_named) {
    all += weights;
    named += is_named ? weights : 0.0;
  }
  double share() const { return all > 0 ? named / all : 0.0; }
};

/// Counts the projections of each part of the layers that `patterns` name and `others` do not.
class projection_count {
 public:
  projection_count(const module_patterns& patterns, const ordered_layers& layers,
                   const module_patterns& others = {})
      : patterns_(patterns),
        others_(others),
        hidden_(layers.hidden),
        sibling_(layers.sibling_experts) {
    if (patterns.empty()) return;
    for (const auto& e : layers.all) {
      layer_ = e.layer;
      if (e.shape.mixer) std::visit([&](const auto& shape) { count_mixer(shape); }, *e.shape.mixer);
      if (e.shape.feed_forward)
        std::visit([&](const auto& shape) { count_feed_forward(shape); }, *e.shape.feed_forward);
    }
  }
  named_weights attention{}, linear{}, experts{};

 private:
  using names = std::initializer_list<const char*>;
  bool named_by(const module_patterns& patterns, names modules) const {
    for (const char* module : modules) {
      if (patterns.name(layer_, module)) return true;
    }
    return false;
  }
  bool named(names modules) const {
    return named_by(patterns_, modules) && (others_.empty() || !named_by(others_, modules));
  }
  static constexpr names output = {"self_attn.o_proj",   "mixer.o_proj",    "attention.wo",
                                   "self_attn.out_proj", "attention.dense", "attn.c_proj",
                                   "attn.wo_b"};

  void count_mixer(const basic_attention_shape<>& a) {
    const double in = a.input_width.value_or(hidden_);
    const double result = a.query_heads * a.value_width();
    const double queries = a.query_heads * a.head_dim;
    // An expression for v_proj also fits qkv_proj, which then is not meant.
    const bool fused = !named({"self_attn.v_proj"}) &&
                       named({"self_attn.qkv_proj", "self_attention.query_key_value", "attn.c_attn",
                              "attention.query_key_value", "attn.Wqkv"});
    attention.add(in * queries,
                  fused || named({"self_attn.q_proj", "mixer.q_proj", "attention.wq"}));
    if (!a.shares_cache) {
      attention.add(in * a.kv_heads * a.head_dim,
                    fused || named({"self_attn.k_proj", "mixer.k_proj", "attention.wk"}));
      if (!a.value_is_key)
        attention.add(in * a.kv_heads * a.value_width(),
                      fused || named({"self_attn.v_proj", "mixer.v_proj", "attention.wv"}));
    }
    if (a.output_gate)
      attention.add(hidden_ * result, named({"self_attn.o_gate", "self_attn.g_proj"}));
    attention.add(result * hidden_, named(output));
  }
  void count_mixer(const basic_latent_attention_shape<>& a) {
    const double nope = a.head_dim - a.rope_dim;
    const double queries = a.query_heads * a.head_dim;
    if (a.query_rank) {
      attention.add(hidden_ * *a.query_rank, named({"self_attn.q_a_proj", "self_attn.wq_a",
                                                    "self_attn.fused_qkv_a_proj_with_mqa"}));
      attention.add(*a.query_rank * queries, named({"self_attn.q_b_proj", "self_attn.wq_b"}));
    } else {
      attention.add(hidden_ * queries, named({"self_attn.q_proj"}));
    }
    attention.add(hidden_ * a.cached_elements(), named({"self_attn.kv_a_proj_with_mqa"}));
    attention.add(a.kv_rank * a.query_heads * (nope + a.value_dim), named({"self_attn.kv_b_proj"}));
    attention.add(a.query_heads * a.value_dim * hidden_, named(output));
  }
  void count_mixer(const basic_compressed_attention_shape<>& a) {
    attention.add(a.weights(hidden_), named(output));
  }
  void count_mixer(const basic_recurrent_shape<>& a) {
    const double out = a.value_width() * hidden_;
    const double gate = a.kind == recurrence::lightning ? hidden_ * a.value_width() : 0.0;
    attention.add(gate, named({"self_attn.z_proj", "self_attn.output_gate"}));
    attention.add(out, named({"linear_attn.out_proj", "mixer.out_proj", "mamba.out_proj",
                              "self_attn.o_proj", "self_attn.out_proj", "conv.out_proj"}));
    attention.add(
        a.weights(hidden_) - out - gate,
        named({"linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv", "mixer.in_proj",
               "mamba.in_proj", "self_attn.q_proj", "self_attn.qkv_proj", "conv.in_proj"}));
  }
  void count_feed_forward(const basic_dense_shape<>& x) {
    const double matrix = hidden_ * x.intermediate;
    const bool fused =
        !named({"mlp.up_proj"}) && named({"mlp.gate_up_proj", "mlp.dense_h_to_4h", "mlp.c_fc"});
    if (x.gated)
      linear.add(matrix, fused || named({"mlp.gate_proj", "feed_forward.w1",
                                         "feed_forward.gate_proj", "mlp.w1"}));
    linear.add(matrix, fused || named({"mlp.up_proj", "mixer.up_proj", "feed_forward.w3",
                                       "feed_forward.up_proj", "mlp.w3"}));
    linear.add(matrix,
               named({"mlp.down_proj", "mixer.down_proj", "feed_forward.w2",
                      "feed_forward.down_proj", "mlp.w2", "mlp.dense_4h_to_h", "mlp.c_proj"}));
  }
  void count_feed_forward(const basic_expert_shape<>& x) {
    if (x.shared_intermediate) {
      const double matrix = x.matrices() * hidden_ * *x.shared_intermediate;
      const bool wide = sibling_
                            ? named({"mlp.gate_proj", "mlp.down_proj", "residual_mlp.w1"})
                            : named({"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj",
                                     "mixer.shared_experts.down_proj", "mlp.shared_mlp.down_proj",
                                     "feed_forward.shared_expert.down_proj",
                                     "block_sparse_moe.shared_experts.down_proj",
                                     "share_expert.down_proj", "shared_mlp.output_linear"});
      linear.add(matrix, wide);
    }
    const double matrix = x.expert_weights(hidden_) / x.matrices();
    const auto count = [&](double matrices, names next_to, names within) {
      experts.add(matrices * matrix, named(next_to) || (!sibling_ && named(within)));
    };
    count(1,
          {"experts.0.down_proj", "experts.down_proj", "block_sparse_moe.experts.0.w2",
           "moe.experts.down_proj"},
          {"mlp.experts.0.down_proj", "mlp.experts.down_proj", "mixer.experts.0.down_proj",
           "block_sparse_moe.output_linear", "feed_forward.experts.0.w2",
           "feed_forward.experts.down_proj", "moe.down_proj"});
    count(x.matrices() - 1,
          {"experts.0.up_proj", "experts.gate_up_proj", "block_sparse_moe.experts.0.w1",
           "moe.experts.gate_up_proj"},
          {"mlp.experts.0.up_proj", "mlp.experts.gate_up_proj", "mixer.experts.0.up_proj",
           "block_sparse_moe.input_linear", "feed_forward.experts.0.w1",
           "feed_forward.experts.gate_up_proj", "moe.gate_proj"});
  }

  const module_patterns& patterns_;
  module_patterns others_;
  double hidden_;
  bool sibling_;
  int layer_ = 0;
};

/// The format with a share of the weights in `wide`; the wide format itself where all of them are.
inline storage_format with_wide_share(storage_format s, double share, number_format wide) {
  if (share <= 0.0) return s;
  if (share > 1.0 - 1e-9) return wide;
  s = with_block_scales(s);
  s.wide_share = share;
  return s;
}

/// Modules with a storage format of their own, and those that a file leaves in 16 bits.
struct module_formats {
  struct rule {
    module_patterns modules{};
    storage_format format{};
  };
  module_patterns left_out{};
  std::vector<rule> rules{};

  void add(const std::string& pattern, const storage_format& format) {
    for (rule& r : rules) {
      if (r.format == format) return r.modules.add(pattern);
    }
    rules.push_back({.modules = {}, .format = format});
    rules.back().modules.add(pattern);
  }
};

/// One format for a part with modules of several: the format of most weights, with the mean of
/// their bits. `shares` are those of the rules' formats, `wide_share` is that of modules in `wide`;
/// the rest has `base`, and is in `wide` too where `base` is.
inline storage_format mixture(const storage_format& base, const std::vector<double>& shares,
                              const std::vector<module_formats::rule>& rules, double wide_share,
                              number_format wide) {
  double rest = 1.0 - wide_share;
  for (const double share : shares) rest -= share;
  if (base == storage_format(wide)) wide_share += rest;
  const double quantised = 1.0 - wide_share;
  if (quantised < 1e-9) return wide;
  storage_format most = base;
  double largest = base == storage_format(wide) ? 0.0 : rest;
  double bits = largest * with_block_scales(base).bits();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    bits += shares[i] * with_block_scales(rules[i].format).bits();
    if (shares[i] <= largest) continue;
    largest = shares[i];
    most = rules[i].format;
  }
  if (largest < quantised - 1e-9) {
    // Its scales stay, by which engines know the kind; the values have the rest of the mean.
    most = with_block_scales(most);
    const double scales = most.group ? (most.scale_bits + most.zero_bits) / *most.group : 0.0;
    most.value_bits = bits / quantised - scales;
  }
  return with_wide_share(most, wide_share, wide);
}

/// The formats of all parts where modules have formats of their own.
inline void read_modules(const module_formats& m, const ordered_layers& layers, weight_storage& w) {
  const projection_count wide(m.left_out, layers);
  std::vector<double> attention, linear, experts;
  for (const auto& rule : m.rules) {
    const projection_count count(rule.modules, layers, m.left_out);
    attention.push_back(count.attention.share());
    linear.push_back(count.linear.share());
    experts.push_back(count.experts.share());
  }
  w.attention = mixture(w.attention, attention, m.rules, wide.attention.share(), w.others);
  w.linear = mixture(w.linear, linear, m.rules, wide.linear.share(), w.others);
  w.experts = mixture(w.experts, experts, m.rules, wide.experts.share(), w.others);
  for (const auto& rule : m.rules) {
    if (w.tables && rule.modules.name("lm_head")) {
      w.tables = mixture(*w.tables, {0.5}, {rule}, 0.0, w.others);
    }
  }
}

}  // namespace perfmodel::inline v0_3::detail
