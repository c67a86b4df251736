// NCCL's functions. Faults of a rank: "init fails", "init hangs", "call fails" (at once), "call breaks" (an error that
// comes later), "call hangs", "abort hangs" (the same, and on all ranks no abort ends while this is the fault), "no
// id", "other version" (of a device). Of all: "old version", "no version".
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/comm/stand_in_gpu.h"

namespace kedge::stand_in {
namespace {

constexpr int kSuccess = 0, kSystemError = 2, kInternalError = 3, kInvalidArgument = 4, kInvalidUsage = 5,
              kInProgress = 7;
constexpr int kUint8 = 1, kInt64 = 4, kFloat64 = 8;
constexpr int kPolls = 2;   // looks at a call until it is taken

struct UniqueId {
  std::array<char, 128> bytes;
};
struct Config {
  std::size_t size;
  unsigned magic, version;
  int is_blocking;
};

struct Call {
  enum Kind { kAllReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kReceive } kind;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  int type = 0, op = 0, peer = 0;   // or the root
  Stream* stream = nullptr;

  std::size_t width() const { return type == kUint8 ? 1 : 8; }
  bool is_alike(const Call& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op && peer == other.peer;
  }
};

// The ranks of one id.
struct Group {
  explicit Group(int n) : shown(static_cast<std::size_t>(n)) {}

  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0, here = 0;
  std::int64_t round = 0;
  std::vector<Call> shown;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> mail;   // by sender and receiver
};

struct Rank {
  std::shared_ptr<Group> group;
  int number = 0;
  std::atomic<int> error = kSuccess, polls = 0;
  std::atomic<bool> is_aborted = false;
  int calls = 0;   // on streams; of the stream's thread
  std::vector<Call> grouped;

  int size() const { return static_cast<int>(group->shown.size()); }

  // All ranks are here. False: this one was aborted meanwhile.
  bool meet() {
    std::unique_lock lock(group->mutex);
    const std::int64_t now = group->round;
    if (++group->here == size()) {
      group->here = 0, ++group->round;
      group->changed.notify_all();
      return true;
    }
    group->changed.wait(lock, [&] { return group->round != now || is_aborted; });
    return group->round != now;
  }
  void hang() {
    std::unique_lock lock(group->mutex);
    group->changed.wait(lock, [&] { return is_aborted.load(); });
  }
};

std::mutex mutex;
// Not destroyed when the process ends: a thread of a stream that was left behind may still look at them.
auto& aborted = *new std::deque<std::unique_ptr<Rank>>();
auto& groups = *new std::map<std::array<char, 128>, std::shared_ptr<Group>>();
std::atomic<std::int64_t> ids = 0;
thread_local int group_depth = 0;
thread_local Rank* group_rank = nullptr;

template <class T>
void combine(std::byte* total, const void* more, std::size_t count, int op) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, total + i * sizeof(T), sizeof(T));
    std::memcpy(&b, static_cast<const std::byte*>(more) + i * sizeof(T), sizeof(T));
    a = op == 0 ? a + b : op == 2 ? std::max(a, b) : std::min(a, b);
    std::memcpy(total + i * sizeof(T), &a, sizeof(T));
  }
}

std::vector<std::byte> bytes_of(const void* from, std::size_t size) {
  const auto* const begin = static_cast<const std::byte*>(from);
  return {begin, begin + size};
}

