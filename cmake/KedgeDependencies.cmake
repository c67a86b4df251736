# Every third-party library, found once. All are Debian packages; run.sh lists them.
find_package(Threads REQUIRED)
if(KEDGE_FUZZ)   # without OpenMP's pragmas, on one thread; OpenBLAS wants GCC's runtime all the same
  add_library(OpenMP::OpenMP_CXX INTERFACE IMPORTED)
  target_link_libraries(OpenMP::OpenMP_CXX INTERFACE gomp)
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
find_package(CapnProto CONFIG REQUIRED)
find_package(simdjson CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(zstd REQUIRED)
find_library(KEDGE_ISAL isal REQUIRED)   # inflates three to four times as fast as zlib
find_path(KEDGE_ISAL_INCLUDE isa-l/igzip_lib.h REQUIRED)
find_library(KEDGE_PUGIXML libpugixml.a REQUIRED)   # static: one program reads one provider's XML
find_library(KEDGE_BZIP2 libbz2.a REQUIRED)   # static: packed texts alone need it
find_library(KEDGE_TURBOJPEG libturbojpeg.a REQUIRED)   # static: one data set of pictures alone needs it
find_package(ZLIB REQUIRED)
find_library(KEDGE_MINIZIP libminizip.a REQUIRED)   # static: the open form of models alone is a ZIP
find_library(KEDGE_RE2 re2 REQUIRED)   # patterns of column names: neither recursion nor backtracking
find_path(KEDGE_RE2_INCLUDE re2/re2.h REQUIRED)
find_library(KEDGE_UTF8PROC libutf8proc.a REQUIRED)   # static: the vectorisers alone ask for properties of characters
find_path(KEDGE_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
if(KEDGE_TESTS OR KEDGE_BENCH OR KEDGE_FUZZ)   # all of tests/ is configured
  find_package(GTest REQUIRED)
endif()
if(KEDGE_BENCH)
  find_package(benchmark REQUIRED)
endif()
# The OpenMP build as a static archive: it scales with OMP_NUM_THREADS and lets our start-up code choose its kernels.
find_library(KEDGE_OPENBLAS libopenblas.a PATH_SUFFIXES openblas-openmp REQUIRED)
find_path(KEDGE_CBLAS_INCLUDE cblas.h PATH_SUFFIXES x86_64-linux-gnu/openblas-openmp openblas-openmp REQUIRED)
find_library(KEDGE_GFORTRAN NAMES gfortran libgfortran.so.5 PATH_SUFFIXES gcc/x86_64-linux-gnu/12 PATHS /usr/lib REQUIRED)
# MPI is not needed: without it there is no device "cluster". A second MPI beside the first proves the plug-in against both.
find_package(MPI COMPONENTS C QUIET)
if(NOT MPI_C_FOUND)
  message(STATUS "MPI: not found, so that kedged has no device \"cluster\" (Debian: libopenmpi-dev openmpi-bin)")
else()
  message(STATUS "MPI: ${MPI_C_LIBRARIES}")
endif()
find_path(KEDGE_MPICH_INCLUDE mpi.h PATHS /usr/include/x86_64-linux-gnu/mpich /usr/include/mpich NO_DEFAULT_PATH)
find_library(KEDGE_MPICH mpich)
