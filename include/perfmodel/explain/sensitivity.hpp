// Which resource is the limit, and by how much: d ln(result) / d ln(resource).
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/dual.hpp>

namespace perfmodel {

/// Elasticity of a result with respect to one resource. -1: doubling it halves the result; 0: it is
/// not the limit.
struct elasticity {
  const char* resource = "";
  double value = 0;
};

/// Resources of an accelerator whose elasticity is asked for.
inline constexpr std::array<const char*, 5> machine_resources = {
    "matrix.peak", "vector.peak", "dram.bandwidth", "l2.bandwidth", "fabric.bandwidth"};

namespace detail {
/// Which of machine_resources a field belongs to, or their number.
constexpr std::size_t resource_of(const field_path& path) {
  if (path.is("dram.bandwidth")) return 2;
  if (path.is("l2.bandwidth")) return 3;
  if (path.is("fabric.bandwidth")) return 4;
  if (path.parent != nullptr && path.parent->is("matrix.peak")) return 0;
  if (path.parent != nullptr && path.parent->is("vector.peak")) return 1;
  return machine_resources.size();
}
}  // namespace detail

/// Elasticities of law(accelerator) with respect to peaks (of all formats together) and bandwidths,
/// exact, from one evaluation over dual numbers: law takes a basic_accelerator<dual<5>> and returns a
/// quantity or a number. At a ridge the derivative is that of the side max() takes.
/// Source: forward-mode differentiation, Griewank & Walther, "Evaluating Derivatives", 2008, ch. 3.
/// Errors: a result of 0. Tests: a memory-bound roofline has -1 at dram.bandwidth and 0 elsewhere;
/// the elasticities of a bound to all five sum to -1.
template <class Law>
constexpr std::array<elasticity, 5> elasticities(const accelerator& a, Law&& law) {
  using scalar = dual<5>;
  const auto seeded = map_scalars<scalar>(a, [](const field_path& path, double x) {
    const std::size_t i = detail::resource_of(path);
    return i < 5 ? scalar::log_variable(x, i) : scalar(x);
  });
  const auto result = law(seeded);
  scalar y;
  if constexpr (Quantity<std::remove_cvref_t<decltype(result)>>) {
    y = result.value();
  } else {
    y = result;
  }
  detail::positive("result", y);
  std::array<elasticity, 5> out{};
  for (std::size_t i = 0; i < 5; ++i) out[i] = {machine_resources[i], y.partial(i) / y.value()};
  return out;
}

}  // namespace perfmodel
