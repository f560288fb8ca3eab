// Inputs of a query over its scalar: plain numbers, or numbers with their provenance.
#pragma once

#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/step/deployment.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "catalogues.hpp"
#include "engine_settings.hpp"
#include "request.hpp"

namespace napkin {

/// Constants of a profile that are not fitted: the chip's instructions and caches, and tile sizes
/// and limits from a library's source.
inline constexpr std::string_view read_not_fitted[] = {"max_splits",     "blocks_per_sm",
                                                       "tile_rows",      "least_tile_rows",
                                                       "most_tile_rows", "tile_columns"};

/// A spec of constants over traced numbers; each is an input prefix.field with the common source.
template <class S>
auto traced_constants(const S& spec, perfmodel::trace& tape, const char* prefix,
                      const perfmodel::source& from) {
  const std::string where = std::string(perfmodel::name_of(from.how)) + ": " + from.text;
  return perfmodel::map_scalars<perfmodel::traced>(spec, [&](const perfmodel::field_path& path,
                                                             double x, const perfmodel::source*,
                                                             perfmodel::unit_exponents unit) {
    if (x == 0.0) return perfmodel::traced(x);
    const std::string field = path.text();
    const bool fitted = std::ranges::find(read_not_fitted, field) == std::end(read_not_fitted);
    return perfmodel::traced::input(
        tape, x, std::string(prefix).append(".").append(field),
        fitted ? where
               : "derived: from the instruction set, the chip or the library's source, not fitted",
        unit);
  });
}

/// The format of that name; bf16 where there is none.
inline perfmodel::number_format format_named(std::string_view name) {
  static constexpr auto names = [] {
    std::array<std::string_view, perfmodel::all_formats.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = name_of(perfmodel::all_formats[i]);
    return all;
  }();
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? perfmodel::bf16
                           : perfmodel::all_formats[static_cast<std::size_t>(at - names.begin())];
}

template <perfmodel::Scalar T>
class inputs {
  static constexpr bool traces = std::same_as<T, perfmodel::traced>;

 public:
  explicit inputs(const request& r) requires(!traces) : request_(r) {}
  inputs(const request& r, perfmodel::trace& tape) requires(traces) : request_(r), tape_(&tape) {}

  const query& asked() const { return request_.asked(); }
  const request& all() const { return request_; }
  /// Whether texts that explain the results are wanted.
  bool wants_texts() const { return texts_ && !request_.scalars_only(); }
  void leave_out_texts() { texts_ = false; }
  bool has(const key_name& key) const { return request_.has(key); }
  bool given(const key_name& key) const { return request_.at(key).given; }
  bool flag(const key_name& key) const { return request_.flag(key); }
  int whole(const key_name& key) const { return request_.whole(key); }
  std::string_view text(const key_name& key) const { return request_.text(key); }
  /// Throws missing_key for a key required by another omitted one.
  [[noreturn]] void missing(std::string_view key, const std::string& hint) const {
    missing_key(request_.asked(), key, hint);
  }

  double plain(const key_name& key) const { return request_.number(key); }
  T number(const key_name& key) { return number(key.text, request_.at(key)); }
  T number(std::string_view key, const value& from) {
    return input(key, from.number, from.given ? "given" : "default");
  }
  /// Numbers of a key that accepts one or several; empty where one was given.
  std::vector<T> numbers(const key_name& key) {
    std::vector<T> out;
    const value& from = request_.at(key);
    for (const double x : from.numbers) {
      out.push_back(
          input(cat(key.text, "[", out.size(), "]"), x, from.given ? "given" : "default"));
    }
    return out;
  }
  /// A number as a quantity: amount<bytes<T>>("bytes").
  template <class Q>
  Q amount(const key_name& key) {
    const value& from = request_.at(key);
    return Q::from_value(input(key.text, from.number, from.given ? "given" : "default",
                               perfmodel::exponents_of<Q>()));
  }

  perfmodel::number_format format(const key_name& key) const {
    return format_named(request_.text(key));
  }

  /// The request's accelerator, with changed facts.
  const perfmodel::accelerator& chip() const { return request_.accelerator(); }
  decltype(auto) accelerator() {
    const perfmodel::accelerator& a = chip();
    if constexpr (traces) {
      return perfmodel::trace_inputs(perfmodel::with_die_facts(a), *tape_, a.name.c_str());
    } else {
      return (a);
    }
  }
  /// A spec of constants over the scalar; in a derivation each is an input with that source.
  template <class S>
  auto constants(const S& spec, const char* prefix, const perfmodel::source* from) {
    if constexpr (traces) {
      return traced_constants(spec, *tape_, prefix, *from);
    } else {
      return spec;
    }
  }
  /// Whether a request has images, or patches of them.
  bool asks_of_images() const {
    const auto any = [this](const key_name& key) {
      const value* given = request_.find(key);
      return given != nullptr && given->present && given->number > 0.0;
    };
    return any("images") || any("image_patches");
  }
  decltype(auto) model(std::string_view key = "model") {
    const found_model& found = key == "model" && asks_of_images()
                                   ? find_model_with_images(request_.text(key))
                                   : find_model(request_.text(key));
    if (key == "model" && asked().name != std::string_view("model"))
      require_target(found, request_.text(key));
    if constexpr (traces) {
      const std::string name(found.model.name.view());
      return perfmodel::map_scalars<T>(found.model, [&](const perfmodel::field_path& path,
                                                        double x) {
        return x == 0.0
                   ? T(x)
                   : perfmodel::traced::input(*tape_, x, name + "." + path.text(), found.source);
      });
    } else {
      return (found.model);
    }
  }
  /// Weight storage: in `key`'s format, embeddings and norms in 16 bits or more; the checkpoint's
  /// where `key` is not given. A 4-bit format name has no scales yet.
  perfmodel::weight_storage weights(std::string_view key = "weight_format") const {
    if (!has(key)) {
      const found_model& found = find_model(request_.text("model"));
      found.require_storage(request_.text("model"));
      return found.stored;
    }
    if (gguf_storage(request_.text(key))) {
      const bool tied = find_model(request_.text("model")).model.tied_embeddings;
      return *gguf_weights(request_.text(key), tied);
    }
    const auto f = format(key);
    return {f, bits_of(f) >= 16.0 ? f : perfmodel::bf16};
  }
  /// Sets the formats and the engine of a deployment, and the checkpoint's scheme for the KV cache.
  template <class Deployment>
  void state_formats(Deployment& d) const {
    d.weights = weights();
    d.kv = find_model(request_.text("model")).kv;
    if (has("kv_format")) d.kv = format("kv_format");
    if (asked().find("activation_format") != nullptr && has("activation_format"))
      d.activations = format("activation_format");
    if (asked().find("engine") != nullptr)
      d.serving_engine = *perfmodel::find_engine(text("engine"));
  }
  /// Formats of the request's deployment; on H100 where it has no accelerator.
  perfmodel::engine_formats formats() const {
    perfmodel::deployment d;
    d.device = has("accelerator") ? chip() : find_accelerator("h100_sxm");
    state_formats(d);
    perfmodel::engine_formats f = formats_of(d);
    if (has("kv_format")) f.kv_why = "given";
    return f;
  }

 private:
  template <class Name>
  T input(const Name& name, double x, const char* source, perfmodel::unit_exponents unit = {}) {
    if constexpr (traces) {
      return perfmodel::traced::input(*tape_, x, std::string(name), source, unit);
    } else {
      return x;
    }
  }

  const request& request_;
  perfmodel::trace* tape_ = nullptr;
  bool texts_ = true;
};

}  // namespace napkin
