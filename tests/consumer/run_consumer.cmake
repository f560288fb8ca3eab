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
  # As the README has it: no option, nothing built, and on a machine without the packages of the rest.
  set(hidden "")
  foreach(package Catch2 nlohmann_json CLI11 benchmark)
    list(APPEND hidden "-DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
  endforeach()
  step("${CMAKE_COMMAND}" -S "${PERFMODEL_SOURCE_DIR}" -B "${WORK_DIR}/perfmodel" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" ${hidden})
  step("${CMAKE_COMMAND}" --install "${WORK_DIR}/perfmodel" --prefix "${WORK_DIR}/prefix")
  list(APPEND arguments "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix")
else()
  list(APPEND arguments "-DPERFMODEL_SOURCE_DIR=${PERFMODEL_SOURCE_DIR}")
endif()

step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${KIND}" -B "${WORK_DIR}/build"
  -G "${GENERATOR}" -DCMAKE_BUILD_TYPE=Debug ${arguments})
step("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
step("${WORK_DIR}/build/consumer")
