// Growing trees on the device, level by level, many trees per launch; the host only learns how many nodes a level has.
// What is added up is integers and the formulas are shared with the CPU, so the trees are the same bit for bit.
#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

#include "engine/backend/cuda/trees/grown_trees.h"
#include "engine/backend/cuda/trees/trees_finish.cuh"
#include "engine/backend/cuda/trees/trees_kernels.cuh"
#include "engine/backend/cuda/trees/trees_kinds.h"
#include "engine/backend/cuda/trees/trees_nodes.cuh"
#include "engine/backend/cuda/trees/trees_part.cuh"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/raw.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSlots = 1 << 21;   // columns of nodes that are scored by one launch
constexpr std::int32_t kExtraColumns = 16;
constexpr std::int64_t kBatchBytes = std::int64_t{1} << 30, kBatchTrees = 256;   // of rows, which are kept twice
constexpr std::int64_t kNodeBytes = std::int64_t{1} << 31;                       // of a batch's nodes, about
constexpr std::int64_t kFinishBytes = 1 << 28;   // of nodes that one launch of finish_nodes() has room for
constexpr std::size_t kStaticShared = 1024;   // bytes that the kernels use beside their counters, and more
constexpr std::size_t kBigShared =
    40 * 1024;   // that the counters of a big block may have, so that several run at once

// Device memory that is made anew only where more is needed.
template <class T>
T* at_least(CudaRuntime& runtime, Array<T>& array, std::int64_t size) {
  if (array.size() < size) array = {}, array = Array<T>(runtime, size + size / 2);
  return raw(array);
}

// The same, keeping the first `used` elements.
template <class T>
void grow_to(CudaRuntime& runtime, Array<T>& array, std::int64_t used, std::int64_t size) {
  if (array.size() >= size) return;
  Array<T> more(runtime, size + size / 2);
  if (used > 0) runtime.copy(more.data(), array.data(), static_cast<std::size_t>(used) * sizeof(T));
  array = std::move(more);
}

// A batch of trees while it grows; Trees are its trees of one kind.
template <class Trees>
class Batch {
 public:
  Batch(CudaRuntime& runtime, const DeviceForestInput& input, std::int64_t first, std::int64_t n_trees)
      : runtime_(runtime),
        in_(input),
        options_(input.host.options),
        is_random_(options_.splitter == Splitter::kRandom),
        n_trees_(static_cast<std::int32_t>(n_trees)),
        trees_(input.host, static_cast<std::size_t>(n_trees)),
        counts_(runtime, 1) {
    const BinEdges& edges = in_.table.edges;
    offset_ = upload(runtime_, edges.offset), low_ = upload(runtime_, edges.low), high_ = upload(runtime_, edges.high);
    make_roots(first, take_rows(first));
  }

  std::unique_ptr<GrownTrees> grow(bool packs) {
    while (now_.big + now_.small > 0) split_level();
    if (options_.max_leaf_nodes > 0) keep_best();
    return finish(packs);
  }

 private:
  using Kind = typename Trees::Kind;
  using Row = typename Kind::Row;

  // Takes the drawn rows to the device, and returns how many each tree has.
  std::vector<std::int64_t> take_rows(std::int64_t first) {
    if constexpr (Trees::kDrawsThere)
      if (options_.draw_weights.empty()) return trees_.draw_rows(runtime_, in_, first, rows_, parted_);
    const auto drawn = draw_trees(options_, first, n_trees_, in_.host.n_rows);
    trees_.upload_rows(runtime_, drawn);
    std::vector<std::vector<Row>> rows(drawn.size());
    parallel_tasks(tree_threads(), n_trees_, [&](std::int64_t t, int) { rows[t] = trees_.take(t, drawn[t]); });
    std::vector<std::int64_t> sizes;
    std::int64_t n = 0;
    for (const auto& of_tree : rows) sizes.push_back(static_cast<std::int64_t>(of_tree.size())), n += sizes.back();
    rows_ = Array<Row>(runtime_, n), parted_ = Array<Row>(runtime_, n);
    for (std::int64_t begin = 0; const auto& of_tree : rows) {
      runtime_.to_device(rows_.data() + begin, of_tree.data(), of_tree.size() * sizeof(Row));
      begin += static_cast<std::int64_t>(of_tree.size());
    }
    return sizes;
  }

