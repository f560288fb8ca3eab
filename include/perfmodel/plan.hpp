// Deployment plans: the cheapest deployments that meet latency targets.
#pragma once

#include <perfmodel/plan/plan.hpp>
