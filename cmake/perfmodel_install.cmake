include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/perfmodel")

install(TARGETS perfmodel EXPORT perfmodel-targets
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT perfmodel-targets NAMESPACE perfmodel:: DESTINATION "${package_dir}")

if(TARGET perfmodel_tools)
  install(TARGETS perfmodel_tools EXPORT perfmodel-tools-targets
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT perfmodel-tools-targets NAMESPACE perfmodel:: DESTINATION "${package_dir}")
endif()

if(TARGET perfmodel_compiled)
  install(TARGETS perfmodel_compiled EXPORT perfmodel-compiled-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT perfmodel-compiled-targets NAMESPACE perfmodel:: DESTINATION "${package_dir}")
endif()

set(perfmodel_c_file "")
if(TARGET perfmodel_c)
  set(perfmodel_c_file "${CMAKE_SHARED_LIBRARY_PREFIX}perfmodel_c${CMAKE_SHARED_LIBRARY_SUFFIX}")
endif()
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/perfmodel-config.cmake.in"
  "${PROJECT_BINARY_DIR}/perfmodel-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
# While the major version is 0, every minor version may break its users.
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/perfmodel-config-version.cmake"
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(FILES
  "${PROJECT_BINARY_DIR}/perfmodel-config.cmake"
  "${PROJECT_BINARY_DIR}/perfmodel-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/perfmodel_boost.cmake"
  DESTINATION "${package_dir}")
# For pkg-config, relative to the folder of this file: an installation may be moved.
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH perfmodel_pc_prefix "/prefix/${pkgconfig_dir}" "/prefix")
string(REGEX REPLACE "/$" "" perfmodel_pc_prefix "${perfmodel_pc_prefix}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/perfmodel.pc.in" "${PROJECT_BINARY_DIR}/perfmodel.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/perfmodel.pc" DESTINATION "${pkgconfig_dir}")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Component napkin: cmake --install build --component napkin.
if(TARGET napkin)
  # Not part of an installation that was asked for before napkin was built.
  install(PROGRAMS $<TARGET_FILE:napkin> DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT napkin OPTIONAL)
  # The pages, with the links between them.
  install(FILES "${PROJECT_SOURCE_DIR}/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT docs)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT docs
    FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "site" EXCLUDE)
endif()
if(TARGET perfmodel_c)
  # The C library, as optional as napkin: find_package(perfmodel COMPONENTS c) fails where it was not built.
  install(TARGETS perfmodel_c EXPORT perfmodel-c-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" OPTIONAL)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/napkin/c_api.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/perfmodel")
  install(EXPORT perfmodel-c-targets NAMESPACE perfmodel:: DESTINATION "${package_dir}")
  if(SKBUILD)  # a wheel: beside the module
    install(FILES $<TARGET_FILE:perfmodel_c> RENAME "${perfmodel_c_file}" DESTINATION perfmodel COMPONENT python)
  endif()
endif()