  void make_roots(std::int64_t first, const std::vector<std::int64_t>& sizes) {
    std::vector<LevelNode> roots;
    std::vector<std::int64_t> totals;
    for (std::int64_t begin = 0; const std::int64_t n : sizes) {
      const auto t = static_cast<std::int32_t>(roots.size());
      const std::vector<std::int64_t>& of_root = trees_.root(t);
      totals.insert(totals.end(), of_root.begin(), of_root.end());
      roots.push_back({.begin = begin,
                       .weight = trees_.weight(of_root.data()),
                       .key = tree_root_key(first + t),
                       .n = static_cast<std::int32_t>(n),
                       .tree = t,
                       .node = t});
      begin += n;
    }
    std::vector<NodeMeasure> measures(roots.size());
    if constexpr (Kind::kMeasured) {
      const Array<LevelNode> nodes = upload(runtime_, roots);
      Array<NodeMeasure> measured(runtime_, n_trees_);
      trees_.template measure<kBigThreads>(runtime_, raw(nodes), n_trees_, nullptr, nullptr, raw(rows_), raw(measured));
      measures = measured.to_host();
    }
    std::vector<DeviceNode> made(roots.size());
    for (const LevelNode& root : roots) {
      const NodeMeasure of = trees_.root_measure(root.tree, measures[root.tree]);
      DeviceNode& node = made[root.tree];
      node.impurity = of.impurity, node.weight = of.weight, node.mean = of.mean, node.key = root.key,
      node.tree = root.tree;
      node.n_rows = root.n;
    }
    trees_.upload_limits(runtime_), leaf_weight_ = upload(runtime_, leaf_limits(trees_.rules()));
    nodes_ = upload(runtime_, made), totals_ = upload(runtime_, totals), now_.nodes = n_trees_;
    runtime_.to_device(counts_.data(), &now_, sizeof now_);
    first_level(roots, made);
  }

  // Big roots from the front, small ones from the back, as add_to_level() does.
  void first_level(const std::vector<LevelNode>& roots, const std::vector<DeviceNode>& made) {
    std::vector<LevelNode> level(roots.size());
    for (const LevelNode& root : roots) {
      const DeviceNode& node = made[root.tree];
      if (!may_split(limits(), 0, root.n, node.weight, node.impurity, trees_.rules()[root.tree].min_weight_leaf))
        continue;
      if (root.n >= big_rows()) level[now_.big++] = root;
      else level[level.size() - 1 - now_.small++] = root;
    }
    level_ = upload(runtime_, level);
  }

  SplitLimits limits() const { return {options_.max_depth, options_.min_samples_split, options_.min_samples_leaf}; }
  // Rows of nodes that big blocks take: none where these would need too much shared memory.
  std::int32_t big_rows() const {
    const bool fits =
        counter_bytes<kBigThreads>(trees_.kind()) <= kBigShared && counter_bytes<kBins>(trees_.kind()) <= kBigShared;
    return fits ? kBigNode : 0x7fffffff;
  }

  SplitRules rules() const { return {limits(), options_.min_impurity_decrease, raw(leaf_weight_), is_random_}; }
  // Rows of nodes that finish_nodes() takes, at most; 0 where it takes none.
  std::int32_t tiny_rows() const {
    if constexpr (std::is_same_v<Kind, CountedKind>) {
      const CountedKind kind = trees_.kind();
      const bool fits = options_.max_features <= kTinyColumns && in_.table.n_cols <= kTinyTableColumns &&
                        kind.n_classes <= kTinyClasses;
      if (fits && !is_random_ && !kind.entropy && !kind.of_class && options_.max_leaf_nodes == 0) return kTinyRows;
    }
    return 0;
  }

