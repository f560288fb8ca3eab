# cmake -D WORK_DIR=<scratch folder> -P check_layers_self_test.cmake
# Plants one wrong #include at a time and requires check_layers.cmake to name it.

cmake_minimum_required(VERSION 3.24)

set(include_dir "${WORK_DIR}/include")
set(tools_dir "${WORK_DIR}/tools/library")
set(layers "${CMAKE_CURRENT_LIST_DIR}/layers.txt")

function(clean_tree)
  file(REMOVE_RECURSE "${WORK_DIR}")
  foreach(header units/quantity.hpp hardware/accelerator.hpp
      hardware/catalog/chips.hpp operators/demand.hpp laws/roofline.hpp step/step.hpp
      kernels/catalog/profiles.hpp perfmodel.hpp)
    file(WRITE "${include_dir}/perfmodel/${header}" "#pragma once\n")
  endforeach()
  file(WRITE "${tools_dir}/perfmodel/tools/fit/least_squares.hpp" "#pragma once\n")
  # Arrows that are right.
  file(APPEND "${include_dir}/perfmodel/hardware/catalog/chips.hpp"
    "#include <perfmodel/hardware/accelerator.hpp>\n")
  file(APPEND "${include_dir}/perfmodel/laws/roofline.hpp"
    "#include \"../operators/demand.hpp\"\n#include <cstddef>\n#include <boost/units/quantity.hpp>\n")
  file(APPEND "${tools_dir}/perfmodel/tools/fit/least_squares.hpp"
    "#include <Eigen/Dense>\n#include <perfmodel/step/step.hpp>\n")
  file(APPEND "${include_dir}/perfmodel/kernels/catalog/profiles.hpp"
    "#include <perfmodel/hardware/catalog/chips.hpp>\n")
  file(APPEND "${include_dir}/perfmodel/perfmodel.hpp"
    "#include <perfmodel/hardware/accelerator.hpp>\n#include <perfmodel/laws/roofline.hpp>\n"
    "#include <perfmodel/step/step.hpp>\n#include <perfmodel/units/quantity.hpp>\n")
endfunction()

function(check result output)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -D INCLUDE_DIR=${include_dir} -D TOOLS_DIR=${tools_dir} -D LAYERS=${layers}
      -P "${CMAKE_CURRENT_LIST_DIR}/check_layers.cmake"
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")  # CMake wraps the lines of its messages
  set(${result} ${status} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

function(must_notice header line complaint)
  clean_tree()
  file(APPEND "${include_dir}/perfmodel/${header}" "${line}\n")
  check(status output)
  string(FIND "${output}" "${complaint}" position)
  if(status EQUAL 0 OR position EQUAL -1)
    message(FATAL_ERROR "`${line}` in ${header} should give `${complaint}`; the check said:\n${output}")
  endif()
endfunction()

clean_tree()
check(status output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the check fails on headers that are in order:\n${output}")
endif()

must_notice(laws/roofline.hpp "#include <perfmodel/step/step.hpp>"
  "laws/roofline.hpp includes perfmodel/step/step.hpp, which stands above it")
must_notice(units/quantity.hpp "#include \"../hardware/accelerator.hpp\""
  "units/quantity.hpp includes perfmodel/hardware/accelerator.hpp, which stands above it")
must_notice(hardware/accelerator.hpp "  #  include \"perfmodel/operators/demand.hpp\""
  "hardware/accelerator.hpp includes perfmodel/operators/demand.hpp, which stands above it")
must_notice(step/step.hpp "#include <perfmodel/hardware/catalog/chips.hpp>"
  "step/step.hpp includes perfmodel/hardware/catalog/chips.hpp, which nothing outside its own folder may")
must_notice(laws/roofline.hpp "#include <iostream>"
  "laws/roofline.hpp includes iostream, which no public header may")
must_notice(units/quantity.hpp "#include <boost/units/systems/si.hpp>"
  "units/quantity.hpp includes boost/units/systems/si.hpp, which no public header may")
must_notice(step/step.hpp "#include <Eigen/Core>" "step/step.hpp includes Eigen/Core, which only")
must_notice(step/step.hpp "#include <perfmodel/tools/fit/least_squares.hpp>"
  "step/step.hpp includes perfmodel/tools/fit/least_squares.hpp, which stands above it")
must_notice(step/step.hpp "#include <perfmodel/no_such.hpp>" "which does not exist")
must_notice(step/step.hpp "#include <perfmodel/kernels/catalog/profiles.hpp>"
  "step/step.hpp includes perfmodel/kernels/catalog/profiles.hpp, which nothing outside its own folder may")
must_notice(serving/load.hpp "#pragma once" "perfmodel.hpp forgot serving/load.hpp")
must_notice(perfmodel.hpp "#include <perfmodel/tools/fit/least_squares.hpp>"
  "perfmodel.hpp brings tools/fit/least_squares.hpp, which it leaves to those who name it")
must_notice(surprise.hpp "#pragma once" "surprise.hpp has no layer")

file(REMOVE_RECURSE "${WORK_DIR}")
