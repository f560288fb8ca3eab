// Version of the library: semantic versioning, read by the build as well.
#pragma once

#define PERFMODEL_VERSION_MAJOR 0
#define PERFMODEL_VERSION_MINOR 3
#define PERFMODEL_VERSION_PATCH 0
#define PERFMODEL_VERSION "0.3.0"

#if defined(_MSVC_LANG)
#define PERFMODEL_CXX _MSVC_LANG
#else
#define PERFMODEL_CXX __cplusplus
#endif
#if PERFMODEL_CXX < 202002L
#error "perfmodel needs C++20: -std=c++20"
#include <perfmodel_needs_cxx20>  // ends the compilation here
#endif
#undef PERFMODEL_CXX
