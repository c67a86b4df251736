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

# kedge_test(NAME DEPS ... [SOURCES ...] [LABELS ...] [REPLACES_NEW]): a GoogleTest program of every *_test.cc in this folder, or of SOURCES.
function(kedge_test name)
  cmake_parse_arguments(arg "REPLACES_NEW" "" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS "*_test.cc")
  endif()
  kedge_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${KEDGE_TEST_SECONDS} LABELS "${arg_LABELS}")
  if(arg_REPLACES_NEW AND KEDGE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Its library of the thread sanitizer brings new itself and goes first, so that no allocation would fail.
    target_link_options(${name} PRIVATE LINKER:--allow-multiple-definition)
    set_tests_properties(${name} PROPERTIES DISABLED TRUE)
  endif()
endfunction()
