// What tests start under mpirun, with the plug-in and the number of ranks: every call of the communicator over MPI.
// Ends with 1 where something is wrong.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <span>
#include <thread>

#include "engine/comm/mpi.h"
#include "engine/comm/self.h"
#include "tests/unit/comm/comm_battery.h"

namespace {

using namespace kedge::engine;

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Rank 0 comes late to a meeting of few or many bytes. The others must not use a processor each until then, and get
// all bytes.
void check_long_wait(Comm& comm, std::size_t n, std::vector<std::string>& faults) {
  constexpr std::chrono::milliseconds kLate{500};
  constexpr double kMost = 0.06;   // of a second; a busy wait uses up to 0.5
  std::vector<std::int64_t> numbers(n, comm.rank() == 0 ? 7 : 0);
  const std::vector<std::int64_t> expected(n, 7);
  const double before = processor_seconds();
  if (comm.rank() == 0) std::this_thread::sleep_for(kLate);
  comm.broadcast(std::as_writable_bytes(std::span(numbers)), 0);
  const double used = processor_seconds() - before;
  if (used > kMost) faults.push_back(fmt::format("a wait for {} numbers used {:.3f} s of a processor", n, used));
  if (numbers != expected) faults.push_back(fmt::format("{} numbers of a late rank are not there", n));
}

}   // namespace

int main(int, char** argv) {
  const auto comm = open_mpi(argv[1]);
  const int expected = std::atoi(argv[2]);
  std::vector<std::string> faults = comm_faults(*comm);
  for (const std::size_t n : {1, 100'000}) check_long_wait(*comm, n, faults);
  for (const std::string& fault : faults) fmt::print(stderr, "rank {} of {}: {}\n", comm->rank(), comm->size(), fault);
  const std::string sum = sum_over_ranks(*comm);
  if (comm->rank() == 0) fmt::print("{} ranks of {}: {}\n", comm->size(), comm->library(), sum);
  comm->finish();
  return faults.empty() && comm->size() == expected && sum == sum_over_ranks(*make_self_comm()) ? EXIT_SUCCESS
                                                                                                : EXIT_FAILURE;
}
