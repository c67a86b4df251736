// Growing one tree on the CPU: draw rows, then split nodes depth first (or best first) until nothing can be split.
#include "engine/backend/cpu/trees_grow.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/backend/cpu/trees_score.h"
#include "schemas/error.h"

namespace kedge::engine {

namespace {

// A node's columns in random order, drawn as they are needed.
class ColumnDraw {
 public:
  explicit ColumnDraw(std::int64_t n_cols) : order_(static_cast<std::size_t>(n_cols)) { std::iota(order_.begin(), order_.end(), 0u); }

  void start(std::uint64_t seed, std::uint64_t key) {
    for (; !swapped_.empty(); swapped_.pop_back()) std::swap(order_[swapped_.size() - 1], order_[swapped_.back()]);
    seed_ = seed, key_ = key;
  }
  std::int64_t left() const { return static_cast<std::int64_t>(order_.size() - swapped_.size()); }
  std::uint32_t next() {
    const auto j = static_cast<std::uint32_t>(swapped_.size());
    if (j % 4 == 0) block_ = philox(seed_, key_, j / 4);
    const std::uint32_t other = j + feature_step(block_.word[j % 4], static_cast<std::uint32_t>(order_.size()) - j);
    std::swap(order_[j], order_[other]);
    swapped_.push_back(other);
    return order_[j];
  }

 private:
  std::vector<std::uint32_t> order_, swapped_;
  std::uint64_t seed_ = 0, key_ = 0;
  PhiloxBlock block_{};
};

constexpr std::int64_t kColumnMajorRows = 2048;    // from here on a column's bytes are read in one sweep
constexpr std::uint32_t kSweptRows = 4096;           // from here on reading whole columns is cheaper than the records of the rows
constexpr std::int64_t kListWords = 8 << 20;       // working memory for lists of rows
constexpr std::int64_t kWorkBetweenStops = 4 << 20;
std::uint32_t plain_part_rows(const ColumnCodes& codes, int left_bin, TreeRow* rows, std::uint32_t n, TreeRow* right,
                              std::int32_t* left_counts) {
  return part_rows(codes, left_bin, rows, n, right, left_counts);
}

constexpr int kGroup = 64;                         // columns listed together

}  // namespace

struct TreeGrower::Impl {
  explicit Impl(const ForestInput& input)
      : in(input), coded(input.table.records.size() > 0 && input.table.record_words <= 16 && input.n_classes <= 16 &&
                         wide_kernels_available()),
        columns(input.table.n_cols) {}

  struct NodeRows { const TreeRow* rows; std::uint32_t n; };

  Forest grow(std::int64_t tree);
  void take_rows(std::int64_t tree);
  void grow_nodes();
  bool evaluate(std::int32_t node);
  BestCut find_cut(std::int32_t node);
  ColumnCodes codes_of(std::int64_t feature, std::uint32_t n) const;
  int draw_group(std::int64_t wanted, std::uint32_t n);
  void list_group(const TreeRow* node_rows, std::uint32_t n, int group);
  void sweep_group(const NodeRows& at, int first, int group);
  bool score_one(const NodeRows& at, int k, bool listed, const NodeTotals& totals, BestCut& best);
  std::uint32_t partition(std::int32_t node, const BestCut& cut);
  void check_stop(std::int64_t work);

  // From here on the rows of node i are rows[range[i].begin, range[i].end).
  struct Range { std::uint32_t begin, end; };

