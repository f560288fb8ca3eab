include(CMakeFindDependencyMacro)
find_dependency(perfmodel)
include("${CMAKE_CURRENT_LIST_DIR}/own-targets.cmake")
