// The ranks agree by the bootstrap's communicator on what each has, and on what went wrong.
#include "engine/comm/nccl_join.h"

#include <fmt/core.h>
#include <sched.h>

#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/comm/bytes.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kYielding{500}, kSleep{100};

// What one rank tells the others before they join.
struct Prepared {
  std::string problem;    // empty: there is none
  bool is_late = false;   // it is that others were not there, whose own reasons say more
  std::string version, gpu;
  NcclUniqueId id{};   // of rank 0
};

std::vector<Prepared> gather(Comm& bootstrap, const Prepared& own) {
  ByteWriter out;
  out.text(own.problem);
  out.number(own.is_late);
  out.text(own.version);
  out.text(own.gpu);
  out.append(own.id.bytes.data(), own.id.bytes.size());
  const PartedBytes all = bootstrap.all_gather(out.bytes());
  std::vector<Prepared> ranks;
  for (int r = 0; r < all.size(); ++r) {
    ByteReader in(all.part(r));
    Prepared rank;
    rank.problem = in.text();
    rank.is_late = in.number<bool>();
    rank.version = in.text();
    rank.gpu = in.text();
    std::memcpy(rank.id.bytes.data(), in.rest().data(), rank.id.bytes.size());
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

// Of all ranks the first thing that is in the way.
std::optional<std::string> obstacle(const std::vector<Prepared>& ranks) {
  std::map<std::string, std::size_t> owners;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (!ranks[r].problem.empty()) return fmt::format("rank {}: {}", r, ranks[r].problem);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].version != ranks[0].version)
      return fmt::format("rank {} has NCCL {}, must be {} as rank 0", r, ranks[r].version, ranks[0].version);
    if (const auto [other, is_new] = owners.emplace(ranks[r].gpu, r); !is_new)
      return fmt::format("ranks {} and {} have the same GPU, {}: NCCL needs one for each rank", other->second, r,
                         ranks[r].gpu);
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::kDeviceUnavailable, "NCCL cannot be used: " + why);
}

// The library, the GPU and memory there. What fails is said in the result.
Prepared prepare(const Comm& bootstrap, const NcclOptions& options, NcclJoined& joined) {
  Prepared own;
  try {
    joined.stream = std::make_unique<CudaStream>(options.driver, options.device);
    joined.nccl = load_nccl(options.library);
    joined.out = joined.stream->allocate(options.stage_bytes);
    joined.in = joined.stream->allocate(options.stage_bytes);
    own.version = joined.nccl.version_text();
    own.gpu = joined.stream->name();
    if (bootstrap.rank() != 0) return own;
    if (const NcclResult result = joined.nccl.get_unique_id(&own.id); result != NcclResult::kSuccess)
      own.problem = "ncclGetUniqueId: " + nccl_words(joined.nccl, nullptr, result);
  } catch (const Error& error) {
    own.problem = error.message;
  }
  return own;
}

// Why this rank is not joined, if it is not.
Prepared begin(const Comm& bootstrap, const NcclOptions& options, const NcclUniqueId& id, NcclJoined& joined) {
  NcclConfig config;
  const NcclResult begun = joined.nccl.init(&joined.comm, bootstrap.size(), id, bootstrap.rank(), &config);
  const bool is_begun = begun == NcclResult::kSuccess || begun == NcclResult::kInProgress;
  const NcclResult result = is_begun ? settle(joined.nccl, joined.comm, options.start_limit) : begun;
  if (result == NcclResult::kSuccess) return {};
  if (result != NcclResult::kInProgress) return {.problem = nccl_words(joined.nccl, joined.comm, result)};
  return {.problem = fmt::format("the ranks are not joined after {} ms: is the network of NCCL_SOCKET_IFNAME one that "
                                 "they share?",
                                 options.start_limit.count()),
          .is_late = true};
}

// All say how it went, since one that is joined cannot go on without the others. The first reason, if there is one.
std::optional<std::string> outcome(Comm& bootstrap, const Prepared& own) {
  const std::vector<Prepared> ranks = gather(bootstrap, own);
  for (const bool with_late : {false, true})
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if (!ranks[r].problem.empty() && ranks[r].is_late == with_late)
        return fmt::format("rank {}: {}", r, ranks[r].problem);
  return std::nullopt;
}

}   // namespace

bool wait_until(const std::function<bool()>& is_done, std::chrono::milliseconds limit) {
  for (const Clock::time_point begin = Clock::now(); !is_done();) {
    const Clock::duration waited = Clock::now() - begin;
    if (waited > limit) return false;
    if (waited < kYielding) ::sched_yield();
    else std::this_thread::sleep_for(kSleep);
  }
  return true;
}

NcclResult settle(const NcclTable& nccl, void* comm, std::chrono::milliseconds limit) {
  NcclResult state = NcclResult::kInProgress;
  wait_until(
      [&] {
        const NcclResult asked = nccl.async_error(comm, &state);
        if (asked != NcclResult::kSuccess) state = asked;
        return state != NcclResult::kInProgress;
      },
      limit);
  return state;
}

bool abort_nccl(const NcclTable& nccl, void* comm, std::chrono::milliseconds limit) {
  if (!comm) return true;
  std::packaged_task<void()> task([abort = nccl.abort, comm] { abort(comm); });
  const std::future<void> ended = task.get_future();
  std::thread(std::move(task)).detach();
  return ended.wait_for(limit) == std::future_status::ready;
}

void keep_for_ever(std::unique_ptr<CudaStream> stream) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<CudaStream>>* const kept = new std::vector<std::unique_ptr<CudaStream>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(stream));
}

std::string nccl_words(const NcclTable& nccl, void* comm, NcclResult result) {
  const char *const error = nccl.error_text(result), *const last = nccl.last_error(comm);
  std::string words = error ? error : fmt::format("result {}", static_cast<int>(result));
  if (last && *last != '\0') words += fmt::format("; {}", last);
  return words;
}

NcclJoined join_nccl(Comm& bootstrap, const NcclOptions& options) {
  NcclJoined joined;
  const std::vector<Prepared> ranks = gather(bootstrap, prepare(bootstrap, options, joined));
  if (const auto why = obstacle(ranks)) refuse(*why);
  if (const auto why = outcome(bootstrap, begin(bootstrap, options, ranks[0].id, joined))) {
    if (!abort_nccl(joined.nccl, joined.comm, options.abort_limit)) keep_for_ever(std::move(joined.stream));
    refuse(*why);
  }
  return joined;
}

}   // namespace kedge::engine
