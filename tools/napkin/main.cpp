// napkin: how fast a model runs on a machine, from the command line.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <perfmodel/core/version.hpp>
#include <sstream>
#include <tuple>

#include "audit.hpp"
#include "batch.hpp"
#include "bench_report.hpp"
#include "calibrate.hpp"
#include "command_line.hpp"
#include "completion.hpp"
#include "help.hpp"
#include "io/files.hpp"
#include "io/text_style.hpp"
#include "json_rows.hpp"
#include "listing.hpp"
#include "output.hpp"
#include "plan_keys.hpp"
#include "plot/figures.hpp"
#include "profile_file.hpp"
#include "query_runs.hpp"
#include "require.hpp"
#include "sensitivity.hpp"
#include "service_run_keys.hpp"
#include "summary.hpp"
#include "sweep.hpp"
#include "thresholds.hpp"

namespace {

using napkin::json;

constexpr int success = 0;
constexpr int some_lines_failed = 1;
constexpr int unusable = 2;
constexpr int out_of_reach = 3;

int fail(const std::string& message) {
  std::cerr << "napkin: " << napkin::one_line(message) << std::endl;
  return unusable;
}

/// Whether text for people is styled: as --color says, and by default where it goes to a terminal
/// that shows styles (no-color.org).
bool styles_text(const std::string& color) {
  if (color != "auto") return color == "always";
  const char* without = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool shows = term != nullptr && *term != '\0' && term != std::string_view("dumb");
  return isatty(STDOUT_FILENO) == 1 && shows && (without == nullptr || *without == '\0');
}

/// Check of an option that names a file.
CLI::Validator a_path() {
  return {[](const std::string& path) {
            return std::string(path.empty() ? "is empty; allowed: the path of a file" : "");
          },
          ""};
}

/// The option --runs, for the help: run_reports reads it.
void add_runs_help(CLI::App& to, const char* what) {
  to.add_option_function<std::string>(
        "--runs", [](const std::string&) {},
        napkin::cat(what, ": files; the service by the options of `napkin simulate`"))
      ->type_name("");
}

/// Whether the plot of --plot is text, below the result. Throws inconsistent where the result is no
/// text, and the errors of require_figure_path.
bool plots_here(const std::string& plot, napkin::table_format format) {
  if (plot.empty()) return false;
  napkin::require_figure_path(plot);
  if (plot != "-" && plot != "text") return false;
  if (format == napkin::table_format::text) return true;
  throw perfmodel::error(
      perfmodel::error_code::inconsistent,
      napkin::cat("plot is text with ",
                  format == napkin::table_format::json ? "--json" : "rows of csv or md",
                  "; allowed: a file that ends in .svg or .png"));
}

/// A query on the command line: --key value for each of its keys. Unknown options are passed on,
/// and the request's own check refuses them.
class query_command {
 public:
  query_command(CLI::App& parent, const napkin::query& asked, const napkin::words& said)
      : asked_(asked), said_(said), command_(parent.add_subcommand(asked.name, asked.help)) {
    if (said.mention(asked.name)) add_options();
  }

  bool chosen() const { return command_->parsed(); }
  bool as_json() const { return format() == napkin::table_format::json; }
  napkin::table_format format() const {
    return as_json_ ? napkin::table_format::json : napkin::parse_format(output_format());
  }
  /// Throws unknown_name where the format is for rows, which the command has none of.
  void refuse_rows() const {
    if (format() == napkin::table_format::text || as_json()) return;
    throw perfmodel::error(
        perfmodel::error_code::unknown_name,
        napkin::cat("format is ", output_format(), "; allowed here: table, json"));
  }
  const napkin::query& asked() const { return asked_; }
  /// File of --plot; "" without one.
  const std::string& plot() const { return plot_; }
  /// Adds --plot, where the command has a figure.
  void add_plot() {
    command_
        ->add_option("--plot", plot_,
                     "draw the result: FILE.svg, FILE.png, or text for a plot in the terminal")
        ->type_name("")
        ->check(a_path());
  }

  /// The profile of --profile; null where there is none.
  std::unique_ptr<napkin::given_profile> profile() const {
    if (profile_.empty()) return nullptr;
    auto p = napkin::read_profile(profile_);
    p->must_match = true;
    return p;
  }

  json request() const {
    json object = json::object();
    object["query"] = asked_.name;
    if (id_option_->count() > 0) object["id"] = napkin::id_from_command_line(id_);
    if (mode_option_->count() > 0) object["mode"] = mode_;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const napkin::key& k = asked_.keys[i];
      if (options_[i]->count() == 0 || is_output_format(i)) continue;
      const bool bare = k.kind == napkin::key_kind::flag && values_[i].empty();
      object[k.name] = napkin::from_command_line(
          &k, bare ? "true" : values_[i], said_.spelling_among(napkin::spellings_of(asked_, k)));
    }
    for (const std::string& fact : set_) napkin::add_set(object, fact);
    if (price_option_ != nullptr && price_option_->count() > 0) {
      object["price"] = napkin::price_from_command_line(price_);
    }
    add_unknown(object);
    return object;
  }

