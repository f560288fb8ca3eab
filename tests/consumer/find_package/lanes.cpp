#include <perfmodel/scalar/lanes.hpp>
