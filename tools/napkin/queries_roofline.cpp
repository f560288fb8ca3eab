// napkin roofline: ridge points, operators of a model, a measured kernel.
#include "queries_roofline.hpp"

#include <algorithm>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/step.hpp>

#include "deployments.hpp"
#include "io/formats.hpp"
#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct roofline {
  static constexpr const char* name = "roofline";
  static constexpr profile_part part = profile_part::all;
  static constexpr const char* help =
      "Roofline of an accelerator: operators of a model, or a measured kernel";
  static std::vector<key> keys() {
    key formats = text("format",
                       "formats of the roofs, one or several; default: those of the "
                       "operators, else bf16")
                      .optional();
    formats.several = true;
    std::vector<key> k = {accelerator_key(), formats, model_key().optional()};
    for (key& d : degree_keys()) k.push_back(std::move(d));
    k.push_back(count("batch", "decoding sequences of the model's engine step", 0.0).optional());
    k.push_back(count("context", "KV-cache tokens of each decoding sequence").optional());
    k.push_back(count("prefill_tokens", "prefill tokens in the same step", 0.0).otherwise("0"));
    k.push_back(count("tokens_per_sequence", "tokens per decoding sequence; default 1").optional());
    for (key& f : storage_keys()) k.push_back(std::move(f));
    k.push_back(engine_key());
    for (const char* side : {"m", "n", "k"})
      k.push_back(count(side,
                        "size of a GEMM C[m,n] = A[m,k] B[k,n] in the first format, with cold "
                        "weights")
                      .optional());
    k.push_back(measured_key());
    k.back().help = "measured time of this GEMM";
    k.push_back(positive("flop_per_byte", "arithmetic intensity of a kernel").optional());
    k.push_back(measured_key("measured_flop_per_s", pm::exponents_of<pm::flop_rate<>>()));
    k.back().alias = "";
    k.back().help = "measured FLOP/s of the kernel with flop_per_byte";
    return k;
  }

  template <pm::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    check(in);
    const std::vector<pm::number_format> formats = formats_of_roofs(in);
    outcome<T> out;
    const auto& a = in.accelerator();
    out.add("flop_per_byte", "ridge point", pm::ridge_point(a, formats.front()));
    out.add("flop_per_s", "peak", pm::peak(a, formats.front()));
    out.add("bytes_per_s", "DRAM bandwidth", pm::bandwidth<T>(a.dram.bandwidth.quantity()));
    if constexpr (std::same_as<T, double>) note_roofs(out, in.chip(), formats);
    if (in.has("model")) add_step(out, in, mode);
    if (in.has("m")) add_gemm(out, in, mode, formats.front());
    if constexpr (std::same_as<T, double>) {
      if (in.has("flop_per_byte")) add_kernel(out, in, formats.front());
      out.page = roofline_page(page_facts(out), std::string(in.chip().name.view()));
    }
    return out;
  }

  /// Whether a profile applies: only predictions of a model or a GEMM need one.
  static bool predicts(const request& r) { return r.has("model") || r.has("m"); }

 private:
  template <pm::Scalar T>
  static void check(const inputs<T>& in) {
    const auto needs = [&](const char* has, const char* lacks, const char* why) {
      if (in.has(has) && !in.has(lacks)) in.missing(lacks, why);
    };
    needs("batch", "model", "batch is of an engine step of a model");
    needs("context", "model", "context is of an engine step of a model");
    if (in.plain("prefill_tokens") > 0.0)
      needs("prefill_tokens", "model", "prefill_tokens is of an engine step of a model");
    if (in.has("model") && !(in.plain("prefill_tokens") > 0.0))
      needs("model", "batch", "decoding sequences of the engine step, or prefill_tokens");
    for (const char* one : {"m", "n", "k"}) {
      for (const char* other : {"m", "n", "k"}) needs(one, other, "a GEMM has m, n and k");
    }
    needs("measured_s", "m", "measured_s is the time of a GEMM with m, n and k");
    needs("measured_flop_per_s", "flop_per_byte", "the arithmetic intensity of that kernel");
    if (in.has("model") && in.has("m"))
      throw pm::error(pm::error_code::inconsistent,
                      "roofline has a model and m; allowed: the operators of a model, or a GEMM");
  }

  template <pm::Scalar T>
  static std::vector<pm::number_format> formats_of_roofs(const inputs<T>& in) {
    std::vector<pm::number_format> all;
    if (in.has("format")) {
      for (const auto wanted : split(in.text("format"), ',')) {
        const auto known = find_format(wanted);
        if (!known)
          throw pm::error(pm::error_code::unknown_name,
                          cat("format has ", in_quotes(wanted), "; allowed: ", format_names()));
        if (std::find(all.begin(), all.end(), *known) == all.end()) all.push_back(*known);
      }
      return all;
    }
    if (in.has("model")) return {in.formats().linear.format};
    return {pm::bf16};
  }

  static void note_roofs(outcome<double>& out, const pm::accelerator& a,
                         const std::vector<pm::number_format>& formats) {
    json roofs = json::array();
    for (const pm::number_format f : formats)
      roofs.push_back(
          {{"format", name_of(f)},
           {"flop_per_s", number_json("flop_per_s", pm::peak(a, f).value())},
           {"ridge_flop_per_byte", number_json("flop_per_byte", pm::ridge_point(a, f).value())}});
    out.facts["roofs"] = std::move(roofs);
  }

  template <pm::Scalar T, class Mode>
  static void add_step(outcome<T>& out, inputs<T>& in, const Mode& mode) {
    pm::basic_deployment<T> d = deployment_of(in);
    d.serving_engine = *pm::find_engine(in.text("engine"));
    const pm::basic_iteration<T> i = iteration_of(in);
    const pm::basic_estimate<T> e = step_in(mode, d, i);
    out.add("time_s", "time of the step", e.time);
    out.explain(e);
    if constexpr (std::same_as<T, double>) {
      const pm::calibrated* policy = nullptr;
      if constexpr (std::same_as<Mode, pm::calibrated>) {
        policy = &mode;
        out.sums = pm::all_reduce_kind_of(d, i, mode);
      }
      if (!out.feasible) return;
      note_operators(out, operators_on_roofline(d, i, policy), e.time.value(), policy != nullptr);
      add_missing_roofs(out, in.chip());
    }
  }

  static void note_operators(outcome<double>& out, const std::vector<roofline_operator>& all,
                             double step_s, bool predicted) {
    json rows = json::array();
    double sum = 0.0, by_memory = 0.0, by_compute = 0.0, by_launch = 0.0;
    for (const roofline_operator& o : all) {
      sum += o.time_s;
      const std::string_view limit = o.limiter();
      (limit == "memory" ? by_memory : limit == "compute" ? by_compute : by_launch) += o.time_s;
      json row = {{"name", o.name},
                  {"format", name_of(o.format)},
                  {"limiter", limit},
                  {"calls", number_json("calls", o.calls)},
                  {"flop", number_json("flop", o.flop)},
                  {"bytes", number_json("bytes", o.bytes)},
                  {"flop_per_byte", number_json("flop_per_byte", o.intensity())},
                  {"time_s", number_json("time_s", o.time_s)},
                  {"bound_time_s", number_json("bound_time_s", o.bound_s)}};
      if (o.flop > 0.0) {
        if (predicted) row["flop_per_s"] = number_json("flop_per_s", o.flop / o.time_s);
        row["bound_flop_per_s"] = number_json("flop_per_s", o.flop / o.bound_s);
      }
      if (predicted) row["share"] = number_json("share", o.time_s / step_s);
      rows.push_back(std::move(row));
    }
    out.facts["operators"] = std::move(rows);
    if (!predicted) return;
    out.facts["share_by_memory"] = number_json("share", by_memory / step_s);
    out.facts["share_by_compute"] = number_json("share", by_compute / step_s);
    out.facts["share_by_launch"] = number_json("share", by_launch / step_s);
    out.facts["share_outside"] = number_json("share", std::max(0.0, 1.0 - sum / step_s));
  }
  /// Roofs of the operators' formats that the request does not name.
  static void add_missing_roofs(outcome<double>& out, const pm::accelerator& a) {
    json& roofs = out.facts["roofs"];
    for (const json& o : out.facts["operators"]) {
      if (!o.contains("bound_flop_per_s")) continue;
      if (std::any_of(roofs.begin(), roofs.end(),
                      [&](const json& r) { return r["format"] == o["format"]; }))
        continue;
      const auto f = find_format(o["format"].get_ref<const std::string&>());
      roofs.push_back(
          {{"format", o["format"]},
           {"flop_per_s", number_json("flop_per_s", pm::peak(a, *f).value())},
           {"ridge_flop_per_byte", number_json("flop_per_byte", pm::ridge_point(a, *f).value())}});
    }
  }

  template <pm::Scalar T, class Mode>
  static void add_gemm(outcome<T>& out, inputs<T>& in, const Mode& mode, pm::number_format f) {
    pm::basic_gemm<T> g;
    g.m = in.number("m");
    g.n = in.number("n");
    g.k = in.number("k");
    g.format = f;
    g.weights = pm::storage_format(f);
    g.output = f;
    const pm::basic_demand<T> d = demand_of(g);
    const auto e = estimate_of(in.accelerator(), g, d, mode);
    out.add("time_s", "time of the GEMM", e.time);
    out.explain(e);
    if constexpr (std::same_as<T, double>) {
      if constexpr (requires { mode.notes; }) out.log_sigma = pm::stated_log_sigma(g, mode);
      const double flop = d.flop().value(),
                   bound = estimate_of(in.chip(), g, d, bound_mode{}).time.value();
      json o = {{"name", cat("GEMM ", g.m, " x ", g.n, " x ", g.k)},
                {"format", name_of(f)},
                {"limiter", name_of(e.limiter)},
                {"calls", 1},
                {"flop", number_json("flop", flop)},
                {"bytes", number_json("bytes", d.dram.total().value())},
                {"flop_per_byte", number_json("flop_per_byte", d.intensity().value())},
                {"time_s", number_json("time_s", e.time.value())},
                {"bound_time_s", number_json("bound_time_s", bound)},
                {"bound_flop_per_s", number_json("flop_per_s", flop / bound)}};
      if constexpr (!std::same_as<Mode, bound_mode>) {
        o["flop_per_s"] = number_json("flop_per_s", flop / e.time.value());
        o["share"] = 1.0;
      }
      if (in.has("measured_s"))
        note_measurement(out, "measured GEMM", d.intensity().value(), flop / in.plain("measured_s"),
                         flop / bound);
      out.facts["operators"] = json::array({std::move(o)});
    }
  }

  static void add_kernel(outcome<double>& out, inputs<double>& in, pm::number_format f) {
    const double intensity = in.plain("flop_per_byte");
    const double peak = pm::peak(in.chip(), f).value();
    const double roof = std::min(peak, intensity * in.chip().dram.bandwidth.quantity().value());
    out.facts["attainable_flop_per_s"] = number_json("flop_per_s", roof);
    out.facts["kernel_flop_per_byte"] = intensity;
    out.facts["kernel_limiter"] = roof < peak ? "memory" : "compute";
    if (in.has("measured_flop_per_s"))
      note_measurement(out, "measured kernel", intensity, in.plain("measured_flop_per_s"), roof);
  }
  static void note_measurement(outcome<double>& out, const char* label, double intensity,
                               double rate, double roof) {
    out.facts["measured"] = {{"name", label},
                             {"flop_per_byte", number_json("flop_per_byte", intensity)},
                             {"flop_per_s", number_json("measured_flop_per_s", rate)},
                             {"bound_flop_per_s", number_json("flop_per_s", roof)},
                             {"share_of_roof", number_json("share", rate / roof)},
                             {"possible", rate <= roof}};
  }

  static json page_facts(const outcome<double>& out) {
    json all = out.facts;
    for (const auto& r : out.results) all[r.key] = r.value;
    if (out.has_feasibility) {
      all["feasible"] = out.feasible;
      all["reason"] = out.reason;
    }
    return all;
  }
};

