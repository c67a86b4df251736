// The host's grower: nodes depth first (or best first), their columns one after the other or, in large nodes, on several threads.
#include "engine/backend/host/host_grower.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "engine/backend/host/column_draw.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/host/tree_kinds.h"
#include "engine/backend/host/tree_ranks.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr std::uint32_t kColumnMajorRows = 2048;          // from here on a column's bytes are read in one sweep
constexpr std::int64_t kParallelCells = 1 << 16;          // of a node, from which its columns are worth several threads
constexpr std::int64_t kCellsBetweenStops = 8 << 20;

struct Range {
  std::uint32_t begin, end;
  std::uint32_t n() const { return end - begin; }
};

// Grows tree after tree in the same memory. Not thread safe; takes n_threads for the columns of a tree.
template <class Kind>
class HostGrower {
 public:
  HostGrower(const HostForestInput& in, const TreeSeeds& seeds, int n_threads)
      : in_(in),
        seeds_(seeds),
        n_threads_(n_threads),
        columns_(in.columns.n_cols),
        sklearn_columns_(in.columns.n_cols),
        is_listed_(in.columns.ranks != nullptr),
        blocks_(static_cast<std::size_t>(n_threads)) {
    for (int i = 0; i < n_threads; ++i) scans_.emplace_back(in.target.n_classes);
  }