 private:
  void add_options() {
    const napkin::query& asked = asked_;
    values_.resize(asked.keys.size());
    command_->allow_extras();
    const bool has_reports = asked.name == std::string_view("diagnose");
    if (has_reports) {
      add_runs_help(
          *command_,
          "a measured service against its prediction (vLLM, SGLang, guidellm, aiperf), in place "
          "of a step");
    }
    for (std::size_t i = 0; i < asked.keys.size(); ++i) {
      const std::string_view name = asked.keys[i].name;
      const bool of_step = has_reports && (name == "batch" || name == "time_s");
      options_.push_back(command_->add_option(
          napkin::option_names(asked, asked.keys[i]), values_[i],
          napkin::key_help(asked.keys[i]) + (of_step ? " unless --runs is given" : "")));
      options_.back()->type_name("");
      if (asked.keys[i].kind == napkin::key_kind::flag) options_.back()->expected(0, 1);
    }
    id_option_ =
        command_->add_option("--id", id_, "identifier, repeated in the result")->type_name("");
    mode_option_ =
        command_
            ->add_option("--mode", mode_,
                         "bound (roofline) or calibrated (prediction); default: "
                         "calibrated if the accelerator has a fitted profile; for models "
                         "and services also with a profile transferred from another GPU")
            ->type_name("");
    command_
        ->add_option("--profile", profile_,
                     "profile file written by napkin calibrate, in place of the shipped profile")
        ->type_name("")
        ->check(a_path());
    if (asked.find("accelerator") != nullptr) {
      command_
          ->add_option("--set", set_,
                       "changed accelerator fact, dram.bandwidth=6TB/s; with several accelerators "
                       "h100_sxm.dram.bandwidth=6TB/s; repeatable")
          ->type_name("")
          ->expected(1)
          ->take_all();
    }
    if (napkin::has_prices(asked)) {
      price_option_ =
          command_
              ->add_option("--price", price_,
                           "price of an accelerator in USD/h; with several h100_sxm=2.5,mi300x=2")
              ->type_name("");
    }
    command_->add_flag("--json", as_json_, "print one JSON object")->disable_flag_override();
    // A query with number formats takes both kinds of words as --format.
    const bool free = asked.find_spelled("format") == nullptr;
    command_
        ->add_option(free ? "--output-format,--format" : "--output-format", format_,
                     "table, csv, json or md (default table)")
        ->type_name("");
  }
  /// Whether the i-th option is --format, with a format of the output in place of numbers.
  bool is_output_format(std::size_t i) const {
    constexpr std::string_view words[] = {"table", "csv", "json", "md"};
    return asked_.keys[i].name == std::string_view("format") &&
           std::find(std::begin(words), std::end(words), values_[i]) != std::end(words);
  }
  const std::string& output_format() const {
    for (std::size_t i = 0; i < options_.size(); ++i) {
      if (options_[i]->count() > 0 && is_output_format(i)) return values_[i];
    }
    return format_;
  }

  /// Unknown options become unknown keys of the request; any other word is refused here.
  void add_unknown(json& object) const {
    const std::vector<std::string> extras = command_->remaining();
    for (const std::string& extra : extras) {
      if (!extra.starts_with("--")) continue;
      std::string name = extra.substr(2, extra.find('=') - 2);
      std::replace(name.begin(), name.end(), '-', '_');
      object[name] = nullptr;
    }
    for (const std::string& extra : extras) {
      if (extra.starts_with("--")) return;
      throw perfmodel::error(napkin::code::unknown_key,
                             napkin::in_quotes(extra) + " is not expected; allowed: --key value");
    }
  }

  const napkin::query& asked_;
  const napkin::words& said_;
  CLI::App* command_;
  std::vector<std::string> values_{};
  std::vector<CLI::Option*> options_{};
  CLI::Option* id_option_ = nullptr;
  CLI::Option* mode_option_ = nullptr;
  CLI::Option* price_option_ = nullptr;
  std::string id_{}, mode_{}, profile_{}, price_{}, plot_{};
  std::vector<std::string> set_{};
  bool as_json_ = false;
  std::string format_ = "table";
};

/// `napkin explain <query> ...`: a query's keys, and the depth of the derivation.
class explain_command {
 public:
  explain_command(CLI::App& parent, const napkin::query& asked, const napkin::words& said)
      : of_(parent, asked, said) {
    CLI::App* own = parent.get_subcommand(asked.name);
    own->add_option("--depth", options_.depth,
                    "number of derivation steps from the result [1 to 1000]")
        ->type_name("")
        ->check(CLI::Range(1, 1000).description(""));
    own->add_flag("--all", options_.all, "all steps and inputs")->disable_flag_override();
    own->add_flag("--markdown", options_.markdown, "output as Markdown")->disable_flag_override();
  }
  bool chosen() const { return of_.chosen(); }
  void run() const {
    of_.refuse_rows();
    const json request = of_.request();
    const auto profile = of_.profile();
    std::cout << (of_.as_json()
                      ? napkin::write_json(
                            napkin::explain_json(of_.asked(), request, profile.get())) +
                            "\n"
                      : napkin::explain_text(of_.asked(), request, profile.get(), options_));
  }

 private:
  query_command of_;
  napkin::explain_options options_{};
};

/// `napkin explain plan --row N ...`: plan's keys, and a row of its table.
class explain_row_command {
 public:
  explain_row_command(CLI::App& parent, const napkin::words& said)
      : of_(parent, napkin::plan_keys(), said) {
    CLI::App* own = parent.get_subcommand(napkin::plan_keys().name);
    own->add_option("--row", row_, "row of the plan's table, from 1, cheapest first (default 1)")
        ->type_name("");
    own->add_flag("--markdown", markdown_, "output as Markdown")->disable_flag_override();
  }
  bool chosen() const { return of_.chosen(); }
  void run() const {
    of_.refuse_rows();
    const json request = of_.request();
    std::cout << napkin::explain_plan_row(request, of_.profile().get(), row_, of_.format(),
                                          markdown_);
  }

 private:
  query_command of_;
  double row_ = 1.0;
  bool markdown_ = false;
};

