// Contributions against background rows. Of a row x and a background row r, each column of a path to a leaf is known as
// x's or as r's cell. The leaf counts where no column of the path fails by both: with a columns that x fails and b that
// r fails, each of the b adds (b - 1)! a! / (a + b)! of the leaf's value, and each of the a takes b! (a - 1)! / (a +
// b)! away. So of a background row only the set of columns that it fails counts, and rows of one set are counted
// together.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <limits>

#include "engine/backend/host/row_chunks.h"
#include "engine/backend/host/tree_shap.h"
#include "engine/core/require.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

using Columns = std::uint64_t;   // of a path, a bit for each different one
constexpr std::size_t kMostColumns = std::numeric_limits<Columns>::digits;
constexpr std::int32_t kMostLevels = 1024;   // of a tree, by which the stack grows
constexpr int kRows = static_cast<int>(kShapLanes);

[[noreturn]] void refuse_path(std::string_view what, std::size_t most) {
  throw schema::Error(
      schema::ErrorCode::kInvalidValue,
      fmt::format("contributions against a background are of trees of at most {} {}, this model has more", most, what),
      "background");
}

// weight[p][q] = (p - 1)! q! / (p + q)!, for p of at least 1.
class Weights {
 public:
  Weights() {
    for (std::size_t p = 1; p <= kMostColumns; ++p) {
      double chosen = 1;   // q + p over p
      for (std::size_t q = 0; p + q <= kMostColumns; ++q) {
        if (q > 0) chosen = chosen * static_cast<double>(p + q) / static_cast<double>(q);
        of_[p][q] = 1 / (static_cast<double>(p) * chosen);
      }
    }
  }
  double operator()(std::size_t p, std::size_t q) const { return of_[p][q]; }

 private:
  std::array<std::array<double, kMostColumns + 1>, kMostColumns + 1> of_{};
};

// The columns of the path to the node at work.
class PathColumns {
 public:
  explicit PathColumns(std::int64_t n_cols) : place_(static_cast<std::size_t>(n_cols), -1) {}
  // Its place on the path; is_new where no earlier cut has it.
  std::size_t enter(std::int32_t column, bool& is_new) {
    std::int32_t& place = place_[static_cast<std::size_t>(column)];
    is_new = place < 0;
    if (!is_new) return static_cast<std::size_t>(place);
    if (columns_.size() == kMostColumns) refuse_path("different columns on a path", kMostColumns);
    place = static_cast<std::int32_t>(columns_.size());
    columns_.push_back(column);
    return columns_.size() - 1;
  }
  void leave() {
    place_[static_cast<std::size_t>(columns_.back())] = -1;
    columns_.pop_back();
  }
  const std::vector<std::int32_t>& columns() const { return columns_; }

 private:
  std::vector<std::int32_t> place_, columns_;
};

// Background rows that fail the same columns of a path.
struct Group {
  Columns fails = 0;
  std::uint32_t n_fails = 0;
  std::size_t begin = 0, end = 0;   // of Level::rows
};

// What is known at a node of a path.
struct Level {
  std::vector<std::int32_t> rows;   // of the background, group by group
  std::vector<Group> groups;
  std::vector<std::uint8_t> background_left;   // by row of the background
  std::array<std::uint8_t, kRows> left{};      // by row of the block
  std::array<Columns, kRows> fails{};
  std::array<std::uint8_t, kRows> asked{};   // rows of the block for which a leaf below may count, in order
  int n_asked = 0;
};

bool has_disjoint(const std::vector<Group>& groups, Columns fails) {
  return std::ranges::any_of(groups, [&](const Group& group) { return (group.fails & fails) == 0; });
}

class AgainstBackground {
 public:
  AgainstBackground(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions,
                    const ShapBackground& background)
      : trees_(trees), directions_(directions), background_(background), n_rows_(n_rows), width_(trees.n_cols + 1) {
    set_expected();
  }

  // Of the rows of a block, into all rows'.
  void run(std::int64_t block, double* all) const {
    Walk walk{.block = block,
              .n_rows = static_cast<int>(std::min<std::int64_t>(kRows, n_rows_ - block * kRows)),
              .path = PathColumns(trees_.n_cols),
              .out = all + block * kRows * row_size()};
    for (std::int64_t t = 0; t < trees_.n_trees(); ++t) {
      check_job_stop();
      const auto at = static_cast<std::size_t>(t);
      walk.output = trees_.tree_output.empty() ? 0 : trees_.tree_output[at];
      Level& top = level(walk, 0);
      top.groups.assign(1, {.end = top.rows.size()});
      for (std::size_t i = 0; i < top.rows.size(); ++i) top.rows[i] = static_cast<std::int32_t>(i);
      top.n_asked = walk.n_rows, top.fails.fill(0);
      for (int l = 0; l < walk.n_rows; ++l) top.asked[static_cast<std::size_t>(l)] = static_cast<std::uint8_t>(l);
      visit(walk, trees_.tree_offset[at], 0);
    }
    const double scale = trees_.scale / static_cast<double>(background_.n_rows);
    for (int l = 0; l < walk.n_rows; ++l) {
      double* const row = walk.out + l * row_size();
      for (std::int64_t o = 0; o < trees_.n_outputs; ++o) {
        for (std::int64_t j = 0; j < trees_.n_cols; ++j) row[o * width_ + j] *= scale;
        row[o * width_ + trees_.n_cols] = expected_[static_cast<std::size_t>(o)];
      }
    }
  }

