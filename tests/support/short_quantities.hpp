// Numbers over any scalar as quantities, for tests that run a law over several scalars.
#pragma once

#include <perfmodel/units/quantity.hpp>

namespace perfmodel_test {

namespace pm = perfmodel;

template <class T>
pm::duration<T> s(const T& x) {
  return pm::duration<T>::from_value(x);
}
inline pm::duration<> ms(double x) {
  return pm::duration<>::from_value(1e-3 * x);
}
inline double in_ms(const pm::duration<>& x) {
  return 1e3 * x.value();
}
template <class T>
pm::bytes<T> b(const T& x) {
  return pm::bytes<T>::from_value(x);
}
template <class T>
pm::bandwidth<T> bps(const T& x) {
  return pm::bandwidth<T>::from_value(x);
}
template <class T>
pm::flops<T> work(const T& x) {
  return pm::flops<T>::from_value(x);
}
template <class T>
pm::flop_rate<T> fps(const T& x) {
  return pm::flop_rate<T>::from_value(x);
}
template <class T>
pm::request_rate<T> rps(const T& x) {
  return pm::request_rate<T>::from_value(x);
}
template <class T>
pm::token_rate<T> tps(const T& x) {
  return pm::token_rate<T>::from_value(x);
}

}  // namespace perfmodel_test
