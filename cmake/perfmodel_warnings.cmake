# The warnings that every file of this project compiles without, on GCC and on Clang.

set(CMAKE_CXX_EXTENSIONS OFF)
set(perfmodel_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(PERFMODEL_WARNINGS_AS_ERRORS)
  set(perfmodel_werror -Werror)
endif()
add_compile_options(${perfmodel_warnings} ${perfmodel_werror})