/// `napkin sensitivity <query> --key value ...`: a query's keys, and the analysis of its result.
class sensitivity_command {
 public:
  sensitivity_command(CLI::App& parent, const napkin::query& asked, const napkin::words& said)
      : of_(parent, asked, said) {
    CLI::App* own = parent.get_subcommand(asked.name);
    const auto several = [own](const char* names, std::vector<std::string>& into,
                               const char* help) {
      own->add_option(names, into, help)->type_name("")->expected(1)->take_all();
    };
    own->add_option("--result", key_, "key of the analysed result; default: the time")
        ->type_name("");
    several("--crossover", crossover_,
            "name=least..most: where the limiter changes in this range of an input");
    several("--against", against_,
            "key=value of a second request: where the faster of the two changes");
    several("--what-if", what_if_,
            "name=least..most: range of the result over this range of an input");
  }
  bool chosen() const { return of_.chosen(); }
  void run() const {
    of_.refuse_rows();
    json object = {{"query", "sensitivity"}};
    napkin::put_request(object, of_.request());
    if (!key_.empty()) object["key"] = key_;
    for (const auto& x : crossover_) napkin::add_range(object["crossover"], "crossover", x);
    for (const auto& x : against_) napkin::add_other(object["against"], of_.asked(), x);
    for (const auto& x : what_if_) napkin::add_range(object["what_if"], "what-if", x);
    const auto profile = of_.profile();
    object = napkin::with_key_names(std::move(object));
    const json found = napkin::sensitivity_json(object, profile.get());
    std::cout << (of_.as_json() ? napkin::write_json(found) + "\n"
                                : napkin::sensitivity_text(object, found));
  }

 private:
  query_command of_;
  std::string key_{};
  std::vector<std::string> crossover_{}, against_{}, what_if_{};
};

/// `napkin sweep <query> --key value ... --over KEY=...`: a query's keys, and a grid of some.
class sweep_command {
 public:
  sweep_command(CLI::App& parent, const napkin::query& asked, const napkin::words& said)
      : of_(parent, asked, said) {
    CLI::App* own = parent.get_subcommand(asked.name);
    const auto text = [own](const char* name, auto& into, const char* help) {
      return own->add_option(name, into, help)->type_name("");
    };
    text("--over", over_,
         "swept key or accelerator fact: KEY=LO..HI:N (N values evenly spaced), KEY=LO..HI:xF (by "
         "the factor F) or KEY=A,B,C; repeatable: all combinations, the first varies slowest")
        ->expected(1)
        ->take_all();
    text("--best", best_, "print the row with the least value of a column, or the most: max:KEY");
    text("--pareto", pareto_,
         "print the rows that no other row beats in all of these columns: KEY,KEY; more is better "
         "for rates and gains, less for times and costs; or min:KEY, max:KEY");
    text("--shard", shard_, "part i of n of the points, i/n; parts 1 to n in order are the whole");
    text("--threads", threads_, "number of threads (default: one per core)")
        ->check(CLI::Range(0, 4096).description(""));
    text("--plot", plot_,
         "draw the results over the last axis: output file FILE.svg or FILE.png; text: here, as "
         "characters")
        ->check(a_path());
    for (const auto& [name, into, help] :
         {std::tuple{"--csv", &csv_, "print CSV: a line of column names, then a line per point"},
          {"--wide", &wide_, "all columns; default: 100 characters"},
          {"--mpi", &mpi_, "share the points among the ranks of mpirun; rank 0 prints"}})
      own->add_flag(name, *into, help)->disable_flag_override();
  }
  bool chosen() const { return of_.chosen(); }
  int run() const {
    napkin::sweep_request r;
    r.asked = &of_.asked();
    r.base = of_.request();
    const auto profile = of_.profile();
    r.profile = profile.get();
    for (const std::string& x : over_) r.axes.push_back(napkin::parse_axis(*r.asked, x));
    napkin::check_axes(r.base, r.axes);
    r.format = csv_ ? napkin::table_format::csv : of_.format();
    r.best = best_;
    for (const std::string_view p : napkin::split(pareto_, ',')) r.pareto.emplace_back(p);
    if (pareto_.empty()) r.pareto.clear();
    if (!shard_.empty()) std::tie(r.shard, r.shards) = napkin::parse_shard(shard_);
    r.threads = threads_;
    r.wide = wide_;
    r.mpi = mpi_;
    (void)plots_here(plot_, r.format);
    r.plot = plot_;
    r.progress = isatty(STDERR_FILENO) == 1;
    return napkin::run_sweep(r, std::cout) ? success : some_lines_failed;
  }

 private:
  query_command of_;
  std::vector<std::string> over_{};
  std::string best_{}, pareto_{}, shard_{}, plot_{};
  int threads_ = 0;
  bool csv_ = false, wide_ = false, mpi_ = false;
};

/// A command for each query.
template <class Command>
std::vector<std::unique_ptr<Command>> of_queries(CLI::App& parent, const napkin::words& said) {
  std::vector<std::unique_ptr<Command>> commands;
  for (const napkin::query& q : napkin::all_queries()) {
    commands.push_back(std::make_unique<Command>(parent, q, said));
  }
  return commands;
}

/// A catalogue on the command line: [name] [--json].
struct listing_command {
  CLI::App* command = nullptr;
  std::string name{}, format = "table";
  bool as_json = false;

  listing_command(CLI::App& parent, const char* command_name, const char* help)
      : command(parent.add_subcommand(command_name, help)) {
    command->add_option("name", name, "catalogue name of one entry, for all its values")
        ->type_name("");
    command->add_flag("--json", as_json, "print one JSON object")->disable_flag_override();
    command->add_option("--format", format, "table, csv, json or md (default table)")
        ->type_name("");
  }
};

