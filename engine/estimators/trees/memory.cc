// What trees and forests hold at their worst moment.
#include "engine/estimators/trees/memory.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "engine/core/params.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;
using schema::Value;

namespace {

// What a tree is grown from, and how.
struct Growth {
  bool is_single = false, draws_rows = false, is_regressor = false;
};

// A count, or a share of the rows; none where the parameter is not set.
std::optional<std::int64_t> rows_in(const Step& step, std::string_view name, std::int64_t rows) {
  const Value* const value = find_value(step.params, name);
  const auto* const share = value ? std::get_if<double>(&value->data) : nullptr;
  if (share && *share > 0 && *share <= 1)
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(*share * static_cast<double>(rows)));
  if (value && std::holds_alternative<std::int64_t>(value->data)) return std::max<std::int64_t>(1, integer(step, name, rows));
  return std::nullopt;
}

// Of a node in the form that is kept for predictions (CodedTrees): 8, and 4 where the numbers of leaves are large.
// While it is made, as much again for its cuts and numbers.
constexpr std::int64_t kOfPackedNode = 12;

// Of a tree: of a regressor up to one for each drawn row and those above them, of a classifier fewer, as most rows agree.
std::int64_t nodes_of(const SampleShape& X, const Step& step, const Growth& growth) {
  const std::int64_t rows = std::min(X.rows, rows_in(step, "max_samples", X.rows).value_or(X.rows));
  const std::int64_t depth = std::min<std::int64_t>(integer(step, "max_depth", 40), 40);
  std::int64_t nodes = growth.is_regressor ? 13 * rows / 10 : rows / 2;
  if (!growth.draws_rows) nodes *= 2;   // nothing is drawn, every row is there
  nodes = std::min(nodes, std::int64_t{2} << depth);
  nodes = std::min(nodes, 2 * integer(step, "max_leaf_nodes", rows));
  return std::max<std::int64_t>(1, std::min(nodes, 2 * rows / rows_in(step, "min_samples_leaf", rows).value_or(1)));
}

std::int64_t threads_for(std::int64_t tasks) {
  return std::min<std::int64_t>(tasks, std::max(1U, std::thread::hardware_concurrency()));
}

// The whole table as bytes by column, by row and as records; of columns with many values one on each thread is sorted.
std::int64_t binned_size(const SampleShape& X) {
  const std::int64_t rows = std::max(X.rows, X.table_rows);
  const std::int64_t sorted = X.has_few_values.value_or(false) ? 0 : threads_for((X.cols + 15) / 16);
  return bytes_of(rows, (X.cols + 63) / 64 * 64, 3) + bytes_of(rows, sorted, 3 * X.value_bytes);
}

// A single tree looks at every value of columns that have more than 256: their ranks, values and rows in order. This is
// most of what it needs, so its rows of the catalogue want value counts.
MemoryNeed grown(const SampleShape& X, const Step& step, const Growth& growth) {
  constexpr std::int64_t kOfDraft = 256, kOfRow = 128;     // of a node, and of a row, while a tree grows
  constexpr std::int64_t kOfRank = 28, kOfSureRank = 12;   // of a cell
  const bool is_exact = growth.is_single && text(step, "splitter") == "best" && !X.has_few_values.value_or(false);
  const std::int64_t n_trees = growth.is_single ? 1 : integer(step, "n_estimators"), nodes = nodes_of(X, step, growth);
  const std::int64_t of_node = 41 + std::max<std::int64_t>(8, 8 * X.n_outputs);
  const std::int64_t forest = bytes_of(n_trees, nodes, of_node), packed = bytes_of(n_trees, nodes, kOfPackedNode);
  const std::int64_t growing = threads_for(n_trees) * (nodes * (kOfDraft + 8 * X.n_outputs) + X.rows * kOfRow);
  const std::int64_t exact = is_exact ? X.copy() + bytes_of(X.rows, X.cols, kOfRank) : 0;
  const bool is_surely_exact = is_exact && X.has_few_values.has_value();
  return {.work = binned_size(X) + exact + forest / 2 * 3 + growing + answers(X),
          .minimum = bytes_of(std::max(X.rows, X.table_rows), X.cols, 1) + bytes_of(n_trees, 1, of_node) +
                     (is_surely_exact ? X.copy() + bytes_of(X.rows, X.cols, kOfSureRank) : 0),
          .use = X.copy() + answers(X) + 2 * packed,
          .kept = forest + packed};
}

}  // namespace

MemoryNeed tree_classifier(const SampleShape& X, const Step& step) { return grown(X, step, {.is_single = true}); }
MemoryNeed tree_regressor(const SampleShape& X, const Step& step) { return grown(X, step, {.is_single = true, .is_regressor = true}); }
MemoryNeed forest_classifier(const SampleShape& X, const Step& step) { return grown(X, step, {.draws_rows = true}); }
MemoryNeed forest_regressor(const SampleShape& X, const Step& step) { return grown(X, step, {.draws_rows = true, .is_regressor = true}); }
MemoryNeed extra_trees_classifier(const SampleShape& X, const Step& step) { return grown(X, step, {}); }
MemoryNeed extra_trees_regressor(const SampleShape& X, const Step& step) { return grown(X, step, {.is_regressor = true}); }

}  // namespace kedge::engine::memory
