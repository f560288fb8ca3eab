// Does the deployment still fit? A file next to this one states it; with a larger model, a longer
// context or fewer GPUs this program does not compile, and the compiler prints both sizes.
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step/memory.hpp>

namespace pm = perfmodel;

namespace deployment {
#include "data/deployment.inc"
}

static_assert(pm::require_fits<deployment::machine, deployment::model, deployment::tensor_parallel,
                               deployment::weights, deployment::kv_cache, deployment::max_num_seqs,
                               deployment::max_model_len>);

int main() {
  pm::deployment d;
  d.device = deployment::machine;
  d.model = deployment::model;
  d.layout.tensor = deployment::tensor_parallel;
  d.weights = deployment::weights;
  d.kv = deployment::kv_cache;
  const auto c = pm::kv_capacity(d, deployment::max_model_len);
  std::printf("%d x %s: %.0f sequences of %d tokens fit, %d are promised\n",
              deployment::tensor_parallel, deployment::machine.name.view().data(), c.sequences,
              deployment::max_model_len, deployment::max_num_seqs);
}
