// Splitting nodes with AVX-512: exact gini, at most 16 classes, no row drawn more than 15 times. Gives what the portable code
// gives.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/backend/cpu/trees/trees_rows.h"
#include "engine/backend/cpu/trees/trees_score.h"

namespace kedge::engine {

// Working memory of one thread for the nodes of one table. Call anything but is_available() only where that is true.
class WideNodes {
 public:
  static constexpr int kColumns = 32;   // columns looked at together
  static constexpr std::int32_t kClasses = 16;
  static constexpr std::uint16_t kMostDrawn = 15;                            // of a row
  static constexpr std::int64_t kMostOfClass = 32767, kMostOfNode = 65535;   // drawn
  static constexpr std::uint32_t kMostRows = 6144;                           // that can be loaded

  static bool is_available();
  explicit WideNodes(const BinnedTable& table);
  ~WideNodes();
  WideNodes(WideNodes&&) noexcept;

  // Takes 1 to kMostRows rows of a subtree into the cache. Its nodes are ranges of these rows.
  void load(const TreeRow* rows, std::uint32_t n);
  // The loaded rows in the order in which partition() has left them.
  void store(TreeRow* rows) const;

  // Scores the cuts of up to kColumns columns in rows [begin, end), as ColumnScorer::score() of one after the other (after the
  // first that varies none, if `stop_at_varying`); returns whether any varies.
  bool score(std::uint32_t begin, std::uint32_t end, const std::uint32_t* features, int n_features, bool stop_at_varying,
             const NodeTotals& totals, BestCut& best);
  // As part_rows(); the cut must be the last that was scored for these rows.
  std::uint32_t partition(std::uint32_t begin, std::uint32_t end, const BestCut& cut, std::int32_t n_classes,
                          std::int32_t* left_counts);

  // For nodes with more rows than can be loaded: counts them in kSweep columns (codes by row number) at once; each is then
  // scored.
  static constexpr int kSweep = 4;
  void sweep(const TreeRow* rows, std::uint32_t n, const std::uint8_t* const* codes);
  bool score_swept(int column, const NodeTotals& totals, BestCut& best);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}   // namespace kedge::engine
