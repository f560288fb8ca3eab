#include "report.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <napkin/io/files.hpp>
#include "recording_pictures.hpp"
#include "tolerances.hpp"

namespace perfmodel::validation {

namespace {

/// `borrowed`: by another machine's profile.
std::string allowed_text(const tolerance* t, bool borrowed = false) {
  if (t == nullptr || t->median == 0.0) return "not judged";
  if (borrowed) return "not judged: a relative's profile";
  const int digits = t->median < 0.01 ? 1 : 0;
  return cat(fixed(100.0 * t->median, digits), " % / ", fixed(100.0 * t->p90, digits), " %");
}

/// A page, and its pictures where they can be drawn.
void write_page(const std::string& folder, const char* name, const std::string& text,
                const std::vector<picture>& pictures, bool draws) {
  common::write_text_file("--report", cat(folder, '/', name), text);
  for (const picture& p : pictures) {
    if (draws) draw(p, folder);
  }
}

std::string picture_text(const picture& p) {
  return cat("![", p.title, "](", p.name, ".png)\n\n", p.caption, " ([SVG](", p.name, ".svg))\n\n");
}

std::string origin_of(const recorded& r) {
  if (r.measured) {
    std::string s = r.run.date.substr(0, 10);
    return cat(s, ", ", r.run.program, " at ", r.run.revision.substr(0, 10),
               r.run.modified ? ", modified" : "");
  }
  std::string s = r.source.citation;
  if (!r.source.address.empty()) s += cat(", ", r.source.address);
  return s;
}

text_table recordings_table(const std::vector<compared_recording>& all) {
  text_table t({"device", "experiment", "points", "law", "from"}, "l");
  for (const compared_recording& r : all) {
    const device_description& d = r.recording.device;
    t.add({d.name, r.recording.experiment, std::to_string(r.recording.points.size()),
           r.recording.law, origin_of(r.recording)});
  }
  return t;
}

text_table laws_table(const std::vector<compared_recording>& all) {
  std::map<std::pair<std::string, bool>, std::set<std::string>> laws;
  for (const compared_recording& r : all) {
    for (const comparison& c : r.rows) {
      if (!c.by.empty()) laws[{c.quantity, c.host}].insert(c.by);
    }
  }
  text_table t({"quantity", "predicted by", "allowed: median / p90", "why so much"}, "l");
  for (const auto& [key, names] : laws) {
    const auto& [quantity, host] = key;
    std::string list;
    for (const std::string& n : names) list += cat(list.empty() ? "" : "; ", n);
    const tolerance* allowed = find_tolerance(quantity, host);
    t.add({host ? cat(quantity, " on a CPU") : quantity, list, allowed_text(allowed),
           allowed == nullptr ? std::string() : std::string(allowed->why)});
  }
  return t;
}

/// Every point of the small recordings that were published: there is no other place to see them.
text_table points_table(const compared_recording& r) {
  text_table t({"quantity", "point", "measured", "predicted", "off", "bound", "note"}, "llr");
  for (const comparison& c : r.rows) {
    std::string note = c.note;
    if (c.beats_bound()) note = "below its bound";
    if (c.explained()) note = "below the DRAM bound: its operands were in L2";
    t.add({c.quantity, c.shape, amount(c.measured, c.unit),
           c.predicts() ? amount(c.predicted, c.unit) : "-",
           c.predicts() ? signed_percent(c.predicted / c.measured - 1.0) : "-",
           c.bounded() ? amount(c.bound, c.unit) : "-", note});
  }
  return t;
}

constexpr const char* report_head =
    "# Predicted against measured\n\n"
    "Made by `validation/compare` from the recordings in `validation/recordings/`; nothing here "
    "is\n"
    "typed. Errors are |predicted / measured - 1|; `bias` is the mean of predicted / measured - "
    "1.\n"
    "`bound` is what the data sheet allows, and `below bound` counts what was measured below it: "
    "a\n"
    "point whose operands were in a warm cache is held to that cache and counted apart.\n\n";

constexpr const char* published_head =
    "# Scored against what others measured\n\n"
    "Made by `compare --data DIR` from published tables, which are not part of this project: only\n"
    "scores and charts of them are here. Sources: ai-dynamo/aiconfigurator 095f58a5 (Apache-2.0),\n"
    "microsoft/vidur 7d475133 (MIT), PrincetonUniversity/LLMCompass 2e015fd2 (BSD-3),\n"
    "te42kyfo/gpu-benches 1c36d509, stas00/ml-engineering 744d01e1 (CC BY-SA),\n"
    "SpecDecode-Bench/simulator 2fdccbd6, Leviathan et al. 2023, start-up logs of vLLM in public\n"
    "issues.\n\n"
    "Errors are |predicted / measured - 1|; `bias` is the mean of predicted / measured - 1. The "
    "bound\n"
    "has no fitted number in it. `below bound` counts rows measured below it; rows whose operands "
    "may\n"
    "have come from L2, where the benchmark repeats on the same data, are counted apart as warm. "
    "Each\n"
    "prediction states an interval that 80 % of measurements should lie in; how many do is "
    "counted.\n\n"
    "What others report of theirs: LLMCompass 10.9 % on operators (mean, its abstract);\n"
    "AIConfigurator 7 to 15 % on its own tables of products, each row left out in turn. The noise "
    "of\n"
    "the measurements themselves is near 5 % for products, 10 % for collectives and 15 % for "
    "whole\n"
    "services: two engines' runs of one product differ by a median of 4 to 7 %.\n\n"
    "Errors of rows and machines that were held back from the fits are in\n"
    "[calibrated products](../laws/calibrated_gemm.md),\n"
    "[attention](../laws/calibrated_attention.md), [experts](../laws/calibrated_moe.md) and\n"
    "[collectives](../laws/calibrated_collectives.md).\n\n";

}  // namespace

std::string recording_table(const std::vector<compared_recording>& all, bool markdown) {
  std::vector<std::string> header = {"device", "quantity"};
  for (std::string& c : score_columns()) header.push_back(std::move(c));
  header.emplace_back("allowed: median / p90");
  text_table t(std::move(header), "llr");
  for (const auto& [key, rows] : by_quantity(all)) {
    std::vector<std::string> cells = {key.first, key.second};
    const group_score s = score("", rows);
    for (std::string& c : score_cells(s)) cells.push_back(std::move(c));
    if (s.predicted.n == 0 && s.bound.n == 0) cells[2] = std::to_string(rows.size());
    cells.push_back(allowed_text(find_tolerance(key.second, on_host(rows)), borrowed(rows)));
    t.add(std::move(cells));
  }
  return markdown ? t.markdown() : t.plain();
}

std::vector<std::string> below_bound(const published_scores& published) {
  std::vector<std::string> out;
  for (const auto* rows : {&published.kernels, &published.collectives, &published.serving,
                           &published.memory, &published.tokens}) {
    for (const comparison& c : *rows) {
      if (!c.beats_bound()) continue;
      out.push_back(cat(c.table, ": ", c.quantity, " ", c.shape, " on ", c.device, ": measured ",
                        amount(c.measured, c.unit), ", below its bound of ",
                        amount(c.held_to, c.unit)));
    }
  }
  return out;
}

namespace {

std::string report_page(const std::vector<compared_recording>& all,
                        const std::vector<picture>& pictures) {
  std::string page = cat(report_head, "## What was recorded\n\n", recordings_table(all).markdown(),
                         "\n## Scores\n\n", recording_table(all, true));
  const std::vector<std::string> failures = broken(all);
  page += failures.empty()
              ? "\nEvery tolerance is kept, and nothing was measured below its bound.\n"
              : "\nBroken:\n\n";
  for (const std::string& f : failures) page += cat("- ", shown(f, 2000), "\n");
  const std::vector<std::string> failed = not_measured(all);
  if (!failed.empty())
    page += "\nFailed, or at a clock more than 3 % below the point's own median; in no score:\n\n";
  for (const std::string& f : failed) page += cat("- ", shown(f, 2000), "\n");
  const std::string goal = goal_lines(all);
  if (!goal.empty()) {
    page += cat("\n## Against the goal\n\n```text\n", goal,
                "```\n\n## Laws that were wrong\n\nWhy is on the page of the "
                "device, where there is one: [README](README.md).\n\n",
                wrong_laws(all));
  }
  page += cat("\n## By which law, and how far it may be off\n\n", laws_table(all).markdown());
  if (!pictures.empty()) page += "\n## Pictures\n\n";
  for (const picture& p : pictures) page += picture_text(p);
  const char* title = pictures.empty() ? "\n## Published points\n\n" : "## Published points\n\n";
  for (const compared_recording& r : all) {
    if (r.recording.measured) continue;
    page += cat(std::exchange(title, ""), "### ", shown(r.recording.device.name, 200), ", ",
                r.recording.experiment, "\n\n", shown(origin_of(r.recording), 2000), ".\n\n",
                points_table(r).markdown(), "\n");
  }
  page.erase(page.find_last_not_of('\n') + 2);
  return page;
}

std::string published_page(const published_scores& published) {
  std::string page = published_head;
  for (const titled_table& t : published_tables(published)) {
    page += cat("## ", t.title, "\n\n", t.text, "\n\n", t.table.markdown(), "\n");
  }
  page += "## Pictures\n\n";
  for (const picture& p : published.pictures) page += picture_text(p);
  page.pop_back();
  return page;
}

}  // namespace

std::vector<std::string> write_report(const std::string& folder,
                                      const std::vector<compared_recording>& all,
                                      const published_scores& published) {
  std::filesystem::create_directories(folder);
  const bool draws = has_gnuplot();
  const std::vector<picture> own = recording_pictures(all);
  write_page(folder, "report.md", report_page(all, own), own, draws);
  if (!published.empty()) {
    write_page(folder, "published.md", published_page(published), published.pictures, draws);
  }
  if (draws) return {};
  return {"pictures: gnuplot is not installed"};
}

}  // namespace perfmodel::validation
