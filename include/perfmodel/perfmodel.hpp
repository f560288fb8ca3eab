// The whole library except plans, simulation, catalogues, adviser, diagnosis, audit, and headers
// that need Eigen, JSON or a derivation: include those by name.
#pragma once

// First, so that what they say of a mistake stands within the first lines of an error.
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/laws/execution.hpp>
#include <perfmodel/laws/roofline.hpp>
#include <perfmodel/parallel/link_cost.hpp>

#include <perfmodel/engine/cuda_graphs.hpp>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/engine/moe_backend.hpp>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/kernels/attention.hpp>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/kernels/service_posterior.hpp>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/order_statistics.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/laws/schedules.hpp>
#include <perfmodel/laws/speculative.hpp>
#include <perfmodel/laws/warp.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/operators/norm.hpp>
#include <perfmodel/operators/quantized.hpp>
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/hierarchy.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/parallel/zero.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/serving/kv_offload.hpp>
#include <perfmodel/serving/preemption.hpp>
#include <perfmodel/serving/serving.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/prepared.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/text.hpp>
