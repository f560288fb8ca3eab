#include "accelerator_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>

#include "catalogues.hpp"
#include "io/amount.hpp"
#include "io/files.hpp"
#include "io/text_style.hpp"
#include "profiles.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr const char* accelerator_schema = "perfmodel.accelerator";
constexpr int accelerator_version = 1;

/// Accelerator read from a file, and the source of each fact.
struct read_accelerator {
  pm::accelerator spec{};
  std::deque<std::string> texts{};
  std::deque<pm::source> sources{};

  const pm::source* keep(pm::basis how, std::string text) {
    texts.push_back(std::move(text));
    sources.push_back({how, texts.back().c_str()});
    return &sources.back();
  }
};

/// Calls each(path, field, value...) for every value of specs of one shape: dram.bandwidth.
template <class Each, class Spec, class... More>
void each_value(const pm::field_path& at, Each& each, Spec& spec, More&... more) {
  std::remove_const_t<Spec>::fields(
      [&](const pm::field& about, auto& value, auto&... others) {
        const pm::field_path here{&at, about.name};
        if constexpr (pm::detail::Spec<const std::remove_cvref_t<decltype(value)>>) {
          each_value(here, each, value, others...);
        } else {
          each(here, about, value, others...);
        }
      },
      spec, more...);
}

/// "Blackwell (RTX)" and blackwell_rtx are the same name.
std::string plain_word(std::string_view text) {
  std::string s;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      s += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return s;
}

template <class Enum>
void read_word(const json_field& v, Enum last, Enum& into) {
  const std::string word = plain_word(v.text());
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto x = static_cast<Enum>(i);
    names.push_back(name_of(x));
    if (plain_word(name_of(x)) == word) return void(into = x);
  }
  v.refuse(json_fault::unknown_word, listed(names));
}

bool is_link_rate(const pm::field_path& at) {
  return at.is("fabric.bandwidth") || at.is("host.bandwidth");
}

/// Number in the field's unit: plain, or text with a unit. A link also accepts "one way" and "two
/// way"; the stored fact is one way.
double read_amount(const json_field& v, const pm::field_path& at, const pm::field& about,
                   const pm::unit_exponents& unit) {
  const bool link = is_link_rate(at);
  const bool money = at.is("price");
  std::optional<double> x;
  if (v.raw().is_number() && !money) x = v.number();
  if (v.raw().is_string()) {
    const std::string text = v.text();
    if (unit == pm::exponents_of<pm::duration<>>() && lacks_unit(text))
      v.fail(json_fault::wrong_type, cat(v.name(), " is ", two_readings(text, "ns")));
    std::string_view rest = text;
    double share = 1.0;
    for (const auto& [words, part] : {std::pair{"one way", 1.0}, std::pair{"two way", 0.5}}) {
      if (!link || !rest.ends_with(words)) continue;
      rest.remove_suffix(std::string_view(words).size());
      share = part;
    }
    x = parse_amount(rest, unit);
    if (x) *x *= share;
    std::string_view after;
    if (money && x && (parse_number(text, after), after.empty())) x = {};
  }
  if (!x) {
    v.refuse(json_fault::wrong_type, money  ? "a price with its unit: 2.5 USD/h"
                                     : link ? cat(allowed_amount(unit), ", one way or two way")
                                            : allowed_amount(unit));
  }
  const pm::allowed_range& range =
      about.allowed.refuses_some() ? about.allowed : pm::detail::positive_range;
  if (!range.holds(*x, *x)) {
    v.refuse(json_fault::not_allowed, *x < range.least ? range.below_in_words(*x) : range.above);
  }
  return *x;
}

/// Sets one value from a file or request. `source_of(v)` is called for facts that are objects.
template <class Value, class SourceOf>
void read_value(const json_field& v, const pm::field_path& at, const pm::field& about, Value& into,
                SourceOf& source_of) {
  if constexpr (std::same_as<Value, pm::label>) {
    const std::string text = v.some_text();
    if (text.size() > 47) v.refuse(json_fault::not_allowed, "up to 47 characters");
    into = pm::label(text);
  } else if constexpr (std::same_as<Value, pm::chip_architecture>) {
    read_word(v, pm::chip_architecture::maia, into);
  } else if constexpr (std::same_as<Value, pm::link_kind>) {
    read_word(v, pm::link_kind::hccs, into);
  } else if constexpr (std::same_as<Value, pm::link_topology>) {
    read_word(v, pm::link_topology::torus_3d, into);
  } else if constexpr (std::same_as<Value, bool>) {
    into = v.raw() == "true" || (v.raw() != "false" && v.truth());
  } else if constexpr (std::same_as<Value, int>) {
    const double x = read_amount(v, at, about, {});
    if (x != std::floor(x)) v.refuse(json_fault::not_allowed, "a whole number");
    into = static_cast<int>(x);
  } else {
    using quantity = typename Value::quantity_type;
    const bool whole = v.raw().is_object();
    const json_field amount = whole ? v.only({"value", "basis", "source"})["value"] : v;
    const double x = read_amount(amount, at, about, pm::exponents_of<quantity>());
    into = Value(quantity::from_value(x), *source_of(whole ? &v : nullptr));
  }
}

