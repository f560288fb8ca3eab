#include "planning.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <stdexcept>

#include "deployments.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// The common precisions, and the checkpoint's own where it is quantised; of those in `formats`
/// only, where it is given.
std::vector<pm::plan_precision> precisions_of(const found_model& found, const request& r,
                                              const std::vector<pm::accelerator>& accelerators) {
  std::vector<pm::plan_precision> all = pm::common_precisions();
  if (found.stored.linear.bits() < 16.0 || found.stored.experts.bits() < 16.0) {
    std::vector<pm::plan_precision> own;  // as engines run it on each of the accelerators
    for (const pm::accelerator& a : accelerators) {
      const pm::engine_formats f = pm::engine_formats_of(
          found.stored, found.kv, a, pm::find_engine(r.text("engine")).value_or(pm::engine::none));
      const bool known = std::any_of(own.begin(), own.end(), [&](const pm::plan_precision& p) {
        return p.activations == f.linear.format && p.expert_activations == f.experts.format;
      });
      if (!known) {
        own.push_back({"checkpoint", found.stored, f.linear.format, f.kv, f.experts.format});
      }
    }
    all.insert(all.begin(), own.begin(), own.end());
  }
  if (!r.has("formats")) return all;
  const auto wanted = split(r.text("formats"), ',');
  std::vector<std::string_view> known;
  for (const auto& p : all) known.push_back(pm::name_of(p.weights.linear.format));
  for (const auto name : wanted) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw pm::error(pm::error_code::unknown_name,
                      "formats has " + in_quotes(name) + "; allowed: " + listed(known));
    }
  }
  std::erase_if(all, [&](const pm::plan_precision& p) {
    return std::find(wanted.begin(), wanted.end(), pm::name_of(p.weights.linear.format)) ==
           wanted.end();
  });
  return all;
}

pm::plan_request plan_request_of(const request& r) {
  const found_model& found = find_model(r.text("model"));
  pm::plan_request q;
  for (const found_accelerator& a : r.accelerators()) q.accelerators.push_back(*a);
  q.model = found.model;
  q.gpus = r.whole("gpus");
  inputs<double> in(r);
  q.load = load_of(in);
  if (q.load.is_closed() && !r.has("concurrency")) {
    auto& loop = std::get<pm::closed_loop>(q.load.arrivals);
    loop.concurrency = std::min(64.0, loop.requests.value_or(64.0));
  }
  if (r.has("ttft")) q.ttft = r.number("ttft") * pm::second;
  if (r.has("itl")) q.itl = r.number("itl") * pm::second;
  pm::deployment d;
  reserve_memory(in, d);
  q.utilization = d.utilization;
  q.activation_bytes = d.activation_bytes;
  q.runtime_bytes = d.runtime_bytes;
  q.served_by = d.served_by;
  q.limits = d.limits;
  q.precisions = precisions_of(found, r, q.accelerators);
  return q;
}

const calibration& calibration_at(const std::vector<calibration>& all,
                                  const pm::label& accelerator) {
  for (const calibration& c : all) {
    if (c.accelerator == accelerator) return c;
  }
  throw std::logic_error(std::string("no calibration of ") + accelerator.c_str());
}

template <pm::Scalar T>
outcome<T> outcome_of(const pm::basic_serving_estimate<T>& s) {
  outcome<T> out;
  out.add("ttft_s", "", s.ttft);
  out.add("itl_s", "", s.itl);
  out.add("output_tokens_per_s", "", s.output_rate);
  out.terms = s.decode.terms;
  out.prompt_terms = s.prefill.terms;
  return out;
}

/// What a point says beside its times.
calibrated_note note_on(const pm::plan_request& q, const pm::plan_point& p, calibration c) {
  c.multiplies_in(pm::wider(p.precision.activations, p.precision.weights.linear.format));
  outcome<> answer = outcome_of(p.serving);
  note_calibration(answer,
                   outcome_of(pm::serving_bound(pm::deployment_of(q, p), pm::load_of(q, p))), c,
                   profile_part::all);
  return *answer.calibrated;
}

