// Distances and moments of rows for FastMCD.
#include "engine/estimators/covariance/mcd_rows.h"

#include <algorithm>

#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

using Numbers = std::vector<double>;
constexpr std::int64_t kBlockRows = 8192;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}   // namespace

Numbers HostMcdRows::distances(const Numbers& location, const Numbers& F) const {
  check_job_stop();
  Numbers found(at(n())), x(at(d_)), y(at(d_));
  Numbers columns(F.size());   // F transposed: sums along rows then have no order to keep
  for (std::int64_t i = 0; i < d_; ++i)
    for (std::int64_t j = 0; j < d_; ++j) columns[at(j * d_ + i)] = F[at(i * d_ + j)];
  for (std::int64_t r = 0; r < n(); ++r) {
    std::ranges::fill(y, 0.0);
    for (std::int64_t j = 0; j < d_; ++j) {
      const double difference = X_[at(r * d_ + j)] - location[at(j)];
      const double* const column = columns.data() + j * d_;
      for (std::int64_t i = 0; i < d_; ++i) y[at(i)] += difference * column[i];
    }
    double sum = 0;
    for (const double value : y) sum += value * value;
    found[at(r)] = sum;
  }
  return found;
}

void HostMcdRows::moments(const std::vector<std::int32_t>& rows, Numbers& location, Numbers& covariance) const {
  check_job_stop();
  location.assign(at(d_), 0.0), covariance.assign(at(d_ * d_), 0.0);
  const double count = static_cast<double>(rows.size());
  for (const std::int32_t r : rows)
    for (std::int64_t j = 0; j < d_; ++j) location[at(j)] += X_[at(r * d_ + j)];
  for (double& value : location) value /= count;
  Numbers x(at(d_));
  for (const std::int32_t r : rows) {
    for (std::int64_t j = 0; j < d_; ++j) x[at(j)] = X_[at(r * d_ + j)] - location[at(j)];
    for (std::int64_t i = 0; i < d_; ++i)
      for (std::int64_t j = 0; j <= i; ++j) covariance[at(i * d_ + j)] += x[at(i)] * x[at(j)];
  }
  for (std::int64_t i = 0; i < d_; ++i)
    for (std::int64_t j = 0; j <= i; ++j) covariance[at(j * d_ + i)] = covariance[at(i * d_ + j)] /= count;
}

Numbers DeviceMcdRows::distances(const Numbers& location, const Numbers& F) const {
  const std::int64_t d = X_.cols, step = std::max(kBlockRows, block_rows(ctx_, 1, d));
  Numbers offset(at(d), 0.0);   // F location, with the sign of what is added
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j) offset[at(i)] -= F[at(i * d + j)] * location[at(j)];
  const Matrix<double> factor(ctx_.memory(), d, d, F);
  const Array<double> shift(ctx_.memory(), std::span<const double>(offset));
  Array<double> squared(ctx_.memory(), X_.rows);
  Matrix<double> block(ctx_.memory(), std::min(step, X_.rows), d);
  Backend<double>& ops = ctx_.ops<double>();
  for (std::int64_t first = 0; first < X_.rows; first += step) {
    ctx_.check_stop();
    const std::int64_t count = std::min(step, X_.rows - first);
    const MatrixView<double> rows = block.view().row_range(0, count);
    ops.linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, X_.row_range(first, count), factor.view(), 0.0, rows);
    ops.rows->add_to_rows(shift.view(), rows);
    ops.rows->row_squared_norms(rows, squared.view().slice(first, count));
  }
  return squared.to_host();
}

void DeviceMcdRows::moments(const std::vector<std::int32_t>& rows, Numbers& location, Numbers& covariance) const {
  const std::int64_t d = X_.cols;
  const Array<std::int32_t> chosen(ctx_.memory(), std::span<const std::int32_t>(rows));
  Array<double> mean(ctx_.memory(), d);
  Matrix<double> gram(ctx_.memory(), d, d);
  ctx_.ops<double>().tables->column_moments(X_, chosen.view(), {}, mean.view(), {});
  ctx_.ops<double>().design->gram({.X = X_, .rows = chosen.view(), .shift = std::as_const(mean).view()}, gram.view());
  location = mean.to_host(), covariance = gram.to_host();
  for (double& value : covariance) value /= static_cast<double>(rows.size());
}

HostMcdRows DeviceMcdRows::taken(const std::vector<std::int32_t>& rows) const {
  const Array<std::int32_t> chosen(ctx_.memory(), std::span<const std::int32_t>(rows));
  Matrix<double> made(ctx_.memory(), chosen.size(), X_.cols);
  ctx_.ops<double>().tables->gather(X_, chosen.view(), {}, {}, made.view());
  return {made.to_host(), X_.cols};
}

}   // namespace kedge::engine
