# Boost::headers, 1.74 or later: by Boost's own package file, else by two of its headers. CMake's module FindBoost,
# which policy CMP0167 removes, is not asked. Defines no target where there are no such headers.

if(NOT TARGET Boost::headers)
  find_package(Boost 1.74 CONFIG QUIET)
endif()
if(NOT TARGET Boost::headers)
  find_path(PERFMODEL_BOOST_INCLUDE_DIR boost/units/quantity.hpp DOC "The folder with boost/units/quantity.hpp")
  if(PERFMODEL_BOOST_INCLUDE_DIR)
    file(STRINGS "${PERFMODEL_BOOST_INCLUDE_DIR}/boost/version.hpp" perfmodel_boost_version
      REGEX "^#define BOOST_VERSION ")
    string(REGEX REPLACE "[^0-9]" "" perfmodel_boost_version "${perfmodel_boost_version}")
    if(perfmodel_boost_version GREATER_EQUAL 107400)
      add_library(Boost::headers INTERFACE IMPORTED)
      set_target_properties(Boost::headers PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${PERFMODEL_BOOST_INCLUDE_DIR}")
    endif()
  endif()
endif()
