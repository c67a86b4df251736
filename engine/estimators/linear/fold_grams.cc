// Sums of test folds as training sets, and errors as quadratic forms.
#include "engine/estimators/linear/fold_grams.h"

#include <algorithm>

namespace kedge::engine {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}   // namespace

Matrix<double> FoldGrams::targets_and_ones(MatrixView<const double> Y) const {
  Matrix<double> targets(ctx_.memory(), n_rows_, 2);   // and ones: exp(0 y)
  ctx_.ops<double>().tables->gather(Y, {}, {}, {}, {targets.data(), n_rows_, 1, 2});
  ctx_.ops<double>().maps->map(Unary::kExp, 0, Y, {targets.data() + 1, n_rows_, 1, 2});
  return targets;
}

TrainFold FoldGrams::train(std::size_t fold) const {
  const std::int64_t p = side();
  std::vector<double> sum(at(p * p), 0.0);
  for (std::size_t f = 0; f < host_.size(); ++f)
    for (std::size_t e = 0; e < sum.size() && f != fold; ++e) sum[e] += host_[f][e];
  TrainFold train{.mean = std::vector<double>(at(d_ + 1), 0.0),
                  .n_rows = static_cast<double>(n_rows_ - folds_[fold].count)};
  const double total = sum[at((d_ + 1) * p + d_ + 1)],
               scale = train.n_rows / total;   // weights are made to sum to the number of rows
  for (std::int64_t j = 0; j <= d_ && fit_intercept_; ++j) train.mean[at(j)] = sum[at((d_ + 1) * p + j)] / total;
  std::vector<double> centred(at((d_ + 1) * (d_ + 1)));
  for (std::int64_t i = 0; i <= d_; ++i)
    for (std::int64_t j = 0; j <= d_; ++j)
      centred[at(i * (d_ + 1) + j)] = scale * (sum[at(i * p + j)] - total * train.mean[at(i)] * train.mean[at(j)]);
  train.gram = {Matrix<double>(ctx_.memory(), d_ + 1, d_ + 1, centred), centred.back()};
  return train;
}

std::vector<double> FoldGrams::errors(std::size_t fold, const TrainFold& train, const Matrix<double>& W,
                                      const std::vector<double>& coef) const {
  const std::int64_t p = side();
  const std::vector<double>& G = host_[fold];
  Matrix<double> products(ctx_.memory(), W.rows(), d_);
  ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, W.view(),
                                  MatrixView<const double>(tests_[fold].data(), d_, d_, p), 0.0, products.view());
  const std::vector<double> WG = products.to_host();
  const auto target = [&](std::int64_t j) { return G[at(d_ * p + j)]; };
  const auto ones = [&](std::int64_t j) { return G[at((d_ + 1) * p + j)]; };
  const double total = ones(d_ + 1);
  std::vector<double> result;
  for (std::int64_t a = 0; a < W.rows(); ++a) {
    double wGw = 0, wq = 0, ws = 0, b = train.mean[at(d_)];
    for (std::int64_t j = 0; j < d_; ++j) {
      const double w = coef[at(a * d_ + j)];
      if (w == 0) continue;
      wGw += w * WG[at(a * d_ + j)], wq += w * target(j), ws += w * ones(j), b -= w * train.mean[at(j)];
    }
    result.push_back(std::max(0.0, target(d_) - 2 * wq + wGw - 2 * b * ones(d_) + 2 * b * ws + b * b * total) / total);
  }
  return result;
}

std::vector<double> FoldGrams::neighbour_products(std::size_t fold, const std::vector<double>& V) const {
  const std::int64_t p = side(), count = static_cast<std::int64_t>(V.size()) / p;
  const Matrix<double> rows(ctx_.memory(), count, p, V);
  Matrix<double> products(ctx_.memory(), count, p);
  ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, rows.view(), std::as_const(tests_[fold]).view(),
                                  0.0, products.view());
  const std::vector<double> VG = products.to_host();
  std::vector<double> result(at(2 * count), 0.0);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < p; ++j) {
      result[at(i)] += VG[at(i * p + j)] * V[at(i * p + j)];
      if (i + 1 < count) result[at(count + i)] += VG[at(i * p + j)] * V[at((i + 1) * p + j)];
    }
  return result;
}

}   // namespace kedge::engine
