message(FATAL_ERROR "CMake's module FindBoost was asked for Boost")
