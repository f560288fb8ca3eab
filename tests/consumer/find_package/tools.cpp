#include <perfmodel/scalar/lanes.hpp>
#include <perfmodel/tools/advise/advise.hpp>
