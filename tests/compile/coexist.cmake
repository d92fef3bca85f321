# Ours beside upstream's dlpack.h of one release: both orders, every language level, every compiler that was found.
#   cmake -DVERSION=103 -DCOMPILERS=gcc;clang -DCXX=ON -P coexist.cmake
include(${CMAKE_CURRENT_LIST_DIR}/compile.cmake)

set(levels "c c11" "c c17")
if(CXX)
  list(APPEND levels "c++ c++11" "c++ c++14" "c++ c++17" "c++ c++20")
endif()
set(theirs <dlpack/dlpack.h>)

foreach(compiler IN LISTS COMPILERS)
  foreach(level IN LISTS levels)
    separate_arguments(level)
    set(common -DSTANDIN=${VERSION})
    set(ours <dlpark/dlpack.h>)
    compile(ok ${compiler} ${level} ${common} -DUPSTREAM_FIRST -DFIRST=${theirs} -DSECOND=${ours} ${here}/every_name.c)
    compile(ok ${compiler} ${level} ${common} -DFIRST=${ours} -DSECOND=${theirs} ${here}/every_name.c)
  endforeach()

  set(ours <dlpark/dlpark.h>)
  foreach(level IN ITEMS "c c11" "c c17")
    separate_arguments(level)
    compile(ok ${compiler} ${level} ${common} -DFIRST=${theirs} -DSECOND=${ours} ${here}/umbrella.c)
    compile(ok ${compiler} ${level} ${common} -DFIRST=${ours} -DSECOND=${theirs} ${here}/umbrella.c)
  endforeach()
endforeach()
# The umbrella in C++ takes most of a second for each compilation (the standard library's <complex>), so C++20 and the
# second compiler are tried with the oldest and the newest release only.
if(CXX)
  list(GET COMPILERS 0 first)
  list(GET COMPILERS -1 last)
  set(sources -DFIRST=${theirs} -DSECOND=${ours} ${here}/umbrella.c)
  compile(ok ${first} c++ c++17 ${common} ${sources})
  if(VERSION EQUAL 60 OR VERSION EQUAL 103)
    compile(ok ${last} c++ c++20 ${common} ${sources})
  endif()
endif()
finish()
