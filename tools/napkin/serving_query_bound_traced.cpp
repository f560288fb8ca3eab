// Derivations of bounds of the query `serving`.
#include "serving_query.hpp"

namespace napkin::queries {

template outcome<pm::traced> serving::run(inputs<pm::traced>&, const bound_mode&);

}  // namespace napkin::queries
