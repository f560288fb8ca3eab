#include "listing.hpp"

#include <algorithm>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/explain/traced.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/hardware/catalog/alternatives.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/units/text.hpp>

#include "accelerator_file.hpp"
#include "catalogues.hpp"
#include "io/text_style.hpp"
#include "model_page.hpp"
#include "output.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// One stated value of an accelerator.
struct stated_value {
  std::string field;
  double value;
  pm::unit_exponents unit;
  const pm::source* from;
};

std::vector<stated_value> values_of(const pm::accelerator& a) {
  std::vector<stated_value> values;
  pm::map_scalars<double>(a, [&](const pm::field_path& path, double x, const pm::source* from,
                                 pm::unit_exponents unit) {
    if (from != nullptr) values.push_back({path.text(), x, unit, from});
    return x;
  });
  return values;
}

template <class Fact>
std::string text_or_dash(const Fact& fact) {
  return fact.is_stated() ? pm::to_string(fact.quantity()) : "-";
}

json alternatives_json(std::string_view accelerator) {
  json all = json::array();
  for (const auto& x : pm::catalog::alternatives) {
    if (accelerator != x.accelerator) continue;
    all.push_back({{"field", x.field},
                   {"value", number_json(x.field, x.value)},
                   {"unit", x.unit},
                   {"status", x.status},
                   {"basis", pm::name_of(x.from.how)},
                   {"source", x.from.text},
                   {"why", x.why}});
  }
  return all;
}

json accelerator_json(const pm::catalog::accelerator_entry& entry) {
  const pm::accelerator& a = *entry.spec;
  json values = json::object();
  for (const stated_value& v : values_of(a)) {
    values[v.field] = {{"value", number_json(v.field.c_str(), v.value)},
                       {"unit", unit_text(v.unit)},
                       {"basis", pm::name_of(v.from->how)},
                       {"source", v.from->text}};
  }
  return {{"name", entry.key},
          {"title", entry.title},
          {"vendor", a.vendor.c_str()},
          {"architecture", pm::name_of(a.architecture)},
          {"fabric",
           {{"kind", pm::name_of(a.fabric.kind)},
            {"ranks", a.fabric.ranks},
            {"in_network_reduction", a.fabric.in_network_reduction},
            {"topology", pm::name_of(a.fabric.topology)}}},
          {"values", std::move(values)},
          {"alternatives", alternatives_json(entry.key)}};
}

/// 989.4 TFLOP/s from 989.4e12 and "FLOP/s".
std::string number_and_unit(double x, std::string_view unit) {
  if (unit == "1") return pm::detail::significant(x, 4);
  if (unit == "USD/s") return pm::detail::significant(3600.0 * x, 4) + " USD/h";
  const std::size_t slash = std::min(unit.find('/'), unit.size());
  const std::string_view over = unit.substr(std::min(slash + 1, unit.size()));
  return pm::detail::with_prefix(x, std::string(unit.substr(0, slash)), std::string(over), 4);
}

/// Sources by number, each once.
class numbered_sources {
 public:
  explicit numbered_sources(bool wide) : wide_(wide) {}
  /// The source itself where the text is wide, else its number: "[1]".
  std::string cell(const std::string& source) {
    if (wide_ || source.empty()) return source;
    auto at = std::find(all_.begin(), all_.end(), source);
    if (at == all_.end()) at = all_.insert(all_.end(), source);
    return cat("[", at - all_.begin() + 1, "]");
  }
  std::string text() const {
    std::string s;
    for (std::size_t i = 0; i < all_.size(); ++i) s += wrapped(cat("[", i + 1, "] ", all_[i]), 2);
    return s;
  }

 private:
  bool wide_;
  std::vector<std::string> all_{};
};

std::string alternatives_text(std::string_view accelerator, numbered_sources& sources, bool wide) {
  table_rows rows = {{"rejected value", "", "", "source", "reason"}};
  std::string reasons;
  for (const auto& x : pm::catalog::alternatives) {
    if (accelerator != x.accelerator) continue;
    rows.push_back({x.field, number_and_unit(x.value, x.unit), x.status, sources.cell(x.from.text),
                    wide ? x.why : ""});
    if (!wide) reasons += wrapped(cat(x.field, ": ", x.why), 2);
  }
  if (rows.size() == 1) return "";
  if (!wide) rows[0].pop_back();
  return headed_table(rows, "lrl") + reasons;
}

std::string accelerator_text(const pm::catalog::accelerator_entry& entry, bool wide) {
  const pm::accelerator& a = *entry.spec;
  std::string s = styled(
      text_style::bold, cat(entry.key, ": ", entry.title, ", ", pm::name_of(a.architecture), "\n"));
  numbered_sources sources(wide);
  table_rows rows = {{"value", "", "basis", "source"}};
  for (const stated_value& v : values_of(a)) {
    rows.push_back({v.field, pm::to_string(v.value, v.unit, 4, v.field), pm::name_of(v.from->how),
                    sources.cell(v.from->text)});
  }
  s += headed_table(rows, "lrl");
  s += alternatives_text(entry.key, sources, wide);
  if (a.fabric.exists()) {
    s += "  fabric: " + std::string(pm::name_of(a.fabric.kind)) + " joins " +
         std::to_string(a.fabric.ranks) +
         (a.fabric.topology == pm::link_topology::switched
              ? ""
              : cat(" in a ", pm::name_of(a.fabric.topology))) +
         (a.fabric.in_network_reduction ? ", with in-network reduction\n" : "\n");
  }
  return s + styled(text_style::dim,
                    "  Peaks are dense; link bandwidths are one way and per accelerator.\n" +
                        sources.text());
}

