// Which trees a rank grows, and how they come to the others.
#include "engine/estimators/trees/dealt_trees.h"

#include <utility>
#include <vector>

#include "engine/backend/host/tree_draft.h"

namespace kedge::engine {
namespace {

template <class Each>
void each_member(Forest& forest, const Each& each) {
  each(forest.tree_offset), each(forest.feature), each(forest.bin), each(forest.threshold), each(forest.left),
      each(forest.right);
  each(forest.value), each(forest.mean), each(forest.impurity), each(forest.weight), each(forest.n_rows);
}

}   // namespace

Forest grow_on_ranks(Ranks& ranks, std::int64_t first, std::int64_t n_trees, std::int32_t n_classes,
                     std::int64_t n_cols, const std::function<Forest(std::int64_t, std::int64_t)>& grow) {
  const std::int64_t begin = n_trees * ranks.rank() / ranks.size(), end = n_trees * (ranks.rank() + 1) / ranks.size();
  const PartedBytes shares = ranks.share([&]() -> std::vector<std::byte> {
    if (begin == end) return {};
    Forest mine = grow(first + begin, end - begin);
    ByteWriter out;
    each_member(mine, [&](const auto& member) { out.numbers(member); });
    return out.take();
  });
  std::vector<Forest> parts;
  for (int r = 0; r < shares.size(); ++r) {
    if (shares.part(r).empty()) continue;
    ByteReader in(shares.part(r));
    Forest& part = parts.emplace_back(Forest{.n_classes = n_classes, .n_cols = n_cols});
    each_member(part, [&]<class T>(std::vector<T>& member) { member = in.numbers<T>(); });
  }
  return join_trees(std::move(parts), n_classes, n_cols);
}

}   // namespace kedge::engine
