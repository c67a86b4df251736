// The tree ops by what must hold of any tree: grown to the end on distinct rows it knows every row. (That all devices grow the
// same forest, bit for bit, is tested in tests/unit/forest.)
#include <limits>

#include "tests/parity/probe.h"

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
  probe.trees().predict(forest, table, {}, by_codes.view());
  probe.trees().predict(forest, values.view(), by_values.view());
  probe.expect_near(by_codes.to_table(), expected, 1, "shares from codes");
  probe.expect_near(by_values.to_table(), expected, 1, "shares from values");
}

}  // namespace

template <class T>
std::vector<Row<T>> tree_rows() {
  return {{"full_tree", kExact, &check_full_tree_knows_its_rows<T>, {{2, 1, 2}, {60, 3, 2}, {250, 9, 5}}}};
}

template std::vector<Row<float>> tree_rows();
template std::vector<Row<double>> tree_rows();

}  // namespace kedge::parity
