// The roofline of an operator on an accelerator.
#pragma once

// Included first, so that a wrong policy gives a short error.
#include <perfmodel/laws/execution.hpp>

#include <perfmodel/laws/roofline.hpp>
