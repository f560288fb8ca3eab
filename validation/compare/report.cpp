#include "report.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "recording_pictures.hpp"
#include "tolerances.hpp"

namespace perfmodel::validation {

namespace {

using device_and_quantity = std::pair<std::string, std::string>;

std::map<device_and_quantity, std::vector<const comparison*>> by_quantity(
    const std::vector<compared_recording>& all) {
  std::map<device_and_quantity, std::vector<const comparison*>> groups;
  for (const compared_recording& r : all) {
    for (const comparison& c : r.rows) {
      // What a CPU's model was fitted to says little of it: apart, and not judged.
      std::string quantity = c.quantity;
      if (c.host && c.fitted) quantity.append(", fitted to");
      groups[{c.device, quantity}].push_back(&c);
    }
  }
  return groups;
}

/// `borrowed`: by another machine's profile.
std::string allowed_text(const tolerance* t, bool borrowed = false) {
  if (t == nullptr || t->median == 0.0) return "not judged";
  if (borrowed) return "not judged: a relative's profile";
  const int digits = t->median < 0.01 ? 1 : 0;
  return fixed(100.0 * t->median, digits)
      .append(" % / ")
      .append(fixed(100.0 * t->p90, digits))
      .append(" %");
}

bool borrowed(const std::vector<const comparison*>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const comparison* c) { return c->borrowed; });
}

bool on_host(const std::vector<const comparison*>& rows) {
  return rows.front()->host;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.flush();
  if (!out) throw std::runtime_error(std::string("cannot write ").append(path.string()));
}

std::string picture_text(const picture& p) {
  std::string s = "![";
  s.append(p.title).append("](").append(p.name).append(".png)\n\n").append(p.caption);
  return s.append(" ([SVG](").append(p.name).append(".svg))\n\n");
}

std::string origin_of(const recorded& r) {
  if (r.measured) {
    std::string s = r.run.date.substr(0, 10);
    return s.append(", ")
        .append(r.run.program)
        .append(" at ")
        .append(r.run.revision.substr(0, 10))
        .append(r.run.modified ? ", modified" : "");
  }
  std::string s = r.source.citation;
  if (!r.source.address.empty()) s.append(", ").append(r.source.address);
  return s;
}

text_table recordings_table(const std::vector<compared_recording>& all) {
  text_table t({"device", "experiment", "points", "law", "from"}, 5);
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
  text_table t({"quantity", "predicted by", "allowed: median / p90", "why so much"}, 4);
  for (const auto& [key, names] : laws) {
    const auto& [quantity, host] = key;
    std::string list;
    for (const std::string& n : names) list.append(list.empty() ? "" : "; ").append(n);
    const tolerance* allowed = find_tolerance(quantity, host);
    t.add({host ? std::string(quantity).append(" on a CPU") : quantity, list, allowed_text(allowed),
           allowed == nullptr ? std::string() : std::string(allowed->why)});
  }
  return t;
}

