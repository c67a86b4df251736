// What libkedge_mpi.so offers: MPI's collectives as a table of C functions, so that no program of this project is
// linked to an MPI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kedge::engine {

inline constexpr int kMpiAbi = 1;
inline constexpr const char* kMpiEntry = "kedge_mpi_plugin";

// Integers of C are MPI's in width. Functions that return an int return 0, or 1 after writing why to `message`.
struct MpiMessage {
  char text[512];
};
enum MpiReduction { kMpiSum, kMpiMin, kMpiMax };

struct MpiTable {
  int abi;
  int (*open)(MpiMessage* message);   // MPI_Init_thread; once in a process
  void (*close)();                    // MPI_Finalize, which waits for the other ranks
  int (*rank)();
  int (*size)();
  void (*library)(MpiMessage* message);   // the name and version of the MPI
  int (*reduce_integers)(std::int64_t* values, std::int64_t n, MpiReduction op, MpiMessage* message);
  int (*reduce_doubles)(double* values, std::int64_t n, MpiReduction op, MpiMessage* message);
  int (*broadcast)(void* bytes, std::int64_t n, int root, MpiMessage* message);
  // Part r of the result has sizes[r] bytes.
  int (*all_gather)(const void* mine, void* all, const std::int64_t* sizes, MpiMessage* message);
  // Part r of both goes to, or comes from, rank r.
  int (*all_to_all)(const void* out, const std::int64_t* out_sizes, void* in, const std::int64_t* in_sizes,
                    MpiMessage* message);
  void (*abort)(int code);
};
using MpiEntry = const MpiTable*();

}   // namespace kedge::engine
