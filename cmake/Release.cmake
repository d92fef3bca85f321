# What a version promises to programs that were linked with another one; docs/releasing.md says it in words.
#
#   dlpark_release_line(1.4.2 LINE COMPATIBILITY SYMBOLS)
#
# LINE           of the SONAME: releases of one line can take each other's place. Before 1.0 a minor version is a line, from then
#                on a major version.
# COMPATIBILITY  the same as find_package() takes it
# SYMBOLS        the version that symbols carry which a line had from its first release on: cmake/library.map.in
function(dlpark_release_line version line compatibility symbols)
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)\\.[0-9]+$" whole "${version}")
  if(whole STREQUAL "")
    message(FATAL_ERROR "'${version}' is no version of three numbers")
  elseif(CMAKE_MATCH_1 EQUAL 0)
    set(${line} 0.${CMAKE_MATCH_2} PARENT_SCOPE)
    set(${compatibility} SameMinorVersion PARENT_SCOPE)
    set(${symbols} DLPARK_0.${CMAKE_MATCH_2} PARENT_SCOPE)
  else()
    set(${line} ${CMAKE_MATCH_1} PARENT_SCOPE)
    set(${compatibility} SameMajorVersion PARENT_SCOPE)
    set(${symbols} DLPARK_${CMAKE_MATCH_1}.0 PARENT_SCOPE)
  endif()
endfunction()

# dlpark_version_symbols(TARGET): in a shared library every name carries its version, where the linker knows how, and two
# lines of releases in one process are not taken for each other.
function(dlpark_version_symbols target)
  if(NOT BUILD_SHARED_LIBS)
    return()
  endif()
  set(map ${PROJECT_BINARY_DIR}/package/library.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.map.in ${map} @ONLY)
  include(CheckLinkerFlag)
  check_linker_flag(C LINKER:--version-script=${map} DLPARK_HAVE_VERSION_SCRIPT)
  if(DLPARK_HAVE_VERSION_SCRIPT)
    target_link_options(${target} PRIVATE LINKER:--version-script=${map})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
  endif()
endfunction()

dlpark_release_line(${DLPARK_VERSION} DLPARK_LINE DLPARK_COMPATIBILITY DLPARK_SYMBOLS)
