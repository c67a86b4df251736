// libkedge_mpi.so: the only file that knows MPI. A site may build it against its own.
#include "engine/comm/mpi_plugin.h"

#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace kedge::engine {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 28;   // elements of one call, whose counts are of 32 bits
constexpr int kAllToAllTag = 1, kGreetingTag = 2;

int said(int code, MpiMessage* message) {
  if (code == MPI_SUCCESS) return 0;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::snprintf(message->text, sizeof message->text, "MPI: %.*s", length, text);
  return 1;
}

// Whether each look that finds nothing gives the core away: Open MPI's do where there are more ranks than slots.
bool looks_yield() {
  static const bool do_yield = [] {
    int provided = 0, index = 0, count = 0;
    std::int64_t value = 0;   // of the library a bool or an int
    MPI_T_cvar_handle handle;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return false;
    if (MPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
      if (count == 1) MPI_T_cvar_read(handle, &value);
      MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    return value != 0;
  }();
  return do_yield;
}

// MPI's own waits use a core each until the slowest rank is there. This one looks for a moment without a pause. Then it
// gives its core away between two looks, because the awaited rank may need that core. Where the looks do so themselves
// it does not, since with two yields for each look all others would run twice. At last it sleeps for an eighth of the
// time that it has waited, at most 1 ms. MPI moves bytes only while ranks look, so that the middle part is longer for a
// transfer of many bytes: as long as one over a slow line takes.
class Pauses {
 public:
  explicit Pauses(std::int64_t bytes) : yielding_(kYielding + std::chrono::nanoseconds(bytes * kSlowByte)) {}

  void pause() {
    const std::chrono::nanoseconds waited = Clock::now() - begin_;
    if (waited < kBusy) return;
    if (waited < yielding_) {
      if (!looks_yield()) ::sched_yield();
      return;
    }
    const std::chrono::nanoseconds time = std::min<std::chrono::nanoseconds>(waited / 8, kLongest);
    const timespec length{.tv_sec = 0, .tv_nsec = static_cast<long>(time.count())};
    ::nanosleep(&length, nullptr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kBusy{1}, kYielding{500};
  static constexpr std::chrono::milliseconds kLongest{1};
  static constexpr std::int64_t kSlowByte = 20;   // ns: 0.05 GB/s
  const Clock::time_point begin_ = Clock::now();
  const std::chrono::nanoseconds yielding_;
};

// `bytes`: what is on the way, at most.
int wait_all(std::vector<MPI_Request>& requests, std::int64_t bytes, MpiMessage* message) {
  for (Pauses pauses(bytes);; pauses.pause()) {
    int done = 0;
    if (said(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), message))
      return 1;
    if (done) return 0;
  }
}

int wait(MPI_Request request, std::int64_t bytes, MpiMessage* message) {
  std::vector<MPI_Request> one{request};
  return wait_all(one, bytes, message);
}

// Before a long transfer the ranks meet. Else those that are early would sleep between their looks by the time that the
// last one comes, and the transfer would go at the pace of their looks.
bool is_long(std::int64_t bytes) {
  return bytes > (std::int64_t{1} << 16);
}

int meet_before(std::int64_t bytes, MpiMessage* message) {
  if (!is_long(bytes)) return 0;
  MPI_Request request = MPI_REQUEST_NULL;
  return said(MPI_Ibarrier(MPI_COMM_WORLD, &request), message) ? 1 : wait(request, 0, message);
}

// A worker gives up the system call by which MPI copies from another process's memory, so MPI must not choose it: Open
// MPI 4 and 5, and UCX under either MPI. What the user has set stays. Ranks of MPICH on one host need no network then;
// UCX 1.13 would take TCP beside shared memory, and hangs now and then.
void leave_out_copies() {
  const char* const here = std::getenv("MPI_LOCALNRANKS");   // both are of MPICH's launcher
  const char* const all = std::getenv("PMI_SIZE");
  const bool is_one_host = here && all && std::strcmp(here, all) == 0;
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  ::setenv("OMPI_MCA_smsc", "^cma", 0);
  ::setenv("UCX_TLS", is_one_host ? "posix,sysv,self" : "^cma", 0);
}

int open(MpiMessage* message) {
  int provided = 0;
  leave_out_copies();
  if (said(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), message)) return 1;
  return said(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), message);
}

void close() {
  MPI_Finalize();
}

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void library(MpiMessage* message) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const int line = static_cast<int>(std::find(text, text + length, '\n') - text);
  std::snprintf(message->text, sizeof message->text, "%.*s", line, text);
}

template <class T>
int reduce(T* values, std::int64_t n, MPI_Datatype type, MpiReduction op, MpiMessage* message) {
  const MPI_Op mpi_op = op == kMpiSum ? MPI_SUM : op == kMpiMin ? MPI_MIN : MPI_MAX;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (meet_before(n * kSize, message)) return 1;
  for (std::int64_t begin = 0; begin < n; begin += kMost) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(std::min(kMost, n - begin));
    if (said(MPI_Iallreduce(MPI_IN_PLACE, values + begin, count, type, mpi_op, MPI_COMM_WORLD, &request), message))
      return 1;
    if (wait(request, count * kSize, message)) return 1;
  }
  return 0;
}

