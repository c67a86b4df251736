# The three kinds of target. A folder's sources are its files: adding one needs no edit here.

# kedge_library(NAME DEPS ... [SOURCES ...] [FOLDERS ...] [HEADERS ...]): a static library of every .cc in this folder and in FOLDERS, or of
# SOURCES. HEADERS: what most of its files include, compiled once (KEDGE_PCH); each file includes what it needs all the same.
function(kedge_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;FOLDERS;HEADERS;DEPS" ${ARGN})
  if(NOT arg_SOURCES)
    list(TRANSFORM arg_FOLDERS APPEND "/*.cc" OUTPUT_VARIABLE patterns)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS "*.cc" ${patterns})
  endif()
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC kedge_flags ${arg_DEPS})
  if(KEDGE_PCH AND arg_HEADERS)
    # In <>, so that the text, and what the compiler cache makes of it, does not depend on where the sources lie.
    list(TRANSFORM arg_HEADERS REPLACE "^(.+)$" "<\\1>")
    target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  endif()
endfunction()

function(kedge_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE kedge_flags ${arg_DEPS})
endfunction()

# kedge_shards(NAME N [PROPERTY VALUE]...): N tests NAME_1 to NAME_N, each with every Nth case of the GoogleTest program NAME, so that long ones use every
# core. Cases that take long often stand in every 2nd, 4th or 8th place (a device, a precision, a shape): an odd N spreads them.
function(kedge_shards name count)
  foreach(shard RANGE 1 ${count})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}_${shard} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(${name}_${shard} PROPERTIES TIMEOUT ${KEDGE_TEST_SECONDS}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${index}" ${ARGN})
  endforeach()
endfunction()

# kedge_test(NAME DEPS ... [SOURCES ...] [LABELS ...] [SHARDS N] [REPLACES_NEW]): a GoogleTest program of every *_test.cc in this folder, or of SOURCES.
function(kedge_test name)
  cmake_parse_arguments(arg "REPLACES_NEW" "SHARDS" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS "*_test.cc")
  endif()
  kedge_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  set(more "")
  if(arg_LABELS)
    set(more LABELS "${arg_LABELS}")
  endif()
  if(arg_REPLACES_NEW AND KEDGE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Its library of the thread sanitizer brings new itself and goes first, so that no allocation would fail.
    target_link_options(${name} PRIVATE LINKER:--allow-multiple-definition)
    list(APPEND more DISABLED TRUE)
  endif()
  if(arg_SHARDS)
    kedge_shards(${name} ${arg_SHARDS} ${more})
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${KEDGE_TEST_SECONDS} ${more})
endfunction()
