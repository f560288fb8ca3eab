# Sources compiled together. What costs a compiler here is instantiating the laws and writing code for
# them; in one source made of many it is done once. In return a changed file takes all of them along, so
# the preset `dev` leaves it off. Names are kept apart for it: a namespace for each file of the tests,
# names of its own for each of napkin.
option(PERFMODEL_UNITY_BUILD "Compile the tests, napkin and compare many files at a time" OFF)

include(ProcessorCount)
ProcessorCount(perfmodel_cores)
if(perfmodel_cores EQUAL 0)
  set(perfmodel_cores 1)
endif()

# How many at a time: as many as a core has memory for (Clang with its sanitizers takes 75 MB a file and
# 600 MB; 0.7 of the memory is counted on), in half as many pieces as there are cores, or as many as there are.
set(perfmodel_together 1)
if(PERFMODEL_UNITY_BUILD)
  cmake_host_system_information(RESULT megabytes QUERY TOTAL_PHYSICAL_MEMORY)
  if(EXISTS /sys/fs/cgroup/memory.max)  # of a container
    file(READ /sys/fs/cgroup/memory.max limit)
    string(STRIP "${limit}" limit)
    if(limit MATCHES "^[0-9]+$")
      math(EXPR limit "${limit} / 1048576")
      if(limit LESS megabytes)
        set(megabytes ${limit})
      endif()
    endif()
  endif()
  math(EXPR perfmodel_together "(${megabytes} * 7 / 10 / ${perfmodel_cores} - 600) / 75")
  message(STATUS "perfmodel: up to ${perfmodel_together} files compiled together")
endif()

# perfmodel_compile_together(<target> [FIRST]): FIRST is what nothing else is compiled beside.
function(perfmodel_compile_together target)
  if(perfmodel_together LESS 2)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  set(pieces ${perfmodel_cores})
  if(NOT "FIRST" IN_LIST ARGN)
    math(EXPR pieces "(${pieces} + 1) / 2")
  endif()
  math(EXPR share "(${count} + ${pieces} - 1) / ${pieces}")
  if(share GREATER perfmodel_together)
    set(share ${perfmodel_together})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${share})
endfunction()
