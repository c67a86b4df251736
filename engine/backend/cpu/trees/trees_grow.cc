// Growing one tree on the CPU: draw rows, then split nodes depth first (or best first) until nothing can be split.
#include "engine/backend/cpu/trees/trees_grow.h"

#include <algorithm>
#include <cstring>

#include "engine/backend/cpu/trees/trees_score.h"
#include "engine/backend/cpu/wide/trees_wide.h"
#include "engine/backend/host/column_draw.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"
#include "schemas/error.h"

namespace kedge::engine {

namespace {

constexpr std::int64_t kColumnMajorRows = 2048;    // from here on a column's bytes are read in one sweep
constexpr std::int64_t kListWords = 8 << 20;       // working memory for lists of rows
constexpr std::int64_t kWorkBetweenStops = 4 << 20;
constexpr int kGroup = 64;                         // columns listed together
constexpr int kMostBins = 256;                     // of a column, each with a count of every class

KEDGE_CLONES std::uint32_t part_rows(const ColumnCodes& codes, int left_bin, TreeRow* rows, std::uint32_t n, TreeRow* right,
                                     std::int32_t* left_counts) {
  return part_rows_inline(codes, left_bin, rows, n, right, left_counts);
}

}  // namespace

struct TreeGrower::Impl {
  explicit Impl(const ForestInput& input)
      : in(input),
        wide_nodes(WideNodes::is_available() ? std::make_unique<WideNodes>(input.table) : nullptr),
        columns(input.table.n_cols),
        sklearn_columns(input.table.n_cols),
        draft(input.n_classes) {}

  // A node whose cut is looked for.
  struct Node {
    std::uint32_t begin, end;
    NodeTotals totals;
    bool wide;   // WideNodes takes it
    std::uint32_t n() const { return end - begin; }
  };

  Forest grow(std::int64_t tree);
  std::uint16_t take_rows(std::int64_t tree);
  bool evaluate(std::int32_t node);
  Node look_at(std::int32_t node) const;
  BestCut find_cut(std::int32_t node, const Node& at);
  BestCut find_sklearn_cut(std::int32_t node, const Node& at);
  BestCut score_drawn(const Node& at);
  bool is_constant(const Node& at, std::int64_t column) const;
  void read_records(const Node& at);
  bool score_group(const Node& at, int group, bool stop_at_varying, BestCut& best);
  bool score_wide(const Node& at, int group, bool stop_at_varying, BestCut& best);
  bool score_swept(const Node& at, int group, bool stop_at_varying, BestCut& best);
  ColumnCodes codes_of(std::int64_t feature, std::uint32_t n) const;
  int draw_group(std::int64_t wanted, const Node& at);
  static std::int64_t group_size(const Node& at);
  void list_group(const TreeRow* node_rows, std::uint32_t n, int group);
  void load_wide(const Node& at);
  std::uint32_t partition(const Node& at, const BestCut& cut);
  void check_stop(std::int64_t work);

  struct Range { std::uint32_t begin, end; };