 private:
  // A block of rows on its way through the trees.
  struct Walk {
    std::int64_t block = 0;
    int n_rows = 0;
    std::int32_t output = 0;   // of the tree, where its leaves have one value
    PathColumns path;
    std::deque<Level> levels = {};   // by depth; those above stay where they are as it grows
    std::int64_t n_visited = 0;
    double* out;
  };

  std::int64_t row_size() const { return width_ * trees_.n_outputs; }

  Level& level(Walk& walk, std::size_t depth) const {
    while (walk.levels.size() <= depth) {
      const auto n = static_cast<std::size_t>(background_.n_rows);
      walk.levels.push_back({.rows = std::vector<std::int32_t>(n), .background_left = std::vector<std::uint8_t>(n)});
    }
    return walk.levels[depth];
  }

  // Of the rows of the background at one cut.
  void set_background_left(std::int64_t node, std::vector<std::uint8_t>& left) const {
    std::array<std::uint8_t, kRows> of_block{};
    for (std::size_t first = 0; first < left.size(); first += kRows) {
      background_.directions(static_cast<std::int64_t>(first) / kRows, node, node + 1, of_block.data());
      std::copy_n(of_block.begin(), std::min<std::size_t>(kRows, left.size() - first),
                  left.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }

  void visit(Walk& walk, std::int64_t node, std::size_t depth) const {
    if (++walk.n_visited % 1024 == 0) check_job_stop();
    const std::int32_t column = trees_.feature[static_cast<std::size_t>(node)];
    if (column < 0) return add_leaf(walk, node, walk.levels[depth]);
    Level &here = walk.levels[depth], &below = level(walk, depth + 1);
    bool is_new = false;
    const Columns bit = Columns{1} << walk.path.enter(column, is_new);
    directions_(walk.block, node, node + 1, here.left.data());
    set_background_left(node, here.background_left);
    for (const std::uint8_t side : {1, 0}) {
      follow(here, side, bit, below);
      if (below.n_asked == 0) continue;
      visit(walk, (side ? trees_.left : trees_.right)[static_cast<std::size_t>(node)], depth + 1);
    }
    if (is_new) walk.path.leave();
  }

  // Both kinds of rows into the child on a side.
  static void follow(const Level& here, std::uint8_t side, Columns bit, Level& below) {
    below.groups.clear();
    std::size_t end = 0;
    for (const Group& group : here.groups) {
      const std::size_t begin = end;
      const bool has_failed = (group.fails & bit) != 0;
      for (std::size_t i = group.begin; i < group.end; ++i)
        if (has_failed || here.background_left[static_cast<std::size_t>(here.rows[i])] == side)
          below.rows[end++] = here.rows[i];
      if (end > begin) below.groups.push_back({group.fails, group.n_fails, begin, end});
      if (end - begin == group.end - group.begin) continue;
      const std::size_t failing = end;
      for (std::size_t i = group.begin; i < group.end; ++i)
        if (here.background_left[static_cast<std::size_t>(here.rows[i])] != side) below.rows[end++] = here.rows[i];
      below.groups.push_back({group.fails | bit, group.n_fails + 1, failing, end});
    }
    below.n_asked = 0;
    for (int i = 0; i < here.n_asked; ++i) {
      const std::uint8_t row = here.asked[static_cast<std::size_t>(i)];
      const Columns fails = here.fails[row] | (here.left[row] == side ? 0 : bit);
      if (!has_disjoint(below.groups, fails)) continue;
      below.fails[row] = fails, below.asked[static_cast<std::size_t>(below.n_asked++)] = row;
    }
  }

  void add_leaf(Walk& walk, std::int64_t node, const Level& here) const {
    const std::vector<std::int32_t>& columns = walk.path.columns();
    const std::int64_t k = trees_.leaf_values();
    std::array<double, kMostColumns> parts;
    for (int i = 0; i < here.n_asked; ++i) {
      const std::uint8_t row = here.asked[static_cast<std::size_t>(i)];
      set_parts(here, here.fails[row], columns.size(), parts);
      for (std::int64_t v = 0; v < k; ++v) {
        const double value = trees_.value[static_cast<std::size_t>(node * k + v)];
        double* const out = walk.out + row * row_size() + (k > 1 ? v : walk.output) * width_;
        for (std::size_t c = 0; c < columns.size(); ++c) out[columns[c]] += value * parts[c];
      }
    }
  }

  // What the columns of a path add to a leaf of value 1, for all rows of the background.
  void set_parts(const Level& here, Columns fails, std::size_t n_columns,
                 std::array<double, kMostColumns>& parts) const {
    std::fill_n(parts.begin(), n_columns, 0.0);
    const auto n_fails = static_cast<std::size_t>(std::popcount(fails));
    double taken = 0;
    for (const Group& group : here.groups) {
      if ((group.fails & fails) != 0) continue;
      const auto count = static_cast<double>(group.end - group.begin);
      if (n_fails > 0) taken += count * weights_(n_fails, group.n_fails);
      if (group.n_fails == 0) continue;
      const double added = count * weights_(group.n_fails, n_fails);
      for (Columns rest = group.fails; rest != 0; rest &= rest - 1)
        parts[static_cast<std::size_t>(std::countr_zero(rest))] += added;
    }
    for (Columns rest = fails; rest != 0; rest &= rest - 1)
      parts[static_cast<std::size_t>(std::countr_zero(rest))] = -taken;
  }

  // --- the mean answer to the background ---

  void set_expected() {
    const std::int64_t k = trees_.leaf_values();
    std::vector<double> of_trees(static_cast<std::size_t>(trees_.n_trees() * k));
    constexpr std::int64_t kNodeNs = 100;
    for_tasks(trees_.n_trees(), static_cast<std::int64_t>(trees_.feature.size()) * kNodeNs,
              [&](std::int64_t t) { check_tree(t, of_trees.data() + t * k); });
    expected_.assign(static_cast<std::size_t>(trees_.n_outputs), 0.0);
    for (std::int64_t t = 0; t < trees_.n_trees(); ++t)
      for (std::int64_t v = 0; v < k; ++v)
        expected_[static_cast<std::size_t>(
            k > 1 || trees_.tree_output.empty() ? v : trees_.tree_output[static_cast<std::size_t>(t)])] +=
            of_trees[static_cast<std::size_t>(t * k + v)];
    for (std::size_t o = 0; o < expected_.size(); ++o)
      expected_[o] = expected_[o] * (trees_.scale / static_cast<double>(background_.n_rows)) +
                     (trees_.base.empty() ? 0.0 : trees_.base[o]);
  }

  // The leaves' values for all rows of the background, added up. Refuses what the walks of blocks cannot take.
  void check_tree(std::int64_t t, double* sums) const {
    const auto begin = trees_.tree_offset[static_cast<std::size_t>(t)];
    const std::int64_t k = trees_.leaf_values();
    std::int64_t n_left = trees_.tree_offset[static_cast<std::size_t>(t) + 1] - begin;
    std::vector<std::uint8_t> left(static_cast<std::size_t>(background_.n_rows));
    PathColumns path(trees_.n_cols);
    const auto visit_all = [&](const auto& self, std::int64_t node, const std::vector<std::int32_t>& rows,
                               std::int32_t depth) -> void {
      require(--n_left >= 0, schema::ErrorCode::kModelCorrupt, "model: a node of a tree has two parents");
      if (depth > kMostLevels) refuse_path("levels", kMostLevels);
      const auto at = static_cast<std::size_t>(node);
      if (trees_.feature[at] < 0) {
        for (std::int64_t v = 0; v < k; ++v)
          sums[v] += static_cast<double>(rows.size()) *
                     trees_.value[at * static_cast<std::size_t>(k) + static_cast<std::size_t>(v)];
        return;
      }
      bool is_new = false;
      path.enter(trees_.feature[at], is_new);
      std::vector<std::int32_t> lefts, rights;
      if (!rows.empty()) set_background_left(node, left);
      for (const std::int32_t row : rows) (left[static_cast<std::size_t>(row)] ? lefts : rights).push_back(row);
      self(self, trees_.left[at], lefts, depth + 1);
      self(self, trees_.right[at], rights, depth + 1);
      if (is_new) path.leave();
    };
    std::vector<std::int32_t> all(static_cast<std::size_t>(background_.n_rows));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
    visit_all(visit_all, begin, all, 0);
  }

  const ShapTrees& trees_;
  const ShapDirections& directions_;
  const ShapBackground& background_;
  const std::int64_t n_rows_, width_;
  const Weights weights_;
  std::vector<double> expected_;   // by output
};

}   // namespace

std::vector<double> tree_contributions(const ShapTrees& trees, std::int64_t n_rows, const ShapDirections& directions,
                                       const ShapBackground& background) {
  std::vector<double> all(static_cast<std::size_t>(n_rows * trees.n_outputs * (trees.n_cols + 1)));
  const AgainstBackground work(trees, n_rows, directions, background);
  constexpr std::int64_t kPairNs = 100;
  for_tasks((n_rows + kShapLanes - 1) / kShapLanes, n_rows * background.n_rows * trees.n_trees() * kPairNs,
            [&](std::int64_t block) { work.run(block, all.data()); });
  return all;
}

}   // namespace kedge::engine