  Forest grow(std::int64_t tree) {
    check_stop(kCellsBetweenStops);
    draw_rows(in_.options, seeds_, tree, in_.n_rows, drawn_);
    rows_ = take_rows(in_, drawn_);
    kind_.start(in_, rows_);
    order_.resize(rows_.size()), scratch_.resize(rows_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    if (is_listed_) list_columns();
    draft_.nodes.clear(), range_.clear(), n_constant_.assign(1, 0);
    if (is_sklearn()) sklearn_columns_.start_tree(seeds_.of(tree));
    add_node({0, rows_.size()}, 0, tree_root_key(tree));
    rules_.min_weight_leaf = in_.options.min_weight_fraction_leaf * draft_.nodes[0].weight;
    expand(draft_, in_.options.max_leaf_nodes, [this](std::int32_t node) { return evaluate(node); });
    return finish_tree(draft_, in_.target.n_classes, *in_.columns.edges, in_.columns.n_cols,
                       [this](std::int32_t node, Forest& out) { kind_.append_value(node, out); });
  }

 private:
  using Item = typename Kind::Scan::Item;

  // Sorts the rows by rank in every column; stable, by counting.
  void list_columns() {
    lists_.resize(static_cast<std::size_t>(in_.columns.n_cols) * rows_.size());
    moved_.resize(static_cast<std::size_t>(n_threads_) * rows_.size());
    parallel_tasks(n_threads_, in_.columns.n_cols, [&](std::int64_t col, int) {
      const std::uint32_t* ranks = in_.columns.ranks + col * in_.columns.n_table;
      std::vector<std::uint32_t> begin(static_cast<std::size_t>(in_.columns.edges->count(col)) + 1);
      for (const std::uint32_t row : rows_.table_row) ++begin[ranks[row] + 1];
      std::partial_sum(begin.begin(), begin.end(), begin.begin());
      std::uint64_t* list = lists_.data() + col * rows_.size();
      for (std::uint32_t i = 0; i < rows_.size(); ++i) {
        const std::uint64_t rank = ranks[rows_.table_row[i]];
        list[begin[rank]++] = rank << 32 | i;
      }
    });
    goes_left_.resize(rows_.size());
  }

  std::int32_t add_node(Range range, std::int32_t depth, std::uint64_t key) {
    DraftNode node = kind_.add_node(order_.data() + range.begin, range.n());
    node.depth = depth, node.key = key, node.n_rows = static_cast<std::int32_t>(range.n());
    draft_.nodes.push_back(node), range_.push_back(range);
    return static_cast<std::int32_t>(draft_.nodes.size()) - 1;
  }

  // Finds the node's split, makes its children and returns whether the split is good enough.
  bool evaluate(std::int32_t node) {
    const DraftNode at = draft_.nodes[node];
    const Range range = range_[node];
    if (!may_split(at, range.n(), in_.options, rules_)) return false;
    std::uint32_t feature = 0, n_constant = n_constant_[node];
    ColumnCut cut = is_sklearn()                    ? find_sklearn_cut(range, n_constant, feature)
                    : is_random() && range.n() == 2 ? find_pair_cut(at.key, range, feature)
                                                    : find_cut(at.key, range, feature);
    if (!cut.found()) return false;
    if (is_random()) cut.threshold = random_threshold(*in_.columns.edges, feature, cut.left_bin, cut.right_bin, cut.threshold);
    const std::uint32_t middle = partition(range, feature, cut);
    const std::int32_t left = add_node({range.begin, middle}, at.depth + 1, tree_child_key(at.key, false));
    const std::int32_t right = add_node({middle, range.end}, at.depth + 1, tree_child_key(at.key, true));
    n_constant_.insert(n_constant_.end(), 2,
                       in_.options.max_leaf_nodes > 0 ? 0 : n_constant);   // best first, scikit-learn forgets them
    DraftNode& split = draft_.nodes[node];
    split.feature = static_cast<std::int32_t>(feature), split.left = left, split.right = right;
    split.left_bin = cut.left_bin, split.right_bin = cut.right_bin, split.threshold = cut.threshold;
    return draft_.accept_split(node, in_.options.min_impurity_decrease);
  }

  // Visits max_features random columns, and more only while all of them are constant in the node. The first drawn of equal cuts.
  ColumnCut find_cut(std::uint64_t key, Range range, std::uint32_t& feature) {
    columns_.start(in_.options.seed, key);
    copy_node(range);
    ColumnCut best;
    for (std::int64_t visited = 0; columns_.left() > 0 && (visited < in_.options.max_features || !best.varies);) {
      const std::int64_t group = std::min<std::int64_t>(columns_.left(), std::max<std::int64_t>(1, in_.options.max_features - visited));
      features_.resize(static_cast<std::size_t>(group));
      const std::uint32_t first = columns_.drawn();
      columns_.take(group, features_.data());
      is_random() ? cut_group(range, {draw_words(key, first, features_.size())}) : scan_group(range);
      take_best(best, feature);
      visited += group;
    }
    return best;
  }

  void take_best(ColumnCut& best, std::uint32_t& feature) const {
    for (std::size_t k = 0; k < cuts_.size(); ++k) {
      const bool varies = best.varies || cuts_[k].varies;
      if (cuts_[k].score > best.score)
        best = cuts_[k], feature = features_[is_random() ? static_cast<std::size_t>(cuts_[k].column) : k];
      best.varies = varies;
    }
  }

  // The same with scikit-learn's draws. n_constant: columns known to be constant, before and after.
  ColumnCut find_sklearn_cut(Range range, std::uint32_t& n_constant, std::uint32_t& feature) {
    copy_node(range);
    const auto is_constant = [&](std::uint32_t column) { return check_stop(1), is_constant_in(range, column); };
    n_constant = sklearn_columns_.draw(n_constant, in_.options.max_features, is_constant, features_,
                                       is_random() ? &words_ : nullptr);
    if (features_.empty()) return {};
    is_random() ? cut_group(range, {words_.data(), TreeDraws::kSklearn}) : scan_group(range);
    ColumnCut best;
    take_best(best, feature);
    return best;
  }

  bool is_constant_in(Range range, std::uint32_t column) const {
    if (is_listed_) {
      const std::uint64_t* list = lists_.data() + std::size_t{column} * rows_.size();
      return list[range.begin] >> 32 == list[range.end - 1] >> 32;
    }
    const HostColumns& in = in_.columns;
    const auto is_same = [&](const auto& code) {
      for (std::uint32_t i = 1; i < range.n(); ++i)
        if (code(i) != code(0)) return false;
      return true;
    };
    const std::uint32_t* rows = table_rows_.data();
    if (range.n() >= kColumnMajorRows)
      return is_same(
          [codes = in.codes + std::int64_t{column} * in.n_table, rows](std::uint32_t i) { return codes[rows[i]]; });
    return is_same([&in, rows, column](std::uint32_t i) { return in.row_codes[rows[i] * in.row_stride + column]; });
  }

  // The same for random cuts of two rows: every column in which they differ separates them equally well, so the first
  // drawn is the best.
  ColumnCut find_pair_cut(std::uint64_t key, Range range, std::uint32_t& feature) {
    columns_.start(in_.options.seed, key);
    copy_node(range);
    const std::uint8_t *a = in_.columns.row_codes + table_rows_[0] * in_.columns.row_stride,
                       *b = in_.columns.row_codes + table_rows_[1] * in_.columns.row_stride;
    for (features_.resize(1); columns_.left() > 0;) {
      const std::uint32_t place = columns_.drawn();
      columns_.take(1, &feature);
      if (a[feature] == b[feature]) continue;
      features_[0] = feature;
      cut_group(range, {draw_words(key, place, 1)});
      return cuts_[0];
    }
    return {};
  }

  bool is_random() const { return in_.options.splitter == Splitter::kRandom; }
  bool is_sklearn() const { return in_.options.draws == TreeDraws::kSklearn; }

  // Words that say where the columns first .. first + n - 1 of the node's order are cut at random.
  const std::uint32_t* draw_words(std::uint64_t key, std::uint32_t first, std::size_t n) {
    constexpr std::uint32_t kWords = 4 * kPhiloxRun;
    const std::uint32_t begin = first / kWords * kWords;
    words_.resize(std::max(words_.size(), n + 2 * kWords));
    for (std::uint32_t run = begin; run < first + n; run += kWords)
      philox_run(in_.options.seed, random_cut_stream(key), run / 4, words_.data() + (run - begin));
    return words_.data() + (first - begin);
  }

  int threads_for(std::int64_t n_cells) {
    check_stop(n_cells);
    return n_cells >= kParallelCells ? n_threads_ : 1;
  }
  CutLimits limits() const {
    return {in_.options.criterion, std::max<std::int64_t>(1, in_.options.min_samples_leaf),
            rules_.min_weight_leaf * rows_.weight_scale, is_sklearn()};
  }

  // The best random cut of each block of columns of the group.
  void cut_group(Range range, const CutWords& words) {
    constexpr std::int64_t kMost = CodeBlock::kMost;
    const auto n_cols = static_cast<std::int64_t>(features_.size()), n_blocks = (n_cols + kMost - 1) / kMost;
    const int threads = static_cast<int>(std::min<std::int64_t>(n_blocks, threads_for(n_cols * range.n())));
    for (int t = 0; t < threads; ++t) scans_[t].side().set_rows(rows_of_node_, limits());
    cuts_.resize(static_cast<std::size_t>(n_blocks));
    const auto cut_block = [&](std::int64_t task, int worker) {
      const std::int64_t begin = task * kMost, end = std::min(n_cols, begin + kMost);
      fill_block(blocks_[worker], range, begin, end);
      cuts_[task] = scans_[worker].best_at_random(blocks_[worker], end - begin, *in_.columns.edges,
                                                  features_.data() + begin, {words.word + begin, words.draws});
      cuts_[task].column += begin;
    };
    n_blocks == 1 ? cut_block(0, 0) : parallel_tasks(threads, n_blocks, cut_block);
  }

  void scan_group(Range range) {
    const auto n_cols = static_cast<std::int64_t>(features_.size());
    const int threads = threads_for(n_cols * range.n());
    for (int t = 0; t < threads; ++t)
      scans_[t].side().set_node(node_items(), is_listed_ ? order_.data() + range.begin : nullptr, range.n(), limits());
    const std::int64_t chunk = threads == 1 ? n_cols : std::max<std::int64_t>(1, n_cols / (4 * threads));
    cuts_.resize(features_.size());
    parallel_tasks(threads, (n_cols + chunk - 1) / chunk, [&](std::int64_t task, int worker) {
      for (std::int64_t k = task * chunk; k < std::min(n_cols, (task + 1) * chunk); ++k) cuts_[k] = scan(scans_[worker], range, k);
    });
  }

  // Calls visit with the bytes of a column, by its place in the group, for rows by their place in the node.
  template <class Visit>
  auto with_codes(Range range, const Visit& visit) const {
    const HostColumns& in = in_.columns;
    const std::uint32_t *rows = table_rows_.data(), *features = features_.data();
    if (range.n() >= kColumnMajorRows) {
      const std::uint8_t* codes = in.codes;
      const std::int64_t n = in.n_table;
      return visit([=](std::uint32_t i, std::int64_t k) { return codes[features[k] * n + rows[i]]; });
    }
    const std::uint8_t* codes = in.row_codes;
    const std::int64_t stride = in.row_stride;
    return visit([=](std::uint32_t i, std::int64_t k) { return codes[rows[i] * stride + features[k]]; });
  }

  void fill_block(CodeBlock& block, Range range, std::int64_t first, std::int64_t last) const {
    const HostColumns& in = in_.columns;
    if (CodeBlock::can_gather(in.row_stride))
      return block.gather(in.row_codes, in.row_stride, table_rows_.data(), range.n(), features_.data() + first, last - first);
    with_codes(range, [&](const auto& code) { block.fill(range.n(), last - first, [&](std::uint32_t i, std::int64_t k) { return code(i, first + k); }); });
  }

  ColumnCut scan(typename Kind::Scan& scan, Range range, std::int64_t k) const {
    if (is_listed_) return scan.best_of_ranks(lists_.data() + std::size_t{features_[k]} * rows_.size() + range.begin, node_items(), range.n());
    return with_codes(range, [&](const auto& code) {
      return scan.best_of_bytes([&code, k](std::uint32_t i) { return code(i, k); }, node_items(), range.n());
    });
  }

  // Items and rows of the node side by side, where they are not read in the order of a list.
  void copy_node(Range range) {
    if (is_listed_) return;
    const std::uint32_t* order = order_.data() + range.begin;
    table_rows_.resize(range.n());
    for (std::uint32_t i = 0; i < range.n(); ++i) table_rows_[i] = rows_.table_row[order[i]];
    if (is_random()) return kind_.take_rows(order, range.n(), rows_of_node_);
    node_items_.resize(range.n());
    for (std::uint32_t i = 0; i < range.n(); ++i) node_items_[i] = kind_.items()[order[i]];
  }
  const Item* node_items() const { return is_listed_ ? kind_.items().data() : node_items_.data(); }

  // Orders the node's rows: left ones first, both sides in their former order. Returns where the right side begins.
  std::uint32_t partition(Range range, std::uint32_t col, const ColumnCut& cut) {
    if (is_listed_) {
      const std::uint32_t* ranks = in_.columns.ranks + std::int64_t{col} * in_.columns.n_table;
      const auto last = static_cast<std::uint32_t>(cut.left_bin);
      for (std::uint32_t i = range.begin; i < range.end; ++i) goes_left_[order_[i]] = ranks[rows_.table_row[order_[i]]] <= last;
      const std::uint32_t middle = part_order(range, [&](std::uint32_t i) { return goes_left_[order_[i]] != 0; });
      part_lists(range, middle - range.begin);
      return middle;
    }
    if (is_random() &&
        features_.size() <=
            CodeBlock::kMost) {   // the cut is in a column of the last group, and the group's codes are still here
      const CodeBlock& block = blocks_[0];
      const auto last = static_cast<std::uint8_t>(cut.left_bin);
      return part_order(range, [&, k = cut.column](std::uint32_t i) { return block.at(i - range.begin, k) <= last; });
    }
    const std::uint8_t* codes = in_.columns.codes + std::int64_t{col} * in_.columns.n_table;
    const std::uint32_t* rows = table_rows_.data() - range.begin;
    return part_order(range, [&](std::uint32_t i) { return codes[rows[i]] <= cut.left_bin; });
  }

  template <class GoesLeft>
  std::uint32_t part_order(Range range, const GoesLeft& goes_left) {
    std::uint32_t *order = order_.data(), *scratch = scratch_.data(), left = range.begin, right = 0;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const bool is_left = goes_left(i);
      const std::uint32_t item = order[i];
      order[left] = item, scratch[right] = item;
      left += is_left, right += !is_left;
    }
    std::copy_n(scratch, right, order + left);
    return left;
  }

