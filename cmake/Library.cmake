# One library of the project: its target, its headers, its install rules.
#
#   dlpark_add_library(core a.c b.c HEADERS dlpark.h view.h)
#   dlpark_add_library(image png.c HEADERS image.h REQUIRES core PACKAGES libpng)
#
# NAME gives the target dlpark_NAME, the alias dlpark::NAME, and the file libdlpark (core) or libdlpark-NAME.
#   HEADERS   the public headers, relative to include/dlpark; only those of libraries that are built get installed
#   REQUIRES  libraries of the project that its headers include
#   THREADS   its sources start threads; what that needs is linked, which is nothing where the C library has them itself
#   PACKAGES  pkg-config names of outside libraries that its sources use; linked, and named in what gets installed
#   PUBLIC_PACKAGES  the same for a library whose own calls everybody needs who uses ours: they get it with ours
#   FINDS     an outside library that comes as a CMake package, and of its targets PACKAGE::x those that the sources use; whoever
#             links ours is given PACKAGE::PACKAGE, with its headers, and finds it in the same way
include(CMakePackageConfigHelpers)

set(DLPARK_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/dlpark)

function(dlpark_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS" "" "HEADERS;REQUIRES;PACKAGES;PUBLIC_PACKAGES;FINDS")
  set(target dlpark_${name})
  add_library(${target} ${arg_UNPARSED_ARGUMENTS})
  add_library(dlpark::${name} ALIAS ${target})
  if(name STREQUAL "core")
    set(output dlpark)
  else()
    set(output dlpark-${name})
  endif()
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${output} EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION} SOVERSION ${DLPARK_LINE})
  dlpark_version_symbols(${target})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:dlpark_options>)
  target_compile_definitions(${target} PRIVATE DLPARK_BUILDING)
  if(BUILD_SHARED_LIBS)
    target_compile_definitions(${target} PUBLIC DLPARK_SHARED)
  endif()
  foreach(required IN LISTS arg_REQUIRES)
    target_link_libraries(${target} PUBLIC dlpark_${required})
  endforeach()
  if(arg_THREADS)
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads REQUIRED)
    target_link_libraries(${target} PRIVATE Threads::Threads)
  endif()
  if(arg_PACKAGES)
    dlpark_link_packages(${name} PRIVATE ${arg_PACKAGES})
  endif()
  if(arg_PUBLIC_PACKAGES)
    dlpark_link_packages(${name} PUBLIC ${arg_PUBLIC_PACKAGES})
  endif()
  set(found_package "")
  set(found_libs "")
  if(arg_FINDS)
    dlpark_link_found(${name} ${arg_FINDS})
  endif()
  dlpark_install_library(${name} ${output} "${arg_HEADERS}" "${arg_REQUIRES}" "${arg_PACKAGES}"
    "${arg_PUBLIC_PACKAGES}" ${arg_THREADS})
endfunction()

# Public headers by their names; DLPARK_HEADERS of the target has their paths, for the kit.
function(dlpark_install_headers name)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/include/dlpark/ OUTPUT_VARIABLE headers)
  if(DLPARK_INSTALL)
    install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dlpark COMPONENT development)
  endif()
  set_property(TARGET dlpark_${name} APPEND PROPERTY DLPARK_HEADERS ${headers})
endfunction()

