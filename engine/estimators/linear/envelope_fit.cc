// The envelope of a loss with corners, its multipliers, and the outer iterations.
#include "engine/estimators/linear/envelope_fit.h"

#include <algorithm>
#include <cmath>

#include "engine/estimators/linear/margin_fit.h"

namespace kedge::engine {
namespace {

// With t = y - margin + dual / sigma, d = t outside of the tube and s = sigma d within the weight's bounds: the
// envelope's value is s d - s^2 / (2 sigma), its derivative by the margin -s, and s is the next dual.
class Envelope final : public MarginLoss {
 public:
  Envelope(const Context& ctx, const CornerLoss& loss, double sigma)
      : has_width_(loss.width > 0), constants_(ctx, constants(loss, sigma)) {}

  void write(const LaneMath& math, const MarginRows& rows, const MarginParts& out) const override {
    write_distance(math, rows, out.second);
    write_dual_of(math, rows, out.second, out.first, out.slope);
    math.multiply(out.slope, out.second, out.first), math.square(out.slope, out.second);
    math.multiply(out.slope, constant(kMinusOne), out.slope);
  }
  // sigma where s is within its bounds and, if there is a tube, t outside of it.
  void write_curvature(const LaneMath& math, const MarginRows& rows, MatrixView<double> out) const override {
    write_distance(math, rows, out);
    math.multiply(out, constant(kSigma), out);
    if (has_width_) math.abs(rows.z, rows.z), math.above(rows.z, constants_.slice(kLane, kLane), rows.z);
    else math.exp(0, rows.weights, rows.z);   // 1
    const VectorView<const double> zeros = constants_.slice(0, kLane);
    math.multiply(rows.weights, constant(kLow), rows.scratch), math.subtract(out, rows.scratch, rows.scratch);
    math.above(rows.scratch, zeros, rows.scratch), math.multiply(rows.z, rows.scratch, rows.z);
    math.multiply(rows.weights, constant(kHigh), rows.scratch), math.subtract(out, rows.scratch, out);
    math.above(out, zeros, out), math.multiply(out, constant(kMinusOne), out), math.add(out, constant(kOne), out);
    math.multiply(out, rows.z, out), math.multiply(out, constant(kSigma), out);
  }
  void write_dual(const LaneMath& math, const MarginRows& rows) const override {
    write_distance(math, rows, rows.scratch);
    write_dual_of(math, rows, rows.scratch, rows.z, rows.dual);
  }

 private:
  enum Constant {
    kSigma,
    kInverse,
    kLow,
    kHigh,
    kWidth,
    kMinusWidth,
    kOne,
    kMinusOne
  };   // behind the thresholds 0 and width
  static std::vector<double> constants(const CornerLoss& loss, double sigma) {
    std::vector<double> all(static_cast<std::size_t>(kLane), 0.0);
    all.insert(all.end(), static_cast<std::size_t>(kLane), loss.width);
    for (const double value : {sigma, 1 / sigma, loss.low, loss.high, loss.width, -loss.width, 1.0, -1.0})
      all.push_back(value);
    return all;
  }
  MatrixView<const double> constant(Constant which) const { return constants_[2 * kLane + which]; }

  // d into `out`, and t into rows.z.
  void write_distance(const LaneMath& math, const MarginRows& rows, MatrixView<double> out) const {
    const MatrixView<double> t = rows.z;
    math.subtract(rows.y, t, t);
    math.multiply(rows.dual, constant(kInverse), out), math.add(t, out, t);
    math.least(t, constant(kWidth), out), math.most(out, constant(kMinusWidth), out), math.subtract(t, out, out);
  }
  // s of the distance d; `bound` is overwritten.
  void write_dual_of(const LaneMath& math, const MarginRows& rows, MatrixView<const double> d, MatrixView<double> bound,
                     MatrixView<double> out) const {
    math.multiply(d, constant(kSigma), out);
    math.multiply(rows.weights, constant(kLow), bound), math.most(out, bound, out);
    math.multiply(rows.weights, constant(kHigh), bound), math.least(out, bound, out);
  }

  bool has_width_;
  LaneConstants constants_;
};

// The loss of the residual r itself, and by how much it is above what the duals say.
class CornerGap final : public MarginLoss {
 public:
  CornerGap(const Context& ctx, const CornerLoss& loss) : constants_(ctx, {loss.high, loss.low, loss.width, 0.0}) {}

