# The second CUDA backend, for drivers of CUDA 12: clang 19 compiles the same kernels with the toolkit of CUDA 12.9 that `./run.sh cuda12`
# makes of NVIDIA's packages on PyPI. CMake has one compiler for a language, so that clang is called by commands of our own.
option(KEDGE_CUDA12 "Build libkedge_cuda12.so, the CUDA backend for drivers from 525 on (needs clang 19 and KEDGE_CUDA12_TOOLKIT)" OFF)
set(KEDGE_CUDA12_TOOLKIT "${CMAKE_SOURCE_DIR}/build/cuda12/toolkit" CACHE PATH "What cmake/cuda12/assemble.py made")

if(KEDGE_CUDA12)
  find_program(KEDGE_CLANG clang++-19)
  if(NOT KEDGE_CLANG)
    message(FATAL_ERROR "KEDGE_CUDA12 is ON but there is no clang++-19: install Debian's clang-19")
  elseif(NOT EXISTS "${KEDGE_CUDA12_TOOLKIT}/complete")
    message(FATAL_ERROR "KEDGE_CUDA12 is ON but ${KEDGE_CUDA12_TOOLKIT} holds no toolkit: ./run.sh cuda12 makes it")
  endif()
  if(KEDGE_CUDA_ALL_ARCHS)
    set(KEDGE_CUDA12_ARCHS 70 75 80 86 89 90)
  else()
    set(KEDGE_CUDA12_ARCHS 70 80)
  endif()
endif()

# kedge_cuda12_objects(VARIABLE SOURCE...): compiles .cu files, and sets VARIABLE to the objects.
function(kedge_cuda12_objects variable)
  # The same rules as for nvcc: no contraction, and nothing of the host's headers is exported. Code for 9.0 also as PTX, for newer devices.
  # CUB asks for unrolling that this compiler does not do.
  set(flags --cuda-path=${KEDGE_CUDA12_TOOLKIT} -Wno-unknown-cuda-version --no-cuda-include-ptx=all -std=c++20 -ffp-contract=off -fPIC
    -fvisibility=hidden -fvisibility-inlines-hidden -Wall -Wno-pass-failed "-I${CMAKE_SOURCE_DIR}" "-I${CMAKE_BINARY_DIR}/generated")
  foreach(arch ${KEDGE_CUDA12_ARCHS})
    list(APPEND flags --offload-arch=sm_${arch})
  endforeach()
  list(GET KEDGE_CUDA12_ARCHS -1 newest)
  list(APPEND flags --cuda-include-ptx=sm_${newest})
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(optimised UNIX_COMMAND "${CMAKE_CXX_FLAGS_${type}}")
  set(objects "")
  foreach(source ${ARGN})
    file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
    set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda12/${name}.o")
    get_filename_component(folder "${object}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${object}" DEPENDS "${source}" DEPFILE "${object}.d" VERBATIM
      COMMENT "Compiling ${name} for CUDA 12 with clang"
      COMMAND "${KEDGE_CLANG}" -x cuda ${flags} ${optimised} -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o "${object}")
    list(APPEND objects "${object}")
  endforeach()
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()
