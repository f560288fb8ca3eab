// Queries of one operator: keys are the fields of the operator's struct, with the same names,
// ranges, units and defaults. docs/how-to/add_a_napkin_query.md.
#pragma once

#include <concepts>

#include "query.hpp"

namespace napkin {

/// Help of a field, and its allowed words where it is an enum: name_of each, in their order.
struct field_help {
  const char* name = "";
  const char* help = "";
  std::vector<std::string_view> words{};
};

namespace detail {

/// Key of a field, with its initial value as the default; required where that is 0, which no
/// operator computes with.
template <class Value>
key key_of(const perfmodel::field& about, const Value& value, const field_help& h) {
  if constexpr (std::same_as<Value, bool>) {
    return flag(h.name, h.help).otherwise(value ? "true" : "false");
  } else if constexpr (perfmodel::detail::is_optional<Value>) {
    return key_of(about, typename Value::value_type{}, h).optional();
  } else if constexpr (perfmodel::Scalar<Value>) {
    const perfmodel::allowed_range& r = about.allowed;
    key k = r.refuses_some() ? number(h.name, h.help, r.least, r.most) : count(h.name, h.help);
    k.range.whole = k.range.least == 1.0;  // whether the field is a count
    return value == 0.0 ? k : k.otherwise(cat(value));
  } else if constexpr (std::same_as<Value, perfmodel::number_format>) {
    return format_key(h.name, h.help).otherwise(name_of(value));
  } else if constexpr (std::same_as<Value, perfmodel::storage_format>) {
    return format_key(h.name, h.help).optional();
  } else {
    return word(h.name, h.help, h.words).otherwise(name_of(value));
  }
}

/// Sets a field from the value of its key.
template <perfmodel::Scalar T, class Value>
void read_field(inputs<T>& in, const key& k, const napkin::value& from, Value& value) {
  if constexpr (perfmodel::detail::is_optional<Value>) {
    read_field(in, k, from, value.emplace());
  } else if constexpr (std::same_as<Value, bool>) {
    value = from.flag;
  } else if constexpr (std::same_as<Value, T>) {
    value = in.number(k.name, from);
  } else if constexpr (requires { value = format_named(from.text); }) {
    value = format_named(from.text);
  } else if constexpr (std::is_enum_v<Value>) {
    for (std::size_t i = 0; i < k.words.size(); ++i) {
      if (from.text == k.words[i]) value = static_cast<Value>(i);
    }
  }
}

/// Buffers that a benchmark reads in turn, of a bound: given, or the default of a prediction.
template <perfmodel::Scalar T, class Mode>
double weight_copies_of(const inputs<T>& in, const Mode& mode) {
  if constexpr (std::same_as<Mode, bound_mode>) {
    if (in.asked().find("weight_copies") != nullptr)
      return in.has("weight_copies") ? in.plain("weight_copies") : mode.weight_copies;
  }
  return 0.0;
}

/// Bytes of all buffers: further ones of the weights of a GEMM, else of all operands.
template <perfmodel::Scalar T, class Operator>
perfmodel::bytes<T> working_set(const Operator& x, const perfmodel::basic_demand<T>& d,
                                double copies) {
  if constexpr (requires { x.n* x.k* T(bytes_of(x.weights).value()); }) {
    const perfmodel::bytes<T> weights = x.n * x.k * perfmodel::lift<T>(bytes_of(x.weights));
    return d.dram.total() + T(copies - 1.0) * weights;
  } else {
    return T(copies) * d.dram.total();
  }
}

}  // namespace detail

/// The keys of the fields that `help` names, in its order.
template <template <class> class Operator>
std::vector<key> field_keys(const std::vector<field_help>& help) {
  std::vector<key> keys;
  const Operator<double> fresh{};
  for (const field_help& h : help) {
    Operator<double>::fields(
        [&](const perfmodel::field& about, const auto& value) {
          if (std::string_view(about.name) == h.name) {
            keys.push_back(detail::key_of(about, value, h));
          }
        },
        fresh);
  }
  return keys;
}

/// An operator with the fields given by the request.
template <template <class> class Operator, perfmodel::Scalar T>
Operator<T> read_operator(inputs<T>& in) {
  Operator<T> x{};
  Operator<T>::fields(
      [&in](const perfmodel::field& about, auto& value) {
        const key* const k = in.asked().find(key_name(about.name));
        if (k == nullptr) return;
        const napkin::value& from =
            in.all().at(static_cast<std::size_t>(k - in.asked().keys.data()));
        if (from.present) detail::read_field(in, *k, from, value);
      },
      x);
  return x;
}

/// The work of a demand, where a request has a measurement.
template <perfmodel::Scalar T>
void note_work(const inputs<T>& in, outcome<T>& out, const perfmodel::basic_demand<T>& d) {
  if constexpr (std::same_as<T, double>) {
    if (in.asked().find("measured_s") != nullptr && in.has("measured_s"))
      out.work = perfmodel::achieved(in.chip(), d, 1.0 * perfmodel::second);
  }
}

/// Time of an operator under a mode, its FLOP and its bytes; `intensity` too.
template <perfmodel::Scalar T, class Operator, class Mode>
outcome<T> kernel_outcome(inputs<T>& in, const Operator& x, const Mode& mode,
                          bool intensity = false) {
  const perfmodel::basic_demand<T> d = demand_of(x);
  perfmodel::basic_estimate<T> e;
  const double copies = detail::weight_copies_of(in, mode);
  if (copies > 0.0) {
    e = estimate_of(with_warm_cache<T>(in.accelerator(), detail::working_set(x, d, copies)), x, d,
                    mode);
  } else {
    e = estimate_of(in.accelerator(), x, d, mode);
  }
  outcome<T> out;
  out.add("time_s", "time", e.time);
  if (d.flop().value() > 0.0) out.add("flop", "work", d.flop());
  out.add("bytes", "DRAM traffic", d.dram.total());
  if (intensity) out.add("flop_per_byte", "intensity", d.intensity());
  out.explain(e);
  note_work(in, out, d);
  if constexpr (requires { mode.notes; }) out.log_sigma = perfmodel::stated_log_sigma(x, mode);
  if constexpr (requires { x.weights; }) {
    out.dequantises =
        perfmodel::gemm_kind_of(x.format, x.weights) == perfmodel::gemm_kind::dequantised;
  }
  return out;
}

/// Common part of an operator query; name, help and keys() are its own.
template <template <class> class Operator>
struct operator_query {
  static constexpr profile_part part = profile_part::matrix;
  static constexpr bool takes_a_measurement = true;

  template <perfmodel::Scalar T, class Mode>
  static outcome<T> run(inputs<T>& in, const Mode& mode) {
    return kernel_outcome(in, read_operator<Operator>(in), mode);
  }

 protected:
  /// The accelerator, the fields that `help` names, and further keys.
  static std::vector<key> keys_of(const std::vector<field_help>& help,
                                  const std::vector<key>& others = {}) {
    std::vector<key> keys = {accelerator_key()};
    for (key& k : field_keys<Operator>(help)) keys.push_back(std::move(k));
    keys.insert(keys.end(), others.begin(), others.end());
    return keys;
  }
};

}  // namespace napkin