  const ForestInput& in;
  const bool coded;   // lists hold rows with their codes, else positions of rows
  ColumnDraw columns;
  TreeRules rules;
  std::unique_ptr<ColumnScorer> scorer;
  std::unique_ptr<DraftTree> draft;
  std::vector<std::uint32_t> drawn;
  std::vector<TreeRow> rows, right_rows;
  std::vector<Range> range;
  std::vector<std::int32_t> left_counts, right_counts;
  std::vector<std::uint32_t> lists;
  std::int64_t list_stride = 0;
  std::uint32_t features[kGroup] = {}, list_size[kGroup] = {};
  std::int64_t work = 0;
};

TreeGrower::TreeGrower(const ForestInput& input) : impl_(std::make_unique<Impl>(input)) {}
TreeGrower::~TreeGrower() = default;
TreeGrower::TreeGrower(TreeGrower&&) noexcept = default;
Forest TreeGrower::grow(std::int64_t tree) { return impl_->grow(tree); }

Forest TreeGrower::Impl::grow(std::int64_t tree) {
  check_stop(kWorkBetweenStops);
  take_rows(tree);
  std::vector<std::int32_t> by_class(static_cast<std::size_t>(in.n_classes));
  for (const TreeRow& row : rows) by_class[row.cls] += row.weight;
  rules = make_rules(in.options, by_class);
  scorer = std::make_unique<ColumnScorer>(in.n_classes, in.options, rules);
  draft = std::make_unique<DraftTree>(in.n_classes);
  draft->add(by_class.data(), 0, tree_root_key(tree), rules);
  range.assign(1, {0, static_cast<std::uint32_t>(rows.size())});
  left_counts.resize(by_class.size()), right_counts.resize(by_class.size());
  right_rows.resize(rows.size() + 1);
  grow_nodes();
  return finish_tree(*draft, rules, in.table.edges, in.table.n_cols);
}

void TreeGrower::Impl::take_rows(std::int64_t tree) {
  const std::int64_t n = in.n_rows();
  draw_rows(in.options, tree, n, drawn);
  rows.resize(static_cast<std::size_t>(n) + 1);
  std::size_t used = 0;
  const bool recorded = in.table.records.size() > 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t weight = drawn[i];
    const std::int64_t row = in.row(i);
    rows[used] = {static_cast<std::uint32_t>(row), recorded ? in.table.record_of[row] : 0,
                  static_cast<std::uint16_t>(in.y.data[row]), static_cast<std::uint16_t>(weight)};
    used += weight != 0;
  }
  rows.resize(used);
}

void TreeGrower::Impl::grow_nodes() {
  if (in.options.max_leaf_nodes > 0) {
    expand_best_first(*draft, in.options.max_leaf_nodes, [this](std::int32_t node) { return evaluate(node); });
    return;
  }
  std::vector<std::int32_t> stack{0};
  while (!stack.empty()) {
    const std::int32_t node = stack.back();
    stack.pop_back();
    if (!evaluate(node)) continue;
    draft->nodes[node].expanded = true;
    stack.push_back(draft->nodes[node].right);
    stack.push_back(draft->nodes[node].left);
  }
}

// Finds the node's split, makes its children and tells whether the split is wanted.
bool TreeGrower::Impl::evaluate(std::int32_t node) {
  if (!may_split(draft->nodes[node], range[node].end - range[node].begin, in.options, rules)) return false;
  const BestCut cut = find_cut(node);
  if (cut.feature < 0) return false;
  const std::uint32_t middle = partition(node, cut);
  const auto counts = draft->counts_of(node);
  for (std::size_t c = 0; c < counts.size(); ++c) right_counts[c] = counts[c] - left_counts[c];
  const DraftNode at = draft->nodes[node];
  const std::int32_t left = draft->add(left_counts.data(), at.depth + 1, tree_child_key(at.key, false), rules);
  const std::int32_t right = draft->add(right_counts.data(), at.depth + 1, tree_child_key(at.key, true), rules);
  const Range all = range[node];
  range.push_back({all.begin, middle}), range.push_back({middle, all.end});
  DraftNode& split = draft->nodes[node];
  split.feature = cut.feature, split.left = left, split.right = right;
  split.left_bin = static_cast<std::uint8_t>(cut.left_bin), split.right_bin = static_cast<std::uint8_t>(cut.right_bin);
  return draft->accept_split(node, in.options.min_impurity_decrease);
}

