// Parity of the steps of expectation maximisation, on devices that have them for whole rows.
#include "tests/parity/mixture_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/ops/mixtures.h"

namespace kedge::parity {
namespace {

using engine::FactorForm;
using engine::MixtureOps;
using engine::RowTerms;

constexpr double kUnit = std::numeric_limits<double>::epsilon();

// Null for float too: the steps are in double alone.
template <class T>
MixtureOps* ops_of(Probe<T>& probe) {
  if constexpr (std::is_same_v<T, double>) return engine::mixture_ops(*probe.ops().bayes);
  else return nullptr;
}

// Numbers that count: distances of some tens, so that no component has all of every row.
Table small(Table table, double divisor) {
  for (double& value : table.values) value /= divisor;
  return table;
}

struct Expected {
  Table shares, densities;
  double log_density = 0, entropy = 0;
};

// `factors`: the rows of all triangles one below the other, or diagonals.
Expected reference(const Table& X, FactorForm form, const Table& factors, const Table& offsets,
                   const Table& constants) {
  const std::int64_t m = offsets.rows, d = X.cols;
  Expected made{Table(X.rows, m), Table(X.rows, 1)};
  for (std::int64_t i = 0; i < X.rows; ++i) {
    std::vector<double> z;
    for (std::int64_t k = 0; k < m; ++k) {
      double squared = 0;
      for (std::int64_t a = 0; a < d; ++a) {
        double y = -offsets.at(k, a);
        if (form == FactorForm::kDiagonal) y += factors.at(k, a) * X.at(i, a);
        else
          for (std::int64_t j = 0; j <= a; ++j)
            y += factors.at((form == FactorForm::kEach ? k * d : 0) + a, j) * X.at(i, j);
        squared += y * y;
      }
      z.push_back(constants.at(0, k) - 0.5 * squared);
    }
    const double top = *std::ranges::max_element(z);
    double sum = 0, entropy = 0;
    for (const double one : z) sum += std::exp(one - top);
    for (std::int64_t k = 0; k < m; ++k) {
      const double share = std::exp(z[static_cast<std::size_t>(k)] - top) / sum;
      made.shares.at(i, k) = share;
      if (share > 0) entropy -= share * std::log(share);
    }
    made.densities.at(i, 0) = top + std::log(sum);
    made.log_density += made.densities.at(i, 0), made.entropy += entropy;
  }
  return made;
}

template <class T>
void check_shares(Probe<T>& probe) {   // shape: rows x cols, k components
  MixtureOps* const ops = ops_of(probe);
  if (!ops) return;   // a device that goes by blocks
  const auto [n, d, k] = probe.shape();
  const Table X = small(probe.numbers(n, d, 1), 8), offsets = small(probe.numbers(k, d, 2), 8),
              constants = probe.numbers(1, k, 3);
  for (const FactorForm form : {FactorForm::kEach, FactorForm::kShared, FactorForm::kDiagonal}) {
    const std::int64_t rows = form == FactorForm::kEach ? k * d : form == FactorForm::kShared ? d : std::int64_t{k};
    const Table factors = small(probe.numbers(rows, d, 4), 8 * std::sqrt(static_cast<double>(d)));
    const Expected expected = reference(X, form, factors, offsets, constants);
    Padded<double> shares(probe.memory(), n, k), rows_of_X(probe.memory(), X);
    Array<double> densities(probe.memory(), n);
    const engine::MixtureSums sums = ops->share_rows(rows_of_X.view(),
                                                     {.n = k,
                                                      .d = d,
                                                      .form = form,
                                                      .factors = factors.values.data(),
                                                      .offsets = offsets.values.data(),
                                                      .constants = constants.values.data()},
                                                     shares.view(), densities.view());
    const double scale = 1000.0 * static_cast<double>(d + 8);
    probe.expect_near(shares.to_table(), expected.shares, scale, "shares");
    probe.expect_near(densities, expected.densities.values, scale, "log densities");
    probe.expect_near(sums.log_density, expected.log_density, scale * static_cast<double>(n), "log density");
    probe.expect_near(sums.entropy, expected.entropy, scale * static_cast<double>(n), "entropy");
  }
}

template <class T>
void check_terms(Probe<T>& probe) {
  MixtureOps* const ops = ops_of(probe);
  if (!ops) return;
  const auto [n, d, k] = probe.shape();
  const Table X = probe.numbers(n, d, 1);
  Table shares = probe.numbers(n, k, 2);
  for (double& share : shares.values) share = std::abs(share);
  Padded<double> rows(probe.memory(), X), weights(probe.memory(), shares);
  for (const RowTerms terms : {RowTerms::kProducts, RowTerms::kSquares, RowTerms::kValues}) {
    Table got(k, engine::n_terms(terms, d)), expected(k, got.cols);
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<double> made;
      const auto x = [&](std::int64_t j) { return j < d ? X.at(i, j) : 1.0; };
      if (terms == RowTerms::kProducts) {
        for (std::int64_t a = 0; a <= d; ++a)
          for (std::int64_t b = 0; b <= a; ++b) made.push_back(x(a) * x(b));
      } else {
        for (std::int64_t j = 0; terms == RowTerms::kSquares && j < d; ++j) made.push_back(x(j) * x(j));
        for (std::int64_t j = 0; j <= d; ++j) made.push_back(x(j));
      }
      for (std::int64_t c = 0; c < k; ++c)
        for (std::int64_t e = 0; e < got.cols; ++e)
          expected.at(c, e) += shares.at(i, c) * made[static_cast<std::size_t>(e)];
    }
    got.values = ops->sum_terms(rows.view(), weights.view(), terms);
    probe.expect_near(got, expected, 8.0 * 64 * 8 * static_cast<double>(n + 1), "terms");
  }
}

// Densities that leave double say so: a row without a finite one has no shares.
template <class T>
void check_no_density(Probe<T>& probe) {
  MixtureOps* const ops = ops_of(probe);
  if (!ops) return;
  const Table X = probe.numbers(2, 1, 1);
  const double factors[] = {1e200, 1e200}, offsets[] = {1e300, 1e300}, constants[] = {0, 0};
  Padded<double> shares(probe.memory(), 2, 2), rows(probe.memory(), X);
  Array<double> densities(probe.memory(), 2);
  const auto sums = ops->share_rows(
      rows.view(),
      {.n = 2, .d = 1, .form = FactorForm::kDiagonal, .factors = factors, .offsets = offsets, .constants = constants},
      shares.view(), densities.view());
  EXPECT_TRUE(!std::isfinite(sums.log_density)) << sums.log_density;
}

}   // namespace

template <class T>
std::vector<Row<T>> mixture_rows() {
  return {{"share_rows",
           kUnit,
           &check_shares<T>,
           {{1, 1, 1}, {11, 3, 2}, {240, 4, 3}, {251, 7, 5}, {1300, 20, 8}, {300, 64, 3}}},
          {"sum_terms",
           kUnit,
           &check_terms<T>,
           {{1, 1, 1}, {17, 3, 2}, {33, 6, 3}, {300, 20, 8}, {5000, 5, 9}, {40, 64, 2}, {0, 4, 2}}},
          {"share_rows_without_density", kUnit, &check_no_density<T>, {{2, 1, 2}}}};
}

template std::vector<Row<float>> mixture_rows();
template std::vector<Row<double>> mixture_rows();

}   // namespace kedge::parity
