// What tests start under mpirun, with the plug-in and the number of ranks: every call of the communicator over MPI.
// Ends with 1 where something is wrong.
#include <fmt/core.h>

#include <cstdlib>

#include "engine/comm/mpi.h"
#include "engine/comm/self.h"
#include "tests/unit/comm/comm_battery.h"

int main(int, char** argv) {
  using namespace kedge::engine;
  const auto comm = open_mpi(argv[1]);
  const int expected = std::atoi(argv[2]);
  const std::vector<std::string> faults = comm_faults(*comm);
  for (const std::string& fault : faults) fmt::print(stderr, "rank {} of {}: {}\n", comm->rank(), comm->size(), fault);
  const std::string sum = sum_over_ranks(*comm);
  if (comm->rank() == 0) fmt::print("{} ranks of {}: {}\n", comm->size(), comm->library(), sum);
  comm->finish();
  return faults.empty() && comm->size() == expected && sum == sum_over_ranks(*make_self_comm()) ? EXIT_SUCCESS
                                                                                                : EXIT_FAILURE;
}