  const ForestInput& in;
  const std::unique_ptr<WideNodes> wide_nodes;   // null where there is no AVX-512
  bool wide = false;                 // the rules of the tree are those that wide_nodes knows
  Range loaded{0, 0};                // the rows that wide_nodes holds; their order in `rows` is out of date
  ColumnDraw columns;
  SklearnColumnDraw sklearn_columns;
  TreeRules rules;
  std::unique_ptr<ColumnScorer> scorer;
  ClassDraft draft;
  std::vector<std::uint32_t> drawn;
  std::vector<TreeRow> rows, right_rows;
  std::vector<Range> range;          // by node: its rows
  std::vector<std::uint32_t>
      n_constant;   // by node: its columns that were constant in a node above it (sklearn_columns)
  std::vector<std::uint32_t> drawn_columns;   // of the node whose cut is looked for
  std::vector<std::uint64_t> any_off,
      all_off;   // by column, a bit each: some, all rows of that node are off the common bin
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
  const std::uint16_t most_drawn = take_rows(tree);
  std::vector<std::int32_t> by_class(static_cast<std::size_t>(in.n_classes));
  for (const TreeRow& row : rows) by_class[row.cls] += row.weight;
  rules = make_rules(in.options, by_class);
  scorer = std::make_unique<ColumnScorer>(in.n_classes, in.options, rules);
  wide = wide_nodes && scorer->is_plain() && in.n_classes <= WideNodes::kClasses && most_drawn <= WideNodes::kMostDrawn;
  loaded = {0, 0};
  draft.nodes.clear(), draft.counts.clear();   // keeps their memory
  draft.add(by_class.data(), 0, tree_root_key(tree), rules);
  range.assign(1, {0, static_cast<std::uint32_t>(rows.size())});
  n_constant.assign(1, 0);
  if (in.options.draws == TreeDraws::kSklearn) sklearn_columns.start_tree(in.seeds.of(tree));
  draft.nodes[0].n_rows = static_cast<std::int32_t>(rows.size());
  left_counts.resize(by_class.size()), right_counts.resize(by_class.size());
  right_rows.resize(rows.size() + 1);
  expand(draft, in.options.max_leaf_nodes, [this](std::int32_t node) { return evaluate(node); });
  return finish_tree(draft, in.n_classes, in.table.edges, in.table.n_cols,
                     [this](std::int32_t node, Forest& out) { draft.append_value(node, rules, out); });
}

// Returns how often a row was drawn at most.
std::uint16_t TreeGrower::Impl::take_rows(std::int64_t tree) {
  const std::int64_t n = in.n_rows();
  draw_rows(in.options, in.seeds, tree, n, drawn);
  rows.resize(static_cast<std::size_t>(n) + 1);
  std::size_t used = 0;
  std::uint32_t most = 0;
  const bool recorded = in.table.records.size() > 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t weight = drawn[i];
    const std::int64_t row = in.row(i);
    rows[used] = {static_cast<std::uint32_t>(row), recorded ? in.table.record_of[row] : 0,
                  static_cast<std::uint16_t>(raw(in.y)[row]), static_cast<std::uint16_t>(weight)};
    used += weight != 0, most = std::max(most, weight);
  }
  rows.resize(used);
  return static_cast<std::uint16_t>(most);
}

// Finds the node's split, makes its children and returns whether the split is good enough.
bool TreeGrower::Impl::evaluate(std::int32_t node) {
  if (!may_split(draft.nodes[node], range[node].end - range[node].begin, in.options, rules)) return false;
  const Node looked_at = look_at(node);
  const BestCut cut =
      in.options.draws == TreeDraws::kSklearn ? find_sklearn_cut(node, looked_at) : find_cut(node, looked_at);
  if (cut.feature < 0) return false;
  const std::uint32_t middle = partition(looked_at, cut);
  const auto counts = draft.counts_of(node);
  for (std::size_t c = 0; c < counts.size(); ++c) right_counts[c] = counts[c] - left_counts[c];
  const DraftNode at = draft.nodes[node];
  const std::int32_t left = draft.add(left_counts.data(), at.depth + 1, tree_child_key(at.key, false), rules);
  const std::int32_t right = draft.add(right_counts.data(), at.depth + 1, tree_child_key(at.key, true), rules);
  const Range all = range[node];
  range.push_back({all.begin, middle}), range.push_back({middle, all.end});
  n_constant.insert(n_constant.end(), 2,
                    in.options.max_leaf_nodes > 0 ? 0 : n_constant[node]);   // best first, scikit-learn forgets them
  draft.nodes[left].n_rows = static_cast<std::int32_t>(middle - all.begin);
  draft.nodes[right].n_rows = static_cast<std::int32_t>(all.end - middle);
  DraftNode& split = draft.nodes[node];
  split.feature = cut.feature, split.left = left, split.right = right;
  split.left_bin = cut.left_bin, split.right_bin = cut.right_bin;
  return draft.accept_split(node, in.options.min_impurity_decrease);
}

TreeGrower::Impl::Node TreeGrower::Impl::look_at(std::int32_t node) const {
  const auto counts = draft.counts_of(node);
  Node at{range[node].begin, range[node].end, {counts.data(), in.n_classes, 0, 0}, wide};
  for (const std::int32_t count : counts) {
    at.totals.drawn += count, at.totals.squares += std::int64_t{count} * count;
    at.wide = at.wide && count <= WideNodes::kMostOfClass;
  }
  at.wide = at.wide && at.totals.drawn <= WideNodes::kMostOfNode;
  return at;
}

