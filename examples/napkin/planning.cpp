#include "planning.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>

namespace napkin {

namespace {

namespace pm = perfmodel;

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

/// The common precisions, and the checkpoint's own where it is quantised; of those in `formats`
/// only, where it is given.
std::vector<pm::precision> precisions_of(const found_model& found, const request& r) {
  std::vector<pm::precision> all = pm::common_precisions();
  if (found.stored.linear.bits() < 16.0 || found.stored.experts.bits() < 16.0) {
    all.insert(all.begin(), {"checkpoint", found.stored, pm::bf16, pm::bf16});
  }
  if (!r.has("formats")) return all;
  const auto wanted = split(r.text("formats"));
  std::vector<std::string_view> known;
  for (const auto& p : all) known.push_back(pm::name_of(p.weights.linear.format));
  for (const auto name : wanted) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw pm::error(pm::error_code::unknown_name, "formats has " + in_quotes(name) + "; allowed: " + listed(known));
    }
  }
  std::erase_if(all, [&](const pm::precision& p) {
    return std::find(wanted.begin(), wanted.end(), pm::name_of(p.weights.linear.format)) == wanted.end();
  });
  return all;
}

pm::plan_request plan_request_of(const request& r) {
  const found_model& found = find_model(r.text("model"));
  pm::plan_request q;
  for (const auto name : split(r.text("accelerator"))) q.accelerators.push_back(find_accelerator(name));
  q.model = found.model;
  q.gpus = r.whole("gpus");
  q.load.input_tokens = r.number("input_tokens");
  q.load.output_tokens = r.number("output_tokens");
  q.load.chunk_tokens = r.has("chunk_tokens") ? r.number("chunk_tokens") : 0.0;
  q.load.requests_per_s = r.has("requests_per_s") ? r.number("requests_per_s") : 0.0;
  q.load.concurrency = r.has("concurrency") ? r.number("concurrency") : 0.0;
  if (!r.has("requests_per_s") && !r.has("concurrency")) q.load.concurrency = 64.0;
  if (r.has("ttft")) q.ttft = r.number("ttft") * pm::second;
  if (r.has("itl")) q.itl = r.number("itl") * pm::second;
  q.utilization = r.number("utilization");
  q.precisions = precisions_of(found, r);
  return q;
}

/// Serves a point again over numbers that remember how they came about.
pm::derivation derive(const pm::plan_request& q, const pm::plan_point& p) {
  pm::trace tape;
  const auto d = pm::trace_inputs(pm::deployment_of(q, p), tape);
  const auto l = pm::trace_inputs(pm::load_of(q, p), tape, "load");
  const auto s = pm::serving(d, l);
  outcome<pm::traced> out;
  out.add("ttft_s", "", s.ttft);
  out.add("itl_s", "", s.itl);
  out.add("output_tokens_per_s", "", s.output_tokens_per_s);
  pm::derivation steps = derivation_of(out);
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
  key accelerators = text("accelerator", "one, or several with commas: `napkin gpus` lists them");
  accelerators.alias = "gpu";
  q.keys = {model_key(),
            accelerators,
            count("gpus", "that there are, of each", 1.0, 65536.0).otherwise("8"),
            number("input_tokens", "of a prompt, on average", 1.0, 1e9).otherwise("1024"),
            number("output_tokens", "of an answer, on average", 1.0, 1e9).otherwise("256"),
            number("concurrency", "requests in the system at all times; 64, where requests_per_s is not given either",
                   1.0, 1e9)
                .optional(),
            positive("requests_per_s", "arrivals; or concurrency", 1e9).optional(),
            time_limit("ttft", "longest time to first token").optional(),
            time_limit("itl", "longest inter-token latency").optional(),
            count("chunk_tokens", "prompt tokens in one pass at most").optional(),
            text("formats", "weight formats to try, with commas; all that are common, where not given").optional(),
            positive("utilization", "share of the memory that may be used", 1.0).otherwise("0.9")};
  return q;
}

}  // namespace

const query& plan_keys() {
  static const query q = make_plan_keys();
  return q;
}

planned plan_of(const json& object) {
  check_mode(object);
  planned p;
  p.request = plan_request_of(request(plan_keys(), object));
  p.result = pm::plan(p.request, bound_mode{}.kernels, progress_line());
  if (!p.result.frontier.empty()) p.best = derive(p.request, p.result.frontier.front());
  return p;
}

}  // namespace napkin