  void make_room(std::int64_t more_nodes) {
    const std::int64_t most = now_.nodes + more_nodes, n_totals = trees_.kind().n_totals();
    if (most > 0x7fffffff)
      throw schema::Error(schema::ErrorCode::kInvalidValue, "a forest has more than 2147483647 nodes");
    grow_to(runtime_, nodes_, now_.nodes, most);
    grow_to(runtime_, totals_, now_.nodes * n_totals, most * n_totals);
  }
  void check_stop() const {
    if (in_.host.stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
  }

  void split_level() {
    const std::int64_t n = now_.big + now_.small;
    make_room(2 * n);
    level_end_.push_back(now_.nodes);
    next_level_ = Array<LevelNode>(runtime_, 2 * n);
    if (tiny_rows() > 0) grow_to(runtime_, tiny_, now_.tiny, now_.tiny + 2 * n);
    runtime_.zero(&raw(counts_)->big, 2 * sizeof(std::int32_t));
    split_nodes<kBigThreads>(raw(level_), now_.big);
    split_nodes<kSmallThreads>(raw(level_) + level_.size() - now_.small, now_.small);
    runtime_.to_host(&now_, counts_.data(), sizeof now_);
    std::swap(rows_, parted_), std::swap(level_, next_level_);
  }

  template <int kThreads>
  void split_nodes(const LevelNode* nodes, std::int64_t n) {
    const std::int64_t chunk = std::max<std::int64_t>(1, kSlots / std::max<std::int64_t>(1, options_.max_features));
    for (std::int64_t begin = 0; begin < n; begin += chunk) {
      check_stop();
      const std::int64_t count = std::min(chunk, n - begin);
      DeviceCut* const cuts = at_least(runtime_, cuts_, count);
      find_cuts<kThreads>(nodes + begin, count, 0, options_.max_features, cuts);
      look_further<kThreads>(nodes + begin, count, cuts);
      part<kThreads>(nodes + begin, count, cuts);
    }
  }

  // Nodes whose columns are all constant try further ones, in the order in which they are drawn.
  template <int kThreads>
  void look_further(const LevelNode* nodes, std::int64_t n, DeviceCut* cuts) {
    const std::int32_t* of = nullptr;
    const DeviceCut* found = cuts;
    for (std::int32_t first = options_.max_features, round = 0; first < in_.table.n_cols;
         first += kExtraColumns, ++round) {
      LevelNode* const constant = at_least(runtime_, constant_[round % 2], n);
      std::int32_t* const constant_of = at_least(runtime_, constant_of_[round % 2], n);
      std::int32_t* const count = &raw(counts_)->constant;
      runtime_.zero(count, sizeof *count);
      KEDGE_LAUNCH(runtime_, list_constant, blocks_for(n, kNodeThreads), kNodeThreads, 0, nodes, of, found, n, cuts,
                   constant, constant_of, count);
      std::int32_t left = 0;
      runtime_.to_host(&left, count, sizeof left);
      if (left == 0) return;
      nodes = constant, of = constant_of, n = left;
      DeviceCut* const more = at_least(runtime_, more_cuts_, n);
      find_cuts<kThreads>(nodes, n, first, kExtraColumns, more);
      found = more;
    }
    if (of) KEDGE_LAUNCH(runtime_, put_cuts, blocks_for(n, kNodeThreads), kNodeThreads, 0, of, found, n, cuts);
  }

  DeviceTable device_table() const {
    return {raw(in_.table.codes), in_.table.n_rows, raw(offset_), raw(low_), raw(high_)};
  }

  // The best cut of each node among the columns first .. first + width - 1 of its order.
  template <int kThreads>
  void find_cuts(const LevelNode* nodes, std::int64_t n, std::int32_t first, std::int32_t width, DeviceCut* chosen) {
    const auto n_cols = static_cast<std::int32_t>(in_.table.n_cols);
    width = std::min(width, n_cols - first);
    const Kind kind = trees_.kind();
    std::int32_t* const swapped = at_least(runtime_, swapped_, n * (first + width));
    std::int32_t* const displaced = at_least(runtime_, displaced_, n * (first + width));
    std::int32_t* const columns = at_least(runtime_, columns_, n * width);
    DeviceCut* const cuts = at_least(runtime_, column_cuts_, n * width);
    KEDGE_LAUNCH(runtime_, draw_columns, blocks_for(n, kNodeThreads), kNodeThreads, 0, nodes, n, options_.seed, n_cols,
                 first, width, swapped, displaced, columns);
    const std::int64_t min_rows = std::max<std::int64_t>(1, options_.min_samples_leaf);
    if (is_random_)
      KEDGE_LAUNCH(runtime_, (cut_columns<kThreads, Kind>), blocks_for(n * width, 1), kThreads,
                   counter_bytes<kThreads>(kind), nodes, rows_.data(), totals_.data(), device_table(), columns, first,
                   width, options_.seed, min_rows, kind, cuts);
    else
      KEDGE_LAUNCH(runtime_, (score_columns<kThreads, Kind>), blocks_for(n * width, 1), kThreads,
                   counter_bytes<kBins>(kind), nodes, rows_.data(), totals_.data(), device_table(), columns, width,
                   min_rows, kind, cuts);
    KEDGE_LAUNCH(runtime_, choose_cuts, blocks_for(n, kNodeThreads), kNodeThreads, 0, cuts, n, width, first > 0,
                 chosen);
  }

  // Parts the rows of nodes, and makes their children.
  template <int kThreads>
  void part(const LevelNode* nodes, std::int64_t n, const DeviceCut* cuts) {
    const Kind kind = trees_.kind();
    std::int32_t* const left_rows = at_least(runtime_, left_rows_, n);
    std::int64_t* const left_totals = at_least(runtime_, left_totals_, n * kind.n_totals());
    if constexpr (kThreads == kBigThreads) part_pieces(nodes, n, cuts, left_rows, left_totals);
    else
      KEDGE_LAUNCH(runtime_, (part_rows<kThreads, Kind>), blocks_for(n, 1), kThreads, counter_bytes<kThreads>(kind),
                   nodes, cuts, rows_.data(), device_table(), kind, parted_.data(), left_rows, left_totals);
    const NodeMeasure* measures = nullptr;
    if constexpr (Kind::kMeasured) {
      NodeMeasure* const measured = at_least(runtime_, measures_, 2 * n);
      trees_.template measure<kThreads>(runtime_, nodes, n, cuts, left_rows, raw(parted_), measured);
      measures = measured;
    }
    KEDGE_LAUNCH(runtime_, add_children<Kind>, blocks_for(n, kNodeThreads), kNodeThreads, 0, nodes, n,
                 LevelParts{cuts, left_rows, left_totals, measures}, device_table(), kind, rules(), nodes_.data(),
                 totals_.data(),
                 NextLevel{raw(next_level_), next_level_.size(), raw(tiny_), tiny_rows(), kTinyWeight, big_rows(),
                           raw(counts_)});
  }

  // Finishes the tiny nodes of all levels, in launches whose nodes have room for sure.
  void finish_tiny() {
    if constexpr (std::is_same_v<Kind, CountedKind>) {
      const std::size_t n_levels = level_end_.size() - 1;
      const Row *const even = raw(n_levels % 2 == 0 ? rows_ : parted_), *const odd =
                                                                            raw(n_levels % 2 == 0 ? parted_ : rows_);
      const auto width = static_cast<std::int32_t>(std::min<std::int64_t>(options_.max_features, in_.table.n_cols));
      const std::int64_t node_bytes = static_cast<std::int64_t>(sizeof(DeviceNode)) + 8 * trees_.kind().n_totals();
      constexpr std::int64_t kMostNodes = 2 * (kTinyRows - 1);   // of one
      const std::int64_t chunk = std::max<std::int64_t>(kTinyWarps, kFinishBytes / (kMostNodes * node_bytes));
      for (std::int64_t begin = 0; begin < now_.tiny; begin += chunk) {
        check_stop();
        const std::int64_t end = std::min<std::int64_t>(begin + chunk, now_.tiny);
        make_room(kMostNodes * (end - begin));
        KEDGE_LAUNCH(runtime_, finish_nodes, blocks_for(end - begin, kTinyWarps), kTinyWarps * 32,
                     TinyDraw::bytes(width), tiny_.data(), begin, end, even, odd, device_table(),
                     TinyDraw{options_.seed, static_cast<std::int32_t>(in_.table.n_cols), width}, rules(),
                     TinyForest{raw(nodes_), raw(totals_), &raw(counts_)->nodes, trees_.kind().n_classes});
        runtime_.to_host(&now_, counts_.data(), sizeof now_);
      }
      const std::int64_t first = level_end_.back();
      KEDGE_LAUNCH(runtime_, size_finished, blocks_for(now_.nodes - first, kThreads), kThreads, 0, nodes_.data(),
                   tiny_.data(), first, static_cast<std::int64_t>(now_.nodes));
    }
  }

  // The host does not know how many pieces big nodes have, so some blocks find none.
  void part_pieces(const LevelNode* nodes, std::int64_t n, const DeviceCut* cuts, std::int32_t* left_rows,
                   std::int64_t* left_totals) {
    const Kind kind = trees_.kind();
    const std::int64_t most = n + rows_.size() / kPieceRows;
    const Pieces pieces{at_least(runtime_, pieces_, most), at_least(runtime_, left_of_piece_, most),
                        at_least(runtime_, first_piece_, n), &raw(counts_)->pieces};
    runtime_.zero(pieces.count, sizeof *pieces.count);
    runtime_.zero(left_totals, static_cast<std::size_t>(n * kind.n_totals()) * sizeof *left_totals);
    KEDGE_LAUNCH(runtime_, list_pieces, blocks_for(n, kNodeThreads), kNodeThreads, 0, nodes, cuts, n, pieces);
    KEDGE_LAUNCH(runtime_, count_pieces<Kind>, blocks_for(most, 1), kBigThreads, counter_bytes<kBigThreads>(kind),
                 nodes, cuts, rows_.data(), device_table(), kind, pieces, left_totals);
    KEDGE_LAUNCH(runtime_, scan_pieces, blocks_for(n, 1), 32, 0, nodes, cuts, pieces, left_rows);
    KEDGE_LAUNCH(runtime_, move_pieces<Row>, blocks_for(most, 1), kBigThreads, 0, nodes, cuts, rows_.data(),
                 device_table(), pieces, left_rows, parted_.data());
  }

  // Of each tree, the max_leaf_nodes leaves that lower the impurity most; below them nothing is left. On the host, in
  // their order.
  void keep_best() {
    std::vector<DeviceNode> nodes(static_cast<std::size_t>(now_.nodes));
    runtime_.to_host(nodes.data(), nodes_.data(), nodes.size() * sizeof(DeviceNode));
    DraftTree draft;
    for (const DeviceNode& node : nodes)
      draft.nodes.push_back(
          {.left = node.left, .right = node.left + 1, .improvement = node.improvement, .key = node.key});
    for (std::int32_t t = 0; t < n_trees_; ++t)
      expand_best_first(
          draft, options_.max_leaf_nodes, [&](std::int32_t node) { return draft.nodes[node].left >= 0; }, t);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!draft.nodes[i].expanded) nodes[i].left = -1;
    runtime_.to_device(nodes_.data(), nodes.data(), nodes.size() * sizeof(DeviceNode));
  }

