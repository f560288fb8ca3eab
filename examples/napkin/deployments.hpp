// A model on accelerators, read from a request.
#pragma once

#include <perfmodel/deployment/deployment.hpp>

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

}  // namespace napkin
