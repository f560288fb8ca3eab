// Functions that the device runs and that the host can be tested with.
#pragma once

#ifdef __CUDACC__
#define PERFMODEL_HOST_DEVICE __host__ __device__
#else
#define PERFMODEL_HOST_DEVICE
#endif
