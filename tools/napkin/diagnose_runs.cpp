// napkin diagnose --runs: a measured service against its prediction: where TTFT goes, how near
// saturation it is, and which settings to change first.
#include <algorithm>
#include <cmath>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>

#include "bench_report.hpp"
#include "deployments.hpp"
#include "io/text_style.hpp"
#include "output.hpp"
#include "query.hpp"
#include "simulation.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr auto seconds_unit = pm::exponents_of<pm::duration<>>();
constexpr double near_saturation = 0.9;  ///< policy: queues grow steeply above it
constexpr double worth_naming = 0.05;    ///< least gain of a change that is listed

double figure_in(const simulation& s, std::string_view key) {
  for (const simulated_figure& f : s.figures) {
    if (key == f.key) return f.value;
  }
  return 0.0;
}

/// Mean latencies of a run, predicted by simulation, and the parts of TTFT.
struct predicted_run {
  bool feasible = false;
  std::string reason{};
  double ttft = 0.0, itl = 0.0, e2e = 0.0, requests_per_s = 0.0;
  double ttft_p99 = 0.0, itl_p99 = 0.0, tpot_p99 = 0.0;
  double prefill = 0.0;       ///< prefill of one prompt on an idle engine, with its CPU time
  double queueing = 0.0;      ///< until the first engine step of the request
  double interference = 0.0;  ///< engine steps shared with other requests
  double decode_step = 0.0;   ///< ITL without prefill interference
  pm::time_range ttft_range{}, itl_range{};
};

/// Latencies of one request at a time: an idle engine.
simulation unloaded(json q, const given_profile* profile) {
  q.erase("requests_per_s");
  q.erase("arrival_cv");
  q["concurrency"] = 1;
  q["requests"] = 4;
  return simulation_of(q, profile);
}

predicted_run predict(const json& q, const given_profile* profile) {
  predicted_run p;
  const simulation s = simulation_of(q, profile);
  p.feasible = s.answer.feasible;
  p.reason = s.answer.reason;
  if (!p.feasible) return p;
  p.ttft = figure_in(s, "ttft_s");
  p.itl = figure_in(s, "tpot_s");
  p.e2e = figure_in(s, "e2e_s");
  p.requests_per_s = figure_in(s, "requests_per_s");
  p.ttft_p99 = figure_in(s, "ttft_p99_s");
  p.itl_p99 = figure_in(s, "itl_p99_s");
  p.tpot_p99 = figure_in(s, "tpot_p99_s");
  p.prefill = std::min(p.ttft, figure_in(unloaded(q, profile), "ttft_s"));
  p.queueing = std::min(figure_in(s, "queueing_s"), p.ttft - p.prefill);
  p.interference = p.ttft - p.prefill - p.queueing;
  p.decode_step = std::min(p.itl, figure_in(s, "itl_p50_s"));
  if (s.answer.calibrated) {
    p.itl_range = s.answer.calibrated->range;
    p.ttft_range = s.answer.calibrated->first_token.value_or(pm::time_range{});
  }
  return p;
}

/// Largest arrival rate that the service sustains, by the closed form; none where it has none.
std::optional<double> sustainable_rate(const json& q, const given_profile* profile) {
  json open = serving_of_run(q);
  constexpr double more_than_any = 1e6;
  open["requests_per_s"] = more_than_any;
  const outcome<> o = evaluate_closed_form(find_query("serving"), open, profile);
  const auto at = o.facts.find("sustainable_requests_per_s");
  if (at == o.facts.end() || !at->is_number() || !(at->get<double>() > 0.0)) return {};
  return at->get<double>();
}

// --- changes, by the engines' own options -------------------------------------------------

/// A change of the service, and its option in vLLM, SGLang and TensorRT-LLM.
struct setting {
  json change = json::object();
  std::string vllm{}, sglang{}, trtllm{};
  bool more_gpus = false;

