#include "deployments.hpp"

namespace napkin {

std::vector<key> degree_keys() {
  return {degree("tensor_parallel", "ranks that share each layer").otherwise("1"),
          degree("pipeline_parallel", "stages that share the layers").otherwise("1"),
          degree("expert_parallel", "groups that the experts are dealt to").otherwise("1")};
}

std::vector<key> storage_keys() {
  return {format_key("weight_format", "of the linear layers; as the checkpoint, where not given").optional(),
          format_key("activation_format", "of the operands beside the weights; products run in the wider of the two")
              .otherwise("bf16"),
          format_key("kv_format", "of the KV cache").otherwise("bf16")};
}

}  // namespace napkin
