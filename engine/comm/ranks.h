// What a job on several ranks needs: work that is dealt among them, and one error for all where one rank fails.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/comm/bytes.h"
#include "engine/comm/comm.h"

namespace kedge::engine {

// Every rank runs the same job. Where work can be dealt each rank does its share, and share() gives all shares to all;
// elsewhere they compute the same, or ranks other than the first leave a part out. A rank that fails between two of
// these meetings brings its error to the next one instead of a share, so that no rank waits for one that has left.
// Borrows the communicator. One thread.
class Ranks {
 public:
  explicit Ranks(Comm& comm) : comm_(comm) {}

  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }
  bool is_first() const { return rank() == 0; }

  // Does this rank's share, within which ranks_of_job() is null, and returns those of all in rank order. Errors: where
  // shares fail, that of the lowest rank, on every rank. With shares in the order of one process it is the error that
  // one process finds first.
  PartedBytes share(const std::function<std::vector<std::byte>()>& work);

  // The same where the first rank alone needs the shares: it gets them in rank order, and the others empty ones. A
  // share travels once.
  PartedBytes gather(const std::function<std::vector<std::byte>()>& work);

  // The same where each rank needs a part of its own: work() makes one for each rank, and this one gets what all made
  // for it, in rank order.
  PartedBytes exchange(const std::function<PartedBytes()>& work);

  // Combines integers of all ranks, as many on each. Made directly after share(), so that no rank can have failed in
  // between: it does not bring errors.
  void combine(std::span<std::int64_t> values, IntegerOp op) { comm_.all_reduce(values, op); }

  // The end of the job on this rank; returns when it has ended on all. `error`: why it failed here. Returns the error
  // of the lowest rank that has one.
  std::optional<schema::Error> end(std::optional<schema::Error> error);

 private:
  PartedBytes meet(bool is_end, const std::optional<schema::Error>& error, std::span<const std::byte> share);

  Comm& comm_;
  bool has_ended_ = false;   // another rank met the others at its end, so that none meets again
  std::optional<schema::Error> ended_by_;
};

// The ranks of the job that this thread runs; null: there is one process, or the work here is one rank's own. Within a
// parallel region it is null on every thread, because only one thread of a rank may meet others, and at the same place
// as theirs.
Ranks* ranks_of_job();

// While it lives, ranks_of_job() on this thread gives these. Null: what is computed here is not dealt. Scopes nest.
class RanksScope {
 public:
  explicit RanksScope(Ranks* ranks);
  ~RanksScope();
  RanksScope(const RanksScope&) = delete;
  RanksScope& operator=(const RanksScope&) = delete;

 private:
  Ranks* const before_;
};

// While it lives, sums over rows on this thread are dealt over ranks_of_job() as well. Made around a fit that makes the
// same sums in the same order on every rank, whatever its number of threads. Scopes nest.
class RowSumsScope {
 public:
  explicit RowSumsScope(bool are_dealt);
  ~RowSumsScope();
  RowSumsScope(const RowSumsScope&) = delete;
  RowSumsScope& operator=(const RowSumsScope&) = delete;

 private:
  const bool before_;
};

// ranks_of_job() within such a scope; else null.
Ranks* ranks_of_row_sums();

// n things of these costs in consecutive shares of about equal cost: share r is [result[r], result[r + 1]). Costs are
// at least 0.
std::vector<std::int64_t> consecutive_shares(std::span<const double> costs, int n_ranks);

}   // namespace kedge::engine