  std::string option(std::string_view engine) const {
    if (engine == "vllm") return vllm;
    if (engine == "sglang") return sglang;
    if (engine == "trtllm") return trtllm;
    std::string s;
    for (const auto& [name, v] : change.items())
      s += cat(s.empty() ? "" : " ", name, "=", v.dump());
    return s;
  }
};

std::vector<setting> settings_of(const request& r) {
  std::vector<setting> all;
  const inputs<double> in(r);
  const pm::engine_formats f = in.formats();
  const pm::accelerator& a = r.accelerator();
  const bool has_fp8 = a.matrix.peak[pm::fp8].is_stated();
  const bool is_wide = pm::bits_of(f.linear.format) >= 16.0;
  if (has_fp8 && is_wide)
    all.push_back({{{"weight_format", "fp8"}, {"activation_format", "fp8"}},
                   "--quantization fp8",
                   "--quantization fp8",
                   "a checkpoint in fp8"});
  if (has_fp8 && pm::bits_of(f.kv.format) >= 16.0)
    all.push_back({{{"kv_format", "fp8"}},
                   "--kv-cache-dtype fp8",
                   "--kv-cache-dtype fp8_e4m3",
                   "kv_cache_config: {dtype: fp8}"});
  for (const int tokens : {2048, 4096, 8192, 16384}) {
    if (r.has("chunk_tokens") && r.number("chunk_tokens") == tokens) continue;
    all.push_back({{{"chunk_tokens", tokens}},
                   cat("--max-num-batched-tokens ", tokens),
                   cat("--chunked-prefill-size ", tokens),
                   cat("--max_num_tokens ", tokens)});
  }
  for (const int sequences : {64, 128, 256, 512}) {
    if (r.has("max_sequences") && r.number("max_sequences") == sequences) continue;
    all.push_back({{{"max_sequences", sequences}},
                   cat("--max-num-seqs ", sequences),
                   cat("--max-running-requests ", sequences),
                   cat("--max_batch_size ", sequences)});
  }
  const int replicas = std::max(1, r.whole("replicas"));
  all.push_back({{{"replicas", 2 * replicas}},
                 cat("--data-parallel-size ", 2 * replicas),
                 cat("--dp ", 2 * replicas),
                 cat(2 * replicas, " servers behind a router"),
                 true});
  const int tensor = 2 * r.whole("tensor_parallel");
  all.push_back({{{"tensor_parallel", tensor}},
                 cat("--tensor-parallel-size ", tensor),
                 cat("--tp ", tensor),
                 cat("--tp_size ", tensor),
                 true});
  return all;
}

json change_json(const setting& x, std::string_view engine, const predicted_run& now,
                 const predicted_run& then) {
  return {{"option", x.option(engine)},
          {"change", x.change},
          {"more_gpus", x.more_gpus},
          {"ttft_s", number_json("ttft_s", then.ttft)},
          {"itl_s", number_json("itl_s", then.itl)},
          {"e2e_s", number_json("e2e_s", then.e2e)},
          {"requests_per_s", number_json("requests_per_s", then.requests_per_s)},
          {"ttft_gain", number_json("ttft_gain", now.ttft / then.ttft)},
          {"itl_gain", number_json("itl_gain", now.itl / then.itl)},
          {"e2e_gain", number_json("e2e_gain", now.e2e / then.e2e)}};
}

