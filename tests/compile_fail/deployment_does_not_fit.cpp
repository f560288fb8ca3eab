// A deployment that does not fit stops the build. The message has the bytes needed and there.
// expect: this deployment needs more memory per device than there is
// expect: 141107740672
// expect: 85520809984
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step/memory.hpp>
namespace pm = perfmodel;
using namespace perfmodel::catalog;

#ifdef MUST_FAIL
static_assert(pm::require_fits<h100_sxm, llama_3_70b>);
#else
static_assert(pm::require_fits<h100_sxm, llama_3_70b, 2>);
#endif