// Visits max_features random columns, and more only while all of them are constant in the node.
BestCut TreeGrower::Impl::find_cut(std::int32_t node, const Node& at) {
  columns.start(in.options.seed, draft.nodes[node].key);
  BestCut best;
  bool varies = false;
  for (std::int64_t visited = 0; columns.left() > 0 && (visited < in.options.max_features || !varies);) {
    const int group = draw_group(in.options.max_features - visited, at);
    check_stop(std::int64_t{at.n()} * group);
    varies |= score_group(at, group, visited >= in.options.max_features, best);
    if (best.feature >= 0 && scorer->is_perfect(at.totals, best)) break;
    visited += group;
  }
  return best;
}

// The same with scikit-learn's draws, which all come before the scores. WideNodes knows neither them nor its scores.
BestCut TreeGrower::Impl::find_sklearn_cut(std::int32_t node, const Node& at) {
  if (in.table.records.size() > 0) read_records(at);
  const auto constant = [&](std::uint32_t column) { return check_stop(1), is_constant(at, column); };
  n_constant[node] = sklearn_columns.draw(n_constant[node], in.options.max_features, constant,
                                          drawn_columns);   // now for its children
  return score_drawn(at);
}

BestCut TreeGrower::Impl::score_drawn(const Node& at) {
  BestCut best;
  const auto n = static_cast<std::int64_t>(drawn_columns.size());
  for (std::int64_t done = 0; done < n && !(best.feature >= 0 && scorer->is_perfect(at.totals, best));) {
    const std::int64_t group = std::min(n - done, group_size(at));
    std::copy_n(drawn_columns.data() + done, group, features);
    check_stop(std::int64_t{at.n()} * group);
    score_group(at, static_cast<int>(group), false, best);
    done += group;
  }
  return best;
}

// All columns of the node's rows at once: the bits at the start of their records.
void TreeGrower::Impl::read_records(const Node& at) {
  const auto n_words = static_cast<std::size_t>(RecordLayout(in.table.n_cols).words);
  any_off.assign(n_words, 0), all_off.assign(n_words, ~std::uint64_t{0});
  for (std::uint32_t i = 0; i < at.n(); ++i) {
    const std::uint64_t* record = raw(in.table.records) + rows[at.begin + i].record;
    for (std::size_t w = 0; w < n_words; ++w) any_off[w] |= record[w], all_off[w] &= record[w];
  }
}

bool TreeGrower::Impl::is_constant(const Node& at, std::int64_t column) const {
  if (in.table.records.size() > 0) {
    const auto word = static_cast<std::size_t>(column / 64);
    const bool any = (any_off[word] >> (column % 64) & 1) != 0, all = (all_off[word] >> (column % 64) & 1) != 0;
    if (!all) return !any;
  }
  const ColumnCodes codes = codes_of(column, at.n());
  const int first = codes.code(rows[at.begin]);
  for (std::uint32_t i = 1; i < at.n(); ++i)
    if (codes.code(rows[at.begin + i]) != first) return false;
  return true;
}

// Scores the columns of the group one after the other, none after the first that varies if `stop_at_varying`; returns whether any
// varies.
bool TreeGrower::Impl::score_group(const Node& at, int group, bool stop_at_varying, BestCut& best) {
  if (at.wide && at.n() <= WideNodes::kMostRows) return score_wide(at, group, stop_at_varying, best);
  if (at.wide) return score_swept(at, group, stop_at_varying, best);
  const bool listed = in.table.records.size() > 0;
  const TreeRow* node_rows = rows.data() + at.begin;
  if (listed) list_group(node_rows, at.n(), group);
  bool varies = false;
  for (int k = 0; k < group && !(varies && stop_at_varying); ++k) {
    check_stop(std::int64_t{kMostBins} * in.n_classes);   // they may be as many as the rows
    const double before = best.score;
    const std::uint32_t* list = listed ? lists.data() + k * list_stride : nullptr;
    const std::uint32_t n_listed = listed ? list_size[k] : at.n();
    varies |= scorer->score({node_rows, at.n(), list, n_listed, codes_of(features[k], at.n())}, at.totals, best);
    if (best.score > before) best.feature = static_cast<std::int32_t>(features[k]);
    if (best.feature >= 0 && scorer->is_perfect(at.totals, best)) break;
  }
  return varies;
}

