// Growing trees on the device, level by level, many trees per launch. What is added up is integers and the formulas are shared with the
// CPU, so the trees are the same bit for bit.
#include <algorithm>
#include <string>

#include "engine/backend/cuda/trees/trees_kernels.cuh"
#include "engine/backend/cuda/trees/trees_kinds.h"
#include "engine/backend/host/parallel_tasks.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSlots = 1 << 21;   // columns of nodes that are scored by one launch
constexpr std::int32_t kExtraColumns = 16;
constexpr std::int64_t kBatchBytes = std::int64_t{1} << 30, kBatchTrees = 256;   // of rows, which are kept twice
constexpr std::size_t kStaticShared = 1024;   // bytes that the kernels use beside their counters, and more

// A batch of trees while it grows; Trees are its trees of one kind.
template <class Trees>
class Batch {
 public:
  Batch(CudaRuntime& runtime, const DeviceForestInput& input, std::int64_t first, const std::vector<std::vector<std::uint32_t>>& drawn)
      : runtime_(runtime), in_(input), options_(input.host.options), is_random_(options_.splitter == Splitter::kRandom), trees_(input.host, drawn.size()) {
    if (is_random_) {
      const BinEdges& edges = in_.table.edges;
      offset_ = upload(runtime_, edges.offset), low_ = upload(runtime_, edges.low), high_ = upload(runtime_, edges.high);
    }
    take_rows(first, drawn);
  }

  std::vector<Forest> grow() {
    while (!level_.empty()) split_level();
    std::vector<Forest> forests;
    for (std::size_t t = 0; t < drafts_.size(); ++t) {
      if (options_.max_leaf_nodes > 0)
        expand_best_first(drafts_[t], options_.max_leaf_nodes, [&](std::int32_t node) { return wanted_[t][node]; });
      forests.push_back(finish_tree(drafts_[t], in_.host.target.n_classes, in_.table.edges, in_.table.n_cols,
                                    [&](std::int32_t node, Forest& out) { trees_.append_value(t, node, out); }));
    }
    return forests;
  }

 private:
  using Row = typename Trees::Kind::Row;
  // A node of the level with what only the host knows of it.
  struct HostNode {
    LevelNode device;
    std::int32_t node;
  };

  void take_rows(std::int64_t first, const std::vector<std::vector<std::uint32_t>>& drawn) {
    trees_.upload_rows(runtime_, drawn);
    std::vector<std::vector<Row>> rows(drawn.size());
    parallel_tasks(tree_threads(), static_cast<std::int64_t>(drawn.size()), [&](std::int64_t t, int) { rows[t] = trees_.take(t, drawn[t]); });
    std::int64_t n = 0;
    for (const auto& of_tree : rows) n += static_cast<std::int64_t>(of_tree.size());
    rows_ = Array<Row>(runtime_, n), parted_ = Array<Row>(runtime_, n);
    drafts_.resize(rows.size()), totals_.resize(rows.size()), wanted_.resize(rows.size());
    std::vector<LevelNode> roots;
    for (std::int64_t begin = 0; const auto& of_tree : rows) {
      const auto t = static_cast<std::int32_t>(roots.size());
      runtime_.to_device(rows_.data() + begin, of_tree.data(), of_tree.size() * sizeof(Row));
      roots.push_back({.begin = begin, .key = tree_root_key(first + t), .n = static_cast<std::int32_t>(of_tree.size()), .tree = t});
      begin += static_cast<std::int64_t>(of_tree.size());
    }
    const std::vector<NodeMeasure> measures = measure(upload(runtime_, roots), nullptr, nullptr, rows_);
    for (const LevelNode& root : roots) {
      add_node(root.tree, trees_.root(root.tree).data(), of(measures, root.tree), root.n, 0, root.key);
      add_to_level(root.tree, 0, root.begin, root.n);
    }
    trees_.upload_limits(runtime_);
    level_.swap(next_level_);
  }

  // What the trees need of nodes beside their sums: of each node, or of its left part and its right one.
  std::vector<NodeMeasure> measure(const Array<LevelNode>& nodes, const DeviceCut* cuts, const std::int32_t* left_rows, const Array<Row>& rows) {
    if constexpr (Trees::kMeasured) return trees_.measure(runtime_, nodes, cuts, left_rows, rows.data());
    return {};
  }
  static NodeMeasure of(const std::vector<NodeMeasure>& measures, std::int64_t i) { return measures.empty() ? NodeMeasure{} : measures[i]; }

  std::int32_t add_node(std::size_t t, const std::int64_t* totals, const NodeMeasure& measure, std::int32_t n_rows, std::int32_t depth, std::uint64_t key) {
    DraftNode node = trees_.add(t, totals, measure);
    node.depth = depth, node.key = key;
    if (node.n_rows == 0) node.n_rows = n_rows;
    totals_[t].insert(totals_[t].end(), totals, totals + trees_.kind().n_totals());
    drafts_[t].nodes.push_back(node), wanted_[t].push_back(false);
    return static_cast<std::int32_t>(drafts_[t].nodes.size()) - 1;
  }
  const std::int64_t* totals_of(std::int32_t t, std::int32_t node) const {
    return totals_[t].data() + std::int64_t{node} * trees_.kind().n_totals();
  }

