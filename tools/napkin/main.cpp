// napkin: how fast a model runs on a machine, from the command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <perfmodel/core/version.hpp>

#include "audit.hpp"
#include "batch.hpp"
#include "calibrate.hpp"
#include "command_line.hpp"
#include "help.hpp"
#include "listing.hpp"
#include "output.hpp"
#include "planning.hpp"
#include "profile_file.hpp"
#include "sensitivity.hpp"
#include "service_runs.hpp"
#include "summary.hpp"

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

/// For an option that names a file.
CLI::Validator a_path() {
  return {[](const std::string& path) {
            return std::string(path.empty() ? "is empty; allowed: the path of a file" : "");
          },
          ""};
}

/// A query on the command line: --key value for each of its keys. What is no key is kept, so that
/// the request's own check answers it.
class query_command {
 public:
  query_command(CLI::App& parent, const napkin::query& asked, const napkin::words& said)
      : asked_(asked), said_(said), command_(parent.add_subcommand(asked.name, asked.help)) {
    if (said.mention(asked.name)) add_options();
  }

  bool chosen() const { return command_->parsed(); }
  bool as_json() const { return as_json_; }
  const napkin::query& asked() const { return asked_; }

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
      if (options_[i]->count() == 0) continue;
      const bool bare = k.kind == napkin::key_kind::flag && values_[i].empty();
      object[k.name] = napkin::from_command_line(&k, bare ? "true" : values_[i],
                                                 said_.spelling_among(napkin::spellings_of(k)));
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
    for (std::size_t i = 0; i < asked.keys.size(); ++i) {
      options_.push_back(command_->add_option(napkin::option_names(asked, asked.keys[i]),
                                              values_[i], napkin::key_help(asked.keys[i])));
      options_.back()->type_name("");
      if (asked.keys[i].kind == napkin::key_kind::flag) options_.back()->expected(0, 1);
    }
    id_option_ = command_->add_option("--id", id_, "echoed in the answer")->type_name("");
    mode_option_ = command_
                       ->add_option("--mode", mode_,
                                    "bound or calibrated; by default calibrated with the "
                                    "accelerator's profile, for models and services also with a "
                                    "transferred profile; otherwise bound")
                       ->type_name("");
    command_
        ->add_option("--profile", profile_,
                     "a file that napkin calibrate wrote, for the machine's own")
        ->type_name("")
        ->check(a_path());
    if (asked.find("accelerator") != nullptr) {
      command_
          ->add_option("--set", set_,
                       "fact=value: the accelerator with another fact, such as "
                       "dram.bandwidth=6TB/s; of one of several, h100_sxm.dram.bandwidth=6TB/s; "
                       "again for each")
          ->type_name("")
          ->expected(1)
          ->take_all();
    }
    if (napkin::has_prices(asked)) {
      price_option_ =
          command_
              ->add_option("--price", price_,
                           "of one accelerator, in USD/h; of several kinds h100_sxm=2.5,mi300x=2")
              ->type_name("");
    }
    command_->add_flag("--json", as_json_, "print one JSON object")->disable_flag_override();
  }

  /// Unknown options become unknown keys of the request; anything else is not expected at all.
  void add_unknown(json& object) const {
    const std::vector<std::string> extras = command_->remaining();
    for (const std::string& extra : extras) {
      if (extra.starts_with("--")) object[extra.substr(2, extra.find('=') - 2)] = nullptr;
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
  std::string id_{}, mode_{}, profile_{}, price_{};
  std::vector<std::string> set_{};
  bool as_json_ = false;
};

/// `napkin explain <query> ...`: a query's keys, and how much of its derivation is shown.
class explain_command {
 public:
  explain_command(CLI::App& parent, const napkin::query& asked, const napkin::words& said)
      : of_(parent, asked, said) {
    CLI::App* own = parent.get_subcommand(asked.name);
    own->add_option("--depth", options_.depth, "steps so far from the result [1 to 1000]")
        ->type_name("")
        ->check(CLI::Range(1, 1000).description(""));
    own->add_flag("--all", options_.all, "every step and every input")->disable_flag_override();
    own->add_flag("--markdown", options_.markdown, "as Markdown")->disable_flag_override();
  }
  bool chosen() const { return of_.chosen(); }
  void run() const {
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

/// `napkin explain plan --row N ...`: plan's keys, and which row of its table.
class explain_row_command {
 public:
  explain_row_command(CLI::App& parent, const napkin::words& said)
      : of_(parent, napkin::plan_keys(), said) {
    CLI::App* own = parent.get_subcommand(napkin::plan_keys().name);
    own->add_option("--row", row_, "of the table, from 1, cheapest first (default 1)")
        ->type_name("");
    own->add_flag("--markdown", markdown_, "as Markdown")->disable_flag_override();
  }
  bool chosen() const { return of_.chosen(); }
  void run() const {
    const json request = of_.request();
    const auto profile = of_.profile();
    std::cout << (of_.as_json()
                      ? napkin::write_json(napkin::plan_row_json(request, profile.get(), row_)) +
                            "\n"
                      : napkin::plan_row_text(request, profile.get(), row_, markdown_));
  }

 private:
  query_command of_;
  double row_ = 1.0;
  bool markdown_ = false;
};

/// `napkin sensitivity <query> --key value ...`: a query's keys, and what is asked of its answer.
class sensitivity_command {
 public:
  sensitivity_command(CLI::App& parent, const napkin::query& asked, const napkin::words& said)
      : of_(parent, asked, said) {
    CLI::App* own = parent.get_subcommand(asked.name);
    const auto several = [own](const char* names, std::vector<std::string>& into,
                               const char* help) {
      own->add_option(names, into, help)->type_name("")->expected(1)->take_all();
    };
    own->add_option("--result", key_, "which of the answers; by default its time")->type_name("");
    several("--crossover", crossover_, "name=least..most: where along it the limit changes");
    several("--against", against_,
            "key=value of a second request: where along it the winner changes");
    several("--what-if", what_if_, "name=least..most: the range of the answer over it");
  }
  bool chosen() const { return of_.chosen(); }
  void run() const {
    json object = {{"query", "sensitivity"}, {"of", of_.request()}};
    if (object["of"].contains("id")) {
      object["id"] = object["of"]["id"];
      object["of"].erase("id");
    }
    if (!key_.empty()) object["key"] = key_;
    for (const auto& x : crossover_) napkin::add_range(object["crossover"], "crossover", x);
    for (const auto& x : against_) napkin::add_other(object["against"], of_.asked(), x);
    for (const auto& x : what_if_) napkin::add_range(object["what_if"], "what-if", x);
    const auto profile = of_.profile();
    const json found = napkin::sensitivity_json(object, profile.get());
    std::cout << (of_.as_json() ? napkin::write_json(found) + "\n"
                                : napkin::sensitivity_text(object, found));
  }

 private:
  query_command of_;
  std::string key_{};
  std::vector<std::string> crossover_{}, against_{}, what_if_{};
};

/// A command of each query.
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
  std::string name{};
  bool as_json = false;

  listing_command(CLI::App& parent, const char* command_name, const char* help)
      : command(parent.add_subcommand(command_name, help)) {
    command->add_option("name", name, "one of them, in full")->type_name("");
    command->add_flag("--json", as_json, "print one JSON object")->disable_flag_override();
  }
};

void print(const json& object) {
  std::cout << napkin::write_json(object) << "\n";
}

/// Computes what a command asks for, and prints it as JSON or as text.
template <class Compute, class ToJson, class ToText>
auto answer(const query_command& c, Compute compute, ToJson to_json, ToText to_text) {
  const json request = c.request();
  const auto profile = c.profile();
  const auto found = compute(request, profile.get());
  const json object = to_json(found, request);  // refuses what is not finite
  if (c.as_json()) {
    print(object);
  } else {
    std::cout << to_text(found, request);
  }
  return found;
}
/// out_of_reach where no deployment meets the targets.
int plan(const query_command& c) {
  const auto found = answer(c, napkin::plan_of, napkin::plan_json, napkin::plan_text);
  return found.result.best ? success : out_of_reach;
}
void answer_query(const query_command& c) {
  const napkin::query& q = c.asked();
  answer(
      c, [&](const json& r, const auto* p) { return napkin::answer_of(q, r, p); },
      napkin::answer_json,
      [&](const auto& found, const json& r) { return napkin::answer_text(q, found, r); });
}
/// A catalogue, or one entry of it.
template <class ToJson, class ToText>
void list(const listing_command& c, ToJson to_json, ToText to_text) {
  if (c.as_json) {
    print(to_json(c.name));
  } else {
    std::cout << to_text(c.name);
  }
}

/// `napkin calibrate`, with the keys of a run as options.
class calibrate_command {
 public:
  explicit calibrate_command(CLI::App& app)
      : command_(app.add_subcommand(
            "calibrate",
            "A profile from measurements of your own: of a machine from latencies of matrix "
            "products (--data), of an engine from runs of a service (--runs)")),
        keys_(napkin::run_keys()),
        values_(keys_.size()) {
    command_
        ->add_option("--accelerator", r_.accelerator,
                     "whose: one that `napkin gpus` lists, or an accelerator file")
        ->required()
        ->type_name("");
    add_path("--data", r_.data, "a CSV with dtype, m, n, k and latency_us, or a recording");
    command_
        ->add_option(
            "--runs", r_.runs,
            "benchmark runs: a CSV with the keys below, itl_ms and ttft_ms, or what vllm bench "
            "serve or SGLang's bench_serving wrote; one file or more")
        ->type_name("")
        ->check(a_path());
    command_->add_option("--gpu", r_.gpu, "only the rows of this gpu")->type_name("");
    command_->add_option("--backend", r_.backend, "only the rows of this backend")->type_name("");
    add_path("--out", r_.out, "the file that the profile is written to");
    command_->add_flag("--json", r_.as_json, "print the profile as one JSON object")
        ->disable_flag_override();
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].name == std::string_view("accelerator")) continue;
      std::string names = napkin::cat("--", keys_[i].name), hyphens = names;
      std::replace(hyphens.begin() + 2, hyphens.end(), '_', '-');
      if (hyphens != names) names += "," + hyphens;
      command_->add_option(names, values_[i], napkin::cat("of all runs: ", keys_[i].help))
          ->type_name("");
    }
  }

  bool parsed() const { return command_->parsed(); }
  napkin::calibrate_request request() const {
    napkin::calibrate_request r = r_;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (values_[i].empty()) continue;
      r.constants[keys_[i].name] = napkin::from_command_line(&keys_[i], values_[i]);
    }
    return r;
  }

 private:
  void add_path(const char* name, std::string& into, const char* help) {
    command_->add_option(name, into, help)->type_name("")->check(a_path());
  }

  CLI::App* command_;
  std::vector<napkin::key> keys_;
  std::vector<std::string> values_;
  napkin::calibrate_request r_{};
};

