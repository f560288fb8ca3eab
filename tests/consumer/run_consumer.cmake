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

# configure(<folder> <argument...>): as a user does, and without a warning. `project` is a folder below KIND.
set(project "")
function(configure folder)
  step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${KIND}/${project}" -B "${folder}" -G "${GENERATOR}"
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

  # pkg-config, from a folder that the build did not name.
  file(RENAME "${WORK_DIR}/prefix" "${WORK_DIR}/moved")
  find_program(pkg_config NAMES pkg-config pkgconf)
  if(pkg_config)
    file(GLOB_RECURSE pc "${WORK_DIR}/moved/*/perfmodel.pc")
    cmake_path(GET pc PARENT_PATH folder)
    set(ENV{PKG_CONFIG_PATH} "${folder}")
    step("${pkg_config}" --modversion perfmodel)
    string(STRIP "${output}" found)
    if(NOT found STREQUAL VERSION)
      message(FATAL_ERROR "pkg-config finds perfmodel ${found}, not ${VERSION}")
    endif()
    step("${pkg_config}" --cflags perfmodel)
    string(STRIP "${output}" flags)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    step("${COMPILER}" -std=c++20 -fsyntax-only ${flags}
      "-I${CMAKE_CURRENT_LIST_DIR}/own_library/include" "${CMAKE_CURRENT_LIST_DIR}/own_library/app/app.cpp")
  else()
    message("skipped: there is no pkg-config")
    file(STRINGS "${WORK_DIR}/moved/lib/pkgconfig/perfmodel.pc" lines REGEX "^Version: ${VERSION}$|^Cflags: -I")
    list(LENGTH lines count)
    if(NOT count EQUAL 2)
      message(FATAL_ERROR "perfmodel.pc has neither the version ${VERSION} nor the include folder")
    endif()
  endif()
  file(RENAME "${WORK_DIR}/moved" "${WORK_DIR}/prefix")
elseif(KIND STREQUAL "compiled")
  # The library, built with optimisation, against the headers without.
  step("${CMAKE_COMMAND}" -S "${PERFMODEL_SOURCE_DIR}" -B "${WORK_DIR}/perfmodel" -G "${GENERATOR}"
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${COMPILER}" -DPERFMODEL_BUILD_COMPILED=ON)
  step("${CMAKE_COMMAND}" --build "${WORK_DIR}/perfmodel")
  step("${CMAKE_COMMAND}" --install "${WORK_DIR}/perfmodel" --prefix "${WORK_DIR}/prefix")
  set(arguments "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix")
elseif(KIND STREQUAL "own_library")
  # A library adds perfmodel as a folder, and both are installed; one finds that perfmodel, and is installed elsewhere.
  configure("${WORK_DIR}/added" "-DPERFMODEL_SOURCE_DIR=${PERFMODEL_SOURCE_DIR}")
  step("${CMAKE_COMMAND}" --install "${WORK_DIR}/added" --prefix "${WORK_DIR}/prefix")
  configure("${WORK_DIR}/found" "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix")
  step("${CMAKE_COMMAND}" --install "${WORK_DIR}/found" --prefix "${WORK_DIR}/elsewhere")
  set(project app)
  configure("${WORK_DIR}/app_found" "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix"
    "-Down_DIR=${WORK_DIR}/elsewhere/lib/cmake/own")
  set(arguments "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix")
else()
  set(arguments "-DPERFMODEL_SOURCE_DIR=${PERFMODEL_SOURCE_DIR}")
endif()

configure("${WORK_DIR}/build" ${arguments})
step("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
step("${WORK_DIR}/build/consumer")
if(KIND STREQUAL "compiled")
  set(by_library "${output}")
  step("${WORK_DIR}/build/by_headers")
  if(NOT output STREQUAL by_library)
    message(FATAL_ERROR "perfmodel::compiled answers other than the headers: ${by_library}\n${output}")
  endif()
endif()
