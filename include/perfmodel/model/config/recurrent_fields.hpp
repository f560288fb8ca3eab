// Recurrent mixer of a layer from the fields of a config.json, by the names of its kind.
#pragma once

#include <perfmodel/model/config/layer_roles.hpp>

namespace perfmodel::inline v0_3::detail {

/// Context of all field readers of a file.
template <class Json>
struct config_view {
  const config_fields<Json>& own;   ///< the language model's object
  const config_fields<Json>& root;  ///< the whole file's
  model_family family;
  shape_defaults preset;
  double hidden = 0;
  double layers = 0;
  std::optional<double> max_context{};
};

inline number_format state_format_of(const std::string& name, number_format unsaid) {
  return name == "float32" ? fp32 : name == "bfloat16" ? bf16 : name == "float16" ? fp16 : unsaid;
}

/// Keys are shared by groups of heads.
template <class Json>
void check_groups(const config_fields<Json>& own, const char* key, const recurrent_shape& r,
                  const char* heads) {
  if (math::floor(r.value_heads / r.key_heads) * r.key_heads == r.value_heads) return;
  own.refuse(key,
             "a divisor of " + std::string(heads) + ", which is " + number_text(r.value_heads));
}

template <class Json>
recurrent_shape kimi_delta_of(const config_fields<Json>& k) {
  recurrent_shape r{.kind = recurrence::kimi_delta};
  r.key_heads = r.value_heads = k.whole("num_heads", 1, most_width);
  r.key_dim = r.value_dim = k.whole("head_dim", 1, most_width);
  r.conv_kernel = k.whole("short_conv_kernel_size", 1, 1024);
  r.full_rank_gate = k.flag_or("use_full_rank_gate", false);
  return r;
}

template <class Json>
recurrent_shape gated_delta_net_of(const config_fields<Json>& own) {
  recurrent_shape r{.kind = recurrence::gated_delta_net};
  r.key_heads = own.whole("linear_num_key_heads", 1, most_width);
  r.value_heads = own.whole("linear_num_value_heads", 1, most_width);
  r.key_dim = own.whole("linear_key_head_dim", 1, most_width);
  r.value_dim = own.whole("linear_value_head_dim", 1, most_width);
  r.conv_kernel = own.whole("linear_conv_kernel_dim", 1, 1024);
  check_groups(own, "linear_num_key_heads", r, "linear_num_value_heads");
  return r;
}

template <class Json>
recurrent_shape mamba2_of(const config_fields<Json>& own, const char* heads) {
  recurrent_shape r{.kind = recurrence::mamba2};
  const char* const groups = own.either({"n_groups", "mamba_n_groups"});
  r.value_heads = own.whole(heads, 1, most_width);
  r.key_heads = own.whole_or(groups, 1, 1, r.value_heads);
  r.key_dim =
      own.whole(own.either({"ssm_state_size", "mamba_d_state", "state_size"}), 1, most_width);
  r.value_dim =
      own.whole(own.either({"mamba_head_dim", "mamba_d_head", "hidden_size_per_head", "head_dim"}),
                1, most_width);
  r.conv_kernel = own.whole(own.either({"conv_kernel", "mamba_d_conv"}), 1, 1024);
  r.conv_bias = own.flag_or(own.either({"use_conv_bias", "mamba_conv_bias"}), true);
  check_groups(own, groups, r, heads);
  return r;
}

template <class Json>
recurrent_shape mamba_of(const config_fields<Json>& own, const char* rank, double hidden,
                         bool pure) {
  recurrent_shape r{.kind = recurrence::mamba, .key_heads = 1, .value_dim = 1};
  r.value_heads = own.whole_or(own.either({"mamba_expand", "expand"}), 2, 1, 64) * hidden;
  if (pure && own.has("intermediate_size"))  // FalconMamba's own width, whatever its expand says
    r.value_heads = own.whole("intermediate_size", 1, most_width);
  r.key_dim = own.whole(own.either({"mamba_d_state", "state_size"}), 1, most_width);
  r.thin_rank = own.has(rank) && own.at(rank) == "auto" ? math::ceil(hidden / 16.0)
                                                        : own.whole(rank, 1, most_width);
  r.conv_kernel = own.whole(own.either({"mamba_d_conv", "conv_kernel"}), 1, 1024);
  r.conv_bias = own.flag_or(own.either({"mamba_conv_bias", "use_conv_bias"}), true);
  return r;
}

/// Griffin's recurrent block (RecurrentGemma): a Mamba of state size 1. Its gates are two
/// matrices in blocks of one head: lru_width x (lru_width / heads) each.
/// Source: De et al. 2024 (arXiv 2402.19427), section 2.4; transformers, modeling_recurrent_gemma.
/// Test: RecurrentGemma-2B has 2.68e9 parameters, as published.
template <class Json>
recurrent_shape linear_recurrent_unit_of(const config_fields<Json>& own) {
  recurrent_shape r{.kind = recurrence::mamba, .key_heads = 1, .key_dim = 1, .value_dim = 1};
  r.value_heads = own.whole("lru_width", 1, most_width);
  r.thin_rank = r.value_heads / own.whole("num_attention_heads", 1, r.value_heads);
  r.conv_kernel = own.whole_or("conv1d_width", 4, 1, 1024);
  r.conv_bias = true;
  return r;
}

/// Shapes in the naming of flash-linear-attention.
template <class Json>
recurrent_shape rwkv7_of(const config_fields<Json>& own, double hidden) {
  recurrent_shape r{.kind = recurrence::rwkv7};
  r.key_dim = r.value_dim = own.whole("head_dim", 1, hidden);
  r.key_heads = r.value_heads = hidden / r.key_dim;
  if (r.key_heads != math::floor(r.key_heads))
    own.refuse("head_dim", "a divisor of hidden_size, which is " + number_text(hidden));
  double ranks = 0;
  for (const char* key :
       {"decay_low_rank_dim", "a_low_rank_dim", "v_low_rank_dim", "gate_low_rank_dim"}) {
    ranks += own.whole(key, 1, most_width);
  }
  r.thin_rank = ranks;
  r.conv_kernel = 2;
  return r;
}

template <class Json>
recurrent_shape short_convolution_of(const config_fields<Json>& own, double hidden) {
  recurrent_shape r{.kind = recurrence::short_convolution, .key_heads = 1, .value_dim = 1};
  r.value_heads = own.whole_or("conv_dim", hidden, 1, most_width);
  r.key_dim = own.whole("conv_L_cache", 2, 1024) - 1;
  return r;
}

/// True where a list of layers' names has lightning attention, with the heads of attention.
template <class Json>
bool names_lightning(const config_fields<Json>& own) {
  for (const char* key : name_lists) {
    if (!own.has_list(key)) continue;
    for (const Json& entry : own.list(key)) {
      if (entry.is_string() &&
          entry.template get<std::string>().find("lightning") != std::string::npos)
        return true;
    }
  }
  return false;
}

/// The kind by the fields that it alone has.
template <class Json>
recurrent_shape recurrent_of(const config_view<Json>& c) {
  const config_fields<Json>& own = c.own;
  if (own.has("linear_attn_config")) return kimi_delta_of(own.object("linear_attn_config"));
  const std::string stated =
      own.text_or(own.either({"mamba_ssm_dtype", "mamba_ssm_cache_dtype"}), "");
  const char* const heads = own.either({"mamba_num_heads", "mamba_n_heads"});
  const char* const rank = own.either({"mamba_dt_rank", "time_step_rank"});
  recurrent_shape r;
  number_format unsaid = bf16;
  if (own.has("linear_num_value_heads")) {
    r = gated_delta_net_of(own);
  } else if (own.has(heads) || c.family.type == std::string_view("mamba2")) {
    r = mamba2_of(own, own.has(heads) ? heads : "num_heads");
  } else if (own.has("lru_width")) {
    r = linear_recurrent_unit_of(own);
    unsaid = fp32;
  } else if (own.has("conv_L_cache")) {
    r = short_convolution_of(own, c.hidden);
  } else if (own.has("decay_low_rank_dim")) {
    r = rwkv7_of(own, c.hidden);
    unsaid = fp32;
  } else if (own.has(rank)) {
    r = mamba_of(own, rank, c.hidden, c.family.recurrent);
    unsaid = fp32;
  } else if (own.has("lightning_nh")) {  // MiniCPM-SALA
    r.kind = recurrence::lightning;
    r.value_heads = own.whole("lightning_nh", 1, most_width);
    r.key_heads = own.whole_or("lightning_nkv", r.value_heads, 1, r.value_heads);
    r.key_dim = r.value_dim =
        own.whole_or("lightning_head_dim", c.hidden / r.value_heads, 1, most_width);
    check_groups(own, "lightning_nkv", r, "lightning_nh");
    unsaid = fp32;
  } else if (own.has("attn_type_list") || own.has("layer_group_size") ||
             own.text_or("model_type", "").starts_with("minimax") || names_lightning(own)) {
    r.kind = recurrence::lightning;
    r.key_heads = r.value_heads = own.whole("num_attention_heads", 1, most_width);
    r.key_dim = r.value_dim = own.whole_or("head_dim", c.hidden / r.value_heads, 1, most_width);
  } else {
    own.refuse("linear_num_value_heads",
               "the widths of its recurrent layers: linear_..., linear_attn_config, mamba_..., "
               "conv_L_cache or decay_low_rank_dim");
  }
  r.state_format = state_format_of(stated, unsaid);
  return r;
}

}  // namespace perfmodel::inline v0_3::detail
