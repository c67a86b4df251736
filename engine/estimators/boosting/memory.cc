// What boosting holds at its worst moment.
#include "engine/estimators/boosting/memory.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "engine/estimators/boosting/gradient_stages.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

namespace {

// Of a node in the form that is kept for predictions (CodedTrees): 8, and 4 where the numbers of leaves are large.
// While it is made, as much again for its cuts and numbers.
constexpr std::int64_t kOfPackedNode = 12;

}   // namespace

// Bytes by column and by row, the columns that are being binned, and of each row its gradients and its places in the
// tree.
MemoryNeed hist_boosting(const SampleShape& X, const Step& step) {
  const std::int64_t outputs = X.n_outputs > 2 ? X.n_outputs : 1, groups = (X.cols + 15) / 16;
  const std::int64_t binning = std::min<std::int64_t>(groups, std::max(1U, std::thread::hardware_concurrency()));
  const std::int64_t codes = bytes_of(X.rows, X.cols, 1), packed = bytes_of(X.rows, groups, 16);
  const std::int64_t leaves = std::min(integer(step, "max_leaf_nodes", X.rows),
                                       std::max<std::int64_t>(1, X.rows / integer(step, "min_samples_leaf", 20)));
  const std::int64_t n_trees = integer(step, "max_iter", 100) * outputs, nodes = bytes_of(n_trees, 2 * leaves, 48);
  const std::int64_t coded = bytes_of(n_trees, 2 * leaves, kOfPackedNode);
  const std::int64_t histograms = bytes_of(leaves, X.cols, 16 * std::min<std::int64_t>(257, X.rows + 2));
  const std::int64_t rows = bytes_of(X.rows, 1, 60 + 24 * outputs);
  return {.work = X.value_size() + codes + packed + bytes_of(X.rows, binning, 16 * 3 * X.value_bytes) + rows +
                  histograms + 2 * nodes + answers(X),
          .minimum = codes + packed + bytes_of(X.rows, 1, 40),
          .use = X.copy() + bytes_of(X.rows, outputs, 16) + answers(X) + 2 * coded,
          .kept = nodes + coded};
}

// The values in double until they are float32 by row and by column, there with the places of their rows, and once more
// for the rows of each of the trees that grow side by side; of each row its gradients, and its places in those trees.
MemoryNeed exact_boosting(const SampleShape& X, const Step& step) {
  const std::int64_t outputs = X.n_outputs > 2 ? X.n_outputs : 1;
  const std::int64_t threads = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t depth = std::min<std::int64_t>(integer(step, "max_depth", 24), 24);
  const std::int64_t leaves = std::min({integer(step, "max_leaf_nodes", kMost), X.rows, std::int64_t{1} << depth});
  const std::int64_t n_trees = integer(step, "n_estimators", 100) * outputs, nodes = bytes_of(n_trees, 2 * leaves, 64);
  const std::int64_t coded = bytes_of(n_trees, 2 * leaves, kOfPackedNode);
  const std::int64_t list = bytes_of(X.rows, X.cols, 8);
  const std::int64_t trees = outputs > 1 && list <= kMostListBytes ? std::min(threads, outputs) : 1;
  const std::int64_t lists = (1 + trees) * list + bytes_of(X.rows, threads, 8);
  const std::int64_t rows = bytes_of(X.rows, 1, 70 + 30 * trees + 40 * outputs);
  const std::int64_t use = X.copy() + bytes_of(X.rows, outputs, 16) + answers(X);
  return {.work = std::max(doubles(X), lists) + bytes_of(X.rows, X.cols, 8) + X.copy() + rows + 2 * nodes + answers(X),
          .use = use + nodes + 2 * coded,
          .kept = nodes + coded};
}

}   // namespace kedge::engine::memory
