// Latency and throughput of a deployment under load.
#pragma once

#include <perfmodel/serving/serving.hpp>