/// Changes that pay by the prediction: those without more GPUs first, by the gain of TTFT where the
/// service waits, else of the whole request. Of one key only the best value.
json changes_of(const json& q, const predicted_run& now, bool waits, const given_profile* profile) {
  const request r(find_query("simulate"), q, profile);
  struct rated {
    json object{};
    std::string key{};
    double gain = 0.0;
    bool more_gpus = false;
  };
  std::vector<rated> all;
  for (const setting& x : settings_of(r)) {
    json then = q;
    for (const auto& [name, v] : x.change.items()) then[name] = v;
    try {
      const predicted_run p = predict(then, profile);
      if (!p.feasible) continue;
      const double gain = waits ? now.ttft / p.ttft : now.e2e / p.e2e;
      const bool harms = now.e2e / p.e2e < 1.0 - worth_naming;
      if (gain < 1.0 + worth_naming || harms) continue;
      all.push_back(
          {change_json(x, r.text("engine"), now, p), x.change.begin().key(), gain, x.more_gpus});
    } catch (const error&) {  // this service cannot be changed so
    }
  }
  std::ranges::stable_sort(all, [](const rated& a, const rated& b) {
    return a.more_gpus != b.more_gpus ? b.more_gpus : a.gain > b.gain;
  });
  json out = json::array();
  std::vector<std::string> keys;
  for (const rated& x : all) {
    if (std::ranges::find(keys, x.key) != keys.end()) continue;
    keys.push_back(x.key);
    out.push_back(x.object);
  }
  return out;
}

// --- one run ------------------------------------------------------------------------------

/// "expected", "unusual" (slower or faster than the interval).
const char* judged(double measured, const pm::time_range& range) {
  if (!(range.high.value() > 0.0)) return "no interval";
  if (measured < range.low.value()) return "faster";
  return measured > range.high.value() ? "slower" : "expected";
}

/// Puts the 99th percentiles of a report, and those of the prediction, into `measured` and
/// `predicted`. ITL is a time per token, TPOT a mean per request.
void put_p99(const bench_report& m, const predicted_run& p, json& measured, json& predicted) {
  const auto put = [&](const char* key, const reported_latency& of, double value) {
    for (const auto& [percent, seconds] : of.percentiles) {
      if (percent != 99.0) continue;
      measured[key] = number_json(key, seconds);
      predicted[key] = number_json(key, value);
      return true;
    }
    return false;
  };
  put("ttft_p99_s", m.ttft, p.ttft_p99);
  if (!put("itl_p99_s", m.itl, p.itl_p99)) put("tpot_p99_s", m.tpot, p.tpot_p99);
}

json ttft_parts(double prefill, double queueing, double interference) {
  return {{"prefill_s", number_json("prefill_s", prefill)},
          {"queueing_s", number_json("queueing_s", queueing)},
          {"interference_s", number_json("interference_s", interference)}};
}
json means_of(double ttft, double itl, double e2e) {
  return {{"ttft_s", number_json("ttft_s", ttft)},
          {"itl_s", number_json("itl_s", itl)},
          {"e2e_s", number_json("e2e_s", e2e)}};
}