/// Entry of the catalogue or of a file.
pm::catalog::accelerator_entry entry_of(const found_accelerator& a) {
  for (const auto& e : pm::catalog::accelerators) {
    if (e.spec == a.get()) return e;
  }
  pm::catalog::accelerator_entry e{};
  e.key = a->name.c_str();
  e.title = "from a file";
  e.spec = a.get();
  return e;
}

json model_json(std::string_view name, const found_model& found) {
  const pm::transformer& m = found.model;
  json out = {
      {"name", name},
      {"parameters", number_json("parameters", parameters(m).total())},
      {"active_parameters", number_json("active_parameters", counted_active(m))},
      {"kv_bytes_per_token", number_json("kv_bytes_per_token", kv_growth_per_token(m).value())},
      {"max_context", m.max_context ? number_json("max_context", *m.max_context) : json()}};
  if (const double within = kv_bytes_per_token(m).value(); within != kv_growth_per_token(m).value())
    out["kv_bytes_per_short_token"] = number_json("kv_bytes_per_short_token", within);
  if (const auto* entry = pm::catalog::find_model_entry(name)) {
    out["published_parameters"] = number_json("published_parameters", entry->published_parameters);
    out["basis"] = pm::name_of(entry->how);
  }
  out["source"] = found.source;
  json shape = json::object();
  pm::map_scalars<pm::traced>(m, [&](const pm::field_path& path, double x) {
    if (x != 0.0) shape[path.text()] = number_json("shape", x);
    return pm::traced(x);
  });
  out["layers"] = number_json("layers", m.layers.count);
  out["layer_kinds"] = layer_kinds(m);
  out["shape"] = std::move(shape);
  return out;
}

std::string model_text(std::string_view name, const found_model& found) {
  const json m = model_json(name, found);
  table_rows rows;
  for (const auto& [key, value] : m.items()) {
    if (value.is_structured() || value.is_null()) continue;
    rows.push_back({key, value.is_string() ? value.get<std::string>()
                                           : pm::detail::number_text(value.get<double>())});
  }
  for (const auto& kind : m["layer_kinds"]) rows.push_back({"", kind.get<std::string>()});
  for (const auto& [key, value] : m["shape"].items()) {
    rows.push_back({key, pm::detail::number_text(value.get<double>())});
  }
  return table(rows, "l");
}

}  // namespace

json accelerators_json(std::string_view name) {
  if (!name.empty()) {
    const found_accelerator a = named_accelerator(name);
    return accelerator_json(entry_of(a));
  }
  json all = json::array();
  for (const auto& e : pm::catalog::accelerators) all.push_back(accelerator_json(e));
  return {{"accelerators", std::move(all)}};
}

std::string accelerators_text(std::string_view name, bool wide) {
  if (!name.empty()) {
    const found_accelerator a = named_accelerator(name);
    return accelerator_text(entry_of(a), wide) + absence_text(*a);
  }
  table_rows rows = {{"accelerator", "memory", "bandwidth", "fp32", "bf16", "fp16", "fp8", "int8",
                      "fp4", "fabric", "TDP", "basis"}};
  for (const auto& e : pm::catalog::accelerators) {
    const pm::accelerator& a = *e.spec;
    const auto rate = [&](pm::number_format f) {
      return pm::supports(a, f) ? pm::to_string(pm::peak(a, f)) : std::string("-");
    };
    rows.push_back({e.key, text_or_dash(a.dram.capacity), text_or_dash(a.dram.bandwidth),
                    rate(pm::fp32), rate(pm::bf16), rate(pm::fp16), rate(pm::fp8), rate(pm::int8),
                    rate(pm::fp4), text_or_dash(a.fabric.bandwidth), text_or_dash(a.tdp),
                    pm::name_of(a.dram.bandwidth.from().how)});
  }
  std::string align = "lrrrrrrrrrrl";
  const bool narrowed =
      !wide && drop_columns(rows, align, {"fp32", "fp16", "basis", "int8", "TDP"});
  return headed_table(rows, align) +
         styled(text_style::dim, cat("  Peaks are dense; fabric is one way and per accelerator.\n"
                                     "  napkin gpus ACCELERATOR lists every value with its source",
                                     narrowed ? "; --wide has all columns.\n" : ".\n"));
}

json models_json(std::string_view name) {
  if (!name.empty()) return model_json(name, find_model(name));
  json all = json::array();
  for (const auto n : model_names()) all.push_back(model_json(n, find_model(n)));
  return {{"models", std::move(all)}};
}

std::string models_text(std::string_view name, bool wide) {
  if (!name.empty()) return model_text(name, find_model(name));
  table_rows rows = {
      {"model", "parameters", "active", "KV cache/token", "in window", "context", "source"}};
  const auto bytes = [](pm::bytes_per_token<> x) {
    return pm::to_string(x.value(), {{0, 1, 0, 0, 0, 0, 0}}, 4);
  };
  for (const auto n : model_names()) {
    const found_model& found = find_model(n);
    const pm::transformer& m = found.model;
    rows.push_back(
        {std::string(n), pm::detail::significant(parameters(m).total() / 1e9, 4) + "e9",
         pm::detail::significant(counted_active(m) / 1e9, 4) + "e9", bytes(kv_growth_per_token(m)),
         kv_growth_per_token(m) == kv_bytes_per_token(m) ? "-" : bytes(kv_bytes_per_token(m)),
         m.max_context ? pm::detail::number_text(*m.max_context) : "-", found.source});
  }
  std::string align = "lrrrrrl";
  const bool narrowed = !wide && drop_columns(rows, align, {"source"});
  return headed_table(rows, align) +
         styled(text_style::dim,
                cat("  KV cache that a token adds beyond every window, and (in window) before; "
                    "whole model, bf16.\n",
                    narrowed ? "  --wide has the sources.\n" : ""));
}

}  // namespace napkin