// What the rank gets, by what all show.
std::vector<std::byte> result_of(const Rank& rank, const Call& call) {
  const std::vector<Call>& all = rank.group->shown;
  const std::size_t bytes = call.count * call.width();
  if (call.kind == Call::kBroadcast) return bytes_of(all[static_cast<std::size_t>(call.peer)].from, bytes);
  std::vector<std::byte> result;
  if (call.kind == Call::kAllGather) {
    for (const Call& other : all) {
      const auto part = bytes_of(other.from, bytes);
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }
  const std::size_t skipped = call.kind == Call::kReduceScatter ? bytes * static_cast<std::size_t>(rank.number) : 0;
  // From another rank than the first, as rings do: only sums of integers do not notice.
  for (int i = 0; i < rank.size(); ++i) {
    const auto* const from =
        static_cast<const std::byte*>(all[static_cast<std::size_t>((i + 1) % rank.size())].from) + skipped;
    if (i == 0) result = bytes_of(from, bytes);
    else if (call.type == kInt64) combine<std::int64_t>(result.data(), from, call.count, call.op);
    else combine<double>(result.data(), from, call.count, call.op);
  }
  return result;
}

void collective(Rank& rank, const Call& call) {
  {
    const std::lock_guard lock(rank.group->mutex);
    rank.group->shown[static_cast<std::size_t>(rank.number)] = call;
  }
  if (!rank.meet()) return;
  const std::vector<Call>& all = rank.group->shown;
  const bool are_alike = std::all_of(all.begin(), all.end(), [&](const Call& other) { return other.is_alike(call); });
  const std::vector<std::byte> result = are_alike ? result_of(rank, call) : std::vector<std::byte>();
  if (!are_alike) rank.error = kInvalidUsage;
  if (!rank.meet()) return;
  if (!result.empty()) std::memcpy(call.to, result.data(), result.size());
}

void send(Rank& rank, const Call& call) {
  const std::lock_guard lock(rank.group->mutex);
  rank.group->mail[{rank.number, call.peer}].push_back(bytes_of(call.from, call.count * call.width()));
  rank.group->changed.notify_all();
}

void receive(Rank& rank, const Call& call) {
  std::unique_lock lock(rank.group->mutex);
  auto& box = rank.group->mail[{call.peer, rank.number}];
  rank.group->changed.wait(lock, [&] { return !box.empty() || rank.is_aborted; });
  if (box.empty()) return;
  if (box.front().size() != call.count * call.width()) rank.error = kInvalidUsage;
  else std::memcpy(call.to, box.front().data(), box.front().size());
  box.pop_front();
}

// On the stream's thread: one call or a group of them. Messages are sent before any is waited for.
void execute(Rank& rank, const std::vector<Call>& calls) {
  const int number = rank.calls++;
  if (fault().call == number && (is_fault("call hangs", rank.number) || is_fault("abort hangs", rank.number)))
    return rank.hang();
  if (fault().call == number && is_fault("call breaks", rank.number)) {
    rank.error = kSystemError;
    return rank.hang();
  }
  for (const Call& call : calls)
    if (call.kind == Call::kSend) send(rank, call);
  for (const Call& call : calls) {
    if (call.kind == Call::kReceive) receive(rank, call);
    else if (call.kind != Call::kSend) collective(rank, call);
  }
}

int launch(Rank& rank, std::vector<Call> calls) {
  if (is_fault("call fails", rank.number)) return kInternalError;
  if (calls.empty()) return kSuccess;
  rank.polls = kPolls;
  calls.front().stream->push([&rank, calls] { execute(rank, calls); });
  return kInProgress;
}

int begin(void* comm, const Call& call) {
  auto& rank = *static_cast<Rank*>(comm);
  const std::size_t bytes = call.count * call.width(), n = static_cast<std::size_t>(rank.size());
  const std::size_t read = call.kind == Call::kReduceScatter ? bytes * n : bytes,
                    written = call.kind == Call::kAllGather ? bytes * n : bytes;
  if (!has_context() || rank.polls > 0) return kInvalidUsage;
  const bool reads = call.kind != Call::kReceive && (call.kind != Call::kBroadcast || call.peer == rank.number);
  if (reads && !is_device_memory(call.from, read)) return kInvalidArgument;
  if (call.kind != Call::kSend && !is_device_memory(call.to, written)) return kInvalidArgument;
  const bool is_message = call.kind == Call::kSend || call.kind == Call::kReceive;
  if (group_depth == 0) return is_message ? kInvalidUsage : launch(rank, {call});
  group_rank = &rank;
  rank.grouped.push_back(call);
  return kSuccess;
}

}   // namespace
}   // namespace kedge::stand_in

using namespace kedge::stand_in;

