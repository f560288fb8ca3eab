// The formats of a checkpoint as precisions of a plan.
#pragma once

#include <cmath>
#include <cstddef>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/plan/request.hpp>
#include <string>
#include <vector>

namespace perfmodel {

namespace detail {

/// "nvfp4", "mxfp4", "int4 g128" (a scale for each 128 weights), "fp8 128x128" (one for a block).
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

/// Name of a checkpoint's precision: weights, experts in another format, an 8-bit KV cache.
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

/// A checkpoint as an engine runs it on an accelerator; 16-bit and 32-bit weights run in the 16-bit
/// format of the accelerator.
inline plan_precision checkpoint_on(const accelerator& a, engine e, const weight_storage& stored,
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

inline bool same_formats(const plan_precision& x, const plan_precision& y) {
  return x.name == y.name && x.weights.linear == y.weights.linear &&
         x.activations == y.activations && x.expert_activations == y.expert_activations &&
         x.kv == y.kv;
}

}  // namespace detail

/// The precisions of a checkpoint in the formats `stored` and `kv`, with the operands and the cache
/// of engine_formats_of for each engine and accelerator. One precision where all of them agree;
/// else with `run_on` and `run_by`. `predicted`: of all engines where the request names none.
/// Test: bf16 on V100 and H100; fp8 on A100 and H100; gpt-oss under three engines.
inline std::vector<plan_precision> checkpoint_precisions(const plan_request& q,
                                                         const weight_storage& stored,
                                                         const std::optional<storage_format>& kv,
                                                         bool predicted) {
  std::vector<plan_precision> all;
  bool agree = true;
  for (const accelerator& a : q.accelerators) {
    engine_list engines;
    if (predicted && q.engines.empty()) engines = engines_on(a);
    for (const engine e : q.engines) {
      if (!engines.full()) engines.push_back(e);
    }
    if (engines.empty()) engines.push_back(engine::none);
    const std::size_t first = all.size();
    bool alike = true;
    for (const engine e : engines) {
      all.push_back(detail::checkpoint_on(a, e, stored, kv));
      if (q.accelerators.size() > 1) all.back().run_on = a.name;
      all.back().run_by = e;
      alike = alike && detail::same_formats(all[first], all.back());
    }
    if (alike) {
      all.resize(first + 1);
      all.back().run_by.reset();
    }
    agree = agree && alike && detail::same_formats(all.front(), all.back());
  }
  if (agree && !all.empty()) {
    all.resize(1);
    all.front().run_on = label{};
  }
  return all;
}

}  // namespace perfmodel
