#include <perfmodel/tools/advise/advise.hpp>
#include <perfmodel/tools/fit/least_squares.hpp>
