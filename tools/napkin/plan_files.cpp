#include "plan_files.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <perfmodel/step/memory.hpp>

#include "command_line.hpp"
#include "engine_commands.hpp"
#include "io/files.hpp"
#include "output.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
namespace fs = std::filesystem;

constexpr int service_port = 8000, prefill_port = 8100, decode_port = 8200;

/// A file of the folder.
struct plan_file {
  std::string name{}, text{};
};

std::string row_number(double x) {
  return pm::detail::significant(x, 10);
}
/// A word for a shell: quoted where it has other than plain characters.
std::string shell_word(const std::string& s) {
  const bool plain = !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./,=:@+%").find(c) != std::string_view::npos;
  });
  if (plain) return s;
  std::string out = "'";
  for (const char c : s) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Hub name of a model: as given, or that of its shapes' source; empty where neither names one.
std::string hub_name_of(const std::string& given) {
  if (is_file(given) && fs::exists(given)) return fs::absolute(given).lexically_normal().string();
  if (given.find('/') != given.npos) return given;
  const std::string& source = find_model(given).source;
  const std::size_t end = source.find(" config.json");
  if (end == source.npos) return {};
  const std::size_t start = source.rfind(' ', end - 1) + 1;
  const std::string name = source.substr(start, end - start);
  return name.find('/') == name.npos ? std::string() : name;
}
/// Folder of a given config.json: what an engine loads.
std::string loaded_name_of(const std::string& given) {
  const std::string name = hub_name_of(given);
  return name.ends_with("/config.json") ? fs::path(name).parent_path().string() : name;
}

/// Format in which an engine quantises 16-bit weights while it loads them; and whether the row
/// needs another checkpoint.
struct weight_choice {
  std::optional<pm::number_format> quantise{};
  bool other_checkpoint = false;
};
weight_choice weights_of(const pm::plan_point& p, pm::engine e, const found_model& found) {
  const pm::number_format wanted = p.precision.weights.linear.format;
  const pm::number_format stored = found.stored.linear.format;
  const bool wide = pm::bits_of(stored) >= 16.0;
  if (wanted == stored || (wide && pm::bits_of(wanted) >= 16.0)) return {};
  const bool on_load = wide && wanted == pm::number_format::fp8 && e != pm::engine::trtllm;
  if (on_load) return {wanted, false};
  return {{}, true};
}

/// The memory share in the engine's own meaning: TensorRT-LLM's is of the memory that weights,
/// activations and runtime leave.
double memory_share_of(const pm::deployment& d, pm::engine e) {
  const pm::memory_budget b = memory_budget_of(d);
  if (e != pm::engine::trtllm) return b.utilization;
  const double capacity = d.device.dram.capacity.quantity().value();
  const double reserved = (b.weights + b.activations + b.runtime).value();
  return std::clamp((b.utilization * capacity - reserved) / (capacity - reserved) + 1e-9, 0.0, 1.0);
}

/// Tokens of the longest request: prompt and output three standard deviations above their means, at
/// most the model's context.
double longest_request(const pm::plan_request& q) {
  const pm::service_load& l = q.load;
  const double tokens = std::ceil(l.input_tokens * (1.0 + 3.0 * l.input_cv) +
                                  l.output_tokens * (1.0 + 3.0 * l.output_cv));
  const auto most = q.model.max_context;
  return most ? std::min(tokens, *most) : tokens;
}

/// Running requests of a replica in its engine's settings. vLLM and TensorRT-LLM reserve memory for
/// each: no more than their default, unless the load has more in flight. A row of an open loop is
/// limited by its KV cache alone, which may hold many thousands.
double running_requests_of(const pm::plan_point& p, const pm::deployment& d, double replicas) {
  const double limit = p.batch_limit / replicas;
  if (d.serving_engine != pm::engine::vllm && d.serving_engine != pm::engine::trtllm) return limit;
  const double own = *pm::engine_limits_on(
                          d.serving_engine, {}, d.device.dram.capacity.quantity(), d.layout.tensor,
                          d.device.architecture == pm::chip_architecture::ampere, d.release)
                          .sequences;
  return std::min(limit, std::max(own * d.layout.data, 1.5 * p.serving.batch / replicas));
}

