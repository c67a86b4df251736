// Feature names and forests, to and from a model.
#include "engine/estimators/part_states.h"

#include <algorithm>

namespace kedge::engine {
namespace {

// Of the nodes begin .. end - 1 of one tree.
void expect_tree(const StateArchive& archive, const Forest& forest, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (forest.feature[at] < 0) continue;
    archive.expect(forest.left[at] == i + 1 && i + 1 < end, "left", "is not the node behind its parent");
    archive.expect_in("right", forest.right[at], i + 1, end - 1);
  }
}

}  // namespace

void state_of(StateArchive& archive, std::string_view name, std::vector<Feature>& features) {
  archive.list(name, features, [&](Feature& feature) {
    archive.field("name", feature.name);
    archive.field("is_nominal", feature.is_nominal);
    archive.field("categories", feature.categories);
  });
}

void forest_state(StateArchive& archive, Forest& forest, std::int32_t n_classes) {
  archive.features(forest.n_cols);
  archive.number("n_classes", forest.n_classes, n_classes, n_classes);
  std::int64_t n_nodes = forest.n_nodes();
  archive.number("n_nodes", n_nodes, 1, kMaxSize);
  archive.indices("tree_offset", forest.tree_offset, kAnySize, 0, n_nodes);
  archive.indices("feature", forest.feature, n_nodes, -1, forest.n_cols - 1);
  archive.field("bin", forest.bin, n_nodes);
  archive.field("threshold", forest.threshold, n_nodes);
  archive.field("left", forest.left, n_nodes);
  archive.field("right", forest.right, n_nodes);
  archive.widened("value", forest.value, n_nodes, forest.n_classes);
  archive.expect_finite("value", forest.value);
  archive.field("mean", forest.mean, kAnySize);
  archive.expect(n_classes > 0 || static_cast<std::int64_t>(forest.mean.size()) == n_nodes, "mean", "is not one for each node");
  archive.field("impurity", forest.impurity, n_nodes);
  archive.field("weight", forest.weight, n_nodes);
  archive.field("n_rows", forest.n_rows, kAnySize);
  archive.expect(forest.n_rows.empty() || static_cast<std::int64_t>(forest.n_rows.size()) == n_nodes, "n_rows", "is not one for each node");
  const std::vector<std::int64_t>& offset = forest.tree_offset;
  const bool covers = offset.size() >= 2 && offset.front() == 0 && offset.back() == n_nodes;
  archive.expect(covers, "tree_offset", "does not cover the nodes");
  for (std::size_t t = 0; archive.is_loading() && t + 1 < offset.size(); ++t) {
    archive.expect(offset[t] < offset[t + 1], "tree_offset", "has a tree without nodes");
    expect_tree(archive, forest, offset[t], offset[t + 1]);
  }
}

}  // namespace kedge::engine
