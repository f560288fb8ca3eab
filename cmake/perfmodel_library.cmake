# perfmodel::perfmodel   the core: units, hardware, operators, models, laws, steps, serving, plans
# perfmodel::tools       what stands on the core: fits (which need Eigen), advice, diagnosis, audits

set(perfmodel_include_dir "${PROJECT_SOURCE_DIR}/include")
file(GLOB_RECURSE perfmodel_headers CONFIGURE_DEPENDS "${perfmodel_include_dir}/perfmodel/*.hpp")

set(perfmodel_tools_headers ${perfmodel_headers})
list(FILTER perfmodel_tools_headers INCLUDE REGEX "/perfmodel/tools/")
list(FILTER perfmodel_headers EXCLUDE REGEX "/perfmodel/tools/|/scalar/lanes\\.hpp$")
set(perfmodel_eigen_headers "${perfmodel_include_dir}/perfmodel/scalar/lanes.hpp")
foreach(name least_squares calibration calibrate_machine service_search calibrate_service)
  list(APPEND perfmodel_eigen_headers "${perfmodel_include_dir}/perfmodel/tools/fit/${name}.hpp")
endforeach()
list(REMOVE_ITEM perfmodel_tools_headers ${perfmodel_eigen_headers})

# An interface library of `headers`.
function(perfmodel_add_headers name export_name)
  set(target "perfmodel_${name}")
  if(name STREQUAL "perfmodel")
    set(target perfmodel)
  endif()
  add_library(${target} INTERFACE)
  add_library(perfmodel::${export_name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_sources(${target} INTERFACE
    FILE_SET HEADERS BASE_DIRS "${perfmodel_include_dir}" FILES ${ARGN})
endfunction()

function(perfmodel_add_library)
  perfmodel_add_headers(perfmodel perfmodel ${perfmodel_headers})
  target_link_libraries(perfmodel INTERFACE Boost::headers)
  if(TARGET Eigen3::Eigen)
    perfmodel_add_headers(tools tools ${perfmodel_tools_headers} ${perfmodel_eigen_headers})
    target_link_libraries(perfmodel_tools INTERFACE perfmodel Eigen3::Eigen)
  endif()
endfunction()
