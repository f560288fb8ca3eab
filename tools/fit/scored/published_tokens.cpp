// Speculation: expected against measured; KV capacity: what start-up logs say.
#include <array>
#include <cmath>
#include <map>
#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/laws/speculative.hpp>

#include <fit/published_drafts.hpp>
#include "published.hpp"

namespace perfmodel::validation {

namespace {

constexpr const char* one_acceptance = "tokens per round, one acceptance rate";
constexpr const char* two_acceptances = "tokens per round, first and later acceptance rates";
constexpr const char* copied_runs = "tokens per round, runs of copied tokens";

/// Leviathan et al. 2023, table 4: their acceptance rate, draft length and cost put into the law,
/// against the speed-up they expect and the one they measured.
std::vector<comparison> leviathan(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& r : published::rows_of(folder, "leviathan_table4.csv")) {
    const double speedup =
        speculate(r.number("alpha"), r.whole("gamma"), r.number("cost_ratio_c")).speedup;
    comparison c;
    c.table = "Leviathan et al. 2023, table 4";
    c.device = "TPU v4";
    c.shape = cat(r.text("task"), " ", r.text("draft_model"), " T=", r.text("temperature"));
    c.unit = "1";
    c.predicted = speedup;
    c.size = speedup;
    c.by = "speculate";
    c.quantity = "speed-up expected by the paper";
    c.measured = r.number("expected_speedup_paper");
    out.push_back(c);
    c.quantity = "speed-up of speculation";
    c.measured = r.number("measured_speedup");
    out.push_back(c);
  }
  return out;
}

/// Tokens emitted per verification step in recorded speculation rounds, against three laws: one
/// acceptance rate for all positions; one for the first position and one for all later ones, fitted
/// on the other text; runs of repeated text.
std::vector<comparison> traced_tokens(const std::string& folder) {
  std::vector<comparison> out;
  const std::vector<published::traced_speculation> all = published::traces_of_speculation(folder);
  for (const published::traced_speculation& t : all) {
    const double first = t.by_position()[0];
    const double later = published::same_drafter_elsewhere(all, t).later_acceptance();
    for (const int k : published::traced_lengths) {
      comparison c;
      c.table = "SpecDecode-Bench";
      c.device = cat(t.text, ", ", t.proposer);
      c.shape = cat("draft of ", k);
      c.unit = "token";
      c.measured = t.tokens_per_step(k);
      c.size = k;
      const auto add = [&](const char* quantity, const char* by,
                           const emitted_tokens_per_round<double>& e) {
        c.quantity = quantity;
        c.by = by;
        c.predicted = e.quantity().value();
        out.push_back(c);
      };
      add(one_acceptance, "emitted_tokens", emitted_tokens(first, k));
      add(two_acceptances, "emitted_tokens",
          emitted_tokens(basic_acceptance<double>(first, later), k));
      add(copied_runs, "emitted_tokens_of_runs",
          emitted_tokens_of_runs(std::span<const double>(t.accepted_at), k));
    }
  }
  return out;
}

/// 0 where a log does not say, or says it in words.
double stated(const common::table_row& r, const char* column) {
  const std::string& s = r.text(column);
  return s.find_first_not_of("0123456789.") == s.npos && !s.empty() ? r.number(column) : 0.0;
}

std::vector<comparison> kv_logs(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& r : published::rows_of(folder, "kv_capacity_logs_public.csv")) {
    const double total = stated(r, "total_gpu_mem_gib");
    const double share = stated(r, "gpu_memory_utilization");
    const double weights = stated(r, "weights_gib"), runtime = stated(r, "non_torch_gib");
    const double activations = stated(r, "activation_peak_gib");
    comparison c;
    c.table = "start-up logs of vLLM";
    c.device = r.text("gpu");
    c.shape = r.text("model");
    c.unit = "B";
    if (total > 0.0 && share > 0.0 && weights > 0.0 && runtime > 0.0 && activations > 0.0) {
      const memory_budget b{.capacity = total * GiB,
                            .utilization = share,
                            .weights = weights * GiB,
                            .activations = activations * GiB,
                            .runtime = runtime * GiB};
      c.quantity = "KV cache that fits";
      c.measured = stated(r, "kv_cache_gib_per_gpu") * GiB.value();
      c.predicted = kv_bytes_available(b).value();
      c.by = "kv_bytes_available";
      out.push_back(c);
    }
  }
  return out;
}