  void add_to_level(std::int32_t t, std::int32_t node, std::int64_t begin, std::int32_t n) {
    const DraftNode& at = drafts_[t].nodes[node];
    if (may_split(at, n, options_, trees_.rules(t))) next_level_.push_back({{begin, trees_.weight(totals_of(t, node)), at.key, n, t}, node});
  }

  void split_level() {
    const auto steps = std::max<std::int64_t>(1, options_.max_features);
    const std::int64_t chunk = std::max<std::int64_t>(1, kSlots / steps);
    for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(level_.size()); begin += chunk)
      split_chunk({level_.begin() + begin, level_.begin() + std::min<std::int64_t>(begin + chunk, static_cast<std::int64_t>(level_.size()))});
    std::swap(rows_, parted_);
    level_.swap(next_level_);
    next_level_.clear();
  }

  void split_chunk(const std::vector<HostNode>& nodes) {
    if (in_.host.stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
    std::vector<DeviceCut> cuts = find_cuts(nodes, 0, options_.max_features);
    std::int32_t first = options_.max_features;
    for (std::vector<HostNode> constant; first < in_.table.n_cols; first += kExtraColumns) {
      constant.clear();
      std::vector<std::size_t> of;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (!cuts[i].varies) constant.push_back(nodes[i]), of.push_back(i);
      if (constant.empty()) break;
      const std::vector<DeviceCut> more = find_cuts(constant, first, kExtraColumns);
      for (std::size_t i = 0; i < of.size(); ++i) cuts[of[i]] = more[i];
    }
    part(nodes, cuts);
  }

  std::vector<LevelNode> device_nodes(const std::vector<HostNode>& nodes) const {
    std::vector<LevelNode> device;
    for (const HostNode& node : nodes) device.push_back(node.device);
    return device;
  }
  DeviceTable device_table() const { return {in_.table.codes.data(), in_.table.n_rows, offset_.data(), low_.data(), high_.data()}; }

  // The best cut of each node among the columns first .. first + width - 1 of its order.
  std::vector<DeviceCut> find_cuts(const std::vector<HostNode>& host, std::int32_t first, std::int32_t width) {
    const auto n = static_cast<std::int64_t>(host.size());
    const auto n_cols = static_cast<std::int32_t>(in_.table.n_cols);
    width = std::min(width, n_cols - first);
    const auto kind = trees_.kind();
    std::vector<std::int64_t> node_totals;
    for (const HostNode& node : host) {
      const std::int64_t* const of_node = totals_of(node.device.tree, node.node);
      node_totals.insert(node_totals.end(), of_node, of_node + kind.n_totals());
    }
    const Array<LevelNode> nodes = upload(runtime_, device_nodes(host));
    const Array<std::int64_t> totals = upload(runtime_, node_totals);
    Array<std::int32_t> swapped(runtime_, n * (first + width)), displaced(runtime_, n * (first + width)), columns(runtime_, n * width);
    Array<DeviceCut> cuts(runtime_, n * width), chosen(runtime_, n);
    KEDGE_LAUNCH(runtime_, draw_columns, blocks_for(n, kTreeThreads), kTreeThreads, 0, nodes.data(), n, options_.seed, n_cols, first, width,
                 swapped.data(), displaced.data(), columns.data());
    const std::int64_t min_rows = std::max<std::int64_t>(1, options_.min_samples_leaf);
    if (is_random_)
      KEDGE_LAUNCH(runtime_, cut_columns<typename Trees::Kind>, blocks_for(n * width, 1), kTreeThreads, counter_bytes<kTreeThreads>(kind),
                   nodes.data(), rows_.data(), totals.data(), device_table(), columns.data(), first, width, options_.seed, min_rows, kind,
                   cuts.data());
    else
      KEDGE_LAUNCH(runtime_, score_columns<typename Trees::Kind>, blocks_for(n * width, 1), kTreeThreads, counter_bytes<kBins>(kind),
                   nodes.data(), rows_.data(), totals.data(), device_table(), columns.data(), width, min_rows, kind, cuts.data());
    KEDGE_LAUNCH(runtime_, choose_cuts, blocks_for(n, kTreeThreads), kTreeThreads, 0, cuts.data(), n, width, first > 0, chosen.data());
    return chosen.to_host();
  }

  void part(const std::vector<HostNode>& host, const std::vector<DeviceCut>& cuts_host) {
    const auto n = static_cast<std::int64_t>(host.size());
    const auto kind = trees_.kind();
    const Array<LevelNode> nodes = upload(runtime_, device_nodes(host));
    const Array<DeviceCut> cuts = upload(runtime_, cuts_host);
    Array<std::int32_t> left_rows(runtime_, n);
    Array<std::int64_t> left_totals(runtime_, n * kind.n_totals());
    KEDGE_LAUNCH(runtime_, part_rows<typename Trees::Kind>, blocks_for(n, 1), kTreeThreads, counter_bytes<kTreeThreads>(kind), nodes.data(),
                 cuts.data(), rows_.data(), device_table(), kind, parted_.data(), left_rows.data(), left_totals.data());
    const std::vector<std::int32_t> rows_left = left_rows.to_host();
    const std::vector<std::int64_t> totals_left = left_totals.to_host();
    const std::vector<NodeMeasure> measures = measure(nodes, cuts.data(), left_rows.data(), parted_);
    for (std::int64_t i = 0; i < n; ++i)
      if (cuts_host[i].feature >= 0)
        add_children(host[i], cuts_host[i], rows_left[i], totals_left.data() + i * kind.n_totals(), of(measures, 2 * i), of(measures, 2 * i + 1));
  }

  void add_children(const HostNode& host, const DeviceCut& cut, std::int32_t n_left, const std::int64_t* left_totals,
                    const NodeMeasure& left_measure, const NodeMeasure& right_measure) {
    const std::int32_t t = host.device.tree;
    DraftTree& draft = drafts_[t];
    const std::int64_t* const totals = totals_of(t, host.node);
    std::vector<std::int64_t> right_totals(totals, totals + trees_.kind().n_totals());
    for (std::size_t k = 0; k < right_totals.size(); ++k) right_totals[k] -= left_totals[k];
    const DraftNode at = draft.nodes[host.node];
    const std::int32_t n_right = host.device.n - n_left;
    const std::int32_t left = add_node(t, left_totals, left_measure, n_left, at.depth + 1, tree_child_key(at.key, false));
    const std::int32_t right = add_node(t, right_totals.data(), right_measure, n_right, at.depth + 1, tree_child_key(at.key, true));
    DraftNode& split = draft.nodes[host.node];
    split.feature = cut.feature, split.left = left, split.right = right;
    split.left_bin = cut.left_bin, split.right_bin = cut.right_bin;
    if (is_random_) split.threshold = random_threshold(in_.table.edges, cut.feature, cut.left_bin, cut.right_bin, cut.threshold);
    if (!draft.accept_split(host.node, options_.min_impurity_decrease)) return;
    wanted_[t][host.node] = true;
    split.expanded = options_.max_leaf_nodes == 0;
    add_to_level(t, left, host.device.begin, n_left);
    add_to_level(t, right, host.device.begin + n_left, n_right);
  }

  CudaRuntime& runtime_;
  const DeviceForestInput& in_;
  const ForestOptions& options_;
  bool is_random_;
  Trees trees_;
  std::vector<DraftTree> drafts_;
  std::vector<std::vector<std::int64_t>> totals_;   // by tree: those of its nodes
  std::vector<std::vector<bool>> wanted_;           // by tree and node: it has a split that may be taken
  std::vector<HostNode> level_, next_level_;
  Array<Row> rows_, parted_;
  Array<std::int32_t> offset_;   // of the edges
  Array<double> low_, high_;
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
    return is_random(input) ? counter_bytes<kTreeThreads>(kind) : counter_bytes<kBins>(kind);
  });
}

}  // namespace

