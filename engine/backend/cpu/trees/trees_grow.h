// Growing one tree on the CPU: classes without weights of rows, best cuts.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "engine/backend/host/tree_draft.h"
#include "engine/backend/raw.h"
#include "engine/core/view.h"

namespace kedge::engine {

// What all trees of a forest share; borrowed.
struct ForestInput {
  const BinnedTable& table;
  VectorView<const std::int32_t> rows;   // empty: all rows of the table
  VectorView<const std::int32_t> y;      // classes, by table row
  std::int32_t n_classes;
  const ForestOptions& options;
  std::stop_token stop;
  TreeSeeds seeds{options, options.first_tree, options.n_trees};

  std::int64_t n_rows() const { return rows.empty() ? table.n_rows : rows.size; }
  std::int64_t row(std::int64_t i) const { return rows.empty() ? i : raw(rows)[i]; }
};

// One thread's working memory, used for tree after tree. Not thread safe.
class TreeGrower {
 public:
  explicit TreeGrower(const ForestInput& input);
  ~TreeGrower();
  TreeGrower(TreeGrower&&) noexcept;

  // Tree number `tree` of the forest. Errors: kCancelled soon after a stop request; those of draw_rows().
  Forest grow(std::int64_t tree);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::engine
