// Deployment plans: the cheapest deployments that meet latency targets, and what limits them.
#pragma once

#include <perfmodel/explain/plan_review.hpp>
#include <perfmodel/plan/plan.hpp>
