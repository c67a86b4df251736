// Small random data sets and option sets for the forest tests, and plain host memory to run them on.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "engine/backend/ops/grown_forest.h"
#include "engine/core/rng.h"

namespace kedge::engine::test {

class HostMemory final : public Memory {
 public:
  void* allocate(std::size_t bytes) override { return std::aligned_alloc(256, (bytes / 256 + 1) * 256); }
  void deallocate(void* p) noexcept override { std::free(p); }
  void to_device(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void to_host(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memmove(to, from, bytes); }
  void zero(void* p, std::size_t bytes) override { std::memset(p, 0, bytes); }
  void synchronize() override {}
};

struct Data {
  std::int64_t rows = 0, cols = 0;
  std::int32_t n_classes = 0;
  std::vector<float> X;
  std::vector<std::int32_t> y;
  MatrixView<const float> view() const { return {X.data(), rows, cols}; }
};

// `zeros` of the cells are 0, the others one of `values` numbers; the class depends on a few columns and some noise.
inline Data make_data(std::int64_t rows, std::int64_t cols, int values, std::int32_t n_classes, double zeros, std::uint64_t seed) {
  PhiloxStream random(seed, 1);
  Data data{rows, cols, n_classes, std::vector<float>(static_cast<std::size_t>(rows * cols)), {}};
  for (float& x : data.X)
    x = random.uniform() < zeros ? 0.0F : static_cast<float>(random.below(static_cast<std::uint32_t>(values))) * 0.25F - 3;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float sum = data.X[i * cols] + 2 * data.X[i * cols + (cols - 1) / 2] - data.X[i * cols + cols - 1];
    const auto cls = static_cast<std::int32_t>(sum + 4000) % n_classes;
    data.y.push_back(random.uniform() < 0.15 ? static_cast<std::int32_t>(random.below(n_classes)) : cls);
  }
  return data;
}

struct Case {
  std::string name;
  Data data;
  ForestOptions options;
  bool every_other_row = false;
  std::vector<double> values = {}, weights = {};   // by row of the data; values make it a forest of values

