// Every law. No catalogue, no Eigen, no JSON: include those you name.
#pragma once

#include <perfmodel/context_parallel.hpp>
#include <perfmodel/cost.hpp>
#include <perfmodel/energy.hpp>
#include <perfmodel/explain.hpp>
#include <perfmodel/fusion.hpp>
#include <perfmodel/hardware/node.hpp>
#include <perfmodel/iron_law.hpp>
#include <perfmodel/kv_cache.hpp>
#include <perfmodel/launch.hpp>
#include <perfmodel/littles_law.hpp>
#include <perfmodel/metrics.hpp>
#include <perfmodel/overlap.hpp>
#include <perfmodel/parallelism.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/queueing.hpp>
#include <perfmodel/require_fits.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/sensitivity.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/speculative.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/units/literals.hpp>
#include <perfmodel/units/text.hpp>
#include <perfmodel/zero.hpp>
