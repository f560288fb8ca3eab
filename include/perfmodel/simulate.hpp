// Simulation of a service under load, event by event.
#pragma once

#include <perfmodel/serving/simulate.hpp>
