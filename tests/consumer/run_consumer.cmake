# Configures, builds and runs the project in the folder KIND, in an empty folder.

cmake_minimum_required(VERSION 3.24)

# Runs a command and leaves what it printed in `output`.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status} of ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# configure(<folder> <argument...>): as a user does, and without a warning.
function(configure folder)
  step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${KIND}" -B "${folder}" -G "${GENERATOR}"
    -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_COMPILER=${COMPILER}" ${ARGN})
  if(output MATCHES "Warning")
    message(FATAL_ERROR "configuring ${KIND} warns:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")

if(KIND STREQUAL "find_package")
  # As the README has it: no option, nothing built, and on a machine without the packages of the rest.
  set(hidden "")
  foreach(package Catch2 nlohmann_json CLI11 benchmark)
    list(APPEND hidden "-DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
  endforeach()
  step("${CMAKE_COMMAND}" -S "${PERFMODEL_SOURCE_DIR}" -B "${WORK_DIR}/perfmodel" -G "${GENERATOR}"
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${COMPILER}" ${hidden})
  step("${CMAKE_COMMAND}" --install "${WORK_DIR}/perfmodel" --prefix "${WORK_DIR}/prefix")
  set(arguments "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix" "-DEXPECTED_VERSION=${VERSION}")

  # A component that is asked for, Boost without a package file, and a machine without Eigen.
  configure("${WORK_DIR}/component" ${arguments} -DCOMPONENT=tools)
  configure("${WORK_DIR}/headers" ${arguments} -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
  configure("${WORK_DIR}/without_eigen" ${arguments} -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON)
  execute_process(COMMAND "${CMAKE_COMMAND}" "${WORK_DIR}/without_eigen" -DCOMPONENT=tools
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
  if(status EQUAL 0 OR NOT output MATCHES "Eigen3")
    message(FATAL_ERROR "without Eigen, the component tools: status ${status}\n${output}")
  endif()
else()
  set(arguments "-DPERFMODEL_SOURCE_DIR=${PERFMODEL_SOURCE_DIR}")
endif()

configure("${WORK_DIR}/build" ${arguments})
step("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
step("${WORK_DIR}/build/consumer")