  template <class Launch>
  void by_range(std::int64_t begin, std::int64_t end, const Launch& launch) const {
    launch(begin, end, blocks_for(end - begin, kThreads));
  }
  // Each level from the first one down.
  template <class Launch>
  void by_level(const Launch& launch) const {
    for (std::size_t level = 0; level < level_end_.size(); ++level)
      by_range(level > 0 ? level_end_[level - 1] : 0, level_end_[level], launch);
  }

  // The trees depth first, as finish_tree() lays them out.
  std::unique_ptr<GrownTrees> finish(bool packs) {
    level_end_.push_back(now_.nodes);
    finish_tiny();
    for (std::size_t level = level_end_.size(); level-- > 0;)
      by_range(level > 0 ? level_end_[level - 1] : 0, level_end_[level],
               [&](std::int64_t begin, std::int64_t end, unsigned blocks) {
                 KEDGE_LAUNCH(runtime_, sum_sizes, blocks, kThreads, 0, nodes_.data(), begin, end);
               });
    Array<std::int64_t> offset(runtime_, n_trees_ + 1);
    KEDGE_LAUNCH(runtime_, place_roots, 1, 1, 0, nodes_.data(), n_trees_, offset.data());
    by_level([&](std::int64_t begin, std::int64_t end, unsigned blocks) {
      KEDGE_LAUNCH(runtime_, place_children, blocks, kThreads, 0, nodes_.data(), begin, end);
    });
    rows_ = {}, parted_ = {}, level_ = {}, next_level_ = {};
    auto grown = std::make_unique<GrownTrees>(
        runtime_,
        Forest{.n_classes = in_.host.target.n_classes, .n_cols = in_.table.n_cols, .tree_offset = offset.to_host()});
    KEDGE_LAUNCH(runtime_, put_nodes<Kind>, blocks_for(now_.nodes, kThreads), kThreads, 0, nodes_.data(), tiny_.data(),
                 totals_.data(), static_cast<std::int64_t>(now_.nodes), trees_.kind(), grown->columns());
    if (packs) pack(*grown, raw(offset));
    return grown;
  }