  TreeTarget target(VectorView<const std::int32_t> codes, std::int64_t n) const {
    const auto first = [n](const std::vector<double>& all) { return std::span(all).first(all.empty() ? 0 : static_cast<std::size_t>(n)); };
    return {values.empty() ? data.n_classes : 0, codes, first(values), first(weights)};
  }
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

// About 150 * size rows; the emulated kernels are slow.
inline std::vector<Case> forest_cases(int size) {
  const Data sparse = make_data(175 * size, 20, 200, 4, 0.75, 1), dense = make_data(100 * size, 7, 5000, 3, 0.0, 2);
  const Data shifted = make_data(75 * size, 9, 2, 3, 0.3, 3), many = make_data(125 * size, 6, 90, 23, 0.6, 4);
  const Data tall = make_data(6000, 4, 300, 3, 0.2, 6);
  const ForestOptions plain{.n_trees = size + 1, .max_features = 3, .seed = 7};
  const auto with = [&](auto change) { ForestOptions o = plain; change(o); return o; };
  return {
      {"gini_sparse", sparse, plain},
      {"gini_dense_quantiles", dense, plain},
      {"gini_two_values", shifted, plain},
      {"gini_23_classes", many, plain},
      {"some_rows", sparse, plain, true},
      {"entropy", sparse, with([](auto& o) { o.criterion = Criterion::kEntropy; })},
      {"entropy_dense", dense, with([](auto& o) { o.criterion = Criterion::kEntropy; })},
      {"no_bootstrap_all_columns", sparse, with([](auto& o) { o.bootstrap = false, o.max_features = 20; })},
      {"weights", sparse, with([](auto& o) { o.class_weight = {1.0, 0.3, 2.5, 1.7}; })},
      {"entropy_weights", dense,
       with([](auto& o) { o.criterion = Criterion::kEntropy, o.class_weight = {1, 0.0, 3}; })},
      {"balanced_subsample", many, with([](auto& o) { o.balance_each_tree = true; })},
      {"leaf_nodes", sparse, with([](auto& o) { o.max_leaf_nodes = 13; })},
      {"depth", sparse, with([](auto& o) { o.max_depth = 4; })},
      {"leaf_rows", dense, with([](auto& o) { o.min_samples_leaf = 9, o.min_samples_split = 30; })},
      {"leaf_weight", sparse, with([](auto& o) { o.min_weight_fraction_leaf = 0.05; })},
      {"decrease", sparse, with([](auto& o) { o.min_impurity_decrease = 0.004; })},
      {"few_draws", sparse, with([](auto& o) { o.n_draws = 90; })},
      {"many_draws", dense, with([](auto& o) { o.n_draws = 3000; })},
      {"heavy_draws", dense, with([](auto& o) { o.n_draws = 400000; })},   // of 32 rows, squares exceed 32 bits
      {"equal_rows", make_data(300 * size, 12, 2, 5, 0.5, 9), with([](auto& o) { o.max_features = 2; })},
      {"random_cuts", sparse, with([](auto& o) { o.splitter = Splitter::kRandom, o.bootstrap = false; })},
      {"random_cuts_one_tree", dense, with([](auto& o) { o.splitter = Splitter::kRandom, o.n_trees = 1; }), true},
      {"random_cuts_leaf_nodes", many,
       with([](auto& o) { o.splitter = Splitter::kRandom, o.max_leaf_nodes = 13, o.min_samples_leaf = 2; })},
      {"random_cuts_decrease", sparse, with([](auto& o) {
         o.splitter = Splitter::kRandom, o.min_impurity_decrease = 0.004, o.min_weight_fraction_leaf = 0.02;
       })},
      {"random_cuts_entropy", dense,
       with([](auto& o) { o.splitter = Splitter::kRandom, o.criterion = Criterion::kEntropy; })},
      {"many_rows", tall, with([](auto& o) {
         o.n_trees = 2, o.min_samples_leaf = 5;
       })},   // nodes for big blocks, and their small children
      {"random_cuts_many_rows", tall,
       with([](auto& o) { o.splitter = Splitter::kRandom, o.n_trees = 2, o.max_depth = 6; })},
      {"sklearn_draws_sparse", sparse, with([](auto& o) { o.draws = TreeDraws::kSklearn; })},
      {"sklearn_draws_dense", dense, with([](auto& o) { o.draws = TreeDraws::kSklearn; }), true},
      {"sklearn_draws_two_values", shifted, with([](auto& o) { o.draws = TreeDraws::kSklearn, o.max_features = 1; })},
      {"sklearn_draws_many_rows", tall,
       with([](auto& o) { o.draws = TreeDraws::kSklearn, o.n_trees = 2, o.max_features = 2; })},
      {"sklearn_draws_leaf_nodes", many, with([](auto& o) { o.draws = TreeDraws::kSklearn, o.max_leaf_nodes = 13; })},
  };
}

// Forests of values, and of weighted rows, which the host's grower grows on the CPU.
inline std::vector<Case> host_cases(int size) {
  const Data sparse = make_data(175 * size, 20, 200, 4, 0.75, 1), dense = make_data(100 * size, 7, 5000, 3, 0.0, 2);
  const Data many = make_data(125 * size, 6, 90, 23, 0.6, 4);
  const Data tall = make_data(6000, 4, 300, 3, 0.2, 6);
  const Data large = make_data(2600, 3, 5000, 2, 0.2, 5);   // more rows than a tile of sums
  const auto values_of = [](const Data& data) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < data.rows; ++i) values.push_back(data.y[i] + 0.25 * data.X[i * data.cols] * data.X[i * data.cols] + 0.001 * static_cast<double>(i % 17));
    return values;
  };
  const auto weights_of = [](const Data& data) {
    std::vector<double> weights;
    for (std::int64_t i = 0; i < data.rows; ++i) weights.push_back(0.3 * static_cast<double>(i % 5));
    return weights;
  };
  const auto with = [&](Criterion criterion, auto change) {
    ForestOptions o{.n_trees = size + 1, .criterion = criterion, .max_features = 4, .seed = 7};
    change(o);
    return o;
  };
  const auto same = [](auto&) {};
  const auto random = [](auto& o) { o.splitter = Splitter::kRandom; };
  using enum Criterion;
  return {
      {"values", dense, with(kSquaredError, same), false, values_of(dense)},
      {"values_sparse", sparse, with(kSquaredError, [](auto& o) { o.min_samples_leaf = 3; }), false, values_of(sparse)},
      {"values_random", dense, with(kSquaredError, random), false, values_of(dense)},
      {"values_weighted", dense, with(kSquaredError, [](auto& o) { o.bootstrap = false; }), false, values_of(dense),
       weights_of(dense)},
      {"values_leaf_nodes", sparse, with(kSquaredError, [](auto& o) { o.max_leaf_nodes = 9; }), false,
       values_of(sparse)},
      {"values_drawn_by_weight", dense, with(kSquaredError, [&](auto& o) { o.draw_weights = weights_of(dense); }),
       false, values_of(dense)},
      {"values_random_weighted", sparse, with(kSquaredError, random), true, values_of(sparse), weights_of(sparse)},
      {"values_leaf_weight", sparse,
       with(kSquaredError, [](auto& o) { o.min_weight_fraction_leaf = 0.05, o.n_trees = 1; }), true, values_of(sparse),
       weights_of(sparse)},
      {"values_decrease", dense, with(kSquaredError, [](auto& o) { o.min_impurity_decrease = 0.2, o.max_depth = 6; }),
       false, values_of(dense)},
      {"values_many_rows", tall, with(kSquaredError, [](auto& o) { o.n_trees = 1, o.min_samples_leaf = 20; }), false,
       values_of(tall)},
      {"values_large", large, with(kSquaredError, [](auto& o) { o.n_trees = 1, o.max_depth = 4; }), false,
       values_of(large)},
      {"poisson_random", sparse, with(kPoisson, random), false, values_of(sparse)},
      {"poisson_weighted", dense, with(kPoisson, same), false, values_of(dense), weights_of(dense)},
      {"poisson", dense, with(kPoisson, same), false, values_of(dense)},
      {"absolute_error", dense, with(kAbsoluteError, same), false, values_of(dense)},
      {"absolute_error_random", sparse, with(kAbsoluteError, random), false, values_of(sparse)},
      {"weighted_classes_random", many, with(kGini, random), true, {}, weights_of(many)},
      {"weighted_classes_leaves",
       sparse,
       with(kGini, [](auto& o) { o.min_weight_fraction_leaf = 0.02, o.min_samples_leaf = 2, o.n_trees = 1; }),
       true,
       {},
       weights_of(sparse)},
      {"class_weight_random", sparse,
       with(kGini, [](auto& o) { o.splitter = Splitter::kRandom, o.class_weight = {1.0, 0.3, 2.5, 1.7}; })},
      {"balanced_random", many,
       with(kEntropy,
            [](auto& o) { o.splitter = Splitter::kRandom, o.balance_each_tree = true, o.max_leaf_nodes = 20; })},
      {"weighted_classes", sparse, with(kGini, [](auto& o) { o.bootstrap = false; }), false, {}, weights_of(sparse)},
      {"sklearn_draws_values", sparse, with(kSquaredError, [](auto& o) { o.draws = TreeDraws::kSklearn; }), true,
       values_of(sparse)},
      {"sklearn_draws_random", dense,
       with(kGini, [](auto& o) { o.draws = TreeDraws::kSklearn, o.splitter = Splitter::kRandom; })},
      {"sklearn_draws_by_weight", sparse,
       with(kSquaredError, [&](auto& o) { o.draws = TreeDraws::kSklearn, o.draw_weights = weights_of(sparse); }), false,
       values_of(sparse)},
      {"weighted_classes_entropy",
       dense,
       with(kEntropy, [](auto& o) { o.bootstrap = false; }),
       false,
       {},
       weights_of(dense)},
  };
}

