// Brings grown trees to the host: see grown_trees.h. Host code alone.
#include "engine/backend/cuda/trees/grown_trees.h"

#include <cstring>
#include <utility>
#include <vector>

#include "engine/backend/cuda/trees/ready_trees.h"
#include "engine/backend/cuda/trees/trees_device.h"
#include "engine/backend/host/huge_pages.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kStagedBytes = 1 << 20;   // of a small forest
constexpr std::int64_t kRoom = 8;                // times a forest's bytes that are free where it stays

template <class T>
void make(std::vector<T>& to, std::int64_t size) {
  to.reserve(static_cast<std::size_t>(size));
  advise_huge_pages(to.data(), size * static_cast<std::int64_t>(sizeof to[0]));
  to.resize(static_cast<std::size_t>(size));
}

// A task for each member: most of the host's time goes into new pages.
void make_members(Forest& forest, std::int64_t n) {
  const std::int64_t n_values = n * forest.n_classes, n_means = forest.n_classes > 0 ? 0 : n;
  parallel_tasks(tree_threads(), 10, [&](std::int64_t task, int) {
    switch (task) {
      case 0:
        return make(forest.value, n_values);
      case 1:
        return make(forest.threshold, n);
      case 2:
        return make(forest.impurity, n);
      case 3:
        return make(forest.weight, n);
      case 4:
        return make(forest.mean, n_means);
      case 5:
        return make(forest.feature, n);
      case 6:
        return make(forest.left, n);
      case 7:
        return make(forest.right, n);
      case 8:
        return make(forest.bin, n);
      default:
        return make(forest.n_rows, n);
    }
  });
}

}   // namespace

GrownTrees::GrownTrees(CudaRuntime& runtime, Forest head) : runtime_(runtime), head_(std::move(head)) {
  const std::int64_t n = n_nodes(), n_values = n * head_.n_classes, n_means = head_.n_classes > 0 ? 0 : n;
  bytes_ = Array<std::uint8_t>(runtime, 8 * (n_values + 3 * n + n_means) + 17 * n);
  auto* const numbers = reinterpret_cast<double*>(raw(bytes_));
  auto* const links = reinterpret_cast<std::int32_t*>(numbers + n_values + 3 * n + n_means);
  columns_ = {.feature = links,
              .left = links + n,
              .right = links + 2 * n,
              .n_rows = links + 3 * n,
              .bin = reinterpret_cast<std::uint8_t*>(links + 4 * n),
              .threshold = numbers + n_values,
              .value = numbers,
              .mean = numbers + n_values + 3 * n,
              .impurity = numbers + n_values + n,
              .weight = numbers + n_values + 2 * n};
}

Forest GrownTrees::bring() const {
  Forest forest = head_;
  make_members(forest, n_nodes());
  // Few bytes come at once, as each copy waits; many at their place.
  const std::vector<std::uint8_t> staged =
      bytes_.size() <= kStagedBytes ? bytes_.to_host() : std::vector<std::uint8_t>{};
  const auto fetch = [&](auto& to, const auto* from) {
    const std::size_t bytes = to.size() * sizeof to[0];
    const auto* const at = reinterpret_cast<const std::uint8_t*>(from);
    if (bytes == 0) return;
    if (staged.empty()) runtime_.to_host(to.data(), at, bytes);
    else std::memcpy(to.data(), staged.data() + (at - raw(bytes_)), bytes);
  };
  fetch(forest.value, columns_.value), fetch(forest.threshold, columns_.threshold);
  fetch(forest.impurity, columns_.impurity), fetch(forest.weight, columns_.weight), fetch(forest.mean, columns_.mean);
  fetch(forest.feature, columns_.feature), fetch(forest.left, columns_.left), fetch(forest.right, columns_.right);
  fetch(forest.bin, columns_.bin), fetch(forest.n_rows, columns_.n_rows);
  return forest;
}

bool GrownTrees::has_room() const {
  const std::int64_t free = runtime_.free_bytes();   // 0: unknown
  return free == 0 || bytes_.size() <= free / kRoom;
}

NarrowTreeNode* GrownTrees::room_for_packed() {
  if (!PackedTrees<NarrowTreeNode>::fits(head_)) return nullptr;
  packed_ = Array<NarrowTreeNode>(runtime_, n_nodes());
  return raw(packed_);
}

std::unique_ptr<ReadyForest> GrownTrees::prepare() const {
  if (packed_.size() == 0) return nullptr;
  const double* const values = head_.n_classes > 0 ? columns_.value : columns_.mean;
  return std::make_unique<ReadyTrees>(
      runtime_, head_, std::make_unique<PackedTrees<NarrowTreeNode>>(runtime_, head_, std::move(packed_), values));
}

}   // namespace kedge::engine