std::vector<std::string> all_paths(bool with_names) {
  std::vector<std::string> paths;
  const pm::accelerator nothing;
  auto each = [&](const pm::field_path& at, const pm::field&, const auto& value) {
    if (with_names || !std::same_as<decltype(value), const pm::label&>) paths.push_back(at.text());
  };
  each_value({}, each, nothing);
  return paths;
}

/// Sets the value of `path` from a file or request. Throws unknown_key where no fact has that name.
template <class SourceOf>
void read_fact(const json_field& v, std::string_view path, bool with_names, pm::accelerator& into,
               SourceOf source_of) {
  bool found = false;
  auto each = [&](const pm::field_path& at, const pm::field& about, auto& value) {
    if (found || !at.is(path)) return;
    if (!with_names && std::same_as<decltype(value), pm::label&>) return;
    found = true;
    read_value(v, at, about, value, source_of);
  };
  each_value({}, each, into);
  if (found) return;
  const auto paths = all_paths(with_names);
  const std::vector<std::string_view> names(paths.begin(), paths.end());
  const std::string group = cat(path, ".");
  const auto inside = std::find_if(names.begin(), names.end(),
                                   [&](std::string_view n) { return n.starts_with(group); });
  if (inside != names.end())
    v.fail(json_fault::unknown_key,
           cat(v.name(), " is not an accelerator fact but a group; allowed: single facts, such as ",
               *inside, ". napkin gpus --export h100_sxm lists all"));
  v.fail(json_fault::unknown_key,
         cat(v.name(), " is not an accelerator fact; did you mean ", nearest(path, names),
             "? napkin gpus --export h100_sxm lists all"));
}

void check_links(const pm::interconnect& l, const json_field& file, std::string_view name) {
  if (l.exists() == l.bandwidth.is_stated()) return;
  file.fail(json_fault::missing_key,
            l.exists() ? cat(name, ".bandwidth is missing, and ", name, ".kind is stated")
                       : cat(name, ".kind is missing, and ", name,
                             ".bandwidth is stated; allowed: a name such as NVLink or PCIe"));
}

/// Checks the facts that every query needs.
void check_whole(const pm::accelerator& a, const json_field& file) {
  if (!a.dram.bandwidth.is_stated()) file["dram.bandwidth"];
  bool computes = false;
  for (const pm::number_format f : pm::all_formats) computes = computes || pm::supports(a, f);
  if (!computes) {
    file.fail(
        json_fault::missing_key,
        "matrix.peak.bf16 is missing; needed: a peak of matrix or vector units in one format");
  }
  check_links(a.fabric, file, "fabric");
  check_links(a.host, file, "host");
}

/// One name per machine: profiles are found by name, so a changed accelerator gets another one.
void name_apart(pm::accelerator& a, const pm::accelerator& other) {
  if (a.name == other.name && !pm::catalog::is_same_machine(a, other))
    a.name = pm::label::shortened(cat(a.name.view().substr(0, 39), "_changed"));
}

void parse(const json_field& file, const std::string& path, read_accelerator& into) {
  const pm::source* plain = into.keep(pm::basis::given, cat("stated in ", path));
  const auto source_of = [&](const json_field* v) {
    if (v == nullptr || (!v->has("basis") && !v->has("source"))) return plain;
    pm::basis how = pm::basis::given;
    if (v->has("basis") && (*v)["basis"].text() == "vendor, by a copy") {
      how = pm::basis::copied;  // files of version 0.2
    } else if (v->has("basis")) {
      read_word((*v)["basis"], pm::basis::given, how);
    }
    return into.keep(how, v->has("source") ? (*v)["source"].some_text() : plain->text);
  };
  file.object();
  into.spec.name = pm::label::shortened(std::filesystem::path(path).stem().string());
  for (const auto& [key, value] : file.raw().items()) {
    if (key == "schema") {
      file[key].word(accelerator_schema);
    } else if (key == "version") {
      if (file[key].number() != accelerator_version)
        file[key].refuse(json_fault::not_allowed, cat(accelerator_version));
    } else {
      read_fact(file[key], key, true, into.spec, source_of);
    }
  }
  check_whole(into.spec, file);
  const pm::accelerator* known = pm::catalog::find_accelerator(into.spec.name.view());
  if (known != nullptr) name_apart(into.spec, *known);
}

found_accelerator accelerator_of_file(const std::string& path) {
  const auto read = std::make_shared<read_accelerator>();
  const std::string text = read_text_file("accelerator", path, std::uintmax_t{1} << 20U);
  try {
    json content;
    read_json(text, content, {.keys = 256});
    parse(json_field(content), path, *read);
  } catch (const error& e) {
    throw error(e.code(), cat("accelerator: ", in_quotes(path), ": ", e.what()));
  }
  return {read, &read->spec};
}

}  // namespace

bool is_file(std::string_view name) {
  return name.find('/') != name.npos || name.ends_with(".json");
}

