// Boosting: a device that grows the trees itself gives those of the host, and its losses, bit for bit. Devices that
// leave it to the host have nothing to check here. All options: tests/unit/forest.
#include "tests/parity/boost_rows.h"

#include <limits>

#include "engine/backend/host/booster.h"
#include "engine/backend/ops/boosting.h"

namespace kedge::parity {
namespace {

constexpr double kExact = 0;
using engine::BoostForest;
using engine::BoostLoss;
using engine::BoostTarget;

template <class T>
struct BoostData {
  std::vector<T> cells;
  std::vector<double> y;
};

// Cells with many ties, some missing in column 0; values, or classes, that depend on them.
template <class T>
BoostData<T> boost_data(Probe<T>& probe, BoostLoss loss) {
  const auto [n, n_cols, k] = probe.shape();
  const Table x = probe.numbers(n, n_cols, 1), noise = probe.numbers(n, 1, 2);
  BoostData<T> data{.cells = {x.values.begin(), x.values.end()}, .y = {}};
  for (std::int64_t i = 0; i < n; ++i) {
    T& first = data.cells[static_cast<std::size_t>(i * n_cols)];
    if (i % 11 == 3) first = std::numeric_limits<T>::quiet_NaN();
    const double value = x.at(i, 0) * x.at(i, n_cols - 1) / 32 + noise.at(i, 0) / 4 + (i % 11 == 3 ? 1 : 0);
    if (loss == BoostLoss::kBinomial) data.y.push_back(value > 0 ? 1 : 0);
    else if (loss == BoostLoss::kMultinomial) data.y.push_back(value < -0.5 ? 0 : value < 0.5 ? 1 : 2);
    else data.y.push_back(value + 5);   // above 0
  }
  return data;
}

template <class T, class U>
void expect_equal(const Probe<T>& probe, const std::vector<U>& got, const std::vector<U>& expected, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    probe.expect_near(static_cast<double>(got[i]), static_cast<double>(expected[i]), 1, what);
}

// Shape: rows, of which the last hundred validate, and columns; k: outputs.
template <class T, BoostLoss kLoss, bool kWeighted>
void check_boost(Probe<T>& probe) {
  engine::BoostOps* const ops = engine::boost_ops(probe.trees());
  const auto [n, n_cols, k] = probe.shape();
  engine::BoostRules rules;
  for (std::int64_t j = 0; j < n_cols; ++j) rules.order.push_back(static_cast<std::int32_t>(j));
  const std::int64_t n_fitted = n - 100;
  if (!ops || !ops->takes(kLoss, n_fitted, n_cols, rules)) return;
  const BoostData<T> data = boost_data(probe, kLoss);
  const std::vector<double> weights = kWeighted ? probe.weights(n) : std::vector<double>();
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) rows[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
  const std::span<const std::int32_t> fitted(rows.data(), static_cast<std::size_t>(n_fitted)),
      validation(rows.data() + n_fitted, 100);
  const auto target_of = [&](std::span<const std::int32_t> of) {
    const auto part = [&](const std::vector<double>& all) {
      return all.empty() ? std::span<const double>()
                         : std::span(all).subspan(static_cast<std::size_t>(of[0]), of.size());
    };
    return BoostTarget{.loss = kLoss, .n_outputs = k, .y = part(data.y), .weights = part(weights)};
  };
  const engine::MatrixView<const T> X(data.cells.data(), n, n_cols);
  const engine::BoostTable table =
      engine::boost_table(X, fitted, {}, std::vector<std::vector<double>>(static_cast<std::size_t>(n_cols)));
  const engine::BoostTable others = engine::coded_rows(X, validation, table.columns);
  engine::Booster host(table, rules, target_of(fitted));
  const auto cells = probe.upload(data.cells);
  const engine::MatrixView<const T> device_X(cells.data(), n, n_cols);
  engine::BoostCodes codes = ops->bin(engine::BoostCells<T>{device_X, fitted}, {}),
                     other_codes = ops->code(engine::BoostCells<T>{device_X, validation}, table.columns);
  expect_equal(probe, codes.codes.to_host(), table.codes, "codes");
  expect_equal(probe, other_codes.codes.to_host(), others.codes, "codes of other rows");
  const auto run = ops->start({.table = std::move(codes),
                               .rules = &rules,
                               .target = target_of(fitted),
                               .baseline = host.baseline(),
                               .validation = std::move(other_codes),
                               .validation_target = target_of(validation)});
  BoostForest expected{.n_cols = n_cols, .n_outputs = k}, got = expected;
  std::vector<double> raw;
  for (const double base : host.baseline()) raw.insert(raw.end(), validation.size(), base);
  for (int i = 0; i < 3; ++i) {
    host.step(expected), run->step(got);
    engine::add_boosted(expected, std::int64_t{i} * k, X, validation, std::span<double>(raw));
    const engine::BoostLosses losses = run->losses();
    probe.expect_near(losses.fitted, host.loss(), 1, "loss of fitted rows");
    probe.expect_near(losses.validation, engine::boost_loss(target_of(validation), raw), 1, "loss of others");
  }
  run->finish(got);
  expect_equal(probe, got.tree_offset, expected.tree_offset, "tree_offset");
  expect_equal(probe, got.feature, expected.feature, "feature");
  expect_equal(probe, got.threshold, expected.threshold, "threshold");
  expect_equal(probe, got.missing_left, expected.missing_left, "missing_left");
  expect_equal(probe, got.gain, expected.gain, "gain");
  expect_equal(probe, got.value, expected.value, "value");
  expect_equal(probe, got.n_rows, expected.n_rows, "n_rows");
}

}   // namespace

template <class T>
std::vector<Row<T>> boost_rows() {
  return {{"boost_squared", kExact, &check_boost<T, BoostLoss::kSquared, false>, {{8400, 3, 1}}},
          {"boost_gamma", kExact, &check_boost<T, BoostLoss::kGamma, true>, {{8300, 18, 1}}},
          {"boost_binomial", kExact, &check_boost<T, BoostLoss::kBinomial, false>, {{9000, 2, 1}}},
          {"boost_classes", kExact, &check_boost<T, BoostLoss::kMultinomial, true>, {{8500, 4, 3}}}};
}

template std::vector<Row<float>> boost_rows();
template std::vector<Row<double>> boost_rows();

}   // namespace kedge::parity
