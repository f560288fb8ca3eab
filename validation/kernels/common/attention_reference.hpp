// One row of attention in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace perfmodel::validation {

/// sum over p of softmax_p(scale q . key(p)) value(p), for p = 0 .. keys - 1, in two passes. query(d),
/// key(p, d) and value(p, d) give the inputs as they are stored. Appends `dims` values to `to`.
template <class Query, class Key, class Value>
void attention_row(std::size_t keys, std::size_t dims, double scale, Query query, Key key, Value value,
                   std::vector<double>& to) {
  std::vector<double> q(dims), weight(keys), out(dims, 0.0);
  for (std::size_t d = 0; d < dims; ++d) q[d] = static_cast<double>(query(d));
  double highest = -1e300, sum = 0;
  for (std::size_t p = 0; p < keys; ++p) {
    double dot = 0;
    for (std::size_t d = 0; d < dims; ++d) dot += q[d] * static_cast<double>(key(p, d));
    weight[p] = scale * dot;
    highest = (std::max)(highest, weight[p]);
  }
  for (double& w : weight) sum += (w = std::exp(w - highest));
  for (std::size_t p = 0; p < keys; ++p) {
    for (std::size_t d = 0; d < dims; ++d) out[d] += weight[p] / sum * static_cast<double>(value(p, d));
  }
  to.insert(to.end(), out.begin(), out.end());
}

}  // namespace perfmodel::validation
