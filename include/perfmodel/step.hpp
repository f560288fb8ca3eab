// The time of one engine step of a deployment.
#pragma once

#include <perfmodel/step/step.hpp>