void print(const json& object) {
  std::cout << napkin::write_json(object) << "\n";
}

/// A command with its request and profile, to be run.
napkin::given_command given_of(const query_command& c) {
  const bool plots = plots_here(c.plot(), c.format());
  return {c.asked(), c.request(), c.profile(), c.format(), c.plot(), plots};
}
/// Adds the options of files that `napkin simulate` writes.
void add_simulation_files(CLI::App& to, napkin::simulation_files& files) {
  const auto add = [&to](const char* name, std::string& into, const char* help) {
    to.add_option(name, into, help)->type_name("")->check(a_path());
  };
  add("--requests-csv", files.requests_csv, "output file: a line per request, with its latencies");
  add("--timeline-csv", files.timeline_csv,
      "output file: a line per interval, with the mean state");
  add("--plot", files.plot,
      "output file: timeline and latency distributions, FILE.svg or FILE.png; text: here");
}
/// A catalogue, or one entry of it.
template <class ToJson, class ToText>
void list(const listing_command& c, bool wide, ToJson to_json, ToText to_text) {
  const napkin::table_format format =
      c.as_json ? napkin::table_format::json : napkin::parse_format(c.format);
  if (format == napkin::table_format::text) {
    std::cout << to_text(c.name, wide);
  } else if (format == napkin::table_format::json) {
    print(to_json(c.name));
  } else {
    std::cout << napkin::rows_text(to_json(c.name), format);
  }
}

/// `napkin calibrate`, with the keys of a run as options.
class calibrate_command {
 public:
  calibrate_command(CLI::App& app, const napkin::words& said)
      : said_(said),
        command_(app.add_subcommand(
            "calibrate",
            "Profile from your own measurements: of a machine from GEMM latencies (--data), or of "
            "an engine from benchmark runs of a service (--runs)")),
        values_(napkin::run_keys().size()) {
    runs_.name = "calibrate";
    runs_.keys = napkin::run_keys();
    command_
        ->add_option("--accelerator", r_.accelerator,
                     "accelerator name listed by `napkin gpus`, or an accelerator file REQUIRED")
        ->type_name("");
    add_path("--data", r_.data,
             "CSV with dtype, m, n, k and latency_us, or a recording, or a folder of recordings");
    command_
        ->add_option("--runs", r_.runs,
                     "benchmark runs: a CSV with the keys below, itl_ms and ttft_ms, or output "
                     "files of vllm bench serve or SGLang's bench_serving; one or more")
        ->type_name("")
        ->check(a_path());
    command_->add_option("--gpu", r_.gpu, "only CSV rows of this GPU")->type_name("");
    command_->add_option("--backend", r_.backend, "only CSV rows of this backend")->type_name("");
    add_path("--out", r_.out, "output file of the profile");
    command_->add_flag("--json", r_.as_json, "print the profile as one JSON object")
        ->disable_flag_override();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const napkin::key& k = runs_.keys[i];
      if (k.name == std::string_view("accelerator")) continue;
      command_
          ->add_option(napkin::option_names(runs_, k), values_[i],
                       napkin::cat("all runs: ", k.help))
          ->type_name("");
    }
  }

  bool parsed() const { return command_->parsed(); }
  napkin::calibrate_request request() const {
    napkin::calibrate_request r = r_;
    if (r.accelerator.empty()) {
      throw perfmodel::error(napkin::code::missing_key,
                             napkin::cat("--accelerator is missing",
                                         r.gpu.empty() ? "" : " (--gpu selects CSV rows here)",
                                         "; napkin gpus lists the names"));
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const napkin::key& k = runs_.keys[i];
      if (values_[i].empty()) continue;
      r.constants[k.name] = napkin::from_command_line(
          &k, values_[i], said_.spelling_among(napkin::spellings_of(runs_, k)));
    }
    return r;
  }

 private:
  void add_path(const char* name, std::string& into, const char* help) {
    command_->add_option(name, into, help)->type_name("")->check(a_path());
  }

  const napkin::words& said_;
  CLI::App* command_;
  napkin::query runs_{};  ///< keys of a run, with their other spellings
  std::vector<std::string> values_;
  napkin::calibrate_request r_{};
};

/// `napkin audit`: claims on stdin, or one as --key value.
class audit_command {
 public:
  explicit audit_command(CLI::App& app)
      : command_(app.add_subcommand("audit",
                                    "Check published numbers: claims on stdin as JSON Lines, or "
                                    "one as --quantity, --value, --unit and its keys")) {
    command_->allow_extras();
    command_->add_flag("--json", as_json_, "print one JSON object")->disable_flag_override();
    add_runs_help(*command_, "checks of whole benchmark reports (vLLM, SGLang, guidellm, aiperf)");
  }
  bool parsed() const { return command_->parsed(); }
  int run() const {
    const std::vector<std::string> extras = command_->remaining();
    if (extras.empty()) {
      const bool all = napkin::run_batch(std::cin, std::cout, nullptr, napkin::batch_of::claims);
      return all ? success : some_lines_failed;
    }
    const json claim = napkin::claim_from_command_line(extras);
    const json verdict = napkin::audit_json(claim);
    std::cout << (as_json_ ? napkin::write_json(verdict) + "\n"
                           : napkin::audit_text(claim, verdict));
    return success;
  }

 private:
  CLI::App* command_;
  bool as_json_ = false;
};