bool grows_on_device(const CudaRuntime& runtime, const HostForestInput& input) {
  if (input.options.criterion == Criterion::kAbsoluteError) return false;
  const bool is_counted = input.target.n_classes > 0 && !is_weighed(input) && !is_random(input);
  return is_counted || shared_bytes(input) <= runtime.max_shared_bytes();   // the host would sum counted ones in another way
}

std::int64_t trees_at_once(const HostForestInput& input) {
  const std::size_t row_bytes = with_kind(input, []<class Trees>(std::type_identity<Trees>) { return sizeof(typename Trees::Kind::Row); });
  return std::clamp<std::int64_t>(kBatchBytes / (2 * static_cast<std::int64_t>(row_bytes)) / input.n_rows, 1, kBatchTrees);
}

std::vector<Forest> grow_batch(CudaRuntime& runtime, const DeviceForestInput& input, std::int64_t first,
                               const std::vector<std::vector<std::uint32_t>>& drawn) {
  if (shared_bytes(input.host) > runtime.max_shared_bytes())
    throw schema::Error(schema::ErrorCode::kInvalidValue, "a forest for " + std::to_string(input.host.target.n_classes) +
                        " classes on a GPU, at most " + std::to_string((runtime.max_shared_bytes() - kStaticShared) / (4 * kBins) - 1) +
                        " are possible");
  return with_kind(input.host, [&]<class Trees>(std::type_identity<Trees>) { return Batch<Trees>(runtime, input, first, drawn).grow(); });
}

}  // namespace kedge::engine
