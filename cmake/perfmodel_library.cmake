# perfmodel::perfmodel   the core: units, hardware, operators, models, laws, steps, serving, plans
# perfmodel::compiled    steps, services and plans over double as a static library: perfmodel/compiled.hpp declares them
# perfmodel::tools       what stands on the core: fits (which need Eigen), advice, diagnosis, audits
#
# Each has an include folder of its own, so that a core header cannot find one of the tools. They are
# installed into one.

set(perfmodel_include_dir "${PROJECT_SOURCE_DIR}/include")
set(perfmodel_tools_include_dir "${PROJECT_SOURCE_DIR}/tools/library")
file(GLOB_RECURSE perfmodel_headers CONFIGURE_DEPENDS "${perfmodel_include_dir}/perfmodel/*.hpp")
file(GLOB_RECURSE perfmodel_tools_headers CONFIGURE_DEPENDS "${perfmodel_tools_include_dir}/perfmodel/*.hpp")

# Those that include Eigen.
set(perfmodel_eigen_headers "")
foreach(name least_squares calibration calibrate_machine service_search calibrate_service)
  list(APPEND perfmodel_eigen_headers "${perfmodel_tools_include_dir}/perfmodel/tools/fit/${name}.hpp")
endforeach()

# An interface library of the headers of a folder.
function(perfmodel_add_headers target export_name folder)
  add_library(${target} INTERFACE)
  add_library(perfmodel::${export_name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_sources(${target} INTERFACE
    FILE_SET HEADERS BASE_DIRS "${folder}" FILES ${ARGN})
endfunction()

function(perfmodel_add_library)
  perfmodel_add_headers(perfmodel perfmodel "${perfmodel_include_dir}" ${perfmodel_headers})
  target_link_libraries(perfmodel INTERFACE Boost::headers)
  if(TARGET Eigen3::Eigen)
    perfmodel_add_headers(perfmodel_tools tools "${perfmodel_tools_include_dir}" ${perfmodel_tools_headers})
    target_link_libraries(perfmodel_tools INTERFACE perfmodel Eigen3::Eigen)
  endif()
endfunction()

function(perfmodel_add_compiled)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/compiled/compiled_*.cpp")
  add_library(perfmodel_compiled STATIC ${sources})
  add_library(perfmodel::compiled ALIAS perfmodel_compiled)
  set_target_properties(perfmodel_compiled PROPERTIES EXPORT_NAME compiled POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(perfmodel_compiled PUBLIC perfmodel)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # At -O2 GCC 12 takes members of an optional that is tested first for uninitialised.
    target_compile_options(perfmodel_compiled PRIVATE -Wno-maybe-uninitialized)
  endif()
endfunction()