/// Commands under headings, a line each; one line in explain and sensitivity, which share the
/// commands.
class grouped_help : public CLI::Formatter {
 public:
  grouped_help() { column_width(name_columns); }
  std::string make_option_desc(const CLI::Option* of) const override {
    return folded(CLI::Formatter::make_option_desc(of), terminal_columns - name_columns);
  }
  std::string make_description(const CLI::App* of) const override {
    return folded(of->get_description(), terminal_columns) + "\n";
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    return napkin::with_bold_headings(
        CLI::Formatter::make_group(std::move(group), is_positional, std::move(options)));
  }
  std::string make_subcommands(const CLI::App* of, CLI::AppFormatMode mode) const override {
    const auto all = of->get_subcommands([](const CLI::App*) { return true; });
    if (all.empty()) return {};
    if (of->get_parent() != nullptr)
      return "\nSUBCOMMAND: a query that `napkin --help` lists; with --help its keys.\n";
    if (mode != CLI::AppFormatMode::Normal) return {};
    std::vector<napkin::help_line> lines;
    for (const CLI::App* c : all) lines.push_back({c->get_name(), c->get_description()});
    return napkin::grouped(lines);
  }

 private:
  static constexpr std::size_t name_columns = 34, terminal_columns = napkin::terminal_columns;

