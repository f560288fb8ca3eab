// Derivations of predictions of the query `serving`.
#include "serving_query.hpp"

namespace napkin::queries {

template outcome<pm::traced> serving::run(inputs<pm::traced>&,
                                          const pm::basic_calibrated<pm::traced>&);

}  // namespace napkin::queries
