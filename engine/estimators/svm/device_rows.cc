// Kernel rows by blocks of a matrix product, put where the rows lie that were used least recently.
#include "engine/estimators/svm/device_rows.h"

#include <algorithm>

namespace kedge::engine {

template <class T>
DeviceRows::DeviceRows(const Context& ctx, SupportVectorOps& ops, const KernelChoice& choice, MatrixView<const T> X,
                       double tol, std::int64_t cache_bytes)
    : ctx_(ctx), ops_(ops), choice_(choice), m_(X.rows), points_(kernel_points(ctx, choice, X, tol)) {
  const std::int64_t row_bytes = m_ * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t capacity =
      std::clamp(cache_bytes / std::max<std::int64_t>(1, row_bytes), std::min(2 * kSmoSet, m_), m_);
  kept_ = Matrix<float>(ctx.memory(), capacity, m_), square_ = Matrix<float>(ctx.memory(), kSmoSet, kSmoSet);
  place_of_.assign(static_cast<std::size_t>(m_), -1), row_in_.assign(static_cast<std::size_t>(capacity), -1);
  for (std::int64_t place = 0; place < capacity; ++place)
    use_of_.push_back(by_use_.insert(by_use_.end(), static_cast<std::int32_t>(place)));
}

// The kernel values of these rows with all rows, or between them.
template <class E>
Matrix<E> DeviceRows::products(const KernelPoints<E>& points, VectorView<const std::int32_t> rows,
                               bool with_all) const {
  TableOps<E>& tables = *ctx_.ops<E>().tables;
  Matrix<E> some(ctx_.memory(), rows.size, points.X.cols), norms(ctx_.memory(), rows.size, 1);
  const VectorView<const E> all_norms = points.device_norms.view();
  tables.gather(points.X, rows, {}, {}, some.view());
  tables.gather(MatrixView<const E>(all_norms.data, m_, 1), rows, {}, {}, norms.view());
  const VectorView<const E> own_norms(std::as_const(norms).data(), rows.size);
  Matrix<E> K(ctx_.memory(), rows.size, with_all ? m_ : rows.size);
  const MatrixView<const E> others = with_all ? points.X : std::as_const(some).view();
  ctx_.ops<E>().linear->gemm(Transpose::kNo, Transpose::kYes, E{1}, std::as_const(some).view(), others, E{0}, K.view());
  apply_kernel<E>(ctx_, choice_, own_norms, with_all ? all_norms : own_norms, K.view());
  return K;
}

MatrixView<const float> DeviceRows::square(VectorView<const std::int32_t> rows) {
  if (points_.is_double) {
    const Matrix<double> K = products(points_.in_double, rows, false);
    ops_.put_rows(K.view(), {}, square_.view());
  } else {
    square_ = products(points_.in_float, rows, false);
  }
  return std::as_const(square_).view();
}

void DeviceRows::compute(std::span<const std::int32_t> rows, std::span<const std::int32_t> places) {
  const std::int64_t fit = ctx_.device.traits().block_bytes / (m_ * static_cast<std::int64_t>(sizeof(double)));
  const auto block = static_cast<std::size_t>(std::clamp<std::int64_t>(fit, 1, kSmoSet));
  for (std::size_t first = 0; first < rows.size(); first += block) {
    ctx_.check_stop();
    const std::size_t count = std::min(block, rows.size() - first);
    const Array<std::int32_t> from(ctx_.memory(), rows.subspan(first, count)),
        to(ctx_.memory(), places.subspan(first, count));
    if (points_.is_double) {
      const Matrix<double> K = products(points_.in_double, from.view(), true);
      ops_.put_rows(K.view(), to.view(), kept_.view());
    } else {
      const Matrix<float> K = products(points_.in_float, from.view(), true);
      ops_.put_rows(K.view(), to.view(), kept_.view());
    }
  }
}

std::vector<std::int32_t> DeviceRows::load(std::span<const std::int32_t> rows) {
  const auto use = [&](std::int32_t place) {
    by_use_.splice(by_use_.end(), by_use_, use_of_[static_cast<std::size_t>(place)]);
  };
  for (const std::int32_t row : rows)   // what is there stays
    if (const std::int32_t place = place_of_[static_cast<std::size_t>(row)]; place >= 0) use(place);
  std::vector<std::int32_t> places, missing, freed;
  for (const std::int32_t row : rows) {
    std::int32_t& place = place_of_[static_cast<std::size_t>(row)];
    if (place < 0) {
      place = by_use_.front();
      std::int32_t& held = row_in_[static_cast<std::size_t>(place)];
      if (held >= 0) place_of_[static_cast<std::size_t>(held)] = -1;
      held = row;
      use(place);
      missing.push_back(row), freed.push_back(place);
    }
    places.push_back(place);
  }
  compute(missing, freed);
  return places;
}

template DeviceRows::DeviceRows(const Context&, SupportVectorOps&, const KernelChoice&, MatrixView<const float>, double,
                                std::int64_t);
template DeviceRows::DeviceRows(const Context&, SupportVectorOps&, const KernelChoice&, MatrixView<const double>,
                                double, std::int64_t);

}   // namespace kedge::engine
