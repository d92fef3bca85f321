# The manual pages of the C calls, section 3: of every public header that is installed. tools/man_pages.py writes them.
find_program(DLPARK_PYTHON3 NAMES python3)
mark_as_advanced(DLPARK_PYTHON3)
if(NOT DLPARK_PYTHON3)
  message(STATUS "dlpark: no manual pages of the C calls; missing: python3")
  return()
endif()

set(headers "")
foreach(name IN ITEMS core ${DLPARK_BUILT_ADAPTERS})
  get_target_property(of_library dlpark_${name} DLPARK_HEADERS)
  list(APPEND headers ${of_library})
endforeach()
get_property(of_kit GLOBAL PROPERTY DLPARK_KIT_HEADERS)
list(APPEND headers ${of_kit})
list(REMOVE_DUPLICATES headers)
list(TRANSFORM headers REPLACE ".*/" "" OUTPUT_VARIABLE names)

set(manual ${PROJECT_BINARY_DIR}/man)
set(tool ${PROJECT_SOURCE_DIR}/tools/man_pages.py)
add_custom_command(OUTPUT ${manual}/written VERBATIM
  COMMAND ${DLPARK_PYTHON3} -B ${tool} ${manual} ${names}
  COMMAND ${CMAKE_COMMAND} -E touch ${manual}/written
  DEPENDS ${headers} ${tool} ${PROJECT_SOURCE_DIR}/tools/source_tree.py)
add_custom_target(dlpark_manual ALL DEPENDS ${manual}/written)
if(DLPARK_INSTALL)
  set(CMAKE_INSTALL_MESSAGE NEVER) # hundreds of lines
  install(DIRECTORY ${manual}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development)
endif()
