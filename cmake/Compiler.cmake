# Language level, warnings and sanitizers, for every target of ours.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(DLPARK_SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread")

add_library(dlpark_options INTERFACE)
target_compile_options(dlpark_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:C,GNU,Clang,AppleClang>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual
  -Wmissing-prototypes -Wstrict-prototypes -Wvla>)
if(DLPARK_WERROR)
  target_compile_options(dlpark_options INTERFACE -Werror)
endif()
if(DLPARK_SANITIZE)
  target_compile_options(dlpark_options INTERFACE -fsanitize=${DLPARK_SANITIZE} -fno-sanitize-recover=all
                                                  -fno-omit-frame-pointer)
  target_link_options(dlpark_options INTERFACE -fsanitize=${DLPARK_SANITIZE})
endif()

# The same sources give the same bytes wherever they lie: no folder of the machine that builds is written into a library or a
# program. Where debuggers are at work, in Debug, and in a project that dlpark is part of, they are told where sources lie.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
  include(CheckCCompilerFlag)
  check_c_compiler_flag(-ffile-prefix-map=/a=/b DLPARK_HAVE_FILE_PREFIX_MAP)
  if(DLPARK_HAVE_FILE_PREFIX_MAP)
    foreach(map ${PROJECT_SOURCE_DIR}/= ${PROJECT_BINARY_DIR}=.)
      target_compile_options(dlpark_options INTERFACE $<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${map}>)
    endforeach()
  endif()
endif()
