// The tree ops by what must hold of any tree: grown to the end on distinct rows it knows every row; and what the host's grower grows,
// a device grows by its kernels, bit for bit. (Unweighted classes with best cuts are compared in tests/unit/forest.)
#include "engine/backend/host/host_grower.h"
#include "engine/backend/ops/grown_forest.h"
#include "tests/parity/boost_rows.h"
#include "tests/parity/shap_rows.h"
#include "tests/parity/walk_rows.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;

// Shape: rows x columns, k classes. The first column makes the rows distinct.
template <class T>
void check_full_tree_knows_its_rows(Probe<T>& probe) {
  Table x = probe.numbers(probe.shape().rows, probe.shape().cols, 1);
  for (std::int64_t i = 0; i < x.rows; ++i) x.at(i, 0) = static_cast<double>((i * 37) % x.rows);
  const int classes = probe.shape().k;
  const auto y = probe.codes(x.rows, classes, 3);
  const Padded<T> values(probe.memory(), x);
  const auto labels = probe.upload(y);
  const engine::BinnedTable table = probe.trees().bin(values.view());
  engine::ForestOptions options;
  options.n_trees = 2, options.bootstrap = false, options.max_features = static_cast<std::int32_t>(x.cols), options.seed = 11;
  const engine::Forest forest = probe.trees().grow(table, {}, {.n_classes = classes, .codes = labels.view()}, options, {}, {});
  Table expected(x.rows, classes);
  for (std::int64_t i = 0; i < x.rows; ++i) expected.at(i, y[static_cast<std::size_t>(i)]) = 1;
  Padded<double> by_codes(probe.memory(), x.rows, classes), by_values(probe.memory(), x.rows, classes);
  const auto ready = probe.trees().prepare(forest);
  ready->predict(table, {}, by_codes.view());
  ready->predict(values.view(), by_values.view());
  probe.expect_near(by_codes.to_table(), expected, 1, "shares from codes");
  probe.expect_near(by_values.to_table(), expected, 1, "shares from values");
  engine::GrownForestOps* const ops = engine::grown_forest_ops(probe.trees());
  if (!ops) return;
  const auto stayed = ops->grow_there(table, {}, {.n_classes = classes, .codes = labels.view()}, options, {}, {});
  Padded<double> of_stayed(probe.memory(), x.rows, classes);
  stayed->prepare()->predict(table, {}, of_stayed.view());
  probe.expect_near(of_stayed.to_table(), expected, 1, "shares from codes where the forest was grown");
}

// Mean outputs of one row by the plainest walk, in the order of the trees.
std::vector<double> walked(const engine::Forest& forest, const std::vector<double>& x) {
  const std::int64_t k = forest.n_outputs();
  std::vector<double> sums(static_cast<std::size_t>(k));
  for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
    std::int64_t node = forest.tree_offset[t];
    while (forest.feature[node] >= 0)
      node = x[forest.feature[node]] <= forest.threshold[node] ? forest.left[node] : forest.right[node];
    for (std::int64_t c = 0; c < k; ++c)
      sums[c] += forest.n_classes > 0 ? forest.value[node * k + c] : forest.mean[node];
  }
  for (double& sum : sums) sum /= static_cast<double>(forest.n_trees());
  return sums;
}

// Shape: rows x columns that are asked, k classes or 0; more rows than a GPU takes one by one. The trees are grown on
// the first rows. Leaves of several rows, so that some have several classes.
template <class T>
void check_predicts_many_rows(Probe<T>& probe) {
  const auto [n, n_cols, k] = probe.shape();
  const std::int64_t fitted = std::min<std::int64_t>(n, k > 10 ? 90 : 200);
  const Table x = probe.numbers(n, n_cols, 1);
  const Padded<T> X(probe.memory(), x);
  const auto y = probe.codes(fitted, std::max(1, k), 3);
  const auto labels = probe.upload(y);
  std::vector<double> values;
  for (std::int64_t i = 0; i < fitted && k == 0; ++i)
    values.push_back(x.at(i, 0) / 3 + 0.1 * static_cast<double>(i % 7));
  const engine::MatrixView<const T> all = X.view();
  const engine::BinnedTable table = probe.trees().bin({all.data, fitted, n_cols, all.stride});
  engine::ForestOptions options{.n_trees = 3, .max_features = 2, .min_samples_leaf = 2, .seed = 12};
  const engine::Forest forest = probe.trees().grow(table, {}, {k, labels.view(), values, {}}, options, {}, {});
  const auto ready = probe.trees().prepare(forest);
  std::vector<std::int32_t> rows;
  for (std::int64_t i = 0; i < n; ++i) rows.push_back(static_cast<std::int32_t>((i * 7) % fitted));
  const auto chosen = probe.upload(rows);
  Padded<double> by_values(probe.memory(), n, forest.n_outputs()), by_codes(probe.memory(), n, forest.n_outputs());
  ready->predict(all, by_values.view());
  ready->predict(table, chosen.view(), by_codes.view());
  Table expected(n, forest.n_outputs()), of_rows(n, forest.n_outputs());
  const auto row_of = [&](std::int64_t i) {
    std::vector<double> row;
    for (std::int64_t j = 0; j < n_cols; ++j) row.push_back(static_cast<double>(static_cast<T>(x.at(i, j))));
    return walked(forest, row);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const std::vector<double> means = row_of(i), again = row_of(rows[i]);
    for (std::int64_t c = 0; c < forest.n_outputs(); ++c) expected.at(i, c) = means[c], of_rows.at(i, c) = again[c];
  }
  probe.expect_near(by_values.to_table(), expected, 1, "means from values");
  probe.expect_near(by_codes.to_table(), of_rows, 1, "means from codes");
}

