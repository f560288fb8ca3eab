# A port for the checkout it stands in: vcpkg install perfmodel --overlay-ports=<checkout>/cmake/packaging/vcpkg
# A registry replaces SOURCE_PATH by vcpkg_from_git with the commit of a version.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

set(VCPKG_BUILD_TYPE release)  # headers only
vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  INVERTED_FEATURES tools CMAKE_DISABLE_FIND_PACKAGE_Eigen3)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${feature_options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/perfmodel)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