// Visits max_features random columns, and more only while all of them are constant in the node.
BestCut TreeGrower::Impl::find_cut(std::int32_t node) {
  const Range span = range[node];
  const NodeRows at{rows.data() + span.begin, span.end - span.begin};
  const auto counts = draft->counts_of(node);
  NodeTotals totals{counts.data(), in.n_classes, 0, 0};
  for (const std::int32_t count : counts) totals.drawn += count, totals.squares += std::int64_t{count} * count;
  totals.wide = scorer->is_wide(totals);
  const bool swept = totals.wide && at.n >= kSweptRows, listed = !swept && in.table.records.size() > 0;
  columns.start(in.options.seed, draft->nodes[node].key);
  BestCut best;
  bool varies = false;
  for (std::int64_t visited = 0; columns.left() > 0 && (visited < in.options.max_features || !varies);) {
    const bool wanted = visited < in.options.max_features;
    const int group = draw_group(in.options.max_features - visited, at.n);
    check_stop(std::int64_t{at.n} * group);
    if (listed) list_group(at.rows, at.n, group);
    for (int k = 0; k < group && (wanted || !varies); ++k) {
      if (swept && k % WideScorer::kSweep == 0) sweep_group(at, k, group);
      const double before = best.score;
      varies |= swept ? scorer->wide().score_swept(k % WideScorer::kSweep, totals, best) : score_one(at, k, listed, totals, best);
      if (best.score > before) best.feature = static_cast<std::int32_t>(features[k]);
      if (best.feature >= 0 && scorer->is_perfect(totals, best)) return best;
    }
    visited += group;
  }
  return best;
}

// Scores column k of the group.
bool TreeGrower::Impl::score_one(const NodeRows& at, int k, bool listed, const NodeTotals& totals, BestCut& best) {
  const std::uint32_t f = features[k];
  const std::uint32_t* list = listed ? lists.data() + k * list_stride : nullptr;
  if (coded) return scorer->score(CodedColumn{list, list_size[k], at.n, in.table.common[f]}, totals, best);
  return scorer->score(NodeColumn{at.rows, at.n, list, listed ? list_size[k] : at.n, codes_of(f, at.n)}, totals, best);
}

ColumnCodes TreeGrower::Impl::codes_of(std::int64_t feature, std::uint32_t n) const {
  if (n >= kColumnMajorRows) return ColumnCodes::by_column(in.table, feature);
  return in.table.records.size() > 0 ? ColumnCodes::by_record(in.table, feature) : ColumnCodes::by_row(in.table, feature);
}

int TreeGrower::Impl::draw_group(std::int64_t wanted, std::uint32_t n) {
  const std::int64_t most = std::clamp<std::int64_t>(kListWords / (std::int64_t{n} + 1), 8, kGroup);
  const std::int64_t size = std::min(columns.left(), wanted > 0 ? std::min(wanted, most) : 8);
  for (std::int64_t k = 0; k < size; ++k) features[k] = columns.next();
  return static_cast<int>(size);
}

void TreeGrower::Impl::list_group(const TreeRow* node_rows, std::uint32_t n, int group) {
  list_stride = n;
  if (static_cast<std::int64_t>(lists.size()) < list_stride * group) lists.resize(static_cast<std::size_t>(list_stride * group));
  if (coded) return wide_code_rows(in.table, node_rows, n, features, group, lists.data(), list_stride, list_size);
  for (int k = 0; k < group; ++k) {
    const ColumnCodes codes = ColumnCodes::by_record(in.table, features[k]);
    std::uint32_t* out = lists.data() + k * list_stride;
    std::uint32_t size = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
      out[size] = i;
      size += !codes.is_common(node_rows[i]);
    }
    list_size[k] = size;
  }
}

// Counts the rows in columns first, first + 1 ... of the group.
void TreeGrower::Impl::sweep_group(const NodeRows& at, int first, int group) {
  const std::uint8_t* codes[WideScorer::kSweep];
  for (int k = 0; k < WideScorer::kSweep; ++k)   // the last column again where the group ends
    codes[k] = in.table.codes.data() + std::int64_t{features[std::min(first + k, group - 1)]} * in.table.n_rows;
  scorer->wide().sweep(at.rows, at.n, codes);
}

// Orders the node's rows: left ones first, both sides in their former order. Returns where the right side begins.
std::uint32_t TreeGrower::Impl::partition(std::int32_t node, const BestCut& cut) {
  const Range span = range[node];
  const ColumnCodes codes = codes_of(cut.feature, span.end - span.begin);
  std::fill(left_counts.begin(), left_counts.end(), 0);
  const auto part = wide_kernels_available() ? wide_part_rows : plain_part_rows;
  return span.begin + part(codes, cut.left_bin, rows.data() + span.begin, span.end - span.begin, right_rows.data(), left_counts.data());
}

void TreeGrower::Impl::check_stop(std::int64_t amount) {
  work += amount;
  if (work < kWorkBetweenStops) return;
  work = 0;
  if (in.stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
}

}  // namespace kedge::engine
