# perfmodel::perfmodel     every header that needs Boost alone
# perfmodel::calibration   the headers that need Eigen as well

set(perfmodel_include_dir "${PROJECT_SOURCE_DIR}/include")
file(GLOB_RECURSE perfmodel_headers CONFIGURE_DEPENDS "${perfmodel_include_dir}/perfmodel/*.hpp")

set(perfmodel_eigen_headers "")
foreach(name analysis/least_squares.hpp analysis/calibration.hpp analysis/calibrate_machine.hpp
    analysis/service_search.hpp analysis/calibrate_service.hpp scalar/lanes.hpp)
  set(header "${perfmodel_include_dir}/perfmodel/${name}")
  if(header IN_LIST perfmodel_headers)
    list(REMOVE_ITEM perfmodel_headers "${header}")
    list(APPEND perfmodel_eigen_headers "${header}")
  endif()
endforeach()

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
    perfmodel_add_headers(calibration calibration ${perfmodel_eigen_headers})
    target_link_libraries(perfmodel_calibration INTERFACE perfmodel Eigen3::Eigen)
  endif()
endfunction()
