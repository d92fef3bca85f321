# What a version promises, by the table in docs/releasing.md: cmake -P release_line.cmake
set(DLPARK_VERSION 0.0.0)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/Release.cmake)

function(expect version expected)
  dlpark_release_line(${version} line compatibility symbols)
  if(NOT "${line} ${compatibility} ${symbols}" STREQUAL "${expected}")
    message(SEND_ERROR "${version} gives ${line} ${compatibility} ${symbols}, not ${expected}")
  endif()
endfunction()

expect(0.1.0 "0.1 SameMinorVersion DLPARK_0.1")
expect(0.1.12 "0.1 SameMinorVersion DLPARK_0.1")
expect(0.12.1 "0.12 SameMinorVersion DLPARK_0.12")
expect(1.0.0 "1 SameMajorVersion DLPARK_1.0")
expect(1.4.2 "1 SameMajorVersion DLPARK_1.0")
expect(12.0.3 "12 SameMajorVersion DLPARK_12.0")
