// compare: recordings and published tables with the library's predictions.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "own_csv.hpp"
#include "predict.hpp"
#include "report.hpp"

namespace pv = perfmodel::validation;
namespace fs = std::filesystem;

namespace {

using common::cat;
using common::one_line;

constexpr int kept = 0, broken_tolerance = 1, bad_input = 2;

struct options {
  std::vector<std::string> recordings{};
  std::vector<std::string> csv{};
  std::string data{};
  std::string report{};
  bool quiet = false;
  bool summary = false;
};

/// Every .json below a folder, in the order of the paths.
std::vector<std::string> files_in(const std::string& folder) {
  if (fs::is_regular_file(folder)) return {folder};
  if (!fs::is_directory(folder)) {
    throw std::invalid_argument(cat("--recordings ", folder, ": no such folder"));
  }
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") {
      out.push_back(entry.path().string());
    }
  }
  if (out.empty()) {
    throw std::invalid_argument(cat("--recordings ", folder, ": no .json file is there"));
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Refuses a file that is read a second time: its rows would count twice.
void once(std::set<fs::path>& read, const std::string& file) {
  std::error_code unknown;
  const fs::path path = fs::weakly_canonical(file, unknown);
  if (!unknown && !read.insert(path).second) {
    throw std::invalid_argument(cat(file, ": given twice"));
  }
}

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
}

/// Reads all recordings. Those that were cut down to try a program are named and left out, and so
/// are those that cannot be read; none can: the first one's error.
std::vector<pv::recorded> read_all(const options& o) {
  std::vector<pv::recorded> out;
  std::set<fs::path> read;
  std::vector<pv::recording_error> refused;
  for (const std::string& folder : o.recordings) {
    for (const std::string& file : files_in(folder)) {
      once(read, file);
      try {
        pv::recorded r = pv::read_recording(file);
        if (r.measured && r.run.reduced) {
          say(cat("skipped: ", file, ": reduced, for no comparison\n"));
        } else {
          out.push_back(std::move(r));
        }
      } catch (const pv::recording_error& e) {
        refused.push_back(e);
      }
    }
  }
  if (out.empty() && !refused.empty()) throw refused.front();
  for (const pv::recording_error& e : refused) {
    say(cat("skipped: ", e.code(), ' ', one_line(e.what()), "\n"));
  }
  return out;
}

std::vector<pv::compared_recording> compare_all(const std::vector<pv::recorded>& recordings) {
  std::map<std::string, pv::machine> machines;
  std::vector<pv::compared_recording> out;
  std::vector<std::string> refused;
  for (const pv::recorded& r : recordings) {
    std::string name = cat(r.device.name, "|", pv::device_label(r));
    // Two runs on one CPU are two machines: it was not the same, and neither predicts the other.
    const std::string folder = fs::path(r.file).parent_path().string();
    const bool cpu = r.device.kind == "cpu";
    if (cpu) name += cat("|", folder);
    if (machines.find(name) == machines.end()) {
      std::vector<pv::recorded> run;
      for (const pv::recorded& other : recordings) {
        const bool same_run = cpu ? fs::path(other.file).parent_path() == folder
                                  : pv::device_label(other) == pv::device_label(r);
        if (same_run) run.push_back(other);
      }
      try {
        machines.emplace(name, pv::machine_of(r.device, run));
      } catch (const std::invalid_argument& e) {
        refused.push_back(cat(r.file, ": ", e.what()));
        continue;
      }
    }
    out.push_back({r, pv::compare_recording(r, machines.at(name))});
  }
  if (out.empty() && !refused.empty()) throw std::invalid_argument(refused.front());
  for (const std::string& why : refused) say(cat("skipped: ", one_line(why), "\n"));
  return out;
}

std::string csv_table(const std::vector<pv::comparison>& rows) {
  std::vector<std::string> header = {"file", "operation", "GPU", "format", "kernels"};
  for (std::string& c : pv::score_columns()) header.push_back(std::move(c));
  pv::text_table t(std::move(header), "lllllr");
  std::map<std::vector<std::string>, std::vector<const pv::comparison*>> groups;
  for (const auto& c : rows) {
    groups[{c.table, c.quantity, c.device, c.format, c.engine}].push_back(&c);
  }
  for (const auto& [key, members] : groups) {
    std::vector<std::string> cells = key;
    for (std::string& c : pv::score_cells(pv::score("", members))) cells.push_back(std::move(c));
    t.add(std::move(cells));
  }
  return t.plain();
}

