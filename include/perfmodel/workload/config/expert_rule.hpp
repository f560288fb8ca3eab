// Which layers of a config.json have experts.
#pragma once

#include <perfmodel/workload/config/recurrent_fields.hpp>

namespace perfmodel::detail {

/// Whether a layer has experts, by the field that its family counts or lists them with.
template <class Json>
class expert_rule {
 public:
  explicit expert_rule(const config_view<Json>& c) : c_(c), own_(c.own) {
    const std::size_t n = static_cast<std::size_t>(c.layers);
    dense_ = layers_in("mlp_only_layers");
    routed_ = layers_in("moe_layers");
    if (own_.has_list("moe_layer_freq")) own_.list_for("moe_layer_freq", n);
    if (own_.has("mlp_layer_types")) own_.list_for("mlp_layer_types", n);
    listed_ = numbers(own_.text_or("moe_layers_enum", ""));
    const char* const first =
        own_.either({"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"});
    if (own_.has_list(first)) {  // of the experts for text, and of those for images
      if (own_.list(first).empty()) own_.refuse(first, "a number, or a list of them");
      first_ = own_.whole_entry(first, 0, 0, c.layers);
    } else {
      first_ = own_.whole_or(first, 0, 0, c.layers);
    }
  }

  bool holds(std::size_t layer) const {
    const double i = static_cast<double>(layer);
    if (!listed_.empty()) return among(listed_, i);
    if (own_.has("mlp_layer_types")) {
      const Json& type = own_.entry("mlp_layer_types", layer);
      return type.is_string() && type != "dense";
    }
    if (own_.has_list("moe_layer_freq")) return own_.whole_entry("moe_layer_freq", layer, 0, 1) > 0;
    if (own_.has_list("moe_layers")) return among(routed_, i);
    if (i < first_) return false;
    if (own_.has("expert_layer_period")) {  // Jamba
      const double every = own_.whole("expert_layer_period", 1, most_layers);
      return rest(i, every) == own_.whole_or("expert_layer_offset", 0, 0, most_layers);
    }
    const char* const step =
        own_.either({"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"});
    if (among(dense_, i)) return false;
    if (own_.has(step)) return rest(i + 1, own_.whole(step, 1, most_layers)) == 0;
    return rest(i, own_.whole_or("moe_layer_freq", 1, 1, most_layers)) == 0;
  }

 private:
  static double rest(double a, double b) { return a - math::floor(a / b) * b; }
  static bool among(const std::vector<double>& list, double x) {
    for (const double y : list) {
      if (x == y) return true;
    }
    return false;
  }
  std::vector<double> layers_in(const char* key) const {
    std::vector<double> out;
    if (!own_.has(key)) return out;
    const std::size_t n = own_.list(key).size();
    if (static_cast<double>(n) > c_.layers)
      own_.refuse(key, "at most one entry for each of num_hidden_layers");
    for (std::size_t k = 0; k < n; ++k) {
      out.push_back(own_.whole_entry(key, k, 0, c_.layers - 1));
    }
    return out;
  }
  /// "3,4,5" of Step-3.5.
  static std::vector<double> numbers(const std::string& text) {
    std::vector<double> out;
    double x = -1;
    for (const char ch : text + ",") {
      if (ch >= '0' && ch <= '9') {
        x = (x < 0 ? 0 : 10 * x) + (ch - '0');
      } else if (x >= 0) {
        out.push_back(x);
        x = -1;
      }
    }
    return out;
  }

  const config_view<Json>& c_;
  const config_fields<Json>& own_;
  std::vector<double> listed_{}, dense_{}, routed_{};
  double first_ = 0;
};

}  // namespace perfmodel::detail