# Another room's sources and headers in a library, as of its own: dlpark_extend_library(core stream.c HEADERS stream.h).
# BESIDE_KIT: an extension of CPython has no use for them, the kit leaves them out.
function(dlpark_extend_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BESIDE_KIT" "" "HEADERS")
  target_sources(dlpark_${name} PRIVATE ${arg_UNPARSED_ARGUMENTS})
  dlpark_install_headers(${name} ${arg_HEADERS})
  if(arg_BESIDE_KIT)
    list(TRANSFORM arg_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(TRANSFORM arg_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/dlpark/)
    set_property(TARGET dlpark_${name} APPEND PROPERTY DLPARK_BESIDE_KIT ${arg_UNPARSED_ARGUMENTS} ${arg_HEADERS})
  endif()
endfunction()

# Links outside libraries by their pkg-config names; says which one is missing.
function(dlpark_link_packages name for_whom)
  find_package(PkgConfig REQUIRED)
  foreach(package IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER DLPARK_${package} prefix)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${package})
    if(NOT ${prefix}_FOUND)
      message(FATAL_ERROR "dlpark::${name} needs ${package}, which pkg-config does not find; "
                          "tools/packages.txt names the Debian packages")
    endif()
    target_link_libraries(dlpark_${name} ${for_whom} PkgConfig::${prefix})
  endforeach()
endfunction()

# Links an outside library by its CMake package. Sets found_package, and found_libs: what the linker has to be told of it, as
# pkg-config files of such libraries leave out what their own library needs.
function(dlpark_link_found name package)
  find_package(${package} CONFIG QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "dlpark::${name} needs ${package}, which CMake does not find; CMAKE_PREFIX_PATH or ${package}_DIR "
                        "says where it lies, and `tools/partner ${package}` makes it")
  endif()
  list(TRANSFORM ARGN PREPEND ${package}:: OUTPUT_VARIABLE used)
  target_link_libraries(dlpark_${name} PRIVATE ${used} INTERFACE ${package}::${package})
  string(TOUPPER ${package}_INCLUDE_DIR include)
  target_include_directories(dlpark_${name} SYSTEM PRIVATE $<BUILD_INTERFACE:${${include}}>)

  set(libs " -l${package}")
  get_target_property(parts ${package}::${package} INTERFACE_LINK_LIBRARIES)
  list(REVERSE parts)
  foreach(part IN LISTS parts)
    if(part MATCHES "^${package}::(.*)$")
      string(APPEND libs " -l${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set(found_package ${package} PARENT_SCOPE)
  set(found_libs ${libs} PARENT_SCOPE)
endfunction()

# Library, headers, CMake targets and pkg-config file, in component "development". The wheel takes "python" only.
function(dlpark_install_library name output headers requires packages public_packages threads)
  dlpark_install_headers(${name} ${headers})
  if(NOT DLPARK_INSTALL)
    return()
  endif()
  install(TARGETS dlpark_${name} EXPORT dlpark-${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT development)
  install(EXPORT dlpark-${name} NAMESPACE dlpark:: FILE dlpark-${name}-targets.cmake
    DESTINATION ${DLPARK_INSTALL_CMAKEDIR} COMPONENT development)

  # What a user of the installed library has to find as well: its other half of the project and public packages always, and
  # threads and the other outside libraries only where a static archive leaves them to the final link.
  set(needed_packages ${public_packages})
  set(static_threads FALSE)
  if(NOT BUILD_SHARED_LIBS)
    list(APPEND needed_packages ${packages})
    set(static_threads ${threads})
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.cmake.in ${PROJECT_BINARY_DIR}/package/dlpark-${name}.cmake @ONLY)
  dlpark_write_pkgconfig(${name} ${output} "${requires}" "${packages}" "${public_packages}" ${static_threads})
  install(FILES ${PROJECT_BINARY_DIR}/package/dlpark-${name}.cmake
    DESTINATION ${DLPARK_INSTALL_CMAKEDIR} COMPONENT development)
  install(FILES ${PROJECT_BINARY_DIR}/package/${output}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

# The .pc file. Its prefix is relative to itself, so that an installed tree may be moved.
function(dlpark_write_pkgconfig name output requires packages public_packages static_threads)
  file(RELATIVE_PATH up /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${up}")
  set(pc_name ${output})
  set(pc_cflags "-I\${includedir}")
  set(pc_requires "")
  foreach(required IN LISTS requires)
    if(required STREQUAL "core")
      list(APPEND pc_requires "dlpark = ${PROJECT_VERSION}")
    else()
      list(APPEND pc_requires "dlpark-${required} = ${PROJECT_VERSION}")
    endif()
  endforeach()
  set(pc_threads "")
  if(static_threads)
    set(pc_threads " -pthread")
  endif()
  list(APPEND pc_requires ${found_package} ${public_packages})
  set(pc_requires_private "")
  if(BUILD_SHARED_LIBS)
    string(APPEND pc_cflags " -DDLPARK_SHARED")
    set(pc_requires_private ${packages})
  else()
    # Only the archive is installed, so every link is a static one, with or without `pkg-config --static`.
    list(APPEND pc_requires ${packages})
  endif()
  list(JOIN pc_requires ", " pc_requires)
  list(JOIN pc_requires_private ", " pc_requires_private)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in ${PROJECT_BINARY_DIR}/package/${output}.pc @ONLY)
endfunction()

# The package as a whole: find_package(dlpark [0.1] [COMPONENTS core image]).
function(dlpark_install_package)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/dlparkConfig.cmake.in
    ${PROJECT_BINARY_DIR}/package/dlparkConfig.cmake INSTALL_DESTINATION ${DLPARK_INSTALL_CMAKEDIR}
    NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/dlparkConfigVersion.cmake
    COMPATIBILITY ${DLPARK_COMPATIBILITY})
  if(NOT DLPARK_INSTALL)
    return()
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/package/dlparkConfig.cmake ${PROJECT_BINARY_DIR}/package/dlparkConfigVersion.cmake
    DESTINATION ${DLPARK_INSTALL_CMAKEDIR} COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
endfunction()