const query& declared() {
  static const query q = declare<roofline>();
  return q;
}

}  // namespace

std::vector<query> roofline_queries() {
  query q = declared();
  q.answer = [](const request& r, const calibration* c) {
    return declared().answer(r, roofline::predicts(r) ? c : nullptr);
  };
  q.explain = [](const request& r, const calibration* c) {
    return declared().explain(r, roofline::predicts(r) ? c : nullptr);
  };
  return {std::move(q)};
}

std::vector<roofline_operator> operators_on_roofline(const pm::deployment& d,
                                                     const pm::iteration& i,
                                                     const pm::calibrated* policy) {
  std::vector<roofline_operator> all;
  const double dram = d.device.dram.bandwidth.quantity().value();
  const double factor =
      policy != nullptr && policy->step_time_factor() ? *policy->step_time_factor() : 1.0;
  const auto add = [&](const pm::basic_operator<double>& o, std::optional<double> time) {
    auto at = std::find_if(all.begin(), all.end(), [&](const auto& g) { return g.name == o.name; });
    if (at == all.end()) at = all.insert(at, {.name = o.name, .format = o.demand.format});
    const double flop = o.demand.matrix_flop.value(), bytes = o.demand.dram.total().value();
    const double by_compute = flop > 0.0 ? flop / pm::peak(d.device, o.demand.format).value() : 0.0;
    const double bound = std::max(bytes / dram, by_compute);
    at->calls += o.times;
    at->flop += o.times * flop;
    at->bytes += o.times * bytes;
    at->by_memory = bytes / dram >= by_compute;
    at->bound_s += o.times * bound;
    at->time_s += time ? factor * *time : o.times * bound;
  };
  if (policy == nullptr) {
    pm::detail::visit_operators(d, i,
                                [&](const pm::basic_operator<double>& o) { add(o, std::nullopt); });
    return all;
  }
  const pm::engine_formats formats = formats_of(d);
  const pm::detail::rank_step<double> rank{d, i, formats};
  pm::detail::operator_times<double, pm::calibrated> each(d.device, *policy);
  pm::detail::visit_operators(rank, [&](const pm::basic_operator<double>& o, const auto& w) {
    const auto one = each.time_of(w, [&]() -> const pm::basic_demand<double>& { return o.demand; });
    add(o, (o.times * one).value());
  });
  pm::detail::visit_elementwise_kernel_times(
      rank, *policy, [&](const pm::basic_operator<double>& o, const pm::duration<>& time) {
        add(o, time.value());
      });
  return all;
}

}  // namespace napkin