int reduce_integers(std::int64_t* values, std::int64_t n, MpiReduction op, MpiMessage* message) {
  return reduce(values, n, MPI_INT64_T, op, message);
}

int reduce_doubles(double* values, std::int64_t n, MpiReduction op, MpiMessage* message) {
  return reduce(values, n, MPI_DOUBLE, op, message);
}

int broadcast(void* bytes, std::int64_t n, int root, MpiMessage* message) {
  if (meet_before(n, message)) return 1;
  for (std::int64_t begin = 0; begin < n; begin += kMost) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(std::min(kMost, n - begin));
    if (said(MPI_Ibcast(static_cast<char*>(bytes) + begin, count, MPI_BYTE, root, MPI_COMM_WORLD, &request), message))
      return 1;
    if (wait(request, count, message)) return 1;
  }
  return 0;
}

int all_gather(const void* mine, void* all, const std::int64_t* sizes, MpiMessage* message) {
  std::vector<int> counts, begins;
  std::int64_t total = 0;
  for (int r = 0; r < size(); total += sizes[r++]) {
    counts.push_back(static_cast<int>(sizes[r]));
    begins.push_back(static_cast<int>(total));
  }
  if (total <= kMost) {
    if (meet_before(total, message)) return 1;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Iallgatherv(mine, counts[static_cast<std::size_t>(rank())], MPI_BYTE, all, counts.data(),
                                     begins.data(), MPI_BYTE, MPI_COMM_WORLD, &request);
    return said(code, message) ? 1 : wait(request, total, message);
  }
  char* to = static_cast<char*>(all);
  for (int r = 0; r < size(); to += sizes[r++]) {
    if (r == rank()) std::memcpy(to, mine, static_cast<std::size_t>(sizes[r]));
    if (broadcast(to, sizes[r], r, message)) return 1;
  }
  return 0;
}

// As meet_before(), of the pairs that have much to send to each other. Both ranks of a pair know the sizes.
int greet_before(const std::int64_t* out_sizes, const std::int64_t* in_sizes, MpiMessage* message) {
  std::vector<MPI_Request> requests;
  for (int r = 0; r < size(); ++r) {
    if (!is_long(out_sizes[r] + in_sizes[r])) continue;
    if (said(MPI_Irecv(nullptr, 0, MPI_BYTE, r, kGreetingTag, MPI_COMM_WORLD, &requests.emplace_back()), message) ||
        said(MPI_Isend(nullptr, 0, MPI_BYTE, r, kGreetingTag, MPI_COMM_WORLD, &requests.emplace_back()), message))
      return 1;
  }
  return wait_all(requests, 0, message);
}

int all_to_all(const void* out, const std::int64_t* out_sizes, void* in, const std::int64_t* in_sizes,
               MpiMessage* message) {
  if (greet_before(out_sizes, in_sizes, message)) return 1;
  std::vector<MPI_Request> requests;
  std::int64_t bytes = 0;
  for (int r = 0; r < size(); ++r) bytes += out_sizes[r] + in_sizes[r];
  const char* from = static_cast<const char*>(out);
  char* to = static_cast<char*>(in);
  for (int r = 0; r < size(); to += in_sizes[r++]) {
    for (std::int64_t begin = 0; begin < in_sizes[r]; begin += kMost) {
      const int count = static_cast<int>(std::min(kMost, in_sizes[r] - begin));
      if (said(MPI_Irecv(to + begin, count, MPI_BYTE, r, kAllToAllTag, MPI_COMM_WORLD, &requests.emplace_back()),
               message))
        return 1;
    }
  }
  for (int r = 0; r < size(); from += out_sizes[r++]) {
    for (std::int64_t begin = 0; begin < out_sizes[r]; begin += kMost) {
      const int count = static_cast<int>(std::min(kMost, out_sizes[r] - begin));
      if (said(MPI_Isend(from + begin, count, MPI_BYTE, r, kAllToAllTag, MPI_COMM_WORLD, &requests.emplace_back()),
               message))
        return 1;
    }
  }
  return wait_all(requests, bytes, message);
}

void abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

}   // namespace
}   // namespace kedge::engine

extern "C" __attribute__((visibility("default"))) const kedge::engine::MpiTable* kedge_mpi_plugin() {
  using namespace kedge::engine;
  static constexpr MpiTable kTable{.abi = kMpiAbi,
                                   .open = open,
                                   .close = close,
                                   .rank = rank,
                                   .size = size,
                                   .library = library,
                                   .reduce_integers = reduce_integers,
                                   .reduce_doubles = reduce_doubles,
                                   .broadcast = broadcast,
                                   .all_gather = all_gather,
                                   .all_to_all = all_to_all,
                                   .abort = abort};
  return &kTable;
}
