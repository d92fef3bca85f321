# DLPARK_VERSION, from the three macros in version.h.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../include/dlpark/version.h dlpark_version_lines
     REGEX "^#define DLPARK_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
string(REGEX REPLACE "[^;]* ([0-9]+)" "\\1" dlpark_version_parts "${dlpark_version_lines}")
list(JOIN dlpark_version_parts "." DLPARK_VERSION)
if(NOT DLPARK_VERSION MATCHES "^[0-9]+\\.[0-9]+\\.[0-9]+$")
  message(FATAL_ERROR "include/dlpark/version.h does not define the version as three numbers")
endif()