  static std::string folded(const std::string& text, std::size_t columns) {
    std::istringstream words(text);
    std::string out, line;
    for (std::string word; words >> word;) {
      if (!line.empty() && line.size() + 1 + word.size() > columns) {
        out += line + "\n";
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    return out + line;
  }
};
struct with_grouped_help : CLI::App {
  with_grouped_help()
      : CLI::App("napkin: how fast a large model runs on a machine, and what limits it", "napkin") {
    formatter(std::make_shared<grouped_help>());
  }
};

/// Commands of the program, each with its options.
struct commands {
  with_grouped_help app{};
  std::vector<std::unique_ptr<query_command>> queries{};
  query_command planning;
  CLI::App* explaining = app.add_subcommand(
      "explain", "One-page derivation of a result with the numbers filled in; --all: every step");
  std::vector<std::unique_ptr<explain_command>> explanations{};
  explain_row_command explaining_row;
  CLI::App* sensing = app.add_subcommand(
      "sensitivity", "Sensitivity analysis of a result: elasticities, crossovers, ranges");
  std::vector<std::unique_ptr<sensitivity_command>> sensitivities{};
  CLI::App* sweeping = app.add_subcommand(
      "sweep", "Table of a query over a grid of keys and accelerator facts: text, CSV, JSON");
  std::vector<std::unique_ptr<sweep_command>> sweeps{};
  CLI::App* batch =
      app.add_subcommand("batch", "JSON Lines on stdin: one result per request, line by line");
  std::string batch_profile{};
  int batch_threads = 0;
  audit_command auditing{app};
  calibrate_command calibrating;
  CLI::App* requiring = app.add_subcommand(
      "require", "Value of one accelerator fact that meets a latency or throughput target");
  CLI::App* thresholding = app.add_subcommand(
      "thresholds",
      "Load at which the better choice changes: speculation, weight formats, disaggregation, "
      "tensor parallelism");
  listing_command gpus{app, "gpus", "Accelerator catalogue, with the source of each value"};
  std::string exported{};
  listing_command models{app, "models", "Model catalogue, with the source of the shapes"};
  std::string exported_model{};
  napkin::simulation_files simulated{};
  napkin::plan_options plans{};
  std::string read_before{};  ///< options listed in the help that run() reads itself
  bool man_page = false;

  explicit commands(const napkin::words& said)
      : queries(of_queries<query_command>(app, said)),
        planning(app, napkin::plan_keys(), said),
        explaining_row(*explaining, said),
        calibrating(app, said) {
    for (const auto& q : queries) {
      if (napkin::has_figure(q->asked())) q->add_plot();
    }
    planning.add_plot();
    app.set_version_flag("--version", "napkin " PERFMODEL_VERSION);
    app.add_option("--completion", read_before, "completion script for a shell: bash, zsh, fish")
        ->type_name("");
    app.add_option("--color", read_before,
                   "bold, dim and red text: auto (at a terminal, unless NO_COLOR is set or TERM is "
                   "dumb), always, never; with any command")
        ->type_name("");
    app.add_flag("--man", man_page, "man page, for man -l");
    app.require_subcommand(1);
    app.footer(
        "Examples:\n"
        "  napkin plan --model llama-3.1-70b --gpu h100,h200 --isl 2048 --osl 512 --users 64 "
        "--itl 50ms\n"
        "  napkin serving --model llama-3.1-70b --gpu h100 --tp 4 --isl 2000 "
        "--osl 500 --qps 2\n"
        "  napkin model Qwen/Qwen3-32B\n"
        "  napkin gemm --gpu h100 --m 4096 --n 4096 --k 4096 --measured 310us\n");
    add_plan_files();
    add_searches(said);
    explaining->require_subcommand(1);
    if (said.mention("explain")) explanations = of_queries<explain_command>(*explaining, said);
    sensing->require_subcommand(1);
    if (said.mention("sensitivity"))
      sensitivities = of_queries<sensitivity_command>(*sensing, said);
    sweeping->require_subcommand(1);
    if (said.mention("sweep")) sweeps = of_queries<sweep_command>(*sweeping, said);
    add_own_options_help();
    add_simulation_files(*app.get_subcommand("simulate"), simulated);
    for (CLI::App* c :
         {app.get_subcommand(napkin::plan_keys().name), app.get_subcommand("serving")})
      c->add_flag("--check", plans.check, "also simulate the service, and compare both results")
          ->disable_flag_override();
    for (CLI::App* c : {app.get_subcommand(napkin::plan_keys().name), gpus.command, models.command})
      c->add_flag("--wide", plans.wide, "all columns and details; default: 100 columns")
          ->disable_flag_override();
    models.command
        ->add_option("--export", exported_model, "name of a model to print as a file for --model")
        ->type_name("");
    gpus.command
        ->add_option("--export", exported,
                     "name of an accelerator to print as a file for --accelerator")
        ->type_name("");
    batch
        ->add_option("--profile", batch_profile,
                     "profile file written by napkin calibrate, for the lines of its accelerator")
        ->type_name("")
        ->check(a_path());
    batch->add_option("--threads", batch_threads, "number of threads; default: one per core")
        ->type_name("")
        ->check(CLI::Range(0, 4096).description(""));
  }

  /// Options of sensitivity and sweep that their queries share, a line each.
  void add_own_options_help() {
    const auto lines = [](std::initializer_list<std::pair<const char*, const char*>> all) {
      std::string s = "Options of every SUBCOMMAND, in addition to its keys:\n";
      for (const auto& [name, help] : all) {
        const std::string label = napkin::cat("  ", name);
        s += napkin::cat(label, std::string(34 - label.size(), ' '), help, "\n");
      }
      return s;
    };
    sensing->footer(
        lines({{"--what-if NAME=LEAST..MOST", "range of the result over this range of an input"},
               {"--crossover NAME=LEAST..MOST", "where the limiter changes in this range"},
               {"--against KEY=VALUE", "where the faster of two requests changes"},
               {"--result KEY", "analysed result; default: the time"},
               {"--json", "print one JSON object"}}) +
        "\nExample: napkin sensitivity gemm --gpu h100 --m 64 --n 8192 --k 8192 --crossover "
        "m=1..4096");
    sweeping->footer(
        lines({{"--over KEY=LO..HI:N", "swept key or accelerator fact; also LO..HI:xF and A,B,C"},
               {"--best KEY", "the row with the least of a column; most: max:KEY"},
               {"--pareto KEY,KEY", "the rows that no other row beats in all of these columns"},
               {"--plot FILE", "figure over the last axis: FILE.svg, FILE.png, or text"},
               {"--csv", "CSV, a line per point"},
               {"--json", "print one JSON object"},
               {"--wide", "all columns; default: 100 characters"},
               {"--shard I/N", "part I of N of the points"},
               {"--threads N", "number of threads; default: one per core"},
               {"--mpi", "share the points among the ranks of mpirun"}}) +
        "\nExample: napkin sweep gemm --gpu h100 --n 8192 --k 8192 --over m=1..4096:x2");
  }
  /// Files of plan: a trace, and the folder to save in.
  void add_plan_files() {
    CLI::App* plan_command = app.get_subcommand(napkin::plan_keys().name);
    plan_command
        ->add_option(
            "--trace", plans.trace,
            "trace of recorded requests: the first rows are simulated with it; its mean lengths "
            "and rate are the load unless one is given")
        ->type_name("")
        ->check(a_path());
    plan_command
        ->add_option("--save", plans.folder,
                     "write into this folder how to start each row: scripts, README.md, plan.json")
        ->type_name("")
        ->check(a_path());
    plan_command
        ->add_option("--trace-format", plans.trace_format,
                     "format of the trace; default: by its content")
        ->type_name("");
  }
  /// Options of require and thresholds, and the keys of the query that their help is asked for.
  void add_searches(const napkin::words& said) {
    for (const auto& [name, help] :
         {std::pair("--itl,--tpot", "target: maximum mean ITL, or time of a step"),
          {"--ttft", "target: maximum mean TTFT"},
          {"--e2e", "target: maximum mean end-to-end latency"},
          {"--time", "target: maximum time of a step or an operator"},
          {"--throughput", "target: minimum output tokens/s"}})
      requiring->add_option(name, read_before, help)->type_name("");
    for (const auto& [name, help] :
         {std::pair("--from", "least load; default: 1 request, or 1/16 of the arrival rate"),
          {"--to", "largest load; default: 512 requests, or 16 times the arrival rate"},
          {"--result", "compared time; default: e2e_s of a service, time_s of a step"}})
      thresholding->add_option(name, read_before, help)->type_name("");
    for (CLI::App* search : {requiring, thresholding}) {
      for (const auto& [name, help] :
           {std::pair("--json", "print one JSON object"),
            {"--mode", "bound (roofline) or calibrated (prediction)"},
            {"--profile", "profile file written by napkin calibrate, in place of the shipped one"},
            {"--set", "changed accelerator fact, dram.bandwidth=6TB/s; repeatable"}})
        search->add_option(name, read_before, help)->type_name("");
      const std::string name = search->get_name();
      if (said.at(1) == name && !said.at(2).empty()) {
        add_keys(*search, napkin::find_query(said.at(2)));
      } else {
        search->footer(napkin::cat("Keys: napkin ", name,
                                   " QUERY --help. QUERY is optional: step with --batch, else "
                                   "serving.\n\nExample: napkin ",
                                   name, " --gpu h100 --model llama-3.1-8b --isl 2000 --osl 200 ",
                                   search == requiring ? "--users 16 --itl 5ms" : "--users 16"));
      }
    }
  }
  /// Lists the keys of a query in the help of a command, without the names of its own options.
  void add_keys(CLI::App& to, const napkin::query& asked) {
    for (const napkin::key& k : asked.keys) {
      std::string names;
      for (const std::string& s : napkin::spellings_of(asked, k)) {
        if (to.get_option_no_throw(s) == nullptr) names += names.empty() ? s : "," + s;
      }
      if (names.empty()) continue;
      to.add_option(names, read_before, napkin::key_help(k))
          ->type_name("")
          ->group(napkin::cat("Keys of ", asked.name));
    }
  }
  /// Throws inconsistent where an option that takes one value is given twice, in any spelling.
  void check_once(const napkin::words& said) const {
    const CLI::App* command = find_in(app, said.at(1));
    if (command == nullptr) return;
    const CLI::App* inner = find_in(*command, said.at(2));
    if (inner != nullptr && (command == explaining || command == sensing)) command = inner;
    std::map<const CLI::Option*, std::string> before;
    for (const std::string& word : said.all()) {
      if (!word.starts_with("--")) continue;
      const std::string name = word.substr(0, word.find('='));
      const CLI::Option* option = command->get_option_no_throw(name);
      const bool once = option != nullptr && option->get_items_expected_max() == 1 &&
                        option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
      if (!once) continue;
      const auto [at, is_first] = before.emplace(option, name);
      if (is_first) continue;
      throw perfmodel::error(perfmodel::error_code::inconsistent,
                             at->second == name
                                 ? napkin::cat(name, " is given twice; allowed: once")
                                 : napkin::cat(at->second, " and ", name,
                                               " are one option, given twice; allowed: once"));
    }
  }

  /// Throws unknown_query for an unknown command, or an unknown query of explain or sensitivity.
  void check(const napkin::words& said) const {
    for (const CLI::App* of :
         std::initializer_list<const CLI::App*>{&app, explaining, sensing, sweeping}) {
      const bool outer = of == &app;
      const std::string_view name = said.at(outer ? 1 : 2);
      if (name.empty() || (!outer && said.at(1) != of->get_name())) continue;
      const std::vector<std::string> known = names_in(*of);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::vector<std::string_view> names(known.begin(), known.end());
      throw perfmodel::error(
          napkin::code::unknown_query,
          napkin::cat(napkin::in_quotes(name),
                      outer ? " is not a query or command" : " is not a query", "; did you mean ",
                      napkin::nearest(name, names), "? napkin --help lists them"));
    }
  }
  static const CLI::App* find_in(const CLI::App& of, std::string_view name) {
    for (const CLI::App* c : of.get_subcommands([](const CLI::App*) { return true; })) {
      if (c->get_name() == name) return c;
    }
    return nullptr;
  }
  static std::vector<std::string> names_in(const CLI::App& of) {
    std::vector<std::string> names;
    for (const CLI::App* c : of.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(c->get_name());
    return names;
  }

  /// All commands with their options, for completion and the man page.
  std::vector<napkin::command_entry> entries() const {
    std::vector<napkin::command_entry> all;
    for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; })) {
      napkin::command_entry entry{c->get_name(), c->get_description(), {}, false};
      entry.of_queries = c == explaining || c == sensing || c == sweeping;
      for (const CLI::Option* o : c->get_options()) {
        napkin::option_entry option{{}, o->get_description(), o->get_items_expected_max() == 0, {}};
        for (const std::string& n : o->get_lnames()) option.names.push_back("--" + n);
        if (option.names.empty()) continue;  // a positional
        option.values = napkin::values_of_option(entry.name, option.names.front());
        entry.options.push_back(std::move(option));
      }
      all.push_back(std::move(entry));
    }
    const auto serving =
        std::find_if(all.begin(), all.end(), [](const auto& e) { return e.name == "serving"; });
    const std::vector<napkin::option_entry> keys = serving->options;
    for (napkin::command_entry& e : all) {
      if (e.name == "require" || e.name == "thresholds") add_other_options(e, keys);
    }
    return all;
  }