server_settings settings_of(const planned& plan, const pm::plan_point& p, pm::engine e,
                            const found_model& found, server_role role) {
  const pm::plan_request& q = plan.request;
  server_settings s;
  s.by = e;
  s.role = role;
  pm::deployment d = pm::deployment_of(q, p);
  if (role == server_role::prefill) d = pm::pools_of(q, p).prefill.deployment;
  d.serving_engine = e;
  s.layout = d.layout;
  const bool is_part = p.prefill && role == server_role::decode;
  s.running_requests =
      std::max(1.0, std::ceil(running_requests_of(p, d, is_part ? double(p.replicas) : 1.0)));
  if (p.chunk_tokens) {
    s.step_tokens = p.chunk_tokens;
  } else if (q.limits.tokens) {
    s.step_tokens = q.limits.tokens;
  }
  s.memory_share = memory_share_of(d, e);
  s.prompt = longest_prompt(q.load.input_tokens, q.load.input_cv);
  s.context = longest_request(q);
  s.kv = p.precision.kv.format;
  s.quantise = weights_of(p, e, found).quantise;
  s.cuda_graphs = q.cuda_graphs;
  if (p.speculation_index && role != server_role::prefill) {
    const pm::speculation& x = q.speculations[*p.speculation_index];
    s.speculation = server_speculation{x.by != pm::drafter::lookup, x.length};
  }
  return s;
}

/// Engines with commands for a row: its own; for a bound without an engine, all on its kind of
/// accelerator.
std::vector<pm::engine> engines_of(const planned& plan, const pm::plan_point& p) {
  if (p.serving_engine != pm::engine::none) return {p.serving_engine};
  std::vector<pm::engine> all;
  for (const pm::accelerator& a : plan.request.accelerators) {
    if (!(a.name == p.accelerator)) continue;
    for (const pm::engine e : pm::engines_on(a)) {
      if (e != pm::engine::none) all.push_back(e);
    }
  }
  return all;
}

/// Variable that chooses the devices of a process.
const char* device_variable(const pm::accelerator& a) {
  return pm::facts_of(a.architecture).kind == pm::machine_kind::gpu_nvidia ? "CUDA_VISIBLE_DEVICES"
                                                                           : "HIP_VISIBLE_DEVICES";
}

std::string comment(const std::string& text) {
  return text.empty() ? "" : "# " + text + "\n";
}

/// Parts of a script that all have: what the row is, the model, the port.
std::string opening(const std::string& row, pm::engine e, const std::string& usage) {
  return cat("#!/usr/bin/env bash\n", comment(row), comment("Flags of " + version_of(e) + "."),
             comment(usage), "set -eu\n");
}
std::string model_line(const std::string& name, const weight_choice& w, const pm::plan_point& p) {
  if (w.other_checkpoint || name.empty()) {
    const std::string what = w.other_checkpoint
                                 ? cat("an ", pm::name_of(p.precision.weights.linear.format),
                                       " checkpoint of ", name.empty() ? "the model" : name)
                                 : std::string("the hub name or folder of the model");
    return cat("MODEL=${MODEL:?set it to ", what, "}\n");
  }
  return cat("MODEL=${MODEL:-", shell_word(name), "}\n");
}

/// A pool of servers of one command.
struct server_pool {
  std::string name{};  ///< file name without extension: row_1_vllm_prefill
  int replicas = 1, port = service_port;
  int first_gpu = 0;
  const char* devices = "CUDA_VISIBLE_DEVICES";
  server_settings settings{};
};

