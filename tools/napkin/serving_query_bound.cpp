// Bounds of the query `serving`.
#include "serving_query.hpp"

namespace napkin::queries {

template outcome<> serving::run(inputs<double>&, const bound_mode&);

}  // namespace napkin::queries