  // first: the loss; second: the loss + width |dual| - dual r; slope: minus the dual, so that the slopes are the duals'
  // side of the gradient.
  void write(const LaneMath& math, const MarginRows& rows, const MarginParts& out) const override {
    math.subtract(rows.y, rows.z, rows.z);   // r
    math.subtract(rows.z, constants_[2], out.first), math.multiply(out.first, constants_[0], out.first);
    math.add(rows.z, constants_[2], out.second), math.multiply(out.second, constants_[1], out.second);
    math.most(out.first, out.second, out.first), math.most(out.first, constants_[3], out.first);
    math.multiply(out.first, rows.weights, out.first);
    math.abs(rows.dual, out.second), math.multiply(out.second, constants_[2], out.second);
    math.add(out.first, out.second, out.second);
    math.multiply(rows.z, rows.dual, rows.z), math.subtract(out.second, rows.z, out.second);
    math.subtract(rows.dual, rows.dual, out.slope), math.subtract(out.slope, rows.dual, out.slope);
  }
  void write_curvature(const LaneMath&, const MarginRows&, MatrixView<double>) const override {}

 private:
  LaneConstants constants_;
};

}   // namespace

template <class T>
CornerMinimum minimize_corners(const Context& ctx, MarginProblem<T>& problem, const CornerLoss& loss,
                               const std::vector<double>& penalty, std::vector<double> start, double residual,
                               const CornerOptions& options) {
  constexpr int kOuter = 60;
  constexpr double kFaster = 4, kEnough = 0.25;   // sigma grows where the gap has not fallen to this part
  CornerMinimum found{.v = std::move(start)};
  problem.keep_duals(ctx);
  const CornerGap gap_loss(ctx, loss);
  const double mean_weight = problem.weight_sum() / static_cast<double>(problem.n_rows());
  double sigma = mean_weight * std::max(loss.high, -loss.low) / std::max(residual, 1e-300), last = 0;
  const auto reporter = [&](std::int64_t done) {
    ctx.progress("iterations", found.iterations + done, options.max_iter, "iterations");
  };
  for (int outer = 0; outer < kOuter && found.iterations < options.max_iter && !found.is_converged; ++outer) {
    const Envelope envelope(ctx, loss, sigma);
    const auto value = [sigma](const MarginSums& sums) { return sums.first - sums.second / (2 * sigma); };
    const SmoothModel model = penalised_model(ctx, problem, envelope, value, 1.0, penalty);
    const std::int64_t left = options.max_iter - found.iterations;
    SmoothMinimum inner = problem.size() <= kMostCurved
                              ? minimize_curved(model, std::move(found.v), left, reporter)
                              : minimize_rounded(model, {}, std::move(found.v), 1.0, left, reporter);
    found.v = std::move(inner.x), found.iterations += std::max<std::int64_t>(inner.iterations, 1);
    problem.update_duals(ctx, envelope, found.v);
    const MarginSums sums = problem.sums(ctx, gap_loss, found.v);
    found.value = sums.first, found.gap = sums.second;
    for (std::size_t j = 0; j < found.v.size(); ++j) {
      // Fenchel's gap of the penalty: |gradient|^2 / (2 penalty), the gradient being that of the duals.
      found.value += penalty[j] * found.v[j] * found.v[j] / 2;
      const double gradient = sums.slopes[j] + penalty[j] * found.v[j];
      if (penalty[j] > 0) found.gap += gradient * gradient / (2 * penalty[j]);
    }
    found.is_converged = found.gap <= options.tol * std::abs(found.value) + 1e-300;
    if (outer == 0 || found.gap > kEnough * last) sigma *= kFaster;
    last = found.gap;
  }
  return found;
}

template CornerMinimum minimize_corners(const Context&, MarginProblem<float>&, const CornerLoss&,
                                        const std::vector<double>&, std::vector<double>, double, const CornerOptions&);
template CornerMinimum minimize_corners(const Context&, MarginProblem<double>&, const CornerLoss&,
                                        const std::vector<double>&, std::vector<double>, double, const CornerOptions&);

}   // namespace kedge::engine
