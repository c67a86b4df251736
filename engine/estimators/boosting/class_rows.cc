// Spreads what was made class by class.
#include "engine/estimators/boosting/class_rows.h"

#include "engine/core/require.h"

namespace kedge::engine {

void put_rows(const Context& ctx, const PresentClasses& present, const std::vector<double>& outputs, double absent,
              MatrixView<double> out) {
  std::vector<double> rows(static_cast<std::size_t>(out.size()), absent);
  if (rows.empty()) return;
  require(out.stride == out.cols && out.cols == present.n_all(), schema::ErrorCode::kInternal,
          "scores need {} columns without padding", present.n_all());
  for (std::int64_t k = 0; k < present.size(); ++k)
    for (std::int64_t i = 0; i < out.rows; ++i)
      rows[static_cast<std::size_t>(i * out.cols + present.codes[static_cast<std::size_t>(k)])] =
          outputs[static_cast<std::size_t>(k * out.rows + i)];
  ctx.memory().to_device(out.data, rows.data(), rows.size() * sizeof(double));
}

}   // namespace kedge::engine
