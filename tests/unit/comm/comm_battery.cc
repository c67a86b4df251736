// Every call of a communicator, compared with what one process computes.
#include "tests/unit/comm/comm_battery.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/backend/exact_sum.h"
#include "engine/comm/ranks.h"

namespace kedge::engine {
namespace {

std::vector<std::byte> bytes_of(int from, int to, std::int64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(from * 31 + to * 7 + static_cast<int>(i % 251));
  return bytes;
}

bool equal(std::span<const std::byte> a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && (b.empty() || std::memcmp(a.data(), b.data(), b.size()) == 0);
}

class Faults {
 public:
  void check(bool ok, const std::string& what) {
    if (!ok) list.push_back(what);
  }
  std::vector<std::string> list;
};

void check_reductions(Comm& comm, Faults& faults) {
  const std::int64_t n = comm.size(), r = comm.rank();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / n;
  std::vector<std::int64_t> sum{r, -r, most, 1}, least{r, -r}, greatest{r, -r};
  comm.all_reduce(sum, IntegerOp::kSum);
  comm.all_reduce(least, IntegerOp::kMin);
  comm.all_reduce(greatest, IntegerOp::kMax);
  const std::int64_t of_ranks = n * (n - 1) / 2;
  faults.check(sum == std::vector<std::int64_t>{of_ranks, -of_ranks, most * n, n}, "sum of integers");
  faults.check(least == std::vector<std::int64_t>{0, 1 - n}, "least integer");
  faults.check(greatest == std::vector<std::int64_t>{n - 1, 0}, "greatest integer");
  std::vector<double> low{static_cast<double>(r) + 0.5, -HUGE_VAL}, high{static_cast<double>(-r), 5e-324};
  comm.all_reduce(low, OrderOp::kMin);
  comm.all_reduce(high, OrderOp::kMax);
  faults.check(low == std::vector<double>{0.5, -HUGE_VAL}, "least double");
  faults.check(high == std::vector<double>{0, 5e-324}, "greatest double");
  comm.all_reduce(std::span<std::int64_t>(), IntegerOp::kSum);
}

void check_moves(Comm& comm, Faults& faults, std::int64_t scale) {
  const int n = comm.size(), r = comm.rank();
  for (int root = 0; root < n; ++root) {
    std::vector<std::byte> bytes = bytes_of(r, r, scale * 3);
    comm.broadcast(bytes, root);
    faults.check(equal(bytes, bytes_of(root, root, scale * 3)), fmt::format("broadcast from {}", root));
  }
  const PartedBytes gathered = comm.all_gather(bytes_of(r, 0, r * scale));   // rank 0 brings nothing
  faults.check(gathered.size() == n, "parts of all_gather");
  for (int from = 0; from < gathered.size(); ++from)
    faults.check(equal(gathered.part(from), bytes_of(from, 0, from * scale)), fmt::format("all_gather of {}", from));
  PartedBytes out;
  for (int to = 0; to < n; ++to) out.add(bytes_of(r, to, (r + 2 * to) % 5 * scale));
  const PartedBytes in = comm.all_to_all(out);
  faults.check(in.size() == n, "parts of all_to_all");
  for (int from = 0; from < in.size(); ++from)
    faults.check(equal(in.part(from), bytes_of(from, r, (from + 2 * r) % 5 * scale)),
                 fmt::format("all_to_all from {}", from));
}

void check_reduce_scatter(Comm& comm, Faults& faults) {
  const std::int64_t n = comm.size(), r = comm.rank();
  // Rank k gets k numbers; the first gets none.
  std::vector<std::int64_t> all(static_cast<std::size_t>(n * (n - 1) / 2)), mine(static_cast<std::size_t>(r));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i) * 10 + r;
  comm.reduce_scatter(all, mine);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const std::int64_t at = r * (r - 1) / 2 + static_cast<std::int64_t>(i);
    faults.check(mine[i] == at * 10 * n + n * (n - 1) / 2, fmt::format("reduce_scatter at {}", at));
  }
}

// A share that fails ends the work on every rank, with the error of the lowest.
void check_shares(Comm& comm, Faults& faults) {
  const int n = comm.size(), r = comm.rank();
  Ranks fine(comm);
  const PartedBytes shares = fine.share([&] { return bytes_of(r, 1, r + 1); });
  for (int from = 0; from < n; ++from) faults.check(equal(shares.part(from), bytes_of(from, 1, from + 1)), "shares");
  faults.check(!fine.end(std::nullopt), "an end without an error");
  Ranks failing(comm);
  try {
    failing.share([&]() -> std::vector<std::byte> {
      if (r >= n / 2) throw schema::Error(schema::ErrorCode::kBadData, fmt::format("rank {}", r), "select");
      return {};
    });
    faults.check(false, "a failed share must end the others");
  } catch (const schema::Error& error) {
    faults.check(error.code == schema::ErrorCode::kBadData && error.where == "select", "the error's code and place");
    faults.check(error.message == fmt::format("rank {}", n / 2),
                 fmt::format("the lowest rank's error, not '{}'", error.message));
    faults.check(failing.end(error).has_value(), "an end with an error");
  }
  // The last rank fails before it comes to the work that the others share.
  Ranks early(comm);
  std::optional<schema::Error> found;
  try {
    if (r == n - 1) throw schema::Error(schema::ErrorCode::kOutOfMemory, "early");
    early.share([] { return std::vector<std::byte>(); });
  } catch (const schema::Error& error) {
    found = error;
  }
  found = early.end(found);
  faults.check(found && found->message == "early", "an error before the work that is shared");
}

}   // namespace

std::vector<std::string> comm_faults(Comm& comm) {
  Faults faults;
  check_reductions(comm, faults);
  for (const std::int64_t scale : {1, 1000, 300'000}) check_moves(comm, faults, scale);
  check_reduce_scatter(comm, faults);
  check_shares(comm, faults);
  return faults.list;
}

std::string sum_over_ranks(Comm& comm) {
  constexpr std::int64_t kTerms = 10'007;
  const std::int64_t first = kTerms * comm.rank() / comm.size(), last = kTerms * (comm.rank() + 1) / comm.size();
  const auto term = [](std::int64_t i) {
    return std::ldexp(std::sin(static_cast<double>(i)), static_cast<int>(i * 37 % 60));
  };
  std::vector<std::int64_t> largest{0};
  for (std::int64_t i = first; i < last; ++i)
    largest[0] = std::max(largest[0], static_cast<std::int64_t>(magnitude_bits(term(i))));
  comm.all_reduce(largest, IntegerOp::kMax);
  ExactSum sum{.largest = static_cast<std::uint64_t>(largest[0])};
  for (std::int64_t i = first; i < last; ++i) sum.add(term(i));
  std::vector<std::int64_t> limbs{sum.limbs.high, sum.limbs.middle, sum.limbs.low};
  comm.all_reduce(limbs, IntegerOp::kSum);
  sum.limbs = {limbs[0], limbs[1], limbs[2]};
  return fmt::format("{:a}", sum.value());
}

}   // namespace kedge::engine
