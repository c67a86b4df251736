// Meetings of the ranks of a job, and how work is dealt.
#include "engine/comm/ranks.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <new>
#include <numeric>

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constinit thread_local Ranks* job_ranks = nullptr;
constinit thread_local bool row_sums_are_dealt = false;

enum class Brings : std::uint8_t { kShare, kError };

// What one rank says in a meeting.
std::vector<std::byte> record(bool is_end, const std::optional<Error>& error, std::span<const std::byte> share) {
  ByteWriter out;
  out.number(is_end);
  out.number(error ? Brings::kError : Brings::kShare);
  if (error) {
    out.number(error->code);
    out.text(error->message);
    out.text(error->where);
  } else {
    out.append(share.data(), share.size());
  }
  return out.take();
}

Error error_in(ByteReader& in) {
  const auto code = in.number<ErrorCode>();
  std::string message = in.text();
  return {code, std::move(message), in.text()};
}

}   // namespace

PartedBytes Ranks::meet(bool is_end, const std::optional<Error>& error, std::span<const std::byte> share) {
  const PartedBytes records = comm_.all_gather(record(is_end, error, share));
  PartedBytes shares;
  std::optional<Error> first;
  bool another_place = false;
  for (int r = 0; r < records.size(); ++r) {
    ByteReader in(records.part(r));
    const bool ends = in.number<bool>();
    const bool fails = in.number<Brings>() == Brings::kError;
    has_ended_ |= ends;
    another_place |= ends != is_end;
    if (fails && !first) first = error_in(in);
    if (!fails) shares.add(in.rest());
  }
  if (another_place && !first) comm_.abort({ErrorCode::kInternal, "one rank has ended the job and another has not"});
  if (has_ended_) ended_by_ = first;
  if (first) throw *first;
  return shares;
}

PartedBytes Ranks::share(const std::function<std::vector<std::byte>()>& work) {
  std::optional<Error> error;
  std::vector<std::byte> mine;
  try {
    const RanksScope alone(nullptr);
    mine = work();
  } catch (const Error& failure) {
    error = failure;
  } catch (const std::bad_alloc&) {
    error = Error(ErrorCode::kOutOfMemory, "the worker ran out of host memory");
  } catch (const std::exception& failure) {
    error = Error(ErrorCode::kInternal, failure.what());
  }
  return meet(false, error, mine);
}

PartedBytes Ranks::exchange(const std::function<PartedBytes()>& work) {
  PartedBytes out;
  share([&]() -> std::vector<std::byte> {
    out = work();
    return {};
  });
  return comm_.all_to_all(out);
}

PartedBytes Ranks::gather(const std::function<std::vector<std::byte>()>& work) {
  return exchange([&] {
    PartedBytes out;
    out.bytes = work();   // all to the first
    out.offsets.resize(static_cast<std::size_t>(size()) + 1, std::ssize(out.bytes));
    return out;
  });
}

std::optional<Error> Ranks::end(std::optional<Error> error) {
  if (has_ended_) return ended_by_ ? ended_by_ : error;
  try {
    meet(true, error, {});
  } catch (const Error& of_lowest) {
    if (has_ended_) return of_lowest;
    throw;
  }
  return std::nullopt;
}

Ranks* ranks_of_job() {
  return omp_get_level() > 0 ? nullptr : job_ranks;   // within a region of one thread as well: ranks differ in threads
}

RanksScope::RanksScope(Ranks* ranks) : before_(job_ranks) {
  job_ranks = ranks && ranks->size() > 1 ? ranks : nullptr;
}

RanksScope::~RanksScope() {
  job_ranks = before_;
}

RowSumsScope::RowSumsScope(bool are_dealt) : before_(row_sums_are_dealt) {
  row_sums_are_dealt = are_dealt;
}

RowSumsScope::~RowSumsScope() {
  row_sums_are_dealt = before_;
}

Ranks* ranks_of_row_sums() {
  return row_sums_are_dealt ? ranks_of_job() : nullptr;
}

std::vector<std::int64_t> consecutive_shares(std::span<const double> costs, int n_ranks) {
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
  std::vector<std::int64_t> bounds{0};
  double before = 0;
  std::size_t i = 0;
  for (int r = 1; r < n_ranks; ++r) {
    // A thing is of the share that holds its middle.
    const double bound = total * r / n_ranks;
    for (; i < costs.size() && before + costs[i] / 2 < bound; ++i) before += costs[i];
    bounds.push_back(static_cast<std::int64_t>(i));
  }
  bounds.push_back(static_cast<std::int64_t>(costs.size()));
  return bounds;
}

}   // namespace kedge::engine