  void part_lists(Range range, std::uint32_t n_left) {
    const bool is_large = in_.columns.n_cols * range.n() >= kParallelCells;
    parallel_tasks(is_large ? n_threads_ : 1, in_.columns.n_cols, [&](std::int64_t col, int worker) {
      std::uint64_t* list = lists_.data() + col * rows_.size() + range.begin;
      std::uint64_t* moved = moved_.data() + static_cast<std::size_t>(worker) * rows_.size();
      std::uint32_t left = 0, right = 0;
      for (std::uint32_t i = 0; i < range.n(); ++i) {
        const std::uint64_t entry = list[i];
        const bool goes_left = goes_left_[static_cast<std::uint32_t>(entry)] != 0;
        list[left] = entry, moved[right] = entry;
        left += goes_left, right += !goes_left;
      }
      std::copy_n(moved, right, list + n_left);
    });
  }

  void check_stop(std::int64_t cells) {
    cells_ += cells;
    if (cells_ < kCellsBetweenStops) return;
    cells_ = 0;
    if (in_.stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the job was cancelled");
  }

  const HostForestInput& in_;
  const TreeSeeds& seeds_;
  int n_threads_;
  ColumnDraw columns_;
  SklearnColumnDraw sklearn_columns_;
  bool is_listed_;   // on ranks: every column has its rows in order
  Kind kind_;
  std::vector<typename Kind::Scan> scans_;
  TreeRules rules_;
  DraftTree draft_;
  TreeRows rows_;
  std::vector<std::uint32_t> drawn_, order_, scratch_, table_rows_, features_;
  std::vector<Range> range_;   // by node
  std::vector<std::uint32_t>
      n_constant_;   // by node: its columns that were constant in a node above it (sklearn_columns_)
  std::vector<ColumnCut> cuts_;
  std::vector<std::uint32_t> words_;   // by column of the group: where its random cut lies
  std::vector<CodeBlock> blocks_;      // by thread
  typename Kind::Scan::Rows rows_of_node_;
  std::vector<Item> node_items_;
  std::vector<std::uint64_t> lists_, moved_;
  std::vector<std::uint8_t> goes_left_;
  std::int64_t cells_ = 0;
};

template <class Kind>
Forest grow_kind(const HostForestInput& input, int n_threads, const TreeProgress& progress) {
  const std::int64_t n_trees = input.options.n_trees;
  const int at_once = static_cast<int>(std::min<std::int64_t>(n_threads, n_trees));
  std::vector<HostGrower<Kind>> growers;
  growers.reserve(static_cast<std::size_t>(at_once));
  const TreeSeeds seeds(input.options, input.options.first_tree, n_trees);
  for (int i = 0; i < at_once; ++i) growers.emplace_back(input, seeds, n_threads / at_once);
  std::vector<Forest> trees(static_cast<std::size_t>(n_trees));
  std::atomic<std::int64_t> done{0};
  parallel_tasks(at_once, n_trees, [&](std::int64_t tree, int worker) {
    trees[tree] = growers[worker].grow(input.options.first_tree + tree);
    const std::int64_t so_far = ++done;
    if (worker == 0 && progress && so_far < n_trees) progress(so_far, n_trees);
  });
  if (progress) progress(n_trees, n_trees);
  return join_trees(std::move(trees), input.target.n_classes, input.columns.n_cols, n_threads);
}

}  // namespace

