// Targets of 1 and -1, and what their scores say.
#include "engine/estimators/linear/class_signs.h"

#include <limits>

#include "engine/core/stop.h"

namespace kedge::engine {

std::vector<double> class_signs(const PresentClasses& present, const Target& y) {
  const auto targets = static_cast<std::size_t>(sign_targets(present));
  std::vector<double> Y(y.codes.size() * targets, -1.0);
  for (std::size_t i = 0; i < y.codes.size(); ++i) {
    check_job_stop();
    const std::int32_t c = present.positions[static_cast<std::size_t>(y.codes[i])];
    if (targets > 1) Y[i * targets + static_cast<std::size_t>(c)] = 1;
    else if (c == 1) Y[i] = 1;
  }
  return Y;
}

Matrix<double> device_class_signs(const Context& ctx, const PresentClasses& present, const Target& y) {
  const auto targets = static_cast<std::size_t>(sign_targets(present)), classes = present.codes.size();
  std::vector<double> signs(classes * targets, -1.0);
  for (std::size_t c = 0; c < classes; ++c) {
    if (targets > 1) signs[c * targets + c] = 1;
    else if (c == 1) signs[c] = 1;
  }
  Matrix<double> Y(ctx.memory(), static_cast<std::int64_t>(y.codes.size()), static_cast<std::int64_t>(targets));
  put_rows_by_class(ctx, present, y, signs, Y.view());
  return Y;
}

std::vector<double> class_row_weights(const std::vector<double>& by_class, const PresentClasses& present,
                                      const Target& y) {
  if (by_class.empty()) return y.weights;
  std::vector<double> weights = y.weights.empty() ? std::vector<double>(y.codes.size(), 1.0) : y.weights;
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] *= by_class[static_cast<std::size_t>(present.positions[static_cast<std::size_t>(y.codes[i])])];
  return weights;
}

void sign_decision(const Context& ctx, const PresentClasses& present, std::vector<double> scores,
                   MatrixView<double> decision) {
  constexpr double kAbsent = -std::numeric_limits<double>::infinity();
  const std::int64_t n_rows = decision.rows;
  if (present.size() > 2) {
    const Matrix<double> values(ctx.memory(), n_rows, present.size(), scores);
    return spread_scores(ctx, present, values.view(), kAbsent, decision);
  }
  // `scores` are of the second class, where there are two
  const bool only_second = present.size() == 1 && present.n_all() == 2 && present.codes[0] == 1;
  if (present.n_all() <= 2) {
    for (double& score : scores) score = only_second ? -score : score;
    ctx.memory().to_device(decision.data, scores.data(), scores.size() * sizeof(double));
    return;
  }
  std::vector<double> both;
  for (const double score : scores) {
    both.push_back(-score);
    if (present.size() == 2) both.push_back(score);
  }
  const Matrix<double> spread(ctx.memory(), n_rows, present.size(), both);
  spread_scores(ctx, present, spread.view(), kAbsent, decision);
}

}   // namespace kedge::engine