/// End of a script: starts the replicas that are named, or those that one node holds. Two on the
/// same GPUs are refused.
std::string replicas_of_node(int replicas) {
  return cat(
      "case ${1-} in -h | --help) sed -n 's/^# //p' \"$0\" && exit ;; esac\n",
      "if [ $# -eq 0 ]; then\n"
      "  replicas=",
      replicas,
      " on_node=$(((GPUS_PER_NODE - FIRST_GPU % GPUS_PER_NODE) / ranks))\n"
      "  if ((on_node < 1)); then on_node=1; fi\n"
      "  if ((on_node > replicas)); then on_node=$replicas; fi\n"
      "  set -- $(seq 0 $((on_node - 1)))\n"
      "  if ((on_node < replicas)); then\n"
      "    echo \"Replicas $on_node to $((replicas - 1)) go on other nodes: bash "
      "${0##*/} $on_node ... there\" >&2\n"
      "  fi\n"
      "fi\n"
      "taken=' '\n"
      "for replica; do\n"
      "  first=$(((FIRST_GPU + replica * ranks) % GPUS_PER_NODE))\n"
      "  case $taken in\n"
      "    *\" $first \"*)\n"
      "      echo \"replica $replica: another one of this call has its GPUs, from $first on; "
      "start it on the next node\" >&2\n"
      "      exit 2\n"
      "      ;;\n"
      "  esac\n"
      "  taken=\"$taken$first \"\n"
      "done\n"
      "status=0 pids=\nfor replica; do\n  serve \"$replica\" &\n  pids=\"$pids $!\"\ndone\n"
      "for pid in $pids; do wait \"$pid\" || status=1; done\nexit $status\n");
}

std::string script_of(const server_pool& pool, const std::string& row, const std::string& model) {
  const server_command c = command_of(pool.settings);
  const pm::engine e = pool.settings.by;
  const int ranks = pool.settings.layout.ranks();
  std::string s =
      opening(row, e,
              cat("Usage: bash ", pool.name, ".sh [REPLICA...]; default: those of ", pool.replicas,
                  " that this node holds, from 0. It ends with its servers."));
  for (const std::string& note : c.notes) s += comment("Note: " + note + ".");
  s += model;
  s += cat("HOST=${HOST:-0.0.0.0}\nPORT=${PORT:-", pool.port,
           "} # of replica 0; replica n has PORT + n\n", "FIRST_GPU=${FIRST_GPU:-", pool.first_gpu,
           "} GPUS_PER_NODE=${GPUS_PER_NODE:-8}\n", "ranks=", ranks, "\n");
  if (!c.yaml.empty()) s += "here=$(cd \"$(dirname \"$0\")\" && pwd)\n";
  s += "serve() { # <replica>\n"
       "  local first=$(((FIRST_GPU + $1 * ranks) % GPUS_PER_NODE))\n"
       "  if ((first + ranks > GPUS_PER_NODE)); then\n"
       "    echo \"replica $1: GPUs $first to $((first + ranks - 1)) of $GPUS_PER_NODE; another "
       "node: FIRST_GPU=0, GPUS_PER_NODE\" >&2\n"
       "    return 1\n"
       "  fi\n";
  s += cat("  export ", pool.devices, "\n  ", pool.devices,
           "=$(seq -s, \"$first\" $((first + ranks - 1)))\n");
  if (e == pm::engine::vllm && pool.settings.role != server_role::whole)
    s += cat("  export VLLM_NIXL_SIDE_CHANNEL_PORT=$((",
             pool.settings.role == server_role::prefill ? 5600 : 5800, " + $1 * ranks))\n");
  s += "  exec";
  for (const std::string& word : c.program) s += " " + word;
  for (const auto& [flag, value] : c.flags)
    s += cat(" \\\n    ", flag, value.empty() ? "" : " ", value);
  if (!c.yaml.empty()) s += cat(" \\\n    --config \"$here/", pool.name, ".yml\"");
  if (e == pm::engine::sglang && pool.settings.role == server_role::prefill)
    s += " \\\n    --disaggregation-bootstrap-port $((8998 + $1))";
  s += " \\\n    --host \"$HOST\" --port $((PORT + $1))\n}\n";
  return s + replicas_of_node(pool.replicas);
}

