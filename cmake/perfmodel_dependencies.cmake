# The packages that perfmodel and its tests stand on. Only Boost's headers are needed by everyone.

include(perfmodel_boost)
if(NOT TARGET Boost::headers)
  message(FATAL_ERROR "perfmodel needs Boost's headers, 1.74 or later (Debian and Ubuntu: libboost-dev).")
endif()
find_package(Eigen3 3.4 NO_MODULE QUIET)  # perfmodel::tools exists where Eigen does

if(PERFMODEL_BUILD_EXAMPLES)
  find_package(nlohmann_json 3.10 REQUIRED)
  find_package(CLI11 2.1 REQUIRED)
endif()

if(PERFMODEL_BUILD_EXAMPLES OR PERFMODEL_BUILD_TESTS)
  find_package(Threads REQUIRED)  # of napkin; a separate library before glibc 2.34
  set(ZLIB_USE_STATIC_LIBS ${PERFMODEL_STATIC_NAPKIN})
  if(PERFMODEL_STATIC_NAPKIN AND ZLIB_LIBRARY_RELEASE MATCHES "\\.so$")
    unset(ZLIB_LIBRARY_RELEASE CACHE)  # found before the option was turned on
  endif()
  find_package(ZLIB REQUIRED)  # for traces that gzip compressed
endif()

if(PERFMODEL_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

if(PERFMODEL_BUILD_TESTS)
  if(NOT TARGET Eigen3::Eigen)
    message(FATAL_ERROR "The tests need Eigen 3.4 (Debian and Ubuntu: libeigen3-dev).")
  endif()
  if(PERFMODEL_FETCH_DEPS)
    include(FetchContent)
    FetchContent_Declare(Catch2
      URL https://github.com/catchorg/Catch2/archive/refs/tags/v3.7.1.tar.gz
      URL_HASH SHA256=c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c
      DOWNLOAD_EXTRACT_TIMESTAMP TRUE
      FIND_PACKAGE_ARGS 3.4)
    FetchContent_MakeAvailable(Catch2)
    if(catch2_SOURCE_DIR)
      list(APPEND CMAKE_MODULE_PATH "${catch2_SOURCE_DIR}/extras")
    endif()
  else()
    find_package(Catch2 3.4 QUIET)
    if(NOT TARGET Catch2::Catch2WithMain)
      message(FATAL_ERROR "The tests need Catch2 3.4 or later (Debian 12: libcatch2-dev from "
        "bookworm-backports), or -DPERFMODEL_FETCH_DEPS=ON to download it.")
    endif()
  endif()
endif()
