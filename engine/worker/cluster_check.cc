// A group of ranks that compares and measures itself: see cluster_check.h.
#include "engine/worker/cluster_check.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/backend/exact_sum.h"
#include "engine/backend/loader.h"
#include "engine/comm/bytes.h"
#include "engine/comm/mpi.h"
#include "engine/comm/nccl.h"
#include "engine/core/process_memory.h"
#include "engine/worker/cluster_report.h"
#include "engine/worker/group_deadline.h"
#include "engine/worker/rank_device.h"
#include "engine/worker/rank_identity.h"
#include "engine/worker/rank_lines.h"
#include "schemas/codec.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kStartLimit{30}, kLimit{45}, kLimitForRank{2};
constexpr std::chrono::milliseconds kSilence{15'000}, kNcclLimit{15'000};
constexpr int kWarmUps = 2;

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Waits for all ranks without a busy core, as a job does.
void meet(Comm& comm) {
  std::int64_t nothing = 0;
  comm.all_reduce(std::span(&nothing, 1), IntegerOp::kMax);
}

std::vector<CheckedRank> gather_ranks(MpiComm& comm, const RankIdentity& own) {
  const std::vector<RankIdentity> identities = gather_identities(comm, own);
  ByteWriter out;
  out.number<std::int64_t>(omp_get_num_procs());
  out.number(available_memory());
  out.text(schema::to_json(list_devices()));
  const PartedBytes all = comm.all_gather(out.bytes());
  std::vector<CheckedRank> ranks;
  for (int r = 0; r < all.size(); ++r) {
    ByteReader in(all.part(r));
    CheckedRank rank{.identity = identities[static_cast<std::size_t>(r)], .devices = {}};
    rank.processors = in.number<std::int64_t>();
    rank.free_memory = in.number<std::int64_t>();
    rank.devices = schema::from_json<schema::DeviceList>(in.text()).devices;
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

// Of rank 0 and the other: seconds from there and back. They greet each other first, so that neither sleeps when it
// begins.
double round_trip(MpiComm& comm, int other, std::span<std::byte> bytes) {
  const bool is_first = comm.rank() == 0;
  const int peer = is_first ? other : 0;
  std::array<std::byte, 8> greeting{}, answer;
  comm.exchange(peer, greeting, answer);
  const Clock::time_point begin = Clock::now();
  if (is_first) comm.exchange(peer, bytes, {});
  comm.exchange(peer, {}, bytes);
  if (!is_first) comm.exchange(peer, bytes, {});
  return Seconds(Clock::now() - begin).count();
}

double median_round_trip(MpiComm& comm, int other, std::size_t size, int rounds) {
  std::vector<std::byte> bytes(size);
  std::vector<double> times;
  for (int i = 0; i < kWarmUps; ++i) round_trip(comm, other, bytes);
  for (int i = 0; i < rounds; ++i) times.push_back(round_trip(comm, other, bytes));
  return median(std::move(times));
}

// Collective; one line after another, and the ranks at neither end wait.
void measure_lines(MpiComm& comm, std::vector<CheckedRank>& ranks) {
  constexpr std::size_t kSmall = 8, kLarge = 16 << 20;
  for (int other = 1; other < comm.size(); ++other) {
    if (comm.rank() == 0 || comm.rank() == other) {
      const double small = median_round_trip(comm, other, kSmall, 100),
                   large = median_round_trip(comm, other, kLarge, 3);
      ranks[static_cast<std::size_t>(other)].line =
          LineSpeed{.latency_s = small / 2, .bytes_per_s = 2.0 * kLarge / large};
    }
    meet(comm);
  }
}

// What rank r brings to sum i: of many magnitudes, so that a sum of doubles would depend on the order.
double term(int r, std::int64_t i) {
  return (r % 2 == 0 ? 1.0 : -1.0) / (1.0 + static_cast<double>(r) + static_cast<double>(i % 997));
}

// Three integers for each sum; all terms are below 2.
std::vector<std::int64_t> own_terms(const Comm& comm, std::int64_t n) {
  std::vector<std::int64_t> integers;
  for (std::int64_t i = 0; i < n; ++i) {
    const Limbs limbs = limbs_of(term(comm.rank(), i), limb_scale(1));
    integers.insert(integers.end(), {limbs.high, limbs.middle, limbs.low});
  }
  return integers;
}

// Whether the first sums are those that one process makes.
bool is_right(const Comm& comm, std::span<const std::int64_t> integers) {
  constexpr std::size_t kMostSums = 100;
  for (std::size_t i = 0; i < std::min(kMostSums, integers.size() / 3); ++i) {
    Limbs alone{0, 0, 0};
    for (int r = comm.size() - 1; r >= 0; --r)
      alone.add(limbs_of(term(r, static_cast<std::int64_t>(i)), limb_scale(1)));
    if (round_limbs({integers[3 * i], integers[3 * i + 1], integers[3 * i + 2]}, 1) != round_limbs(alone, 1))
      return false;
  }
  return true;
}

// Collective. Unset: a rank has got other sums than one process makes.
std::optional<ReduceTime> measure_reduce(Comm& comm, std::int64_t n, int rounds) {
  const std::vector<std::int64_t> own = own_terms(comm, n);
  std::vector<std::int64_t> sums;
  std::vector<double> times;
  for (int i = 0; i < kWarmUps + rounds; ++i) {
    sums = own;
    meet(comm);
    const Clock::time_point begin = Clock::now();
    comm.all_reduce(sums, IntegerOp::kSum);
    // The slowest rank's: one that comes late finds the others' terms there, and is done at once.
    double seconds = Seconds(Clock::now() - begin).count();
    comm.all_reduce(std::span(&seconds, 1), OrderOp::kMax);
    if (i >= kWarmUps) times.push_back(seconds);
  }
  std::int64_t all_right = is_right(comm, sums);
  comm.all_reduce(std::span(&all_right, 1), IntegerOp::kMin);
  if (all_right == 0) return std::nullopt;
  return ReduceTime{.sums = n, .seconds = median(std::move(times))};
}

// Collective; what is wrong is added to `problems`.
std::vector<ReduceTime> measure_reduces(Comm& comm, std::string_view by, std::vector<std::string>& problems) {
  struct Size {
    std::int64_t sums;
    int rounds;
  };
  std::vector<ReduceTime> times;
  for (const Size& size : std::array{Size{1, 50}, Size{1000, 50}, Size{100'000, 5}}) {
    if (const auto time = measure_reduce(comm, size.sums, size.rounds)) times.push_back(*time);
    else
      problems.push_back(
          fmt::format("an all-reduce of {} exact sums by {} gave other sums than one process", size.sums, by));
  }
  return times;
}

// Collective. Ranks of one machine take its GPUs in their order.
void measure_nccl(MpiComm& comm, ClusterReport& report) {
  const auto own = static_cast<std::size_t>(comm.rank());
  NcclOptions options{.start_limit = kNcclLimit, .limit = kNcclLimit};
  for (std::size_t r = 0; r < own; ++r)
    options.device += report.ranks[r].identity.place == report.ranks[own].identity.place;
  try {
    const std::unique_ptr<NcclComm> nccl = open_nccl(comm, options);
    report.nccl.library = nccl->library();
    report.nccl.reduces = measure_reduces(*nccl, report.nccl.library, report.problems);
    nccl->finish();
  } catch (const schema::Error& error) {
    report.nccl.missing = error.message;
  }
}

// The lines that a group of kedged needs in addition to MPI's. Null: they cannot be made, and the report says why.
RankLines* open_lines(MpiComm& comm, const RankIdentity& own, ClusterReport& report) {
  try {
    return new RankLines(comm, own.place, kSilence);   // ends with the process
  } catch (const schema::Error& error) {
    report.problems.push_back(error.message);
    return nullptr;
  }
}

// Collective: opens the devices that jobs would have, says which they are, and gives them back.
void try_devices(MpiComm& comm, const std::string& wish, ClusterReport& report) {
  std::vector<RankIdentity> ranks;
  for (const CheckedRank& rank : report.ranks) ranks.push_back(rank.identity);
  try {
    const std::vector<std::string> devices = devices_of_ranks(ranks, wish);
    open_own_device(comm, ranks, devices);
    for (std::size_t r = 0; r < devices.size(); ++r) report.ranks[r].device = devices[r];
  } catch (const schema::Error& error) {
    report.problems.push_back(error.message);
  }
}

int checked(const std::filesystem::path& plugin, const std::string& device, bool in_json) {
  std::optional<GroupDeadline> deadline(std::in_place, kStartLimit, "the ranks did not all come together");
  const std::unique_ptr<MpiComm> comm = open_mpi(plugin);
  const RankIdentity own = identity_of_this_rank(comm->library());
  ClusterReport report;
  report.ranks = gather_ranks(*comm, own);
  deadline.reset();
  deadline.emplace(kLimit + comm->size() * kLimitForRank, "the measurements did not end");
  compare_ranks(report);
  try_devices(*comm, device, report);
  RankLines* const lines = open_lines(*comm, own, report);
  measure_lines(*comm, report.ranks);
  report.reduces = measure_reduces(*comm, "MPI", report.problems);
  measure_nccl(*comm, report);
  if (comm->rank() == 0) {
    fmt::print("{}", in_json ? as_json(report) : as_text(report));
    std::fflush(stdout);
  }
  if (lines) lines->expect_end();
  meet(*comm);
  comm->finish();
  return comm->rank() == 0 && !report.problems.empty() ? EXIT_FAILURE : EXIT_SUCCESS;
}

}   // namespace

void check_cluster(const std::filesystem::path& plugin, const std::string& device, bool as_json) {
  try {
    std::_Exit(checked(plugin, device, as_json));   // the lines have a thread
  } catch (const std::exception& error) {
    leave_group(error.what());
  }
}

}   // namespace kedge::engine