std::vector<plan_file> files_of(const server_pool& pool, const std::string& row,
                                const std::string& model) {
  std::vector<plan_file> all{{pool.name + ".sh", script_of(pool, row, model)}};
  const std::string yaml = command_of(pool.settings).yaml;
  if (!yaml.empty())
    all.push_back(
        {pool.name + ".yml",
         comment(row) + comment("Options of " + version_of(pool.settings.by) + ".") + yaml});
  return all;
}

/// "http://localhost:8100 http://localhost:8101"
std::vector<std::string> addresses_of(const server_pool& pool) {
  std::vector<std::string> all;
  for (int i = 0; i < pool.replicas; ++i) all.push_back(cat("localhost:", pool.port + i));
  return all;
}
std::string urls_yaml(const char* name, const server_pool& pool) {
  std::string s = cat(name, ":\n  num_instances: ", pool.replicas, "\n  urls:\n");
  for (const std::string& a : addresses_of(pool)) s += cat("    - \"", a, "\"\n");
  return s;
}

/// What distributes the requests over two pools.
std::vector<plan_file> front_of(const std::string& name, pm::engine e, const server_pool& prefill,
                                const server_pool& decode, const std::string& row) {
  std::string s = opening(row, e, cat("Usage: bash ", name, ".sh, after both pools."));
  const auto hosts = [](const server_pool& pool) {
    std::string h, p;
    for (int i = 0; i < pool.replicas; ++i) {
      h += " localhost";
      p += cat(" ", pool.port + i);
    }
    return std::pair(h, p);
  };
  if (e == pm::engine::vllm) {
    const auto [ph, pp] = hosts(prefill);
    const auto [dh, dp] = hosts(decode);
    s +=
        cat("VLLM_SOURCE=${VLLM_SOURCE:?set it to a clone of vLLM, which has this example proxy}\n",
            "exec python3 \"$VLLM_SOURCE/tests/v1/kv_connector/nixl_integration/"
            "toy_proxy_server.py\" \\\n    --host \"${HOST:-0.0.0.0}\" --port \"${PORT:-",
            service_port, "}\" \\\n    --prefiller-hosts", ph, " --prefiller-ports", pp,
            " \\\n    --decoder-hosts", dh, " --decoder-ports", dp, "\n");
    return {{name + ".sh", s}};
  }
  if (e == pm::engine::sglang) {
    s += "exec python3 -m sglang_router.launch_router --pd-disaggregation";
    for (int i = 0; i < prefill.replicas; ++i)
      s += cat(" \\\n    --prefill http://localhost:", prefill.port + i, " ", 8998 + i);
    for (const std::string& a : addresses_of(decode)) s += cat(" \\\n    --decode http://", a);
    s += cat(" \\\n    --host \"${HOST:-0.0.0.0}\" --port \"${PORT:-", service_port, "}\"\n");
    return {{name + ".sh", s}};
  }
  s += cat("here=$(cd \"$(dirname \"$0\")\" && pwd)\nexec trtllm-serve disaggregated -c \"$here/",
           name, ".yml\"\n");
  std::string yaml = comment(row) + comment("Options of " + version_of(e) + ".");
  yaml += cat("hostname: 0.0.0.0\nport: ", service_port, "\nbackend: pytorch\n",
              urls_yaml("context_servers", prefill), urls_yaml("generation_servers", decode));
  return {{name + ".sh", s}, {name + ".yml", yaml}};
}