bool needs_host_grower(const TreeTarget& target, const ForestOptions& options) {
  return target.n_classes == 0 || !target.weights.empty() || options.splitter == Splitter::kRandom;
}

Forest grow_on_host(const HostForestInput& input, int n_threads, const TreeProgress& progress) {
  require(input.n_rows > 0 && input.columns.n_cols > 0, schema::ErrorCode::kBadData, "a forest needs rows and columns, got {} x {}",
          input.n_rows, input.columns.n_cols);
  if (input.target.n_classes > 0) return grow_kind<ClassKind>(input, n_threads, progress);
  if (input.options.criterion == Criterion::kAbsoluteError) return grow_kind<MedianKind>(input, n_threads, progress);
  return grow_kind<ValueKind>(input, n_threads, progress);
}

template <class T>
Forest grow_exact_on_host(MatrixView<const T> X, const TreeTarget& target, const ForestOptions& options, std::stop_token stop, int n_threads) {
  require(options.splitter == Splitter::kBest, schema::ErrorCode::kInternal, "an exact tree has no random cuts");
  require(X.rows <= 0x7fffffff && X.size() <= 0x7fffffff, schema::ErrorCode::kBadData,
          "an exact tree on {} x {} numbers, at most 2147483647 are possible", X.rows, X.cols);
  const RankedTable ranked = rank_columns(X, n_threads);
  const HostColumns columns{.n_table = X.rows, .n_cols = X.cols, .edges = &ranked.edges, .ranks = ranked.ranks.data()};
  return grow_on_host({columns, nullptr, X.rows, target, options, std::move(stop)}, n_threads, {});
}

template Forest grow_exact_on_host<float>(MatrixView<const float>, const TreeTarget&, const ForestOptions&, std::stop_token, int);
template Forest grow_exact_on_host<double>(MatrixView<const double>, const TreeTarget&, const ForestOptions&, std::stop_token, int);

}  // namespace kedge::engine