void expect_same(const engine::Forest& a, const engine::Forest& b) {
  EXPECT_EQ(a.tree_offset, b.tree_offset);
  EXPECT_EQ(a.feature, b.feature);
  EXPECT_EQ(a.bin, b.bin);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.left, b.left);
  EXPECT_EQ(a.right, b.right);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.mean, b.mean);
  EXPECT_EQ(a.impurity, b.impurity);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.n_rows, b.n_rows);
}

// Shape: rows x columns; k classes, 0 for values.
template <class T, engine::Criterion kCriterion, engine::Splitter kSplitter, bool kWeighted>
void check_grows_the_forest_of_the_host(Probe<T>& probe) {
  const std::int64_t n = probe.shape().rows, n_cols = probe.shape().cols;
  Table x = probe.numbers(n, n_cols, 1);
  for (std::int64_t i = 0; i < n; ++i) x.at(i, n_cols / 2) = 7;   // a constant column
  const Padded<T> X(probe.memory(), x);
  const auto y = probe.codes(n, std::max(1, probe.shape().k), 3);
  const auto labels = probe.upload(y);
  std::vector<double> values, weights;
  for (std::int64_t i = 0; i < n && probe.shape().k == 0; ++i) values.push_back(3 + x.at(i, 0) / 4 + 0.1 * x.at(i, n_cols - 1) * x.at(i, 0) + 20);
  for (std::int64_t i = 0; i < n && kWeighted; ++i) weights.push_back(0.3 * static_cast<double>(i % 5));
  const engine::TreeTarget target{probe.shape().k, labels.view(), values, weights};
  const engine::BinnedTable table = probe.trees().bin(X.view());
  engine::ForestOptions options{.n_trees = 2, .criterion = kCriterion, .splitter = kSplitter, .max_features = 1, .max_depth = n > 1000 ? 4 : 40, .seed = 11};
  const std::vector<std::uint8_t> codes = table.codes.to_host();
  std::vector<std::uint8_t> row_codes(codes.size());
  for (std::int64_t j = 0; j < n_cols; ++j)
    for (std::int64_t i = 0; i < n; ++i) row_codes[i * n_cols + j] = codes[j * n + i];
  engine::TreeTarget host_target = target;
  host_target.codes = {y.data(), n};
  const engine::HostColumns columns{n, n_cols, &table.edges, codes.data(), row_codes.data(), n_cols};
  for (const std::int64_t trees : {1, 2}) {
    options.n_trees = trees, options.max_features = static_cast<std::int32_t>(trees), options.bootstrap = !kWeighted || trees == 2;
    const std::unique_ptr<Launches> log = probe.watch_launches();
    const engine::Forest grown = probe.trees().grow(table, {}, target, options, {}, {});
    if (log) {
      EXPECT_TRUE(log->has("part_rows"));
      EXPECT_TRUE(log->has(kSplitter == engine::Splitter::kRandom ? "cut_columns" : "score_columns"));
    }
    expect_same(engine::grow_on_host({columns, nullptr, n, host_target, options, {}}, 1, {}), grown);
  }
}

}  // namespace

template <class T>
std::vector<Row<T>> tree_rows() {
  using enum engine::Criterion;
  using enum engine::Splitter;
  const std::vector<Shape> classes = {{9, 3, 3}, {90, 5, 3}, {200, 7, 4}}, values = {{9, 3, 0}, {90, 5, 0}, {1300, 4, 0}};
  std::vector<Row<T>> rows = {
      {"full_tree", kExact, &check_full_tree_knows_its_rows<T>, {{2, 1, 2}, {60, 3, 2}, {250, 9, 5}}},
      {"predict_many_rows",
       kExact,
       &check_predicts_many_rows<T>,
       {{1, 3, 2}, {600, 3, 0}, {600, 3, 60}, {600, 230, 2}, {17000, 4, 3}}},
      {"random_gini", kExact, &check_grows_the_forest_of_the_host<T, kGini, kRandom, false>, classes},
      {"random_entropy", kExact, &check_grows_the_forest_of_the_host<T, kEntropy, kRandom, false>, classes},
      {"values", kExact, &check_grows_the_forest_of_the_host<T, kSquaredError, kBest, false>, values},
      {"random_values", kExact, &check_grows_the_forest_of_the_host<T, kSquaredError, kRandom, false>, values},
      {"weighted_values", kExact, &check_grows_the_forest_of_the_host<T, kSquaredError, kBest, true>, values},
      {"poisson", kExact, &check_grows_the_forest_of_the_host<T, kPoisson, kBest, false>, values},
      {"weighted_gini", kExact, &check_grows_the_forest_of_the_host<T, kGini, kBest, true>, classes},
      {"random_weighted_entropy", kExact, &check_grows_the_forest_of_the_host<T, kEntropy, kRandom, true>, classes}};
  for (const Row<T>& row : boost_rows<T>()) rows.push_back(row);
  for (const Row<T>& row : walk_rows<T>()) rows.push_back(row);
  for (const Row<T>& row : shap_rows<T>()) rows.push_back(row);
  return rows;
}

template std::vector<Row<float>> tree_rows();
template std::vector<Row<double>> tree_rows();

}  // namespace kedge::parity
