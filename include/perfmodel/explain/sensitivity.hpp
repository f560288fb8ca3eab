// Elasticities: which resource or field limits a result, and by how much.
#pragma once

#include <array>
#include <cstddef>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <string>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// Elasticity of a result: d ln(result) / d ln(resource). -1: doubling the resource halves the
/// result; 0: the resource does not limit it.
struct elasticity {
  const char* resource = "";
  double value = 0;
};

/// Resources of an accelerator with an elasticity; a peak stands for the peaks of all formats.
inline constexpr std::array<const char*, 5> machine_resources = {
    "matrix.peak", "vector.peak", "dram.bandwidth", "l2.bandwidth", "fabric.bandwidth"};

namespace detail {

/// Whether a path ends in `parent`.`name`, at any depth of a spec.
constexpr bool ends_in(const field_path& path, std::string_view parent, std::string_view name) {
  return name == path.name && path.parent != nullptr && parent == path.parent->name;
}
/// Index of a field in machine_resources; their number for any other field.
constexpr std::size_t resource_of(const field_path& path) {
  if (ends_in(path, "dram", "bandwidth")) return 2;
  if (ends_in(path, "l2", "bandwidth")) return 3;
  if (ends_in(path, "fabric", "bandwidth")) return 4;
  if (path.parent != nullptr && ends_in(*path.parent, "matrix", "peak")) return 0;
  if (path.parent != nullptr && ends_in(*path.parent, "vector", "peak")) return 1;
  return machine_resources.size();
}

/// Number of a law's result: its time, its quantity, or itself.
template <class Result>
constexpr auto number_of(const Result& result) {
  if constexpr (requires { result.time.value(); }) {
    return result.time.value();
  } else if constexpr (Quantity<Result>) {
    return result.value();
  } else {
    return result;
  }
}

/// Elasticities of law(spec) to N inputs: input_of(path) is the index of a field, or N.
template <std::size_t N, class S, class Law, class InputOf>
constexpr std::array<double, N> elasticities_to(const S& spec, const Law& law,
                                                const InputOf& input_of) {
  using scalar = dual<N>;
  const auto seeded = map_scalars<scalar>(spec, [&](const field_path& path, double x) {
    const std::size_t i = input_of(path);
    return i < N ? scalar::log_variable(x, i) : scalar(x);
  });
  const scalar y = number_of(law(seeded));
  positive("result", y);
  std::array<double, N> out{};
  for (std::size_t i = 0; i < N; ++i) out[i] = y.partial(i) / y.value();
  return out;
}

[[noreturn]] inline void no_such_field(const char* name) {
  throw error(error_code::unknown_name, std::string("no field is called \"") + name + "\"");
}

}  // namespace detail

/// Elasticities of law(spec) to machine_resources: exact, from one evaluation over dual numbers.
/// `spec` is an accelerator or a spec with one, such as a deployment. `law` is generic over the
/// scalar; it returns an estimate, a quantity or a number:
/// elasticities(d, [](const auto& x) { return step_bound(x, {.batch = 32, .context = 4096}); }).
/// At a ridge the derivative is that of the side max() takes.
/// Source: forward-mode differentiation, Griewank & Walther, "Evaluating Derivatives", 2008, ch. 3.
/// Errors: a result of 0. Tests: a memory-bound roofline has -1 at dram.bandwidth and 0 elsewhere;
/// the elasticities of a bound to all five sum to -1.
template <class S, class Law>
  requires detail::Spec<const S>
constexpr std::array<elasticity, 5> elasticities(const S& spec, const Law& law) {
  const auto values = detail::elasticities_to<5>(
      spec, law, [](const field_path& path) { return detail::resource_of(path); });
  std::array<elasticity, 5> out{};
  for (std::size_t i = 0; i < 5; ++i) out[i] = {machine_resources[i], values[i]};
  return out;
}

/// Elasticities of law(spec) to fields by their paths: elasticities(g, law, {"m", "n", "k"}).
/// Errors: a path that the spec lacks, or a field that is not stated; a result of 0.
/// Test: a GEMM's FLOP have 1 for each side; an unknown path is refused.
template <class S, class Law, std::size_t N>
  requires detail::Spec<const S>
constexpr std::array<elasticity, N> elasticities(const S& spec, const Law& law,
                                                 const char* const (&fields)[N]) {
  std::array<bool, N> found{};
  const auto input_of = [&](const field_path& path) {
    for (std::size_t i = 0; i < N; ++i) {
      if (!path.is(fields[i])) continue;
      found[i] = true;
      return i;
    }
    return N;
  };
  const auto values = detail::elasticities_to<N>(spec, law, input_of);
  std::array<elasticity, N> out{};
  for (std::size_t i = 0; i < N; ++i) {
    if (!found[i]) detail::no_such_field(fields[i]);
    out[i] = {fields[i], values[i]};
  }
  return out;
}

}  // namespace perfmodel::inline v0_3