json diagnosis_of(const bench_report& m, const json& service, const given_profile* profile) {
  const json q = request_of_run(m, service);
  const predicted_run p = predict(q, profile);
  json out = {{"run", m.where}, {"client", m.client}, {"feasible", p.feasible}};
  const double ttft = *m.ttft.mean, itl = m.token_time().value_or(0.0);
  const double e2e = m.e2e.mean.value_or(ttft + std::max(0.0, m.output_tokens - 1.0) * itl);
  out["measured"] = means_of(ttft, itl, e2e);
  if (m.requests_per_s) out["measured"]["requests_per_s"] = number_json("rate", *m.requests_per_s);
  if (!p.feasible) {
    out["reason"] = p.reason;
    return out;
  }
  out["predicted"] = means_of(p.ttft, p.itl, p.e2e);
  out["predicted"]["requests_per_s"] = number_json("rate", p.requests_per_s);
  put_p99(m, p, out["measured"], out["predicted"]);
  out["engine"] = q.value("engine", "none");
  if (!m.engine.empty()) out["engine_of_report"] = m.engine;
  out["ttft"] = judged(ttft, p.ttft_range);
  out["itl"] = judged(itl, p.itl_range);
  // The prefill of a prompt on an idle engine is as predicted; the rest of the measured TTFT is
  // queueing and interference, divided as predicted.
  const double own = std::min(ttft, p.prefill), rest = ttft - own;
  const double waits = p.queueing + p.interference;
  const double queued = waits > 0.0 ? p.queueing / waits : 1.0;
  // What exceeds the prediction by far is queueing: engine steps bound the interference.
  const double interference = std::min((1.0 - queued) * rest, std::max(p.interference, 0.0) * 1.5);
  out["ttft_parts"] = {{"predicted", ttft_parts(p.prefill, p.queueing, p.interference)},
                       {"measured", ttft_parts(own, rest - interference, interference)}};
  out["itl_parts"] = {{"decode_step_s", number_json("decode_step_s", p.decode_step)},
                      {"interference_s", number_json("interference_s", p.itl - p.decode_step)}};
  const double unexplained = rest - interference - p.queueing;
  if (out["ttft"] == "slower" && unexplained > 0.5 * ttft)
    out["unexplained_queueing_s"] = number_json("queueing_s", unexplained);
  const bool is_open = m.request_rate || q.contains("requests_per_s");
  if (!is_open) out["load"] = m.closed_load();
  const double offered = m.request_rate.value_or(m.requests_per_s.value_or(p.requests_per_s));
  const auto most = sustainable_rate(q, profile);
  double saturation = 0.0;
  if (most) {
    saturation = offered / *most;
    out["sustainable_requests_per_s"] = number_json("sustainable_requests_per_s", *most);
    out["saturation"] = number_json("saturation", saturation);
  }
  const bool waiting = rest - interference > 0.5 * ttft || saturation > near_saturation;
  const auto largest_part = [&] {
    return rest - interference > 0.5 * ttft ? "queueing"
           : interference > 0.5 * ttft      ? "interference"
           : own > 0.5 * ttft               ? "prefill"
                                            : "mixed";
  };
  out["cause"] = is_open && saturation > 1.0               ? "overload"
                 : is_open && saturation > near_saturation ? "near saturation"
                                                           : largest_part();
  out["changes"] = changes_of(q, p, waiting, profile);
  out["request"] = q;
  return out;
}

std::string time_words(const json& x) {
  return pm::to_string(x.get<double>(), seconds_unit);
}
std::string judged_words(const std::string& verdict) {
  if (verdict == "expected") return "as expected";
  return verdict == "no interval" ? "a bound" : cat(verdict, " than expected");
}

/// "at 75.6 % of the largest sustainable rate (3.97 req/s); ". Requests without a rate of arrivals
/// have no such share: "all requests at once: 2.86 of at most 3.97 req/s; ".
std::string load_words(const json& x) {
  const std::string closed = x.value("load", "");
  if (!x.contains("saturation")) return closed.empty() ? "" : cat(closed, "; ");
  const auto rate = [](const json& y) { return pm::detail::significant(y.get<double>(), 3); };
  const std::string most = rate(x["sustainable_requests_per_s"]);
  const double share = x["saturation"].get<double>();
  if (closed.empty()) {
    return cat(share > 1.0 ? "overloaded, " : "", "at ", share_text(share),
               " of the largest sustainable rate (", most, " req/s); ");
  }
  const json& m = x["measured"].contains("requests_per_s") ? x["measured"] : x["predicted"];
  const std::string reached = rate(m["requests_per_s"]);
  return cat(closed, ": ", reached,
             share > 1.0 ? cat(" req/s, and ", most, " are predicted at most; ")
                         : cat(" of at most ", most, " req/s; "));
}

/// "engine: none; --engine vllm names the engine of this report"; empty with a stated engine.
std::string engine_words(const json& x) {
  if (x["engine"] != "none") return "";
  if (!x.contains("engine_of_report"))
    return "  engine: none; --engine vllm, sglang or trtllm names the engine of this report\n";
  return cat("  engine: none; --engine ", x["engine_of_report"].get<std::string>(),
             " names the engine of this report\n");
}