extern "C" {

int ncclGetVersion(int* version) {
  if (fault().what == "no version") return kInternalError;
  *version = fault().what == "old version" ? 21304 : 22809;
  if (is_fault("other version", device_of_context())) *version = 21805;
  return kSuccess;
}
int ncclGetUniqueId(UniqueId* id) {
  id->bytes.fill('\0');
  const std::int64_t number = ++ids;
  std::memcpy(id->bytes.data(), &number, sizeof number);
  return is_fault("no id", 0) ? kSystemError : kSuccess;
}
int ncclCommInitRankConfig(void** comm, int size, UniqueId id, int number, Config* config) {
  if (!has_context() || config->magic != 0xcafebeef || config->size < 20 || config->version < 21400 ||
      config->is_blocking != 0)
    return kInvalidArgument;
  auto* const rank = new Rank;
  rank->number = number;
  {
    const std::lock_guard lock(mutex);
    auto& group = groups[id.bytes];
    if (!group) group = std::make_shared<Group>(size);
    rank->group = group;
  }
  *comm = rank;
  if (is_fault("init fails", number)) return kSystemError;
  const std::lock_guard lock(rank->group->mutex);
  rank->group->arrived += !is_fault("init hangs", number);
  return kInProgress;
}
int ncclCommGetAsyncError(void* comm, int* state) {
  auto& rank = *static_cast<Rank*>(comm);
  const std::lock_guard lock(rank.group->mutex);
  *state = rank.error != kSuccess ? rank.error.load() : kSuccess;
  if (*state == kSuccess && (rank.group->arrived < rank.size() || rank.polls > 0)) *state = kInProgress;
  if (rank.polls > 0) --rank.polls;
  return kSuccess;
}
int ncclCommFinalize(void* comm) {
  static_cast<Rank*>(comm)->polls = kPolls;
  return kInProgress;
}
int ncclCommDestroy(void* comm) {
  const auto* const rank = static_cast<Rank*>(comm);
  if (rank->polls > 0) return kInvalidUsage;
  delete rank;
  return kSuccess;
}
int ncclCommAbort(void* comm) {
  auto* const rank = static_cast<Rank*>(comm);
  while (fault().what == "abort hangs") std::this_thread::sleep_for(std::chrono::milliseconds(1));
  {
    const std::lock_guard lock(rank->group->mutex);
    rank->is_aborted = true;
    rank->group->changed.notify_all();
  }
  const std::lock_guard lock(mutex);
  aborted.emplace_back(rank);
  return kSuccess;
}
const char* ncclGetErrorString(int result) {
  return result == kSystemError    ? "unhandled system error"
         : result == kInvalidUsage ? "invalid usage"
                                   : "internal error";
}
const char* ncclGetLastError(void*) {
  return "as the test wants";
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op, void* comm, void* stream) {
  return begin(comm, {.kind = Call::kAllReduce,
                      .from = from,
                      .to = to,
                      .count = count,
                      .type = type,
                      .op = op,
                      .stream = static_cast<Stream*>(stream)});
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, void* comm, void* stream) {
  return begin(comm, {.kind = Call::kBroadcast,
                      .from = from,
                      .to = to,
                      .count = count,
                      .type = type,
                      .peer = root,
                      .stream = static_cast<Stream*>(stream)});
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* comm, void* stream) {
  return begin(comm, {.kind = Call::kAllGather,
                      .from = from,
                      .to = to,
                      .count = count,
                      .type = type,
                      .stream = static_cast<Stream*>(stream)});
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int op, void* comm, void* stream) {
  return begin(comm, {.kind = Call::kReduceScatter,
                      .from = from,
                      .to = to,
                      .count = count,
                      .type = type,
                      .op = op,
                      .stream = static_cast<Stream*>(stream)});
}
int ncclSend(const void* from, std::size_t count, int type, int peer, void* comm, void* stream) {
  return begin(comm, {.kind = Call::kSend,
                      .from = from,
                      .count = count,
                      .type = type,
                      .peer = peer,
                      .stream = static_cast<Stream*>(stream)});
}
int ncclRecv(void* to, std::size_t count, int type, int peer, void* comm, void* stream) {
  return begin(comm, {.kind = Call::kReceive,
                      .to = to,
                      .count = count,
                      .type = type,
                      .peer = peer,
                      .stream = static_cast<Stream*>(stream)});
}
int ncclGroupStart() {
  ++group_depth;
  return kSuccess;
}
int ncclGroupEnd() {
  if (--group_depth > 0) return kSuccess;
  if (!group_rank) return kSuccess;
  Rank& rank = *std::exchange(group_rank, nullptr);
  return launch(rank, std::exchange(rank.grouped, {}));
}

}   // extern "C"