/// `napkin audit`: claims on stdin, or one as --key value.
class audit_command {
 public:
  explicit audit_command(CLI::App& app)
      : command_(
            app.add_subcommand("audit",
                               "Whether published numbers can be true: claims on stdin as JSON "
                               "Lines, or one as --quantity, --value, --unit and its keys")) {
    command_->allow_extras();
    command_->add_flag("--json", as_json_, "print one JSON object")->disable_flag_override();
  }
  bool parsed() const { return command_->parsed(); }
  int run() const {
    const std::vector<std::string> extras = command_->remaining();
    if (extras.empty()) {
      const bool all = napkin::answer_batch(std::cin, std::cout, nullptr, napkin::batch_of::claims);
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

/// Commands under headings, a line each; below explain and sensitivity, whose commands are the same, one line.
class grouped_help : public CLI::Formatter {
 public:
  grouped_help() { column_width(34); }
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
};
struct with_grouped_help : CLI::App {
  with_grouped_help()
      : CLI::App("napkin: how fast a large model runs on a machine, and what limits it", "napkin") {
    formatter(std::make_shared<grouped_help>());
  }
};

/// The commands of the program, each with its options.
struct commands {
  with_grouped_help app{};
  std::vector<std::unique_ptr<query_command>> queries{};
  query_command planning;
  CLI::App* explaining = app.add_subcommand(
      "explain", "An answer on one screen, to be done again by hand; --all: its whole derivation");
  std::vector<std::unique_ptr<explain_command>> explanations{};
  explain_row_command explaining_row;
  CLI::App* sensing = app.add_subcommand(
      "sensitivity", "What a query's answer hangs on: elasticities, crossovers, ranges");
  std::vector<std::unique_ptr<sensitivity_command>> sensitivities{};
  CLI::App* batch =
      app.add_subcommand("batch", "JSON Lines on stdin: a request in, an answer out, line by line");
  std::string batch_profile{};
  audit_command auditing{app};
  calibrate_command calibrating{app};
  listing_command gpus{app, "gpus", "The accelerators, with the source of each value"};
  std::string exported{};
  listing_command models{app, "models", "The models, with the source of their shapes"};
  std::string exported_model{};

  explicit commands(const napkin::words& said)
      : queries(of_queries<query_command>(app, said)),
        planning(app, napkin::plan_keys(), said),
        explaining_row(*explaining, said) {
    app.set_version_flag("--version", "napkin " PERFMODEL_VERSION);
    app.require_subcommand(1);
    explaining->require_subcommand(1);
    if (said.mention("explain")) explanations = of_queries<explain_command>(*explaining, said);
    sensing->require_subcommand(1);
    if (said.mention("sensitivity"))
      sensitivities = of_queries<sensitivity_command>(*sensing, said);
    models.command
        ->add_option("--export", exported_model, "print that one as a file that --model takes")
        ->type_name("");
    gpus.command
        ->add_option("--export", exported, "print that one as a file that --accelerator takes")
        ->type_name("");
    batch
        ->add_option("--profile", batch_profile,
                     "a file that napkin calibrate wrote, for the lines of its accelerator")
        ->type_name("")
        ->check(a_path());
  }

  /// Throws unknown_query where the command, or that of explain or sensitivity, is none.
  void check(const napkin::words& said) const {
    for (const CLI::App* of : std::initializer_list<const CLI::App*>{&app, explaining, sensing}) {
      const bool outer = of == &app;
      const std::string_view name = said.at(outer ? 1 : 2);
      if (name.empty() || (!outer && said.at(1) != of->get_name())) continue;
      const std::vector<std::string> known = names_in(*of);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::vector<std::string_view> names(known.begin(), known.end());
      throw perfmodel::error(
          napkin::code::unknown_query,
          napkin::cat(napkin::in_quotes(name), outer ? " is no query or command" : " is no query",
                      "; did you mean ", napkin::nearest(name, names),
                      "? napkin --help lists them"));
    }
  }
  static std::vector<std::string> names_in(const CLI::App& of) {
    std::vector<std::string> names;
    for (const CLI::App* c : of.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(c->get_name());
    return names;
  }

  /// The exit status of what was asked for.
  int run() const {
    if (batch->parsed()) {
      const auto profile = batch_profile.empty() ? nullptr : napkin::read_profile(batch_profile);
      return napkin::answer_batch(std::cin, std::cout, profile.get()) ? success : some_lines_failed;
    }
    if (auditing.parsed()) return auditing.run();
    if (calibrating.parsed()) std::cout << napkin::calibrate(calibrating.request());
    if (planning.chosen()) return plan(planning);
    if (!exported.empty()) {
      std::cout << napkin::accelerator_file_text(*napkin::named_accelerator(exported));
    } else if (gpus.command->parsed()) {
      list(gpus, napkin::accelerators_json, napkin::accelerators_text);
    }
    if (!exported_model.empty()) {
      std::cout << napkin::model_file_text(napkin::find_model(exported_model));
    } else if (models.command->parsed()) {
      list(models, napkin::models_json, napkin::models_text);
    }
    for (const auto& c : queries) {
      if (c->chosen()) answer_query(*c);
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

int run(int argc, char** argv) {
  const napkin::words said(argc, argv);
  commands all(said);
  all.check(said);
  int status = success;
  try {
    all.app.parse(argc, argv);
    status = all.run();
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
      return fail(std::string(e.what()) + "; napkin --help lists the commands");
    }
    all.app.exit(e);  // prints the help, or the version
  }
  std::cout.flush();
  return std::cout ? status : fail("cannot write the answer");
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  try {
    return run(argc, argv);
  } catch (const perfmodel::error& e) {
    return fail(perfmodel::code_text(e.code()) + ": " + napkin::message_of(e));
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
