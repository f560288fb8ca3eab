# Configures, builds and tests the project once more, by another preset. Everything it prints is
# shown by ctest where it fails.

cmake_minimum_required(VERSION 3.24)

if(NOT COMPILER OR COMPILER MATCHES "NOTFOUND$")
  message("skipped: no compiler for the preset ${PRESET}")
  return()
endif()

# A compiler without the sanitizers' libraries cannot link what this preset builds.
set(probe "${BINARY_DIR}-probe")
file(WRITE "${probe}/probe.cpp" "int main() {}\n")
execute_process(COMMAND "${COMPILER}" -fsanitize=address,undefined probe.cpp -o probe
  WORKING_DIRECTORY "${probe}" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
file(REMOVE_RECURSE "${probe}")
if(NOT status EQUAL 0)
  message("skipped: ${COMPILER} does not link with its sanitizers")
  return()
endif()

function(step)
  message("--- ${ARGN}")
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${SOURCE_DIR}" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the preset ${PRESET} fails: status ${status} of ${ARGN}")
  endif()
endfunction()

set(arguments "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DPERFMODEL_FETCH_DEPS=${FETCH_DEPS}")
if(CATCH2_SOURCE_DIR)
  list(APPEND arguments "-DFETCHCONTENT_SOURCE_DIR_CATCH2=${CATCH2_SOURCE_DIR}")
endif()
# CMake starts over where the compiler changes, so name it only for a new build folder.
if(EXISTS "${BINARY_DIR}/CMakeCache.txt")
  list(REMOVE_AT arguments 0)
endif()

# No leak check: it needs ptrace, which containers often withhold.
set(ENV{ASAN_OPTIONS} "detect_leaks=0:detect_stack_use_after_return=1:strict_string_checks=1")
set(ENV{UBSAN_OPTIONS} "print_stacktrace=1")

step("${CMAKE_COMMAND}" --preset ${PRESET} -B "${BINARY_DIR}" ${arguments})
step("${CMAKE_COMMAND}" --build "${BINARY_DIR}" --target perfmodel_test_programs
  --parallel ${JOBS})
step("${CMAKE_CTEST_COMMAND}" --test-dir "${BINARY_DIR}" --output-on-failure --no-tests=error
  --parallel ${JOBS})
