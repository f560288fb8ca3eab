// The time of one engine step of a deployment.
#pragma once

// Included first, so that a wrong policy gives a short error.
#include <perfmodel/laws/execution.hpp>

#include <perfmodel/step/prepared.hpp>
#include <perfmodel/step/step.hpp>
