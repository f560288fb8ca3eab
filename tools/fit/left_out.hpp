// Errors of fits on held-out groups of rows, by operator, chip and kind: the stated uncertainty is
// set from them.
#pragma once

#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/tools/fit/calibrate_machine.hpp>
#include <string>
#include <vector>

#include "amd_models.hpp"
#include "expert_models.hpp"
#include "fit_rows.hpp"
#include "interval_names.hpp"
#include "left_out_products.hpp"
#include "published_amd.hpp"

namespace left_out {

namespace pm = perfmodel;
using published::attention_row;
using published::moe_row;

/// Low-precision GEMMs of one engine on all machines, with the shipped profiles: without each n and
/// k.
inline void add_low_precision_gemms(residuals& out, const std::string& engine,
                                    const std::vector<gemm_row>& all) {
  using scalar = pm::dual<published::low_precision_count>;
  std::map<std::string,
           std::pair<pm::basic_accelerator<scalar>, pm::basic_machine_parameters<scalar>>>
      machines;
  const std::vector<gemm_row> rows = published::low_precision_rows(all, engine);
  for (const gemm_row& r : rows) {
    if (machines.contains(r.gpu)) continue;
    machines[r.gpu] = {pm::lift<scalar>(*r.device),
                       pm::lift<scalar>(pm::catalog::machine_profile_of(*r.device).value)};
  }
  const auto predict = [&](const std::array<scalar, published::low_precision_count>& v,
                           std::size_t i) {
    const gemm_row& r = rows[i];
    const auto& [device, machine] = machines.at(r.gpu);
    return calibrated_estimate(device, pm::lift<scalar>(r.workload),
                               {machine, published::low_precision_engine(engine, v)},
                               pm::replay_conditions(scalar(r.copies)))
        .time.value();
  };
  for (double pm::gemm::*of : {&pm::gemm::n, &pm::gemm::k}) {
    const auto part = [&](const gemm_row& r) { return std::to_string(r.workload.*of); };
    const std::vector<double> unseen =
        without_parts(published::low_precision_parameters(engine), rows, predict, part);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      out["gemm " + rows[i].gpu + ' ' +
          name_of(pm::gemm_kind_of(rows[i].workload.format, rows[i].workload.weights))]
          .push_back(unseen[i]);
    }
  }
}

/// Low-precision weights with 16-bit activations, with the shipped machine profiles: without each n
/// and each k.
inline void add_dequantised_gemms(residuals& out, const std::vector<gemm_row>& all) {
  using scalar = pm::dual<2>;
  const std::vector<gemm_row> rows = published::weight_only(all);
  if (rows.empty()) return;
  const auto device = pm::lift<scalar>(*rows.front().device);
  const auto machine =
      pm::lift<scalar>(pm::catalog::machine_profile_of(*rows.front().device).value);
  const auto predict = [&](const std::array<scalar, 2>& v, std::size_t i) {
    return published::dequantised_time(rows[i], device, machine, v);
  };
  for (double pm::gemm::*of : {&pm::gemm::n, &pm::gemm::k}) {
    append(out["gemm " + rows.front().gpu + " widened"],
           without_parts(published::of_widening, rows, predict,
                         [&](const gemm_row& r) { return std::to_string(r.workload.*of); }));
  }
}

/// Attention of one machine: without each pair of head counts, each three octaves of batch and of
/// length.
template <class Model>
void add_attention_by(residuals& out, const std::vector<attention_row>& rows) {
  const fit_rows::fit<Model, attention_row> data(rows);
  const auto add = [&](const std::vector<double>& unseen) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto kind = pm::attention_kind_of(rows[i].kv_format, !rows[i].decode);
      out["attention " + std::string(rows[i].device->name.view()) + ' ' + name_of(kind)].push_back(
          unseen[i]);
    }
  };
  add(data.held_out([](const attention_row& r) { return r.group; }));
  add(data.held_out([](const attention_row& r) { return octaves(r.batch, 3); }));
  add(data.held_out([](const attention_row& r) { return octaves(r.length, 3); }));
}
inline void add_attention(residuals& out, const std::vector<attention_row>& rows) {
  if (fit_rows::attention_model_of_known_l2::is_of(*rows.front().device)) {
    add_attention_by<fit_rows::attention_model_of_known_l2>(out, rows);
  } else {
    add_attention_by<fit_rows::attention_model>(out, rows);
  }
}

