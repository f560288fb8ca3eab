// The roofline of an operator on an accelerator.
#pragma once

#include <perfmodel/laws/roofline.hpp>