  // Packs the nodes for bytes, pairs of children about in the order of their levels, as blocks begin in order.
  void pack(GrownTrees& grown, const std::int64_t* offset) {
    NarrowTreeNode* const packed = grown.room_for_packed();
    if (!packed) return;
    Array<std::uint32_t> pairs(runtime_, n_trees_);
    pairs.zero();
    KEDGE_LAUNCH(runtime_, number_pairs, blocks_for(now_.nodes, kThreads), kThreads, 0, nodes_.data(),
                 static_cast<std::int64_t>(now_.nodes), pairs.data());
    KEDGE_LAUNCH(runtime_, pack_nodes, blocks_for(now_.nodes, kThreads), kThreads, 0, nodes_.data(), tiny_.data(),
                 static_cast<std::int64_t>(now_.nodes), n_trees_, in_.host.target.n_classes, offset,
                 grown.columns().value, grown.links(), packed);
  }

  static constexpr int kThreads = 256;
  CudaRuntime& runtime_;
  const DeviceForestInput& in_;
  const ForestOptions& options_;
  bool is_random_;
  std::int32_t n_trees_;
  Trees trees_;
  Array<LevelCounts> counts_;
  LevelCounts now_{};                     // as the host knows them
  std::vector<std::int64_t> level_end_;   // of the nodes of each level
  Array<DeviceNode> nodes_;
  Array<std::int64_t> totals_;            // n_totals() sums of each node
  Array<LevelNode> level_, next_level_;   // big nodes from the front, small ones from the back
  Array<LevelNode> tiny_;                 // of all levels, for finish_nodes()
  Array<Row> rows_, parted_;
  Array<std::int32_t> offset_;               // of the edges
  Array<double> low_, high_, leaf_weight_;   // leaf_weight_: by tree, that a leaf must have
  // What the steps of a level work with.
  Array<DeviceCut> cuts_, more_cuts_, column_cuts_;
  Array<LevelNode> constant_[2];
  Array<std::int32_t> constant_of_[2], swapped_, displaced_, columns_, left_rows_, left_of_piece_, first_piece_;
  Array<Piece> pieces_;
  Array<std::int64_t> left_totals_;
  Array<NodeMeasure> measures_;
};