found_accelerator named_accelerator(std::string_view name) {
  if (!is_file(name)) return {found_accelerator(), &find_accelerator(name)};
  // Files stay in memory: a batch names the same few in every line. Each thread has its own.
  constexpr std::size_t most = 256;
  static thread_local std::map<std::string, found_accelerator, std::less<>> files;
  if (const auto at = files.find(name); at != files.end()) return at->second;
  if (files.size() >= most) files.clear();
  const std::string path(name);
  return files.emplace(path, accelerator_of_file(path)).first->second;
}

found_accelerator changed_accelerator(const found_accelerator& a, const json* set,
                                      const json* price) {
  if (set == nullptr && price == nullptr) return a;
  struct changed_accelerator {
    pm::accelerator spec;
    found_accelerator original;  // owner of the sources that the facts refer to
  };
  const auto copy = std::make_shared<changed_accelerator>(changed_accelerator{*a, a});
  const auto by_caller = [](const json_field* v) {
    if (v != nullptr) v->refuse(json_fault::wrong_type, "a number, or text: \"6 TB/s\"");
    return &pm::given_by_caller;
  };
  if (set != nullptr) {
    const json_field all(*set, "set");
    all.object();
    for (const auto& item : set->items()) {
      read_fact(all[item.key()], item.key(), false, copy->spec, by_caller);
    }
  }
  if (price != nullptr) {
    const json_field v(*price, "price");
    if (price->is_number()) {
      copy->spec.price = v.number({.most = 1e6, .above_least = true}) * pm::usd_per_hour;
    } else {
      read_fact(v, "price", false, copy->spec, by_caller);
    }
  }
  name_apart(copy->spec, *a);
  return {copy, &copy->spec};
}

fact_description describe_fact(std::string_view name) {
  fact_description found;
  auto each = [&](const pm::field_path& at, const pm::field&, const auto& value) {
    using type = std::remove_cvref_t<decltype(value)>;
    if (found.exists || !at.is(name) || std::same_as<type, pm::label>) return;
    found.exists = true;
    if constexpr (requires { value.quantity(); }) {
      found.is_number = true;
      found.unit = pm::exponents_of<typename type::quantity_type>();
    } else {
      found.is_number = std::same_as<type, int>;
    }
  };
  const pm::accelerator nothing;
  each_value({}, each, nothing);
  return found;
}
bool is_time_fact(std::string_view name) {
  return describe_fact(name).unit == pm::exponents_of<pm::duration<>>();
}
std::vector<std::string> fact_names() {
  return all_paths(false);
}

json accelerator_file_json(const pm::accelerator& a) {
  json out = {{"schema", accelerator_schema}, {"version", accelerator_version}};
  auto each = [&](const pm::field_path& at, const pm::field&, const auto& value,
                  const auto& left_out) {
    using type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<type, pm::label>) {
      if (!value.view().empty()) out[at.text()] = value.view();
    } else if constexpr (std::is_enum_v<type>) {
      if (value != left_out) out[at.text()] = name_of(value);
    } else if constexpr (std::is_arithmetic_v<type>) {
      if (value != left_out) out[at.text()] = value;
    } else if (value.is_stated()) {
      const auto unit = pm::exponents_of<typename type::quantity_type>();
      std::string text = unit == pm::unit_exponents{} ? "" : amount_text(value.value(), unit);
      if (!text.empty() && is_link_rate(at)) text += " one way";
      out[at.text()] = {{"value", text.empty() ? number_json("value", value.value()) : json(text)},
                        {"basis", pm::name_of(value.from().how)},
                        {"source", value.from().text}};
    }
  };
  const pm::accelerator nothing;
  each_value({}, each, a, nothing);
  return out;
}

std::string accelerator_file_text(const pm::accelerator& a) {
  const json all = accelerator_file_json(a);
  std::string s;
  for (const auto& [key, value] : all.items()) {
    s += cat(s.empty() ? "{\n" : ",\n", "  \"", key, "\": ", write_json(value));
  }
  return s + "\n}\n";
}

std::string absence_text(const pm::accelerator& a) {
  table_rows rows = {{"missing fact", "consequence"}};
  const auto add = [&](bool stated, const char* facts, const char* costs) {
    if (!stated) rows.push_back({facts, costs});
  };
  add(a.dram.capacity.is_stated(), "dram.capacity", "no memory capacity: no serving and no plan");
  add(a.fabric.exists(), "fabric.kind, fabric.bandwidth", "no collectives, no parallel layouts");
  add(!a.fabric.exists() || a.fabric.ranks > 1, "fabric.ranks", "the fabric joins 1 accelerator");
  add(pm::has_vector_peak(a), "vector.peak.fp32", "element-wise kernels are bound by memory only");
  add(a.price.is_stated(), "price", "plan counts accelerator hours, no USD");
  const std::string needed = needed_for_prediction(a, profile_part::all);
  if (!needed.empty()) rows.push_back({needed, "no prediction: roofline bounds only"});
  return rows.size() == 1 ? "" : headed_table(rows, "l");
}

}  // namespace napkin
