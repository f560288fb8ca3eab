// How much of a data sheet a law may count on. The bound counts on all of it.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/workload/demand.hpp>

namespace perfmodel {

/// The default policy of every law: data-sheet values, no efficiency, no overhead. What it answers
/// is a bound that nothing runs faster than. A calibrated policy offers the same four functions.
struct datasheet {
  template <Scalar T>
  constexpr flop_rate<T> matrix_rate(const basic_accelerator<T>& a,
                                     const basic_demand<T>& d) const {
    return peak(a, d.format);
  }
  template <Scalar T>
  constexpr flop_rate<T> vector_rate(const basic_accelerator<T>& a, const basic_demand<T>&) const {
    return vector_peak(a);
  }
  template <Scalar T>
  constexpr bandwidth<T> dram_bandwidth(const basic_accelerator<T>& a,
                                        const basic_demand<T>&) const {
    return a.dram.bandwidth;
  }
  template <Scalar T>
  constexpr duration<T> launch_time(const basic_accelerator<T>&, const basic_demand<T>&) const {
    return {};
  }
};

/// Constant efficiencies and a constant launch time: the textbook's correction, for napkins.
/// 0 < efficiency <= 1. `launch` is per kernel.
template <Scalar T = double>
struct basic_derated {
  T compute_efficiency = T(1.0);
  T memory_efficiency = T(1.0);
  duration<T> launch{};

  constexpr flop_rate<T> matrix_rate(const basic_accelerator<T>& a,
                                     const basic_demand<T>& d) const {
    return share("compute_efficiency", compute_efficiency) * peak(a, d.format);
  }
  constexpr flop_rate<T> vector_rate(const basic_accelerator<T>& a, const basic_demand<T>&) const {
    return share("compute_efficiency", compute_efficiency) * vector_peak(a);
  }
  constexpr bandwidth<T> dram_bandwidth(const basic_accelerator<T>& a,
                                        const basic_demand<T>&) const {
    return share("memory_efficiency", memory_efficiency) * a.dram.bandwidth;
  }
  constexpr duration<T> launch_time(const basic_accelerator<T>&, const basic_demand<T>& d) const {
    return d.launches * detail::not_negative("launch", launch);
  }

 private:
  static constexpr const T& share(const char* field, const T& x) {
    detail::positive(field, x);
    return detail::fraction(field, x);
  }
};
using derated = basic_derated<>;

}  // namespace perfmodel
