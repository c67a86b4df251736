# Language level, warnings, sanitizers, ccache and the search for a CUDA compiler.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(KEDGE_CCACHE ccache)
if(KEDGE_CCACHE)
  set(launcher env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${KEDGE_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

add_library(kedge_flags INTERFACE)   # linked by every target of ours
# Contraction into fused multiply-adds is written where it is wanted, so that results do not depend on the compiler.
target_compile_options(kedge_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off>)
target_include_directories(kedge_flags INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")
if(KEDGE_SANITIZE)
  target_compile_options(kedge_flags INTERFACE -fsanitize=${KEDGE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(kedge_flags INTERFACE -fsanitize=${KEDGE_SANITIZE})
  if(KEDGE_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(kedge_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)   # Asio's fences, which it does not follow
  elseif(KEDGE_SANITIZE MATCHES "thread")
    target_compile_definitions(kedge_flags INTERFACE __SANITIZE_THREAD__=1)   # gcc's name for it, which clang 19 does not know
  endif()
else()   # the sanitizers bring checks of their own
  # Hardening, held by tests/integration/hardening_test.py. Without IBT's mark: OpenBLAS's kernels lack its landing pads.
  target_compile_options(kedge_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong;-fstack-clash-protection;-fcf-protection=full>)
  target_compile_definitions(kedge_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:_FORTIFY_SOURCE=2>)
  target_link_options(kedge_flags INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack,-z,shstk)
endif()

set(native_archs "")   # of the GPUs of this machine, such as 90-real
if(KEDGE_CUDA STREQUAL "NATIVE")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities RESULT_VARIABLE failed ERROR_QUIET)
  if(failed EQUAL 0)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" native_archs "${capabilities}")
    list(REMOVE_DUPLICATES native_archs)
    list(TRANSFORM native_archs REPLACE "\\." "")
    list(TRANSFORM native_archs APPEND "-real")
  endif()
endif()

set(KEDGE_HAS_CUDA OFF)
if(NOT KEDGE_CUDA STREQUAL "OFF" AND NOT (KEDGE_CUDA STREQUAL "NATIVE" AND NOT native_archs))
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(native_archs)
      set(CMAKE_CUDA_ARCHITECTURES ${native_archs})
    elseif(KEDGE_CUDA_ALL_ARCHS)
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 100-real 120)   # 120 also as PTX, for newer devices
    else()
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real)
    endif()
    enable_language(CUDA)
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)   # CMake 3.25 knows no C++20 for nvcc
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    if(NOT TARGET CUDA::nvToolsExt)   # CMake 3.25 sets a property of this library, which CUDA 13 has no more
      add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
    endif()
    find_package(CUDAToolkit REQUIRED)
    set(KEDGE_HAS_CUDA ON)
  elseif(KEDGE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "KEDGE_CUDA is ON but no CUDA compiler was found: put nvcc on the PATH")
  endif()
endif()
message(STATUS "CUDA backend: ${KEDGE_HAS_CUDA}")
