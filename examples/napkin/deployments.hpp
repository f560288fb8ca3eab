// A model on accelerators, read from a request.
#pragma once

#include <perfmodel/deployment/deployment.hpp>
#include <perfmodel/deployment/load.hpp>

#include "inputs.hpp"

namespace napkin {

/// `data` is how many data-parallel attention groups one copy of the model has.
/// Throws impossible_layout where a degree does not fit the model.
template <perfmodel::Scalar T>
perfmodel::basic_deployment<T> deployment_of(inputs<T>& in, int data = 1) {
  perfmodel::basic_deployment<T> d;
  d.device = in.accelerator();
  d.model = in.model();
  d.layout.tensor = in.whole("tensor_parallel");
  d.layout.pipeline = in.whole("pipeline_parallel");
  d.layout.expert = in.whole("expert_parallel");
  d.layout.data = data;
  check(d.layout, sharded_dims_of(d.model));
  d.weights = in.weights();
  d.activations = in.format("activation_format");
  d.kv = in.format("kv_format");
  return d;
}

/// Throws inconsistent where a request gives both of concurrency and requests_per_s.
template <perfmodel::Scalar T>
perfmodel::basic_service_load<T> load_of(inputs<T>& in) {
  perfmodel::basic_service_load<T> l;
  l.input_tokens = in.number("input_tokens");
  l.output_tokens = in.number("output_tokens");
  if (in.has("concurrency") && in.has("requests_per_s")) {
    throw perfmodel::error(perfmodel::error_code::inconsistent,
                           "give one of concurrency and requests_per_s, and not both");
  }
  if (in.has("concurrency")) {
    l.arrivals = perfmodel::basic_closed_loop<T>{in.number("concurrency")};
  } else if (in.has("requests_per_s")) {
    l.arrivals = perfmodel::basic_open_loop<T>{
        in.template amount<perfmodel::request_rate<T>>("requests_per_s")};
  }
  if (in.has("chunk_tokens")) l.chunk_tokens = in.number("chunk_tokens");
  return l;
}

}  // namespace napkin