  /// Adds options to a command, without the names that it has.
  static void add_other_options(napkin::command_entry& to,
                                const std::vector<napkin::option_entry>& options) {
    std::vector<std::string> known;
    for (const napkin::option_entry& o : to.options)
      known.insert(known.end(), o.names.begin(), o.names.end());
    for (napkin::option_entry o : options) {
      std::erase_if(o.names, [&](const std::string& name) {
        return std::find(known.begin(), known.end(), name) != known.end();
      });
      if (!o.names.empty()) to.options.push_back(std::move(o));
    }
  }

  /// Exit status of the command.
  int run() const {
    if (batch->parsed()) {
      const auto profile = batch_profile.empty() ? nullptr : napkin::read_profile(batch_profile);
      const bool all = napkin::run_batch(std::cin, std::cout, profile.get(),
                                         napkin::batch_of::requests, batch_threads);
      return all ? success : some_lines_failed;
    }
    if (auditing.parsed()) return auditing.run();
    if (calibrating.parsed()) std::cout << napkin::calibrate(calibrating.request());
    if (planning.chosen())
      return napkin::run_plan(given_of(planning), plans) ? success : out_of_reach;
    if (!exported.empty()) {
      std::cout << napkin::accelerator_file_text(*napkin::named_accelerator(exported));
    } else if (gpus.command->parsed()) {
      list(gpus, plans.wide, napkin::accelerators_json, napkin::accelerators_text);
    }
    if (!exported_model.empty()) {
      std::cout << napkin::model_file_text(napkin::find_model(exported_model));
    } else if (models.command->parsed()) {
      list(models, plans.wide, napkin::models_json, napkin::models_text);
    }
    for (const auto& c : queries) {
      if (!c->chosen()) continue;
      if (std::string_view(c->asked().name) == "simulate") {
        napkin::run_simulation(given_of(*c), simulated);
      } else if (plans.check) {
        napkin::run_checked_service(given_of(*c));
      } else {
        napkin::run_query(given_of(*c));
      }
    }
    for (const auto& c : sweeps) {
      if (c->chosen()) return c->run();
    }
    for (const auto& c : sensitivities) {
      if (c->chosen()) c->run();
    }
    for (const auto& c : explanations) {
      if (c->chosen()) c->run();
    }
    if (explaining_row.chosen()) explaining_row.run();
    return success;
  }
};