bool is_random(const HostForestInput& input) { return input.options.splitter == Splitter::kRandom; }

// Whether rows of classes are weighed rather than counted. Random cuts weigh rows by the weights of their classes too, as the host does.
bool is_weighed(const HostForestInput& input) {
  const ForestOptions& options = input.options;
  const bool has_class_weight = !options.class_weight.empty() || options.balance_each_tree;
  return !input.target.weights.empty() || (is_random(input) && (has_class_weight || std::max(input.n_rows, options.n_draws) >= 0x7fffffff));
}

// Calls visit with the kind of trees that fits.
template <class Visit>
auto with_kind(const HostForestInput& input, const Visit& visit) {
  if (input.target.n_classes == 0) return visit(std::type_identity<SummedTrees>{});
  if (is_weighed(input)) return visit(std::type_identity<WeighedTrees>{});
  return visit(std::type_identity<CountedTrees>{});
}

std::size_t shared_bytes(const HostForestInput& input) {
  return kStaticShared + with_kind(input, [&]<class Trees>(std::type_identity<Trees>) {
    const auto kind = Trees::kind_of(input.target.n_classes);
    return is_random(input) ? counter_bytes<kSmallThreads>(kind) : counter_bytes<kBins>(kind);
  });
}

}  // namespace

bool grows_on_device(const CudaRuntime& runtime, const HostForestInput& input) {
  if (input.options.criterion == Criterion::kAbsoluteError || input.options.draws == TreeDraws::kSklearn) return false;
  const bool is_counted = input.target.n_classes > 0 && !is_weighed(input) && !is_random(input);
  return is_counted || shared_bytes(input) <= runtime.max_shared_bytes();   // the host would sum counted ones in another way
}

