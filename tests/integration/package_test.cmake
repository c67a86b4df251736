# Installs Kedge into a folder of the build tree and builds examples/cpp against it, as a user's project would.
set(prefix "${BUILD}/package_test")
file(REMOVE_RECURSE "${prefix}")
set(flags "")
if(SANITIZE)   # what is linked with sanitized libraries must be so, too
  set(flags "-fsanitize=${SANITIZE}")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}/installed" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}/examples/cpp" -B "${prefix}/build" -G "${GENERATOR}"
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${flags} -DCMAKE_PREFIX_PATH=${prefix}/installed OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${prefix}/build" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(example mnist_forest search mixed_table predict ask workflow)
  if(NOT EXISTS "${prefix}/build/${example}")
    message(FATAL_ERROR "the example ${example} was not built")
  endif()
endforeach()