/// The files that start a row under one engine.
std::vector<plan_file> start_of(const planned& plan, std::size_t at, pm::engine e,
                                const json& request) {
  const pm::plan_point& p = plan.result.frontier[at];
  const std::string given = request.at("model").get<std::string>();
  const found_model& found = find_model(given);
  const std::string name = cat("row_", at + 1, "_", pm::name_of(e));
  const std::string row = cat("Row ", at + 1, " of the plan: ", deployment_text(p), ".");
  const std::string model = model_line(loaded_name_of(given), weights_of(p, e, found), p);
  const auto pool_of = [&](server_role role, const char* suffix, int replicas, int port,
                           int first_gpu) {
    server_pool pool{name + suffix, replicas, port,
                     first_gpu,     "",       settings_of(plan, p, e, found, role)};
    const pm::deployment d = role == server_role::prefill
                                 ? pm::pools_of(plan.request, p).prefill.deployment
                                 : pm::deployment_of(plan.request, p);
    pool.devices = device_variable(d.device);
    return pool;
  };
  if (!p.prefill)
    return files_of(pool_of(server_role::whole, "", p.replicas, service_port, 0), row, model);
  const server_pool prefill =
      pool_of(server_role::prefill, "_prefill", p.prefill->replicas, prefill_port, 0);
  const int used = is_mixed(p) ? 0 : (p.prefill->layout.ranks() * p.prefill->replicas) % 8;
  const server_pool decode = pool_of(server_role::decode, "_decode", p.replicas, decode_port, used);
  std::vector<plan_file> all = files_of(prefill, row, model);
  for (plan_file& f : files_of(decode, row, model)) all.push_back(std::move(f));
  for (plan_file& f : front_of(name + "_router", e, prefill, decode, row))
    all.push_back(std::move(f));
  return all;
}