bool draws_on_device(const HostForestInput& input) {
  return input.target.n_classes > 0 && !is_weighed(input) && input.options.draw_weights.empty();
}

std::int64_t trees_at_once(const HostForestInput& input) {
  const bool is_of_classes = input.target.n_classes > 0;
  const auto row_bytes = static_cast<std::int64_t>(
      with_kind(input, []<class Trees>(std::type_identity<Trees>) { return sizeof(typename Trees::Kind::Row); }));
  // A node for each row, which most rows of a class do not need; rows of values may need two.
  const std::int64_t node_bytes =
      static_cast<std::int64_t>(sizeof(DeviceNode)) + 8 * std::max(2, input.target.n_classes);
  const std::int64_t by_rows = kBatchBytes / (2 * row_bytes * input.n_rows),
                     by_nodes = kNodeBytes / (node_bytes * input.n_rows * (is_of_classes ? 1 : 2));
  return std::clamp<std::int64_t>(std::min(by_rows, by_nodes), 1, kBatchTrees);
}

std::vector<std::vector<std::uint32_t>> draw_trees(const ForestOptions& options, std::int64_t first, std::int64_t count,
                                                   std::int64_t n) {
  std::vector<std::vector<std::uint32_t>> drawn(static_cast<std::size_t>(count));
  const TreeSeeds seeds(options, first, count);
  parallel_tasks(tree_threads(), count,
                 [&](std::int64_t t, int) { draw_rows(options, seeds, first + t, n, drawn[t]); });
  return drawn;
}

std::unique_ptr<GrownTrees> grow_batch(CudaRuntime& runtime, const DeviceForestInput& input, std::int64_t first,
                                       std::int64_t count, bool packs) {
  if (shared_bytes(input.host) > runtime.max_shared_bytes())
    throw schema::Error(schema::ErrorCode::kInvalidValue, "a forest for " + std::to_string(input.host.target.n_classes) +
                        " classes on a GPU, at most " + std::to_string((runtime.max_shared_bytes() - kStaticShared) / (4 * kBins) - 1) +
                        " are possible");
  return with_kind(input.host, [&]<class Trees>(std::type_identity<Trees>) {
    return Batch<Trees>(runtime, input, first, count).grow(packs);
  });
}

}  // namespace kedge::engine
