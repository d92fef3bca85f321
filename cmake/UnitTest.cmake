# dlpark_unit_test(NAME LIBRARY...): NAME_test.c of this folder as an executable under CMocka and as test unit.NAME.
# Every unit test runs under valgrind too; one that starts threads also runs under the thread sanitizer.
# Where the compiler has no 128-bit integers (32-bit machines), a test that needs them is left out aloud.
find_package(PkgConfig)
if(PkgConfig_FOUND)
  pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
endif()
if(NOT CMOCKA_FOUND)
  message(STATUS "unit tests left out: cmocka was not found (Debian package libcmocka-dev)")
  function(dlpark_unit_test)
  endfunction()
  return()
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Allocation is made to fail at link time: every malloc of the library goes through tests/support/failing_alloc.c.
set(DLPARK_WRAP_OPTIONS malloc calloc realloc free aligned_alloc posix_memalign)
list(TRANSFORM DLPARK_WRAP_OPTIONS PREPEND "-Wl,--wrap=")

function(dlpark_unit_test name)
  file(STRINGS ${name}_test.c wide REGEX "__int128")
  file(STRINGS ${name}_test.c wide_optional REGEX "__SIZEOF_INT128__")
  if(wide AND NOT wide_optional AND CMAKE_SIZEOF_VOID_P LESS 8)
    message(STATUS "unit.${name} left out: its oracle would need 128-bit integers")
    return()
  endif()
  add_executable(${name}_test ${name}_test.c ${PROJECT_SOURCE_DIR}/tests/support/failing_alloc.c)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests/support ${PROJECT_SOURCE_DIR}/src/core
                                                     ${PROJECT_SOURCE_DIR}/src/formats)
  target_link_libraries(${name}_test PRIVATE dlpark_options PkgConfig::CMOCKA Threads::Threads ${ARGN})
  target_link_options(${name}_test PRIVATE ${DLPARK_WRAP_OPTIONS})
  # Tables of cases that more than one language reads, and the manual, which is held equal to the code.
  target_compile_definitions(${name}_test PRIVATE DLPARK_CASES="${PROJECT_SOURCE_DIR}/tests/cases"
                                                  DLPARK_PAGES="${PROJECT_SOURCE_DIR}/docs/reference")
  add_test(NAME unit.${name} COMMAND ${name}_test)
  set(labels unit valgrind)
  file(STRINGS ${name}_test.c threads REGEX "(pthread|thrd)_create")
  if(threads)
    list(APPEND labels threads)
  endif()
  set(timeout 600)
  if(CMAKE_CROSSCOMPILING)
    set(timeout 1200) # under qemu, on a machine that may have other things to do
  endif()
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT ${timeout} LABELS "${labels}")
endfunction()