/// Options of `serving` for the keys of a plan's request that a row does not decide, and its --set.
std::string other_keys_of(const json& request, const query& serving) {
  std::string s;
  constexpr std::string_view said[] = {
      "model",         "accelerator",  "engine",        "weight_format", "activation_format",
      "kv_format",     "input_tokens", "output_tokens", "concurrency",   "requests_per_s",
      "max_sequences", "chunk_tokens", "draft_length",  "mtp",           "ttft",
      "itl",           "ttft_limit_s", "itl_limit_s"};
  for (const auto& [name, value] : request.items()) {
    const key* k = serving.find(name);
    if (k == nullptr || std::find(std::begin(said), std::end(said), name) != std::end(said))
      continue;
    if (value.is_array()) {
      std::string list;
      for (const json& x : value) list += cat(list.empty() ? "" : ",", x.dump());
      s += cat(" ", option_of(k->name), " ", shell_word(list));
    } else {
      s += cat(" ", option_of(k->name), " ",
               shell_word(value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  if (request.contains("set")) {
    for (const auto& [fact, value] : request["set"].items())
      s += cat(
          " --set ",
          shell_word(cat(fact, "=", value.is_string() ? value.get<std::string>() : value.dump())));
  }
  return s;
}

/// The accelerator of a row as the request names it: a file, or its key.
std::string accelerator_of(const planned& plan, const pm::plan_point& p, const json& request) {
  const bool named = request.at("accelerator").is_string() &&
                     std::ranges::any_of(plan.accelerators, [&](const auto& given) {
                       return given->name == p.accelerator;
                     });
  if (named) {
    for (const auto name : split(request.at("accelerator").get_ref<const std::string&>(), ',')) {
      if (is_file(name) && named_accelerator(name)->name == p.accelerator) return std::string(name);
    }
  }
  return p.accelerator.c_str();
}

}  // namespace

std::string serving_command_of(const planned& plan, std::size_t at, const json& request) {
  const pm::plan_point& p = plan.result.frontier[at];
  const pm::plan_request& q = plan.request;
  if (is_mixed(p) || (p.prefill && (p.prefill->layout.pipeline > 1 || p.layout.pipeline > 1)))
    return {};
  const query& serving = find_query("serving");
  std::string s = "napkin serving";
  const auto add = [&s](const char* key, const std::string& value) {
    s += cat(" ", option_of(key), " ", shell_word(value));
  };
  const auto add_number = [&add](const char* key, double value) { add(key, row_number(value)); };
  const auto add_layout = [&](const char* prefix, const pm::parallel_layout& l, bool pipeline) {
    const auto degree = [&](const char* name, int value) {
      if (value > 1 || *prefix != '\0') add_number(cat(prefix, name).c_str(), value);
    };
    degree("tensor_parallel", l.tensor);
    if (pipeline) degree("pipeline_parallel", l.pipeline);
    degree("expert_parallel", l.expert);
    degree("data_parallel", l.data);
  };
  add("model", request.at("model").get<std::string>());
  add("accelerator", accelerator_of(plan, p, request));
  add("engine", pm::name_of(p.serving_engine));
  if (p.prefill) {
    add_layout("prefill_", p.prefill->layout, false);
    add_number("prefill_replicas", p.prefill->replicas);
    add_layout("decode_", p.layout, false);
    add_number("decode_replicas", p.replicas);
  } else {
    add_layout("", p.layout, true);
    if (p.replicas > 1) add_number("replicas", p.replicas);
  }
  const found_model& found = find_model(request.at("model").get<std::string>());
  if (!(p.precision.weights.linear.format == found.stored.linear.format)) {
    add("weight_format", pm::name_of(p.precision.weights.linear.format));
    add("activation_format", pm::name_of(p.precision.activations));
  } else if (request.contains("activation_format")) {
    add("activation_format", pm::name_of(p.precision.activations));
  }
  add("kv_format", pm::name_of(p.precision.kv.format));
  add_number("input_tokens", q.load.input_tokens);
  add_number("output_tokens", q.load.output_tokens);
  if (q.load.is_closed()) {
    add_number("concurrency", q.load.concurrency());
    const double each = q.load.concurrency() / (p.prefill ? 1.0 : p.replicas);
    if (p.batch_limit < each) add_number("max_sequences", p.batch_limit / p.layout.data);
  } else {
    add_number("requests_per_s", q.load.rate().value());
    const pm::deployment d = pm::deployment_of(q, p);
    add_number("max_sequences", std::ceil(running_requests_of(p, d, 1.0) / p.layout.data));
  }
  if (p.chunk_tokens) add_number("chunk_tokens", *p.chunk_tokens);
  if (p.speculation_index) {
    const pm::speculation& x = q.speculations[*p.speculation_index];
    add_number(x.by == pm::drafter::lookup ? "draft_length" : "mtp", x.length);
  }
  s += other_keys_of(request, serving);
  s += plan.calibrations.empty() ? " --mode bound" : " --mode calibrated";
  return s + " --method closed_form";
}

namespace {

constexpr const char* folder_schema = "perfmodel.plan_folder";

/// File names of a plan that was saved in a folder; none where it has none.
std::vector<std::string> saved_before(const fs::path& folder) {
  std::string why;
  const auto text = try_read((folder / "plan.json").string(), std::uintmax_t{64} << 20U, why);
  if (!text) return {};
  const json before = json::parse(*text, nullptr, false);
  if (!before.is_object() || before.value("schema", "") != folder_schema) return {};
  std::vector<std::string> names{"plan.json"};
  for (const json& f : before.value("files", json::array())) {
    if (f.is_string()) names.push_back(f.get<std::string>());
  }
  return names;
}

/// Makes the folder ready: it exists, and an earlier plan's files are removed.
void prepare(const std::string& path) {
  std::error_code failure;
  const fs::path folder(path);
  if (fs::exists(folder, failure) && !fs::is_directory(folder, failure))
    unreadable("save", path, "is not a folder");
  fs::create_directories(folder, failure);
  if (failure) unreadable("save", path, cat("cannot be created: ", failure.message()));
  const std::vector<std::string> before = saved_before(folder);
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (std::find(before.begin(), before.end(), name) == before.end())
      unreadable("save", path,
                 cat("has other files, ", in_quotes(name),
                     "; allowed: a new or empty folder, or one of an earlier plan"));
  }
  for (const std::string& name : before) {
    if (name.find('/') == name.npos) fs::remove(folder / name, failure);
  }
}

std::string readme_of(const planned& plan, const json& rows) {
  std::string s =
      cat("# A plan of napkin ", PERFMODEL_VERSION, "\n\n", conclusion_text(plan), "\n");
  s += "| row | deployment | TTFT | ITL | start it |\n|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const pm::plan_point& p = plan.result.frontier[i];
    std::string start;
    for (const json& engine : rows[i]["start"]) {
      for (const json& f : engine["files"]) {
        const std::string& name = f.get_ref<const std::string&>();
        if (name.ends_with(".sh")) start += cat(start.empty() ? "" : ", ", "`", name, "`");
      }
    }
    s += cat("| ", i + 1, " | ", deployment_text(p), " | ", pm::to_string(p.serving.ttft), " | ",
             pm::to_string(p.serving.itl), " | ", start.empty() ? "-" : start, " |\n");
  }
  s += "\n- Scripts start the servers of a row that one node holds; `FIRST_GPU`, `GPUS_PER_NODE`, "
       "`PORT` and `MODEL`\n  change what their first lines say. Others go on further nodes, by "
       "number: "
       "`bash row_N_ENGINE.sh 4 5`.\n"
       "- Requests go to the ports of all replicas (a load balancer in front), or to the router of "
       "two pools.\n"
       "- Flags are those of the engine version in each script. The context limit is the load's "
       "longest request.\n"
       "- Predict a row again, and compare it with your benchmark by `--measured`:\n\n```sh\n";
  for (const json& row : rows) {
    if (row["serving"].is_string()) s += row["serving"].get<std::string>() + "\n";
  }
  return s + "```\n";
}

}  // namespace

std::string save_plan(const std::string& folder, const planned& plan, const json& request) {
  if (folder.empty()) unreadable("save", folder, "is empty; allowed: a folder");
  std::vector<plan_file> files;
  json rows = json::array();
  if (plan.result.frontier.empty()) return "Nothing saved: no deployment fits.\n";
  const json all = plan_json(plan, request);
  for (std::size_t i = 0; i < plan.result.frontier.size(); ++i) {
    json row = {{"row", i + 1}, {"result", all["frontier"][i]}, {"start", json::array()}};
    for (const pm::engine e : engines_of(plan, plan.result.frontier[i])) {
      json names = json::array();
      for (plan_file& f : start_of(plan, i, e, request)) {
        names.push_back(f.name);
        files.push_back(std::move(f));
      }
      row["start"].push_back(
          {{"engine", pm::name_of(e)}, {"version", version_of(e)}, {"files", std::move(names)}});
    }
    const std::string again = serving_command_of(plan, i, request);
    row["serving"] = again.empty() ? json() : json(again);
    rows.push_back(std::move(row));
  }
  files.push_back({"README.md", readme_of(plan, rows)});
  json names = json::array();
  for (const plan_file& f : files) names.push_back(f.name);
  const json index = {{"schema", folder_schema},
                      {"version", 1},
                      {"request", request},
                      {"files", names},
                      {"rows", std::move(rows)}};
  prepare(folder);
  for (const plan_file& f : files)
    write_text_file("save", (fs::path(folder) / f.name).string(), f.text);
  write_text_file("save", (fs::path(folder) / "plan.json").string(), index.dump(2) + "\n");
  return cat("Saved: ", plan.result.frontier.size(), " rows in ", folder,
             "; README.md lists them.\n");
}

}  // namespace napkin
