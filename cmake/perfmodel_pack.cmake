# cpack -G TGZ and cpack -G DEB, in the build folder: one package of the headers, of napkin where it was built, of its man
# page and completions, of the pages and the licence.

set(CPACK_PACKAGE_NAME perfmodel)
set(CPACK_PACKAGE_VENDOR perfmodel)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_RESOURCE_FILE_README "${PROJECT_SOURCE_DIR}/README.md")
set(CPACK_MONOLITHIC_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ)

# Debian's name of a package of headers alone would end in -dev; this one has the program as well.
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the authors of perfmodel" CACHE STRING "Maintainer of the Debian package, with an address")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libboost-dev)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS libeigen3-dev)
if(TARGET napkin)
  # Read from the programs; dpkg-shlibdeps comes with dpkg-dev.
  find_program(PERFMODEL_DPKG_SHLIBDEPS dpkg-shlibdeps DOC "Lists the packages that a program needs")
  if(PERFMODEL_DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  else()
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6, libstdc++6, libgcc-s1, zlib1g")
  endif()
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
endif()
include(CPack)
