// Defines PERFMODEL_WHOLE_NUMBERS(law), an overload of a law for whole numbers, and for a double
// with any scalar. Include it last, in each header that uses it; the header undefines it at its
// end.

#include <perfmodel/scalar/scalar.hpp>

#ifndef PERFMODEL_WHOLE_NUMBERS
#define PERFMODEL_WHOLE_NUMBERS(function)                     \
  template <class... N>                                       \
    requires detail::MixedNumbers<N...>                       \
  constexpr auto function(const N&... n) {                    \
    return function(detail::as_scalar<promoted<N...>>(n)...); \
  }
#endif
