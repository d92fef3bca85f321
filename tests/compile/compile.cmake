# Helpers of the scripts in this folder: each compilation is a process of its own, and nothing is written.
#
#   compile(<ok|refused> COMPILER c|c++ STANDARD [TEXT text] ARGS...)
#
# ok: the compilation must succeed without a word. refused: it must fail and say TEXT.
# The counts, with the first failures, are reported by finish().
set(here ${CMAKE_CURRENT_LIST_DIR})
get_filename_component(root ${here}/../.. ABSOLUTE)
set(count 0)
set(failures "")

function(compile wanted compiler language standard)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "TEXT" "")
  execute_process(
    COMMAND ${compiler} -x ${language} -std=${standard} -Wall -Wextra -Wpedantic -Werror -fsyntax-only
            -I${root}/include -I${here}/upstream ${arg_UNPARSED_ARGUMENTS}
    RESULT_VARIABLE rc OUTPUT_VARIABLE output ERROR_VARIABLE output)
  math(EXPR count "${count} + 1")
  set(count ${count} PARENT_SCOPE)
  string(FIND "${output}" "${arg_TEXT}" at)
  if(wanted STREQUAL "ok" AND rc EQUAL 0 AND output STREQUAL "")
    return()
  elseif(wanted STREQUAL "refused" AND NOT rc EQUAL 0 AND NOT arg_TEXT STREQUAL "" AND at GREATER -1)
    return()
  endif()
  list(JOIN arg_UNPARSED_ARGUMENTS " " arguments)
  string(SUBSTRING "${output}" 0 1500 output)
  set(failures "${failures}\n${compiler} -x ${language} -std=${standard} ${arguments}\n  wanted: ${wanted} ${arg_TEXT}, exit status ${rc}\n${output}"
      PARENT_SCOPE)
endfunction()

macro(finish)
  if(NOT failures STREQUAL "")
    message(FATAL_ERROR "of ${count} compilations some did not end as they must:\n${failures}")
  endif()
  if(count EQUAL 0)
    message(FATAL_ERROR "nothing was compiled")
  endif()
  message(STATUS "${count} compilations")
endmacro()