std::string run_text(const json& x) {
  std::string s = cat(x["run"].get<std::string>(), " (", x["client"].get<std::string>(), "): ");
  if (!x["feasible"].get<bool>())
    return styled(
        text_style::red,
        wrapped(cat(s, "this service is infeasible: ", x["reason"].get<std::string>(), "."), 0));
  s += load_words(x);
  const json &m = x["measured"], &p = x["predicted"];
  s += cat("TTFT ", time_words(m["ttft_s"]), " (", judged_words(x["ttft"]), ", predicted ",
           time_words(p["ttft_s"]), "), ITL ", time_words(m["itl_s"]), " (", judged_words(x["itl"]),
           ", predicted ", time_words(p["itl_s"]), ").");
  s = styled(text_style::bold, wrapped(s, 0)) + engine_words(x);
  const json &pp = x["ttft_parts"]["predicted"], &mp = x["ttft_parts"]["measured"];
  table_rows rows = {{"", "measured", "predicted"}};
  rows.push_back({"TTFT (mean)", time_words(m["ttft_s"]), time_words(p["ttft_s"])});
  rows.push_back({"  queueing", time_words(mp["queueing_s"]), time_words(pp["queueing_s"])});
  rows.push_back(
      {"  prefill on an idle engine", time_words(mp["prefill_s"]), time_words(pp["prefill_s"])});
  rows.push_back({"  interference of other requests", time_words(mp["interference_s"]),
                  time_words(pp["interference_s"])});
  const auto p99 = [&](const char* label, const char* key) {
    if (m.contains(key)) rows.push_back({label, time_words(m[key]), time_words(p[key])});
  };
  p99("TTFT p99", "ttft_p99_s");
  rows.push_back({"ITL (mean)", time_words(m["itl_s"]), time_words(p["itl_s"])});
  rows.push_back({"  decode step", "", time_words(x["itl_parts"]["decode_step_s"])});
  rows.push_back({"  prefill interference", "", time_words(x["itl_parts"]["interference_s"])});
  p99("ITL p99", "itl_p99_s");
  p99("TPOT p99", "tpot_p99_s");
  rows.push_back({"E2E (mean)", time_words(m["e2e_s"]), time_words(p["e2e_s"])});
  s += headed_table(rows, "lrr");
  if (x["ttft"] == "slower") {
    s += wrapped(
        "Queueing beyond the prediction: bursts of arrivals, a first run that compiles or captures "
        "graphs, less KV cache or fewer running requests than assumed (engine log), work outside "
        "the engine (tokeniser, router).",
        2);
  }
  if (x["changes"].empty())
    return s + "No setting of the engine pays by 5 % or more; see napkin advise.\n";
  s += "Change first, by the prediction:\n";
  table_rows changes = {{"", "TTFT", "ITL", "E2E", ""},
                        {"prediction as it is", time_words(p["ttft_s"]), time_words(p["itl_s"]),
                         time_words(p["e2e_s"]), ""}};
  for (const json& c : x["changes"]) {
    changes.push_back({c["option"].get<std::string>(), time_words(c["ttft_s"]),
                       time_words(c["itl_s"]), time_words(c["e2e_s"]),
                       c["more_gpus"].get<bool>() ? "more GPUs" : ""});
  }
  s += headed_table(changes, "lrrr");
  if (x.contains("unexplained_queueing_s")) {
    s += cat("  These do not remove the unexplained ", time_words(x["unexplained_queueing_s"]),
             " of queueing.\n");
  }
  return s;
}

}  // namespace

json diagnose_runs_json(const runs_request& r) {
  json out = {{"runs", json::array()}};
  for (const std::string& file : r.files) {
    for (const bench_report& report : read_bench_reports(file)) {
      try {
        out["runs"].push_back(diagnosis_of(report, r.service, nullptr));
      } catch (const error& e) {
        throw error(e.code(), cat(report.where, ": ", e.what()));
      }
    }
  }
  return out;
}

std::string diagnose_runs_text(const json& found) {
  std::string s;
  for (const json& x : found["runs"]) s += cat(s.empty() ? "" : "\n", run_text(x));
  return s;
}

}  // namespace napkin
