// A service of the properties of order: its text, and what its prefills do.
#pragma once

#include <perfmodel/serving.hpp>
#include <sstream>
#include <string>

#include "support/order.hpp"

namespace perfmodel_test {

struct service {
  perfmodel::deployment d;
  perfmodel::service_load l;
  const calibrated_machine* machine;
};

/// What a message of a failed property says of a service.
inline std::string told(const service& s) {
  std::ostringstream out;
  out << s.d.model.name.c_str() << " on " << s.d.device.name.c_str() << " by "
      << perfmodel::name_of(s.machine->by) << ' '
      << (s.l.scheduler ? perfmodel::name_of(*s.l.scheduler) : "") << " t" << s.d.layout.tensor
      << " p" << s.d.layout.pipeline << " d" << s.d.layout.data << " in " << s.l.input_tokens
      << " out " << s.l.output_tokens << " variation " << s.l.output_cv << " chunk "
      << s.l.chunk_tokens.value_or(0.0) << " limit " << s.l.batch_limit.value_or(0.0)
      << (s.l.is_closed() ? " concurrency " : " rate ")
      << (s.l.is_closed() ? s.l.concurrency() : s.l.rate().value());
  return out.str();
}

/// Steps with prefill of a service by this calibration.
inline perfmodel::prefill_steps passes_of(const service& s, const perfmodel::calibrated& c) {
  perfmodel::detail::predicted_step<double, perfmodel::calibrated, perfmodel::calibrated> time(
      s.d, c, c);
  const auto engine = perfmodel::detail::engine_terms<double>(c);
  return perfmodel::detail::predict_service(s.d, s.l, engine, time).steps;
}

}  // namespace perfmodel_test
