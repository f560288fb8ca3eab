// Everything but catalogues, and what needs Eigen, JSON or a derivation: include those by name.
#pragma once

// First, so that what they say of a mistake stands within the first lines of an error.
#include <perfmodel/core/error.hpp>
#include <perfmodel/policy/cost.hpp>
#include <perfmodel/policy/execution.hpp>
#include <perfmodel/roofline.hpp>

#include <perfmodel/analysis/scores.hpp>
#include <perfmodel/analysis/sensitivity.hpp>
#include <perfmodel/calibrated/collectives.hpp>
#include <perfmodel/calibrated/policy.hpp>
#include <perfmodel/cost.hpp>
#include <perfmodel/deployment/require_fits.hpp>
#include <perfmodel/energy.hpp>
#include <perfmodel/fusion.hpp>
#include <perfmodel/hardware/node.hpp>
#include <perfmodel/hardware/value_range.hpp>
#include <perfmodel/iron_law.hpp>
#include <perfmodel/kv_cache.hpp>
#include <perfmodel/launch.hpp>
#include <perfmodel/littles_law.hpp>
#include <perfmodel/metrics.hpp>
#include <perfmodel/overlap.hpp>
#include <perfmodel/parallel/communication_overlap.hpp>
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/hierarchy.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/parallel/zero.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/queueing.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/speculative.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/units/literals.hpp>
#include <perfmodel/units/text.hpp>
#include <perfmodel/warp.hpp>
#include <perfmodel/workload/operators/flash_attention.hpp>
#include <perfmodel/workload/operators/quantized.hpp>
#include <perfmodel/workload/operators/softmax.hpp>
