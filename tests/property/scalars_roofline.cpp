// The roofline and the matrix product over every scalar.
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <support/scalars.hpp>

namespace property_scalars_roofline {

namespace pm = perfmodel;
using perfmodel_test::check_scalars;

namespace {

template <class T>
pm::basic_accelerator<T> machine(const T& matrix, const T& vector, const T& dram, const T& l2) {
  pm::basic_accelerator<T> a;
  a.name = "test machine";
  a.matrix.peak.bf16 = pm::flop_rate<T>::from_value(matrix);
  a.vector.peak.fp32 = pm::flop_rate<T>::from_value(vector);
  a.dram.bandwidth = pm::bandwidth<T>::from_value(dram);
  a.l2.bandwidth = pm::bandwidth<T>::from_value(l2);
  return a;
}

}  // namespace

TEST_CASE("attainable rate and ridge point agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::ridge_point(pm::flop_rate<T>::from_value(x[0]),
                               pm::bandwidth<T>::from_value(x[1]))
            .value();
      },
      989.4e12, 3.35e12);
  const auto rate = []<class T>(const std::array<T, 3>& x) {
    return pm::attainable(pm::flop_rate<T>::from_value(x[0]), pm::bandwidth<T>::from_value(x[1]),
                          pm::intensity<T>::from_value(x[2]))
        .value();
  };
  check_scalars(rate, 989.4e12, 3.35e12, 100.0);
  check_scalars(rate, 989.4e12, 3.35e12, 1000.0);
}

TEST_CASE("the time of a matrix product agrees over all scalars, on either side of the ridge") {
  const auto time = []<class T>(const std::array<T, 5>& x) {
    pm::basic_gemm<T> g;
    g.m = x[0];
    g.n = x[1];
    g.k = x[2];
    return pm::roofline(machine(x[3], T(67e12), x[4], T(5.5e12)), g).time.value();
  };
  check_scalars(time, 1.5, 8192.0, 8192.0, 989.4e12, 3.35e12);
  check_scalars(time, 4096.0, 4096.0, 4096.0, 989.4e12, 3.35e12);
}

TEST_CASE("a demand on vector units and a cache agrees over all scalars") {
  const auto time = []<class T>(const std::array<T, 6>& x) {
    pm::basic_demand<T> d;
    d.vector_flop = pm::flops<T>::from_value(x[0]);
    d.dram.read = pm::bytes<T>::from_value(x[1]);
    d.l2.read = pm::bytes<T>::from_value(x[2]);
    return pm::roofline(machine(T(989e12), x[3], x[4], x[5]), d).time.value();
  };
  check_scalars(time, 8e9, 1e6, 1e6, 67e12, 3.35e12, 5.5e12);  // vector
  check_scalars(time, 8e6, 1e9, 1e6, 67e12, 3.35e12, 5.5e12);  // memory
  check_scalars(time, 8e6, 1e6, 1e9, 67e12, 3.35e12, 5.5e12);  // L2
}

TEST_CASE("utilisation agrees over all scalars") {
  const auto mfu = []<class T>(const std::array<T, 2>& x) {
    pm::basic_gemm<T> g;
    g.m = x[0];
    g.n = T(8192.0);
    g.k = x[1];
    return pm::roofline(machine(T(989.4e12), T(67e12), T(3.35e12), T(5.5e12)), g).mfu;
  };
  check_scalars(mfu, 16.0, 8192.0);
}

}  // namespace property_scalars_roofline