bool TreeGrower::Impl::score_wide(const Node& at, int group, bool stop_at_varying, BestCut& best) {
  load_wide(at);
  return wide_nodes->score(at.begin - loaded.begin, at.end - loaded.begin, features, group, stop_at_varying, at.totals, best);
}

// Counts the rows in a few columns at once.
bool TreeGrower::Impl::score_swept(const Node& at, int group, bool stop_at_varying, BestCut& best) {
  constexpr int kSweep = WideNodes::kSweep;
  bool varies = false;
  for (int k = 0; k < group && !(varies && stop_at_varying); ++k) {
    const std::uint8_t* codes[kSweep];
    for (int i = 0; i < kSweep && k % kSweep == 0; ++i)   // the last column again where the group ends
      codes[i] = raw(in.table.codes) + std::int64_t{features[std::min(k + i, group - 1)]} * in.table.n_rows;
    if (k % kSweep == 0) wide_nodes->sweep(rows.data() + at.begin, at.n(), codes);
    const double before = best.score;
    varies |= wide_nodes->score_swept(k % kSweep, at.totals, best);
    if (best.score > before) best.feature = static_cast<std::int32_t>(features[k]);
  }
  return varies;
}

// Makes sure that wide_nodes holds the node's rows. Depth first, it then holds those of the whole subtree.
void TreeGrower::Impl::load_wide(const Node& at) {
  if (at.begin >= loaded.begin && at.end <= loaded.end) return;
  if (in.options.max_leaf_nodes > 0 && loaded.end > loaded.begin) wide_nodes->store(rows.data() + loaded.begin);
  loaded = {at.begin, at.end};
  wide_nodes->load(rows.data() + at.begin, at.n());
}

ColumnCodes TreeGrower::Impl::codes_of(std::int64_t feature, std::uint32_t n) const {
  if (n >= kColumnMajorRows) return ColumnCodes::by_column(in.table, feature);
  return in.table.records.size() > 0 ? ColumnCodes::by_record(in.table, feature) : ColumnCodes::by_row(in.table, feature);
}

// Columns scored together at most.
std::int64_t TreeGrower::Impl::group_size(const Node& at) {
  if (at.wide) return WideNodes::kColumns;
  return std::clamp<std::int64_t>(kListWords / (std::int64_t{at.n()} + 1), 8, kGroup);
}

int TreeGrower::Impl::draw_group(std::int64_t wanted, const Node& at) {
  const std::int64_t size = std::min(columns.left(), wanted > 0 ? std::min(wanted, group_size(at)) : 8);
  columns.take(size, features);
  return static_cast<int>(size);
}

void TreeGrower::Impl::list_group(const TreeRow* node_rows, std::uint32_t n, int group) {
  list_stride = n;
  if (static_cast<std::int64_t>(lists.size()) < list_stride * group) lists.resize(static_cast<std::size_t>(list_stride * group));
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

// Orders the node's rows: left ones first, both sides in their former order. Returns where the right side begins.
std::uint32_t TreeGrower::Impl::partition(const Node& at, const BestCut& cut) {
  std::fill(left_counts.begin(), left_counts.end(), 0);
  std::int32_t* const counts = left_counts.data();
  if (at.wide && at.n() <= WideNodes::kMostRows)
    return loaded.begin + wide_nodes->partition(at.begin - loaded.begin, at.end - loaded.begin, cut, in.n_classes, counts);
  const ColumnCodes codes = codes_of(cut.feature, at.n());
  return at.begin + part_rows(codes, cut.left_bin, rows.data() + at.begin, at.n(), right_rows.data(), counts);
}

void TreeGrower::Impl::check_stop(std::int64_t amount) {
  work += amount;
  if (work < kWorkBetweenStops) return;
  work = 0;
  if (in.stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
}

}  // namespace kedge::engine
