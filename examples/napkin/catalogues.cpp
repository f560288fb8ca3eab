#include "catalogues.hpp"

#include <filesystem>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/workload/catalog/all.hpp>
#include <perfmodel/workload/config/huggingface.hpp>

#include "../common/files.hpp"
#include "key.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
template <class Entries, class Name>
std::vector<std::string_view> names_of(const Entries& entries, Name name) {
  std::vector<std::string_view> names;
  for (const auto& e : entries) names.push_back(name(e));
  return names;
}

bool is_path(std::string_view name) {
  return name.find('/') != name.npos || name.ends_with(".json");
}

json read_file(const std::string& path) {
  const std::string text = read_text_file("model", path);
  json content;
  try {
    read_json(text, content, {.depth = 64, .keys = 4096});
  } catch (const error& e) {
    throw error(error_code::unreadable_file, "model: " + in_quotes(path) + ": " + e.what());
  }
  return content;
}

found_model read_model(const std::string& path) {
  const json content = read_file(path);
  found_model found;
  const std::filesystem::path file(path);
  const std::string folder = file.parent_path().filename().string();
  const pm::model_config config =
      pm::from_config(content, folder.empty() ? file.stem().string() : folder);
  found.model = config.model;
  found.stored = config.stored;
  found.source = path;
  return found;
}

/// Models stay in memory: a batch names the same few in every line.
template <class Make>
const found_model& remembered(const std::string& name, Make make) {
  constexpr std::size_t most = 256;
  static std::map<std::string, found_model, std::less<>> models;
  if (const auto at = models.find(name); at != models.end()) return at->second;
  found_model made = make();
  if (models.size() >= most) models.clear();
  return models.emplace(name, std::move(made)).first->second;
}

}  // namespace

std::span<const std::string_view> accelerator_names() {
  static const auto names =
      names_of(pm::catalog::accelerators, [](const auto& e) { return std::string_view(e.key); });
  return names;
}
std::span<const std::string_view> model_names() {
  static const auto names =
      names_of(pm::catalog::models, [](const auto& e) { return std::string_view(e.key); });
  return names;
}

const pm::accelerator& find_accelerator(std::string_view name) {
  if (const pm::accelerator* found = pm::catalog::find_accelerator(name)) return *found;
  std::string relatives;
  for (const std::string_view key : pm::catalog::related_accelerators(name)) {
    if (!key.empty()) relatives += (relatives.empty() ? "" : ", ") + std::string(key);
  }
  throw error(error_code::unknown_accelerator,
              "accelerator is " + in_quotes(name) + ", which the catalogue does not have; " +
                  (relatives.empty() ? "" : "its relatives there: " + relatives + "; ") +
                  "napkin gpus lists them");
}

const found_model& find_model(std::string_view name) {
  if (is_path(name)) {
    const std::string path(name);
    return remembered(path, [&] { return read_model(path); });
  }
  if (const pm::catalog::model_entry* entry = pm::catalog::find_model_entry(name)) {
    return remembered(std::string(name), [&] {
      return found_model{
          .model = *entry->model, .stored = entry->model->stored, .source = entry->source};
    });
  }
  throw error(error_code::unknown_model,
              "model is " + in_quotes(name) + ", which the catalogue does not have; did you mean " +
                  nearest(name, model_names()) +
                  "? napkin models lists them; the path of a config.json has a / or ends in .json");
}

}  // namespace napkin