// Whether a GPU grows this forest itself.
inline bool grows_in_kernels(const Case& c) {
  return c.options.criterion != Criterion::kAbsoluteError && c.options.draws == TreeDraws::kByNode;
}

struct Grown {
  Forest forest;
  BinEdges edges;
  OutOfBag out_of_bag;
  std::vector<double> proba, proba_of_values;
  std::optional<Forest> stayed;   // on the device, from where it was brought after it was asked
  std::vector<double> proba_of_stayed;
};

// Bins, grows and predicts on the device that `ops` and `memory` belong to.
inline Grown run_case(TreeOps& ops, Memory& memory, const Case& c) {
  const Matrix<float> X(memory, c.data.rows, c.data.cols, std::span<const float>(c.data.X));
  const Array<std::int32_t> y(memory, std::span<const std::int32_t>(c.data.y));
  std::vector<std::int32_t> rows;
  for (std::int32_t i = 0; c.every_other_row && i < c.data.rows; i += 2) rows.push_back(i);
  const Array<std::int32_t> device_rows(memory, std::span<const std::int32_t>(rows));
  BinnedTable table = ops.bin(X.view());
  Grown grown;
  const std::int64_t n = rows.empty() ? c.data.rows : static_cast<std::int64_t>(rows.size());
  grown.forest = ops.grow(table, device_rows.view(), c.target(y.view(), n), c.options, {}, {});
  if (c.options.bootstrap) grown.out_of_bag = ops.out_of_bag(grown.forest, table, device_rows.view(), c.options);
  Matrix<double> proba(memory, n, grown.forest.n_outputs());
  const auto ready = ops.prepare(grown.forest);
  ready->predict(table, device_rows.view(), proba.view());
  grown.proba = proba.to_host();
  Matrix<double> of_values(memory, c.data.rows, grown.forest.n_outputs());
  ready->predict(X.view(), of_values.view());
  grown.proba_of_values = of_values.to_host();
  GrownForestOps* const there = grown_forest_ops(ops);
  if (const auto stayed =
          there ? there->grow_there(table, device_rows.view(), c.target(y.view(), n), c.options, {}, {}) : nullptr) {
    Matrix<double> asked(memory, n, grown.forest.n_outputs());
    stayed->prepare()->predict(table, device_rows.view(), asked.view());
    grown.proba_of_stayed = asked.to_host(), grown.stayed = stayed->bring();
  }
  grown.edges = std::move(table.edges);
  return grown;
}

}  // namespace kedge::engine::test