/// Expert blocks of one library on all machines: without each model's shape and each layout.
template <class Model>
void add_experts(residuals& out, const std::vector<moe_row>& rows) {
  using scalar = pm::dual<Model::count>;
  std::map<std::string,
           std::pair<pm::basic_accelerator<scalar>, pm::basic_machine_parameters<scalar>>>
      machines;
  for (const moe_row& r : rows) {
    if (machines.contains(r.gpu)) continue;
    machines[r.gpu] = {pm::lift<scalar>(*r.device),
                       pm::lift<scalar>(pm::catalog::moe_profile_of(*r.device).value)};
  }
  const auto& p = Model::parameters;
  const auto predict = [&](const std::array<scalar, Model::count>& v, std::size_t i) {
    const auto k = Model::from(*rows[i].kernels, v);
    const auto& [device, machine] = machines.at(rows[i].gpu);
    return calibrated_estimate(device, pm::lift<scalar>(rows[i].workload), {machine, k},
                               {.routing = pm::expert_routing::balanced})
        .time.value();
  };
  const auto add = [&](const std::vector<double>& unseen) {
    for (std::size_t i = 0; i < unseen.size(); ++i) {
      const pm::moe_ffn& x = rows[i].workload;
      const auto kind = pm::expert_kind_of(x.format, x.weights, x.expert_parallel > 1.0);
      out["experts " + std::string(rows[i].device->name.view()) + ' ' + name_of(kind)].push_back(
          unseen[i]);
    }
  };
  add(without_parts(p, rows, predict, [](const moe_row& r) { return r.group; }));
  add(without_parts(p, rows, predict, [](const moe_row& r) {
    return std::to_string(r.workload.tensor_parallel) + '/' +
           std::to_string(r.workload.expert_parallel);
  }));
}

/// AMD GEMMs of one chip, in five parts by (n, k), and its experts without each model's shape.
template <class Model>
void add_amd_gemms(residuals& out, const std::vector<published::amd_gemm_row>& rows) {
  using scalar = pm::dual<Model::count>;
  const auto device = pm::lift<scalar>(*rows.front().device);
  const pm::machine_parameters known = pm::catalog::machine_profile_of(*rows.front().device).value;
  std::map<std::string, std::size_t> shapes;
  for (const auto& r : rows) shapes.emplace(r.shape, shapes.size());
  const auto predict = [&](const std::array<scalar, Model::count>& v, std::size_t i) {
    return rows[i].estimate(device, Model::from(known, v)).time.value();
  };
  const auto unseen = without_parts(
      Model::parameters, rows, predict,
      [&](const published::amd_gemm_row& r) { return std::to_string(shapes.at(r.shape) % 5); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const pm::gemm& g = rows[i].workload;
    out["gemm " + rows[i].gpu + ' ' + name_of(pm::gemm_kind_of(g.format, g.weights))].push_back(
        unseen[i]);
  }
}
inline void add_amd_experts(residuals& out, const std::vector<published::amd_moe_row>& rows) {
  const fit_amd::expert_predictor<4> predict(rows);
  const auto unseen = without_parts(fit_amd::of_experts, rows, predict,
                                    [](const published::amd_moe_row& r) { return r.group; });
  for (std::size_t i = 0; i < unseen.size(); ++i) {
    const pm::moe_ffn& x = rows[i].workload;
    const auto kind = pm::expert_kind_of(x.format, x.weights, x.expert_parallel > 1.0);
    out["experts " + rows[i].gpu + ' ' + name_of(kind)].push_back(unseen[i]);
  }
}

/// All of them, some 20 s.
inline residuals all_of(const std::string& folder) {
  residuals out;
  std::map<std::string, std::vector<gemm_row>> products;
  const std::vector<gemm_row> gemms = published::graph_gemms(folder);
  for (const gemm_row& r : gemms) {
    if (r.dtype == "bfloat16" && !r.warmth_unknown()) products[r.gpu].push_back(r);
  }
  for (const auto& [gpu, rows] : products) add_products(out, rows);
  for (const char* engine : {"trtllm", "vllm"}) {
    if (!gemms.empty()) add_low_precision_gemms(out, engine, gemms);
  }
  add_dequantised_gemms(out, gemms);
  std::map<std::string, std::vector<attention_row>> attention;
  for (const attention_row& r : published::attention_rows(folder)) attention[r.gpu].push_back(r);
  for (const auto& [gpu, rows] : attention) add_attention(out, rows);
  std::map<std::string, std::vector<moe_row>> libraries;
  for (const moe_row& r : published::moe_rows(folder)) {
    if (r.fitted) {
      libraries[r.kind()].push_back(r);
    } else {
      const auto e = r.estimate(pm::catalog::moe_profile_of(*r.device).value);
      out["experts " + std::string(r.device->name.view()) + " as_stored"].push_back(
          std::log(r.seconds / e.time.value()));
    }
  }
  for (const auto& [name, rows] : libraries) {
    published::with_expert_model(*rows.front().kernels, [&, &of = rows](auto model) {
      add_experts<decltype(model)>(out, of);
    });
  }
  std::map<std::string, std::vector<published::amd_gemm_row>> amd;
  for (const auto& r : published::thinned(published::amd_gemms(folder))) amd[r.gpu].push_back(r);
  if (!amd.empty()) {
    add_amd_gemms<fit_amd::all_formats_model>(out, amd.at("mi355x"));
    add_amd_gemms<fit_amd::blocks_model>(out, amd.at("mi300x"));
  }
  std::map<std::string, std::vector<published::amd_moe_row>> schemes;
  for (const auto& r : published::amd_moes(folder)) schemes[r.scheme].push_back(r);
  for (const auto& [scheme, rows] : schemes) add_amd_experts(out, rows);
  return out;
}

}  // namespace left_out