/// Serves a point again over numbers that remember how they came about.
pm::derivation derive(const pm::plan_request& q, const pm::plan_point& p,
                      const std::vector<calibration>& calibrations) {
  pm::trace tape;
  const auto d = pm::trace_inputs(pm::deployment_of(q, p), tape);
  const auto l = pm::trace_inputs(pm::load_of(q, p), tape, "load");
  pm::basic_serving_estimate<pm::traced> s;
  if (calibrations.empty()) {
    s = pm::serving_bound(d, l);
  } else {
    const auto silicon =
        silicon_of<pm::traced>(calibration_at(calibrations, p.accelerator), pm::traced(0.0),
                               [&](const auto& spec, const char* prefix, const pm::source* from) {
                                 return traced_constants(spec, tape, prefix, *from);
                               });
    s = pm::serving(d, l, silicon);
  }
  pm::derivation steps = derivation_of(outcome_of(s));
  for (auto& i : steps.inputs) {
    if (i.source.empty()) i.source = i.name.starts_with("load.") ? "given" : q.model.name.c_str();
  }
  return steps;
}

class progress_line {
 public:
  void operator()(long done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    std::cerr << "napkin: " << done << " deployments evaluated" << std::endl;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

query make_plan_keys() {
  query q;
  q.name = "plan";
  q.help = "Which deployments serve a load, and which of them are worth having";
  key accelerators = accelerator_key();
  accelerators.help = "one, or several with commas: names that `napkin gpus` lists, files";
  accelerators.alias = "gpu";
  accelerators.several = true;
  q.keys = {
      model_key(),
      accelerators,
      count("gpus", "that there are, of each", 1.0, 65536.0).otherwise("8"),
      time_limit("ttft", "longest time to first token").optional(),
      time_limit("itl", "longest inter-token latency").optional(),
      text("formats", "weight formats to try, with commas; all that are common, where not given")
          .optional(),
      engine_key()};
  for (key& m : reservation_keys()) q.keys.push_back(std::move(m));
  for (key& l : load_keys()) q.keys.push_back(std::move(l));
  for (key& k : q.keys) {
    const std::string_view name = k.name;
    if (name == "input_tokens") k = k.otherwise("1024");
    if (name == "output_tokens") k = k.otherwise("256");
    if (name == "concurrency") k.help = "requests at all times; 64, without requests_per_s too";
  }
  return q;
}

}  // namespace

const query& plan_keys() {
  static const query q = make_plan_keys();
  return q;
}

namespace {

/// None in bound mode, which is the default where an accelerator has no profile.
std::vector<calibration> calibrations_of(const pm::plan_request& q, const request& r,
                                         std::optional<mode> wanted) {
  std::vector<calibration> all;
  if (wanted == mode::bound) return all;
  for (const pm::accelerator& a : q.accelerators) {
    if (!wanted && !has_profile(a, profile_part::all, r.profile())) return {};
    all.push_back(calibration_of(a, profile_part::all, r.text("engine"), r.profile()));
  }
  return all;
}

}  // namespace

planned plan_of(const json& object, const given_profile* profile) {
  const std::optional<mode> wanted = mode_in(object);
  const request r(plan_keys(), object, profile);
  planned p;
  p.accelerators = r.accelerators();
  p.request = plan_request_of(r);
  p.calibrations = calibrations_of(p.request, r, wanted);
  if (p.calibrations.empty()) {
    p.result = pm::plan_bound(p.request, progress_line());
    for (const found_accelerator& a : r.accelerators()) {
      if (!wanted && !has_profile(*a, profile_part::all, r.profile())) {
        p.hints.push_back(prediction_hint(*a, profile_part::all));
      }
    }
  } else {
    const auto on = [&p](const pm::accelerator& a) -> const pm::calibrated& {
      return calibration_at(p.calibrations, a.name).silicon;
    };
    p.result = pm::plan(p.request, on, progress_line());
    for (const pm::plan_point& point : p.result.frontier) {
      p.notes.push_back(
          note_on(p.request, point, calibration_at(p.calibrations, point.accelerator)));
    }
  }
  if (p.result.frontier.empty()) return p;
  const pm::plan_point& first = p.result.frontier.front();
  p.best = derive(p.request, first, p.calibrations);
  if (!p.calibrations.empty()) {
    pm::for_each_operator(pm::deployment_of(p.request, first),
                          pm::iteration{.batch = 1.0, .context = 1.0},
                          [&p](const auto& o, const auto&) { p.operators.push_back(o.name); });
  }
  return p;
}

}  // namespace napkin
