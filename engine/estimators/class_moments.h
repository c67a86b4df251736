// Counts, means and variances of the columns over the rows of each class, on the host.
#pragma once

#include <vector>

#include "engine/core/array.h"
#include "engine/core/context.h"

namespace kedge::engine {

struct ClassMoments {
  std::vector<double> count, mean, variance;   // of `classes`, classes x columns, row-major
};

// BayesOps::class_moments(), fetched at once: waits cost more than bytes.
template <class T>
ClassMoments fetch_class_moments(const Context& ctx, MatrixView<const T> X, VectorView<const std::int32_t> rows,
                                 VectorView<const std::int32_t> y, VectorView<const double> weights,
                                 std::int64_t classes) {
  const std::int64_t cells = classes * X.cols;
  Array<double> found(ctx.memory(), classes + 2 * cells);
  const MatrixView<double> mean(found.view().slice(classes, cells).data, classes, X.cols),
      variance(found.view().slice(classes + cells, cells).data, classes, X.cols);
  ctx.ops<T>().bayes->class_moments(X, rows, y, weights, found.view().slice(0, classes), mean, variance);
  const std::vector<double> host = found.to_host();
  const auto means = host.begin() + classes, variances = means + cells;
  return {{host.begin(), means}, {means, variances}, {variances, host.end()}};
}

}   // namespace kedge::engine
