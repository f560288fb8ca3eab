#include "model_file.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/config/huggingface.hpp>

#include "io/amount.hpp"
#include "io/files.hpp"
#include "io/spec_json.hpp"

namespace perfmodel::inline v0_3 {

// The "kind" of shapes in a model file; found by argument-dependent lookup.
using kind_words = std::vector<std::string_view>;
static kind_words kinds_of(const attention_shape&) {
  return {"attention"};
}
static kind_words kinds_of(const latent_attention_shape&) {
  return {"latent_attention"};
}
static kind_words kinds_of(const compressed_attention_shape&) {
  return {"compressed_attention"};
}
static kind_words kinds_of(const recurrent_shape&) {
  return common::words_of(recurrence::short_convolution);
}
static kind_words kinds_of(const dense_shape&) {
  return {"dense"};
}
static kind_words kinds_of(const expert_shape&) {
  return {"experts"};
}
static constexpr recurrence last_of(recurrence) {
  return recurrence::short_convolution;
}

}  // namespace perfmodel::inline v0_3

namespace napkin {

namespace {

namespace pm = perfmodel;
namespace fs = std::filesystem;

constexpr const char* model_schema = "perfmodel.model";
constexpr int model_version = 1;
constexpr double most_layers = 10000.0;

json read_json_file(const std::string& path) {
  const std::string text = read_text_file("model", path);
  json content;
  try {
    read_json(pm::json_from_python(text), content, {.depth = 64, .keys = 65536});
  } catch (const error& e) {
    unreadable("model", path, cat("is not a model file: ", e.what()));
  }
  return content;
}

/// "Qwen3-8B" of Qwen3-8B/config.json, and of Qwen3-8B.json or Qwen3-8B_config.json.
std::string name_of_file(const fs::path& file) {
  const std::string folder = fs::absolute(file).parent_path().filename().string();
  std::string stem = file.stem().string();
  if (stem == "config" && !folder.empty()) return folder;
  if (stem.ends_with("_config")) stem.resize(stem.size() - 7);
  return stem;
}

/// What a file's name says and its fields do not: a format of the weights, an embedding model,
/// a draft head of one layer.
std::string hints_of(const std::string& title, const json& content,
                     const pm::model_config& config) {
  std::string name = title;
  for (char& ch : name) ch = ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
  const auto holds = [&name](const char* part) { return name.find(part) != std::string::npos; };
  std::string s;
  const bool quantised = config.stored.linear.bits() < 16.0 || config.stored.experts.bits() < 16.0;
  if (!quantised && config.unknown_storage.empty()) {
    for (const char* format : {"nvfp4", "mxfp8", "mxfp4", "w8a8", "w4a16", "w4a8", "fp8", "int8",
                               "int4", "awq", "gptq", "4bit", "8bit", "gguf"}) {
      if (!holds(format)) continue;
      s += cat("; its name says ", format,
               " and its fields do not: weights counted in 16 bits, give weight_format for others");
      break;
    }
  }
  if (holds("embed") || holds("rerank"))
    s += "; an embedding model by its name: its checkpoint may have no LM head";
  if (!config.known_family && !content.contains("tie_word_embeddings") &&
      !config.model.tied_embeddings && !content.contains("text_config"))
    s += "; tie_word_embeddings is not stated: the head counted as a table of its own";
  if (pm::detail::has_no_head(config.architecture)) s += "; no LM head, by its architecture";
  const bool one_layer = config.model.layers.count == 1.0 && config.model.hidden >= 2048.0;
  if (config.draft[0] == '\0' && one_layer)
    s += "; one layer: if this is an EAGLE draft head, its tables are its target's";
  return s;
}

found_model from_hugging_face(const json& content, const fs::path& file) {
  const std::string name = file.filename().string();
  std::optional<json> quantization;
  if (name.ends_with("config.json")) {
    const fs::path beside =
        file.parent_path() / cat(name.substr(0, name.size() - 11), "hf_quant_config.json");
    std::error_code failure;
    if (fs::is_regular_file(beside, failure)) quantization = read_json_file(beside.string());
  }
  const std::string title = name_of_file(file);
  const pm::model_config config =
      pm::from_config(content, title, quantization ? &*quantization : nullptr, true);
  std::string source = file.string();
  if (!config.known_family) {
    source += cat(" (", in_quotes(config.architecture),
                  " is an unknown architecture: its fields were read by their common meaning)");
  }
  source += hints_of(title, content, config);
  return {.model = config.model,
          .stored = config.stored,
          .kv = config.kv,
          .source = source,
          .draft = config.draft,
          .not_read = config.not_read,
          .unknown_storage = config.unknown_storage};
}

/// Checks that a layer has at most one mixer and one feed-forward.
template <class Kinds>
void check_sum(const char* which, const Kinds& kinds, double layers) {
  double sum = 0.0;
  for (const auto& kind : kinds) sum += kind.layers;
  if (sum <= layers * (1.0 + 1e-12)) return;
  throw error(error_code::inconsistent,
              cat("layers.", which, " are of ", sum,
                  " layers in total; allowed: at most layers.count, which is ", layers));
}

found_model from_own_file(const json& content, const fs::path& path) {
  const json_field file(content);
  if (file["version"].number() != model_version) {
    file["version"].refuse(json_fault::not_allowed, cat(model_version));
  }
  found_model found;
  found.model.name = pm::label::shortened(path.stem().string());
  read_spec(file, found.model, {"schema", "version", "kv", "source", "draft", "not_read"});
  if (file.has("stored")) {
    pm::weight_storage& stored = found.model.stored;
    if (!file["stored"].has("experts")) stored.experts = stored.linear;
    if (!file["stored"].has("attention")) stored.attention = stored.linear;
  }
  if (file.has("kv")) common::detail::read_value(file["kv"], "kv", found.kv);
  const pm::layer_list& layers = found.model.layers;
  file["layers"]["count"].number({.least = 1.0, .most = most_layers});
  check_sum("mixers", layers.mixers, layers.count);
  check_sum("feed_forwards", layers.feed_forwards, layers.count);
  checked(found.model);
  found.stored = found.model.stored;
  found.source = file.has("source") ? file["source"].some_text() : path.string();
  if (file.has("draft")) found.draft = file["draft"].some_text();
  if (found.draft.empty() && found.model.is_draft_head()) found.draft = "draft";
  if (content.contains("not_read") && content["not_read"].is_array()) {
    for (const json& entry : content["not_read"])
      if (entry.is_string()) found.not_read.push_back(entry.get<std::string>());
  }
  return found;
}

}  // namespace

found_model read_model(const std::string& path) {
  std::error_code failure;
  fs::path file = path;
  if (fs::is_directory(file, failure)) file /= "config.json";
  try {
    const json content = read_json_file(file.string());
    const bool own = content.is_object() && content.contains("schema");
    if (own) json_field(content["schema"], "schema").word(model_schema);
    return own ? from_own_file(content, file) : from_hugging_face(content, file);
  } catch (const error& e) {
    if (e.code() == error_code::unreadable_file) throw;
    throw error(e.code(), cat("model: ", in_quotes(file.string()), ": ", e.what()));
  }
}

void found_model::require_storage(std::string_view name) const {
  if (unknown_storage.empty()) return;
  throw error(error_code::invalid_config, cat("model: ", in_quotes(name), ": ", unknown_storage,
                                              "; a given weight_format replaces the file's"));
}

std::string group_text(double group) {
  const double side = std::round(std::sqrt(group));
  const std::string text = pm::detail::number_text(side);
  if (group > 1024.0 && side * side == group) return cat(text, " x ", text, " blocks");
  return cat("groups of ", pm::detail::number_text(group));
}

std::string not_read_text(const std::vector<std::string>& fields) {
  std::string s;
  for (const std::string& f : fields) s += cat(s.empty() ? "not read: " : ", ", one_line(f));
  return s;
}

namespace {

json model_file_json(const found_model& found) {
  found.require_storage(found.model.name.view());
  json out = {{"schema", model_schema}, {"version", model_version}, {"source", found.source}};
  pm::transformer m = found.model;
  m.stored = found.stored;
  out.update(spec_json(m));
  if (found.kv) out["kv"] = common::detail::storage_json(*found.kv);
  if (!found.draft.empty()) out["draft"] = found.draft;
  if (!found.not_read.empty()) out["not_read"] = found.not_read;
  return out;
}

/// Sets the numbers of a name below `at`, which is at a path; collects the names of all numbers.
int set_numbers(json& at, const std::string& path, std::string_view name, double x,
                std::vector<std::string>& names) {
  int changed = 0;
  for (auto& [key, v] : at.items()) {
    const std::string own = path.empty() ? key : cat(path, ".", key);
    if (v.is_structured()) {
      changed += set_numbers(v, own, name, x, names);
    } else if (v.is_number() && key != "version") {
      names.push_back(key);
      if (name != key && name != own) continue;
      v = x;
      ++changed;
    }
  }
  return changed;
}

/// Sets the number of layers, of all and of each kind.
void set_layers(json& file, double count) {
  const double times = count / file["layers"]["count"].get<double>();
  file["layers"]["count"] = count;
  for (const char* kinds : {"mixers", "feed_forwards"}) {
    if (!file["layers"].contains(kinds)) continue;
    for (json& kind : file["layers"][kinds]) kind["layers"] = times * kind["layers"].get<double>();
  }
}

}  // namespace

std::string model_file_text(const found_model& found) {
  return model_file_json(found).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

found_model changed_model(const found_model& found, std::string_view changes) {
  json file = model_file_json(found);
  for (const std::string_view change : split(changes, ',')) {
    const std::size_t equals = std::min(change.find('='), change.size());
    const std::string_view name = change.substr(0, equals);
    const auto x = equals < change.size() ? parse_count(change.substr(equals + 1)) : std::nullopt;
    if (!x)
      throw error(code::wrong_type, cat("model: ", in_quotes(one_line(change)),
                                        "; allowed: field=number, such as layers=40"));
    if (name == "layers") {
      if (!(*x >= 1.0 && *x <= most_layers))
        throw error(error_code::out_of_range,
                    cat("model: layers is ", pm::detail::significant(*x, 6), "; allowed: 1 to ",
                        most_layers));
      set_layers(file, *x);
      continue;
    }
    std::vector<std::string> names{"layers"};
    if (set_numbers(file, "", name, *x, names) > 0) continue;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    throw error(code::unknown_key, cat("model: ", found.model.name.view(), " has no number ",
                                       in_quotes(one_line(name)), "; allowed: ",
                                       listed(names, [](const std::string& n) { return n; })));
  }
  try {
    found_model out = from_own_file(file, fs::path(std::string(found.model.name.view())));
    out.source += cat("; changed: ", changes);
    return out;
  } catch (const error& e) {
    throw error(e.code(),
                cat("model: ", found.model.name.view(), " with ", changes, ": ", e.what()));
  }
}

}  // namespace napkin
