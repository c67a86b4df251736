// Ranks that are processes, started by mpirun, srun or another launcher of MPI.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "engine/comm/comm.h"

namespace kedge::engine {

class MpiComm : public Comm {
 public:
  virtual std::string library() const = 0;   // "Open MPI v4.1.4, ..."
  // Of two ranks alone: sends `out` to the other and fills `in` from it. Both know both sizes; one may be 0.
  virtual void exchange(int other, std::span<const std::byte> out, std::span<std::byte> in) = 0;
  virtual void finish() = 0;                 // leaves MPI in order: when every rank calls it, the launcher ends with 0
};

// Loads the plug-in and joins the ranks; returns when all are there. Once in a process, by the thread that will make
// the calls. A call that fails, and abort(), write why to stderr and end the process and, through MPI, the others.
// Errors: kDeviceUnavailable, with the reason, when the plug-in is missing, is of another build, or MPI does not start.
std::unique_ptr<MpiComm> open_mpi(const std::filesystem::path& plugin);

// libkedge_mpi.so in the folder of this program or in ../lib; for the launcher of MPICH, which leaves its own marks in
// the environment, libkedge_mpich.so where that exists.
std::filesystem::path usual_mpi_plugin();

}   // namespace kedge::engine