/// Everything that was compared.
struct outcome {
  std::vector<pv::compared_recording> recordings{};
  std::vector<pv::comparison> own{};
  pv::published_scores published{};
};

outcome compare_what(const options& o) {
  outcome all;
  all.recordings = compare_all(read_all(o));
  std::set<fs::path> read;
  for (const std::string& file : o.csv) {
    once(read, file);
    for (auto& c : pv::compare_csv(file)) all.own.push_back(std::move(c));
  }
  if (o.data.empty()) return all;
  if (!fs::is_directory(o.data)) {
    throw std::invalid_argument(cat("--data ", o.data, ": no such folder"));
  }
  all.published = pv::score_published(o.data);
  if (all.published.empty()) {
    throw std::invalid_argument(cat("--data ", o.data, ": none of the published tables is there"));
  }
  return all;
}

void print_tables(const outcome& all) {
  if (!all.recordings.empty()) {
    say(cat("Recordings\n\n", pv::recording_table(all.recordings, false), "\n"));
    const std::string goal = pv::goal_lines(all.recordings);
    if (!goal.empty()) say(cat("The goal\n\n", goal, "\n"));
  }
  if (!all.own.empty()) say(cat("Own measurements\n\n", csv_table(all.own), "\n"));
  for (const pv::titled_table& t : pv::published_tables(all.published)) {
    say(cat(t.title, "\n\n", t.table.plain(), "\n"));
  }
  if (!all.published.empty()) {
    say("Others report: LLMCompass 10.9 % on operators; AIConfigurator 7 to 15 % on its own tables "
        "of products.\n\n");
  }
}

int run(const options& o) {
  const outcome all = compare_what(o);
  if (!o.quiet) print_tables(all);
  std::vector<std::string> failures = pv::broken(all.recordings);
  for (std::string& f : pv::below_bound(all.published)) failures.push_back(std::move(f));
  for (const pv::comparison& c : all.own) {
    if (!c.beats_bound()) continue;
    failures.push_back(cat(c.table, ": ", c.quantity, " on ", c.device, ": measured ",
                           pv::amount(c.measured, "s"), ", below its bound of ",
                           pv::amount(c.bound, "s")));
  }
  if (!o.report.empty()) pv::write_report(o.report, all.recordings, all.published);
  for (const std::string& f : pv::not_measured(all.recordings)) say(cat("failed: ", f, "\n"));
  for (const std::string& f : failures) say(cat("broken: ", f, "\n"));
  say(cat("compare: ", all.recordings.size(), " recordings, ", all.own.size(), " own rows, ",
          failures.size(), " broken\n"));
  if (o.summary) say(pv::summary_lines(all.recordings));
  return failures.empty() ? kept : broken_tolerance;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app{"Recordings and published measurements with the predictions of perfmodel"};
  const auto a_path = CLI::Validator(
      [](const std::string& path) {
        return std::string(path.empty() ? "is empty; allowed: a path" : "");
      },
      "");
  app.add_option("--recordings", o.recordings, "a folder of recordings, or one; may be repeated")
      ->type_name("DIR")
      ->check(a_path);
  app.add_option("--data", o.data,
                 "a folder of published tables, laid out as the documentation says")
      ->type_name("DIR")
      ->check(a_path);
  app.add_option("--csv", o.csv, "measurements of your own; may be repeated")
      ->type_name("FILE")
      ->check(a_path);
  app.add_option("--report", o.report, "write pages and pictures there")
      ->type_name("DIR")
      ->check(a_path);
  app.add_flag("--summary", o.summary, "end with plain words on each GPU that was measured");
  app.add_flag("--quiet", o.quiet, "print what is broken or skipped, and no tables");
  app.footer(
      "Exit status: 0, all tolerances are kept; 1, one is not, or something was measured below "
      "its bound; 2, the input is bad.");
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return cat("compare: ", one_line(e.what()), "\n");
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : bad_input;
  }
  if (o.recordings.empty() && o.csv.empty() && o.data.empty()) {
    std::fputs("compare: nothing to compare; give --recordings, --csv or --data\n", stderr);
    return bad_input;
  }
  try {
    return run(o);
  } catch (const pv::recording_error& e) {
    std::fprintf(stderr, "compare: %s %s\n", e.code().c_str(), one_line(e.what()).c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "compare: %s\n", one_line(e.what()).c_str());
  }
  return bad_input;
}