/// Every point of the small recordings that were published: there is no other place to see them.
text_table points_table(const compared_recording& r) {
  text_table t({"quantity", "point", "measured", "predicted", "off", "bound", "note"}, 2);
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
  text_table t(std::move(header), 2);
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

std::vector<std::string> broken(const std::vector<compared_recording>& all) {
  std::vector<std::string> out;
  for (const auto& [key, rows] : by_quantity(all)) {
    std::string what = key.second;
    what.append(" on ").append(key.first);
    const group_score s = score("", rows);
    const tolerance* allowed = find_tolerance(key.second, on_host(rows));
    if (allowed != nullptr && allowed->median > 0.0 && s.predicted.n > 0 && !borrowed(rows)) {
      if (s.predicted.median > allowed->median) {
        out.push_back(std::string(what)
                          .append(": median error ")
                          .append(percent(s.predicted.median))
                          .append(", allowed ")
                          .append(percent(allowed->median)));
      }
      if (s.predicted.p90 > allowed->p90) {
        out.push_back(std::string(what)
                          .append(": 90th percentile ")
                          .append(percent(s.predicted.p90))
                          .append(", allowed ")
                          .append(percent(allowed->p90)));
      }
    }
    for (const comparison* c : rows) {
      if (!c->beats_bound()) continue;
      out.push_back(std::string(what)
                        .append(", ")
                        .append(c->shape)
                        .append(", in ")
                        .append(c->table)
                        .append(": measured ")
                        .append(amount(c->measured, c->unit))
                        .append(", below ")
                        .append(amount(c->held_to, c->unit))
                        .append(", which nothing is quicker than"));
    }
  }
  return out;
}

std::vector<std::string> below_bound(const published_scores& published) {
  std::vector<std::string> out;
  for (const auto* rows : {&published.kernels, &published.collectives, &published.serving,
                           &published.memory, &published.tokens}) {
    for (const comparison& c : *rows) {
      if (!c.beats_bound()) continue;
      out.push_back(std::string(c.table)
                        .append(": ")
                        .append(c.quantity)
                        .append(" ")
                        .append(c.shape)
                        .append(" on ")
                        .append(c.device)
                        .append(": measured ")
                        .append(amount(c.measured, c.unit))
                        .append(", below its bound of ")
                        .append(amount(c.held_to, c.unit)));
    }
  }
  return out;
}

std::vector<std::string> write_report(const std::string& folder,
                                      const std::vector<compared_recording>& all,
                                      const published_scores& published) {
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  std::vector<std::string> skipped;
  const bool draws = has_gnuplot();
  if (!draws) skipped.emplace_back("pictures: gnuplot is not installed");

  const std::vector<picture> own = recording_pictures(all);
  std::string page = report_head;
  page.append("## What was recorded\n\n").append(recordings_table(all).markdown());
  page.append("\n## Scores\n\n").append(recording_table(all, true));
  const std::vector<std::string> failures = broken(all);
  page.append(failures.empty()
                  ? "\nEvery tolerance is kept, and nothing was measured below its bound.\n"
                  : "\nBroken:\n\n");
  for (const std::string& f : failures) page.append("- ").append(f).append("\n");
  page.append("\n## By which law, and how far it may be off\n\n")
      .append(laws_table(all).markdown());
  if (!own.empty()) page.append("\n## Pictures\n\n");
  for (const picture& p : own) page.append(picture_text(p));
  bool title = false;
  for (const compared_recording& r : all) {
    if (r.recording.measured) continue;
    if (!title) page.append(own.empty() ? "\n" : "").append("## Published points\n\n");
    title = true;
    page.append("### ")
        .append(shown(r.recording.device.name, 200))
        .append(", ")
        .append(r.recording.experiment)
        .append("\n\n")
        .append(shown(origin_of(r.recording), 2000))
        .append(".\n\n")
        .append(points_table(r).markdown())
        .append("\n");
  }
  while (page.size() > 1 && page[page.size() - 1] == '\n' && page[page.size() - 2] == '\n') {
    page.pop_back();
  }
  write_file(fs::path(folder) / "report.md", page);
  if (draws) {
    for (const picture& p : own) draw(p, folder);
  }

  if (!published.empty()) {
    std::string scores = published_head;
    const std::vector<titled_table> tables = published_tables(published);
    for (const titled_table& t : tables) {
      scores.append("## ").append(t.title).append("\n\n").append(t.text).append("\n\n");
      scores.append(t.table.markdown()).append("\n");
    }
    scores.append("## Pictures\n\n");
    for (const picture& p : published.pictures) scores.append(picture_text(p));
    scores.pop_back();
    write_file(fs::path(folder) / "published.md", scores);
    if (draws) {
      for (const picture& p : published.pictures) draw(p, folder);
    }
  }
  return skipped;
}

}  // namespace perfmodel::validation
