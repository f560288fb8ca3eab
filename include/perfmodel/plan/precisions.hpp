// Precisions of a plan, from the number formats of a checkpoint.
#pragma once

#include <cmath>
#include <cstddef>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/plan/candidates.hpp>
#include <string>
#include <vector>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Name of a storage format: "nvfp4", "mxfp4", "int4 g128" (group size), "fp8 128x128" (block
/// size).
inline std::string storage_name(const storage_format& s) {
  std::string name = name_of(s.format);
  if (!s.group) return name;
  const int group = static_cast<int>(*s.group);
  if (s.format == number_format::fp4 && group == 16) return "nv" + name;
  if (s.format == number_format::fp4 && group == 32) return "mx" + name;
  const int side = static_cast<int>(std::lround(std::sqrt(*s.group)));
  if (side >= 64 && side * side == group) {
    const std::string block = std::to_string(side);
    return name + " " + block + "x" + block;
  }
  return name + " g" + std::to_string(group);
}

/// Name of a checkpoint's precision: the format of its weights, of its experts if that differs, and
/// of its KV cache if below 16 bits.
inline label precision_name(const weight_storage& w, const storage_format& kv) {
  std::string name = storage_name(w.linear);
  if (w.linear.bits() >= 16.0 && w.experts.bits() < 16.0) {
    name = storage_name(w.experts) + " experts";
  } else if (w.experts != w.linear) {
    name += ", " + storage_name(w.experts) + " experts";
  }
  if (kv.bits() < 16.0) name += " + " + storage_name(kv) + " KV";
  return label::shortened(name);
}

/// Precision in which an engine runs a checkpoint on an accelerator. Weights of 16 or 32 bits run
/// in the 16-bit format of the accelerator.
inline plan_precision checkpoint_precision(const accelerator& a, engine e,
                                           const weight_storage& stored,
                                           const std::optional<storage_format>& kv) {
  const engine_formats f = engine_formats_of(stored, kv, a, e);
  plan_precision p{.weights = stored, .activations = f.linear.format, .kv = f.kv};
  if (stored.linear.bits() < 16.0 || stored.experts.bits() < 16.0) {
    p.expert_activations = f.experts.format;
  } else if (stored.linear.format != f.linear.format) {
    p.weights = weight_storage(f.linear.format, f.linear.format);
  }
  p.name = precision_name(p.weights, p.kv);
  return p;
}

inline bool are_equal(const plan_precision& x, const plan_precision& y) {
  return x.name == y.name && x.weights.linear == y.weights.linear &&
         x.activations == y.activations && x.expert_activations == y.expert_activations &&
         x.kv == y.kv;
}

}  // namespace detail

/// Precisions of a checkpoint with weights in the formats `stored` and a KV cache in `kv`. For each
/// engine and accelerator, engine_formats_of gives the formats of activations and KV cache. The
/// result is one precision if all of these agree, else one for each accelerator or engine. The
/// engines are the request's; if it names none, `is_predicted` tries every engine of an
/// accelerator.
/// Test: bf16 on V100 and H100; fp8 on A100 and H100; gpt-oss under three engines.
inline std::vector<plan_precision> checkpoint_precisions(const plan_request& q,
                                                         const weight_storage& stored,
                                                         const std::optional<storage_format>& kv,
                                                         bool is_predicted) {
  std::vector<plan_precision> all;
  bool all_agree = true;
  for (const accelerator& a : q.accelerators) {
    const engine_list engines = detail::engines_of(q, a, {is_predicted, is_predicted});
    const std::size_t first = all.size();
    bool engines_agree = true;
    for (const engine e : engines) {
      all.push_back(detail::checkpoint_precision(a, e, stored, kv));
      if (q.accelerators.size() > 1) all.back().only_accelerator = a.name;
      all.back().only_engine = e;
      engines_agree = engines_agree && detail::are_equal(all[first], all.back());
    }
    if (engines_agree) {
      all.resize(first + 1);
      all.back().only_engine.reset();
    }
    all_agree = all_agree && engines_agree && detail::are_equal(all.front(), all.back());
  }
  if (all_agree && !all.empty()) {
    all.resize(1);
    all.front().only_accelerator = label{};
  }
  return all;
}

}  // namespace perfmodel::inline v0_3