/// `napkin audit --runs` and `napkin diagnose --runs`; other options are those of a service.
int run_reports(bool audits, const std::vector<std::string>& words) {
  const napkin::runs_request r = napkin::runs_from_command_line(words);
  const json found = audits ? napkin::audit_runs_json(r) : napkin::diagnose_runs_json(r);
  if (r.as_json) {
    print(found);
  } else {
    std::cout << (audits ? napkin::audit_runs_text(found) : napkin::diagnose_runs_text(found));
  }
  std::cout.flush();
  return std::cout ? success : fail("cannot write the result");
}

/// `napkin require` and `napkin thresholds`: options of their own, and the keys of a query.
int run_search(bool requires_facts, const std::vector<std::string>& words) {
  const auto finish = [](const auto& line, const auto& to_json, const auto& to_text) {
    std::unique_ptr<napkin::given_profile> profile;
    if (!line.profile.empty()) {
      profile = napkin::read_profile(line.profile);
      profile->must_match = true;
    }
    const json found = to_json(line.object, profile.get());
    if (line.as_json) {
      print(found);
    } else {
      std::cout << to_text(found);
    }
  };
  if (requires_facts) {
    finish(napkin::require_from_command_line(words), napkin::require_json, napkin::require_text);
  } else {
    finish(napkin::thresholds_from_command_line(words), napkin::thresholds_json,
           napkin::thresholds_text);
  }
  std::cout.flush();
  return std::cout ? success : fail("cannot write the result");
}

/// `napkin --completion SHELL` and `napkin --man`.
int run_tables(const std::vector<std::string>& given, int argc, char** argv) {
  std::vector<std::string> names = given;  // every command gets its options
  for (const napkin::query& q : napkin::all_queries()) names.emplace_back(q.name);
  names.insert(names.end(), {napkin::plan_keys().name, "explain", "sensitivity"});
  const napkin::words all_names(names, argc, argv);
  const commands all(all_names);
  const std::size_t equals = given[1].find('=');
  if (given[1] == "--man") {
    std::cout << napkin::man_text(all.entries());
  } else {
    if (equals == std::string::npos && argc < 3)
      throw perfmodel::error(napkin::code::missing_key,
                             "--completion has no value; allowed: bash, zsh, fish");
    std::vector<napkin::command_entry> entries = all.entries();
    for (napkin::command_entry& e : entries)
      e.options.push_back({{"--color"}, "styles of text", false, {"auto", "always", "never"}});
    std::cout << napkin::completion_text(
        equals == std::string::npos ? given[2] : given[1].substr(equals + 1), entries);
  }
  std::cout.flush();
  return std::cout ? success : fail("cannot write the result");
}

/// The arguments with the options that the help of their query lists.
std::vector<std::string> listed_words(int argc, char** argv) {
  std::vector<std::string> all = napkin::normalised(argc, argv);
  for (std::size_t i = 1; i < std::min<std::size_t>(all.size(), 3); ++i) {
    if (all[i] == napkin::plan_keys().name) {
      napkin::put_listed_options(all, napkin::plan_keys());
      return all;
    }
    for (const napkin::query& q : napkin::all_queries()) {
      if (all[i] != q.name) continue;
      napkin::put_listed_options(all, q);
      return all;
    }
  }
  return all;
}

int run(int argc, char** argv) {
  if (argc == 1) {
    std::cout << napkin::first_page();
    std::cout.flush();
    return std::cout ? success : fail("cannot write the result");
  }
  const napkin::words said(listed_words(argc, argv), argc, argv);
  if (said.at(1) == "audit" || said.at(1) == "diagnose") {
    const std::vector<std::string> words(said.all().begin() + 2, said.all().end());
    const bool helps = std::find(words.begin(), words.end(), "--help") != words.end();
    if (napkin::has_runs(words) && !helps) return run_reports(said.at(1) == "audit", words);
  }
  if (said.at(1) == "require" || said.at(1) == "thresholds") {
    const std::vector<std::string> words(said.all().begin() + 2, said.all().end());
    const auto helps = [](const std::string& w) { return w == "--help" || w == "-h"; };
    if (std::none_of(words.begin(), words.end(), helps))
      return run_search(said.at(1) == "require", words);
  }
  if (said.all()[1] == "--man" || said.all()[1].starts_with("--completion"))
    return run_tables(said.all(), argc, argv);
  commands all(said);
  all.check(said);
  all.check_once(said);
  int status = success;
  try {
    std::vector<std::string> words(said.all().rbegin(), said.all().rend() - 1);
    all.app.parse(std::move(words));
    status = all.run();
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
      return fail(std::string(e.what()) + "; napkin --help lists the commands");
    }
    all.app.exit(e);  // prints the help, or the version
  }
  std::cout.flush();
  return std::cout ? status : fail("cannot write the result");
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  try {
    std::vector<char*> arguments(argv, argv + argc);
    const std::string color = napkin::take_color(arguments);
    // mpirun gives a rank a pseudo-terminal, wherever its output goes.
    const bool ranks = std::any_of(arguments.begin(), arguments.end(),
                                   [](const char* a) { return a == std::string_view("--mpi"); });
    napkin::has_styles() = styles_text(ranks && color == "auto" ? "never" : color);
    return run(static_cast<int>(arguments.size()), arguments.data());
  } catch (const perfmodel::error& e) {
    return fail(perfmodel::code_text(e.code()) + ": " + napkin::message_of(e));
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