/// Points and three laws over the draft length, a panel for each text and drafter.
picture acceptance_picture(const std::string& folder) {
  picture lengths;
  lengths.name = "acceptance";
  lengths.title = "Tokens per speculation round over the draft length, Llama 3.1 8B";
  lengths.caption =
      "Points: SpecDecode-Bench, 300 requests each: tokens divided by speculation rounds. Lines: "
      "one "
      "acceptance rate for every position; a first and a later rate, fitted on the other text; "
      "and runs of copied tokens, with nothing fitted. For copied drafts the law of runs is within "
      "2 %; for trained drafts it is an upper limit.";
  lengths.x_label = "draft length";
  lengths.y_label = "tokens per speculation round";
  lengths.y_least = 1.0;
  lengths.log_x = false;
  lengths.log_y = false;
  std::map<std::string, panel> panels;
  for (const comparison& c : traced_tokens(folder)) {
    panel& p = panels[c.device];
    if (p.lines.empty()) {
      p.title = c.device;
      p.lines = {{"measured", mark::points, 0, {}},
                 {"one acceptance rate", mark::line, 1, {}},
                 {"first and later rates", mark::line, 2, {}},
                 {"runs of copied tokens", mark::line, 3, {}}};
    }
    const std::size_t line = c.quantity == one_acceptance ? 1 : c.quantity == copied_runs ? 3 : 2;
    if (line == 1) p.lines[0].rows.push_back({c.size, c.measured, 0.0});
    p.lines[line].rows.push_back({c.size, c.predicted, 0.0});
  }
  for (auto& [name, p] : panels) lengths.panels.push_back(std::move(p));
  return lengths;
}

/// Leviathan's table: measured, and expected there, over the law.
picture speedup_picture(const std::string& folder) {
  picture speedups;
  speedups.name = "speculation";
  speedups.title = "Speed-up of speculative decoding";
  speedups.caption =
      "Leviathan et al. 2023, table 4: T5 11B with drafts of three sizes. Points: measured, over "
      "the "
      "law with the acceptance and cost stated there. Line: equal. The paper's expectation is the "
      "law, to its rounding. Its measurements differ by up to a third: small drafts above, large "
      "ones below.";
  speedups.x_label = "speed-up by the law";
  speedups.y_label = "speed-up";
  speedups.log_x = false;
  speedups.log_y = false;
  speedups.x_least = speedups.y_least = 1.0;
  speedups.x_most = speedups.y_most = 3.6;
  panel p;
  p.lines = {{"measured", mark::points, 0, {}},
             {"expected in the paper", mark::points, 1, {}},
             {"equal", mark::line, 6, {{1.0, 1.0, 0.0}, {3.6, 3.6, 0.0}}}};
  for (const comparison& c : leviathan(folder)) {
    const bool measured = c.quantity == "speed-up of speculation";
    p.lines[measured ? 0 : 1].rows.push_back({c.predicted, c.measured, 0.0});
  }
  if (!p.lines[0].rows.empty()) speedups.panels.push_back(std::move(p));
  return speedups;
}

}  // namespace

std::vector<comparison> published_tokens(const std::string& folder) {
  std::vector<comparison> out = leviathan(folder);
  for (auto& c : traced_tokens(folder)) out.push_back(std::move(c));
  for (auto& c : kv_logs(folder)) out.push_back(std::move(c));
  return out;
}

std::vector<picture> token_pictures(const std::string& folder) {
  std::vector<picture> out;
  for (picture& p : std::array{acceptance_picture(folder), speedup_picture(folder)}) {
    if (!p.empty()) out.push_back(std::move(p));
  }
  return out;
}

}  // namespace perfmodel::validation
