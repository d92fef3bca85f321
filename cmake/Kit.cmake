# The extension kit as sources: with the core, all that an extension of CPython compiles in.
#
#   dlpark_add_kit(a.c b.c HEADERS python.h)
#
# writes <build>/kit/dlpark_python.c, which includes the core's sources and these. The target dlpark::python compiles it
# into whatever links it. HEADERS are the public ones beyond the core's, relative to include/dlpark.
#
#   dlpark_install_kit(COMPONENT INCLUDE CMAKE)
#
# installs headers and sources, and the CMake file of dlpark::python, into these folders, relative to the prefix. Sources
# lie among the headers, in dlpark/src, so that <dlpark/src/dlpark_python.c> is found with no more than the include path.
set(DLPARK_KIT_DIR ${PROJECT_BINARY_DIR}/kit)

function(dlpark_add_kit)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "HEADERS")
  list(TRANSFORM arg_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE kit)
  dlpark_kit_core(core)
  set(sources ${core} ${kit})

  set(patterns)
  set(kit_source_includes)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    list(APPEND patterns ${folder}/*.h)
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR}/src ${source})
    string(APPEND kit_source_includes "#include \"${relative}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES patterns)
  file(GLOB private_headers ${patterns})
  get_target_property(headers dlpark_core DLPARK_HEADERS)
  get_target_property(beside dlpark_core DLPARK_BESIDE_KIT)
  list(REMOVE_ITEM headers ${beside})
  list(TRANSFORM arg_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/dlpark/ OUTPUT_VARIABLE kit_headers)
  list(APPEND headers ${kit_headers})
  list(REMOVE_DUPLICATES headers)
  dlpark_kit_system_includes(kit_system_includes ${sources} ${private_headers} ${headers})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/dlpark_python.c.in ${DLPARK_KIT_DIR}/dlpark_python.c @ONLY)

  set_property(GLOBAL PROPERTY DLPARK_KIT_SOURCES ${kit})
  set_property(GLOBAL PROPERTY DLPARK_KIT_FILES ${sources} ${private_headers})
  set_property(GLOBAL PROPERTY DLPARK_KIT_HEADERS ${headers})
  if(NOT TARGET Threads::Threads) # a project that dlpark is part of has to see what it links
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads REQUIRED)
    set_property(TARGET Threads::Threads PROPERTY IMPORTED_GLOBAL TRUE)
  endif()
  add_library(dlpark_python INTERFACE)
  add_library(dlpark::python ALIAS dlpark_python)
  target_sources(dlpark_python INTERFACE ${DLPARK_KIT_DIR}/dlpark_python.c)
  target_include_directories(dlpark_python INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(dlpark_python INTERFACE c_std_11)
  target_link_libraries(dlpark_python INTERFACE Threads::Threads)
endfunction()

# The core's sources, but the inline functions as symbols, for which an extension has no use.
function(dlpark_kit_core out)
  get_target_property(names dlpark_core SOURCES)
  get_target_property(folder dlpark_core SOURCE_DIR)
  get_target_property(beside dlpark_core DLPARK_BESIDE_KIT)
  set(sources)
  foreach(name IN LISTS names)
    get_filename_component(source ${name} ABSOLUTE BASE_DIR ${folder})
    if(NOT source MATCHES "/inlines\\.c$" AND NOT source IN_LIST beside)
      list(APPEND sources ${source})
    endif()
  endforeach()
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# Lines that include what the files include of the C library and of the compiler.
function(dlpark_kit_system_includes out)
  set(names)
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} lines REGEX "^ *# *include <[a-z_/]+\\.h>")
    list(TRANSFORM lines REPLACE ".*<(.*)>.*" "\\1")
    list(APPEND names ${lines})
  endforeach()
  list(FILTER names EXCLUDE REGEX "^dlpark/")
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  set(text)
  foreach(name IN LISTS names)
    # What not every system has is included by those who asked which one this is.
    set(condition)
    if(name MATCHES "^(cpuid|immintrin)\\.h$")
      set(condition "defined(__x86_64__)")
    elseif(name STREQUAL "arm_neon.h")
      set(condition "defined(__aarch64__)")
    elseif(name MATCHES "^sys/")
      set(condition "__has_include(<${name}>)")
    endif()
    if(condition)
      string(APPEND text "#if ${condition}\n#include <${name}>\n#endif\n")
    else()
      string(APPEND text "#include <${name}>\n")
    endif()
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(dlpark_install_kit component include_dir cmake_dir)
  set(CMAKE_INSTALL_MESSAGE NEVER) # a hundred lines
  set(source_dir ${include_dir}/dlpark/src)
  get_property(files GLOBAL PROPERTY DLPARK_KIT_FILES)
  foreach(file IN LISTS files)
    get_filename_component(folder ${file} DIRECTORY)
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR}/src ${folder})
    install(FILES ${file} DESTINATION ${source_dir}/${relative} COMPONENT ${component})
  endforeach()
  install(FILES ${DLPARK_KIT_DIR}/dlpark_python.c DESTINATION ${source_dir} COMPONENT ${component})
  get_property(headers GLOBAL PROPERTY DLPARK_KIT_HEADERS)
  install(FILES ${headers} DESTINATION ${include_dir}/dlpark COMPONENT ${component})

  # The path in the CMake file is relative to it, so that the tree may be moved.
  file(RELATIVE_PATH kit_include /x/${cmake_dir} /x/${include_dir})
  set(written ${DLPARK_KIT_DIR}/${component})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/kit.cmake.in ${written}/dlpark-python.cmake @ONLY)
  install(FILES ${written}/dlpark-python.cmake ${PROJECT_BINARY_DIR}/package/dlparkConfig.cmake
                ${PROJECT_BINARY_DIR}/package/dlparkConfigVersion.cmake
    DESTINATION ${cmake_dir} COMPONENT ${component})
endfunction()
