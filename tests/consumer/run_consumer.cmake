# Configures, builds and runs the project in the folder KIND, in an empty folder.

cmake_minimum_required(VERSION 3.24)

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status} of ${ARGN}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
set(arguments "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DEXPECTED_VERSION=${VERSION}")

if(KIND STREQUAL "find_package")
  # The headers and the package alone: the programs need not be built for this.
  step("${CMAKE_COMMAND}" -S "${PERFMODEL_SOURCE_DIR}" -B "${WORK_DIR}/perfmodel" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}"
    -DPERFMODEL_BUILD_TESTS=OFF -DPERFMODEL_BUILD_EXAMPLES=OFF
    -DPERFMODEL_BUILD_BENCHMARKS=OFF -DPERFMODEL_BUILD_VALIDATION=OFF)
  step("${CMAKE_COMMAND}" --install "${WORK_DIR}/perfmodel" --prefix "${WORK_DIR}/prefix")
  list(APPEND arguments "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix")
else()
  list(APPEND arguments "-DPERFMODEL_SOURCE_DIR=${PERFMODEL_SOURCE_DIR}")
endif()

step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${KIND}" -B "${WORK_DIR}/build"
  -G "${GENERATOR}" -DCMAKE_BUILD_TYPE=Debug ${arguments})
step("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
step("${WORK_DIR}/build/consumer")
