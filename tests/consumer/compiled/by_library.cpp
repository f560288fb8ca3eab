#include <perfmodel/compiled.hpp>
#include <perfmodel/compiled_plan.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <perfmodel/model/catalog/llama.hpp>

namespace by = perfmodel::compiled;
#include "results.hpp"
