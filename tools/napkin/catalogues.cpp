#include "catalogues.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <utility>

#include "key.hpp"
#include "model_names.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
template <class Entries, class Name>
std::vector<std::string_view> names_of(const Entries& entries, Name name) {
  std::vector<std::string_view> names;
  for (const auto& e : entries) names.push_back(name(e));
  return names;
}

/// Whether a name is a path: it exists on disk or is written as one. A hub name has exactly one
/// '/'.
bool is_path(std::string_view name) {
  namespace fs = std::filesystem;
  if (name.ends_with(".json") || name.starts_with('.') || name.starts_with('/')) return true;
  const auto slashes = std::count(name.begin(), name.end(), '/');
  std::error_code failure;
  return slashes > 1 || (slashes == 1 && fs::exists(fs::path(name), failure));
}

/// Models stay in memory: a batch names the same few in every line. Each thread has its own, so
/// that threads can ask at once. A reference is valid until its thread has read 256 other models.
template <class Make>
const found_model& remembered(const std::string& name, Make make) {
  using model_map = std::map<std::string, found_model, std::less<>>;
  constexpr std::size_t most = 256;
  static thread_local model_map models, earlier;
  if (const auto at = models.find(name); at != models.end()) return at->second;
  found_model made = make();
  if (models.size() >= most) earlier = std::exchange(models, {});
  return models.emplace(name, std::move(made)).first->second;
}

/// A model of the catalogue; it stays in memory until its thread ends.
const found_model& model_of(const pm::catalog::model_entry& entry) {
  static thread_local std::array<std::unique_ptr<const found_model>, std::size(pm::catalog::models)>
      all;
  auto& one = all[static_cast<std::size_t>(&entry - pm::catalog::models)];
  if (!one) {
    one = std::make_unique<const found_model>(
        found_model{.model = *entry.model, .stored = entry.model->stored, .source = entry.source});
  }
  return *one;
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
  // A batch names the same accelerator in many lines.
  static thread_local std::pair<std::string, const pm::accelerator*> last;
  if (last.second != nullptr && last.first == name) return *last.second;
  if (const pm::accelerator* found = pm::catalog::find_accelerator(name)) {
    last = {std::string(name), found};
    return *found;
  }
  std::string relatives;
  for (const std::string_view key : pm::catalog::related_accelerators(name)) {
    if (!key.empty()) relatives += (relatives.empty() ? "" : ", ") + std::string(key);
  }
  throw error(error_code::unknown_accelerator,
              "unknown accelerator " + in_quotes(name) + "; " +
                  (relatives.empty() ? "" : "similar: " + relatives + "; ") +
                  "napkin gpus lists them");
}

void require_target(const found_model& found, std::string_view name) {
  if (found.draft.empty()) return;
  throw error(error_code::inconsistent,
              cat("model is ", in_quotes(name), ", which is a draft head (", found.draft,
                  ") and generates no text itself; allowed: its target as model, and this file as "
                  "draft_model"));
}

namespace {

/// Image encoders of models that the catalogue has without: published parameters of the checkpoint
/// less those of the text; Gemma 3 pools 64 x 64 patches into 256 tokens.
struct image_tower {
  std::string_view model{};
  pm::encoder_shape encoder{};
};
constexpr pm::encoder_shape gemma_tower(double parameters) {
  return {.parameters = parameters, .tokens_per_item = 256, .patches_per_item = 4096};
}
constexpr image_tower image_towers[] = {
    {"gemma_3_4b", gemma_tower(4300079472.0 - 3880263168.0)},
    {"gemma_3_12b", gemma_tower(12187325040.0 - 11766034176.0)},
    {"gemma_3_27b", gemma_tower(27432406640.0 - 27009346304.0)},
    {"llama_4_scout", {.parameters = 108641793536.0 - 107769861120.0}}};

}  // namespace

const found_model& find_model_with_images(std::string_view name) {
  const found_model& found = find_model(name);
  if (found.model.encoder) return found;
  for (const image_tower& t : image_towers) {
    if (found.model.name.view() != t.model) continue;
    return remembered(cat(name, " with images"), [&] {
      found_model whole = found;
      whole.model.encoder = t.encoder;
      return whole;
    });
  }
  return found;
}

const found_model& find_model(std::string_view name) {
  if (const std::size_t brace = name.find('{'); name.ends_with('}') && brace != name.npos) {
    return remembered(std::string(name), [&] {
      return changed_model(find_model(name.substr(0, brace)),
                           name.substr(brace + 1, name.size() - brace - 2));
    });
  }
  if (is_path(name)) {
    const std::string path(name);
    return remembered(path, [&] { return read_model(path); });
  }
  // A request asks for its model several times.
  static thread_local const pm::catalog::model_entry* last = nullptr;
  if (last != nullptr && last->key == name) return model_of(*last);
  const pm::catalog::model_entry* entry = pm::catalog::find_model_entry(name);
  if (entry == nullptr) entry = pm::catalog::find_model_entry(catalogue_name(name));
  if (entry != nullptr) return model_of(*(last = entry));
  if (const auto quantised = without_format(name)) {
    return remembered(std::string(name), [&] {
      found_model found = find_model(quantised->name);
      found.stored = pm::weight_storage(quantised->format, pm::bf16);
      found.model.stored = found.stored;
      found.source += cat("; weights in ", name_of(quantised->format), " by the checkpoint's name");
      return found;
    });
  }
  std::error_code failure;
  if (std::filesystem::is_directory(name, failure)) {
    return remembered(std::string(name), [&] { return read_model(std::string(name)); });
  }
  if (const auto fitting = names_with_prefix(name); fitting.size() > 1) {
    throw error(error_code::unknown_model,
                cat("model ", in_quotes(name), " is ambiguous; allowed: ", listed(fitting)));
  }
  const std::string relatives = relatives_of(name);
  throw error(error_code::unknown_model,
              cat("unknown model ", in_quotes(name), "; ",
                  relatives.empty() ? "no similar name" : cat("similar: ", relatives),
                  "; napkin models lists all; also allowed: the path of a directory, of a "
                  "config.json, or of a file from napkin models --export"));
}

}  // namespace napkin
