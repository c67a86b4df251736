// Columns of a boosted tree that the ranks of a job divide.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/backend/host/boost_search.h"
#include "engine/backend/host/boost_table.h"
#include "engine/comm/ranks.h"

namespace kedge::engine {

// Columns of a group, which a task adds up together.
struct BoostPiece {
  std::int64_t group, first;   // first: its first column in the table
  int width;
};

// Each rank has all rows. It bins its own columns, adds up their histograms and looks for their cuts; all ranks get the
// codes of all columns and the best cut of each, so that they grow the tree of one process. Where sums over rows are
// not dealt (RowSumsScope), and for small tables, every column is this rank's. Borrows the table.
class BoostRanks {
 public:
  // Of the table its number of rows, its columns and its groups have to be there.
  explicit BoostRanks(const BoostTable& table);

  const std::vector<BoostPiece>& own() const { return pieces_; }   // a group each, where nothing is dealt

  // Collective. work() makes the edges and codes of own() columns; then those of the other ranks come into the table.
  // Errors: those of work(), on every rank.
  void share_bins(const std::function<void()>& work, BoostTable& table) const;

  // Collective. work() fills the cuts of own() columns, in each list that has cuts, one for each column of the table;
  // then those of the other ranks come into them. Errors: those of work(), on every rank.
  void share(const std::function<void()>& work, std::span<std::vector<BoostCut>> cuts) const;

 private:
  // The columns of a rank are [first_column(rank), first_column(rank + 1)): whatever the groups, which differ with the
  // number of threads.
  std::size_t first_column(int rank) const { return static_cast<std::size_t>(n_cols_ * rank / ranks_->size()); }

  const std::int64_t n_cols_;
  Ranks* ranks_;
  std::vector<BoostPiece> pieces_;
};

}   // namespace kedge::engine
