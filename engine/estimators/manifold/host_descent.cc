// The slopes of a block of points are made by one thread; every sum has one order.
#include "engine/estimators/manifold/host_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/estimators/manifold/row_blocks.h"

namespace kedge::engine {

DescentEnd run_phase(const Context& ctx, PointDescent& descent, const DescentPhase& phase, std::int64_t first,
                     std::int64_t total) {
  constexpr std::int64_t kCheck = 50;   // iterations between two looks at progress
  descent.restart();
  double best = std::numeric_limits<double>::infinity();
  DescentEnd end{first, best};
  for (std::int64_t done = first, best_at = first; done < phase.last;) {
    const std::int64_t next = std::min((done / kCheck + 1) * kCheck, phase.last);
    const DescentMeasure measure = descent.advance(phase.step, next - done);
    done = next;
    end = {done - 1, measure.divergence};
    if (done % kCheck != 0) break;   // the end of the phase
    ctx.progress("iterations", done, total, "iterations");
    if (end.divergence < best) best = end.divergence, best_at = end.iteration;
    else if (end.iteration - best_at > phase.patience) break;
    if (std::sqrt(measure.squares) <= phase.least_gradient) break;
  }
  return end;
}

HostDescent::HostDescent(const Context& ctx, StepTeam& team, Affinities affinities, EmbeddedPoints points, double angle)
    : ctx_(ctx),
      team_(team),
      P_(std::move(affinities)),
      Y_(std::move(points)),
      repelled_(Y_),
      weights_(P_.values.begin(), P_.values.end()),
      gradient_(Y_.coordinates.size()),
      repulsion_(team),
      angle_(angle) {
  restart();
}

void HostDescent::restart() {
  motions_.assign(gradient_.size(), {0, 1});
}

DescentMeasure HostDescent::advance(const PointStep& step, std::int64_t count) {
  DescentMeasure measure;
  for (std::int64_t i = 0; i < count; ++i) {
    ctx_.check_stop();
    measure.divergence = slopes(step.exaggeration, i == count - 1);
    measure.squares = move(step);
  }
  return measure;
}

double HostDescent::move(const PointStep& step) {
  double squares = 0;
  for (std::size_t e = 0; e < motions_.size(); ++e) {
    double taken;
    motions_[e] = next_motion(motions_[e], gradient_[e], step.momentum, step.rate, taken);
    squares += taken * taken;
    Y_.coordinates[e] += motions_[e].step;
  }
  return squares;
}

double HostDescent::slopes(double exaggeration, bool wants_divergence) {
  const double total = repulsion_.forces(Y_, angle_, repelled_);
  const double freedom = Y_.dims == 3 ? 2 : 1, factor = 2 * (freedom + 1) / freedom;
  narrow_.assign(Y_.coordinates.begin(), Y_.coordinates.end());
  std::vector<double> divergence(static_cast<std::size_t>(row_blocks(Y_.n)));
  for_row_blocks(team_, Y_.n, [&](std::int64_t begin, std::int64_t end) {
    double& own = divergence[static_cast<std::size_t>(begin / kRowBlock)];
    for (std::int64_t i = begin; i < end; ++i) {
      const Pull pulled = pull(narrow_.data(), Y_.n, Y_.dims, i, entries(i));
      for (int d = 0; d < Y_.dims; ++d)
        gradient_[static_cast<std::size_t>(d * Y_.n + i)] =
            factor * (exaggeration * pulled.force[d] - repelled_.lane(d)[i] / total);
      if (wants_divergence) own += divergence_of(i, exaggeration, total);
    }
  });
  return std::accumulate(divergence.begin(), divergence.end(), 0.0);
}

Entries HostDescent::entries(std::int64_t i) const {
  const std::int64_t begin = P_.row_begin[static_cast<std::size_t>(i)];
  return {P_.columns.data() + begin, weights_.data() + begin, P_.row_begin[static_cast<std::size_t>(i) + 1] - begin};
}

double HostDescent::divergence_of(std::int64_t i, double exaggeration, double total) const {
  constexpr double kTiny = 1.1754943508222875e-38;   // scikit-learn's: the least normal float32
  double divergence = 0;
  for (std::int64_t e = P_.row_begin[static_cast<std::size_t>(i)]; e < P_.row_begin[static_cast<std::size_t>(i) + 1];
       ++e) {
    const std::int64_t j = P_.columns[static_cast<std::size_t>(e)];
    double squared = 0;
    for (int d = 0; d < Y_.dims; ++d) squared += (Y_.lane(d)[i] - Y_.lane(d)[j]) * (Y_.lane(d)[i] - Y_.lane(d)[j]);
    const double w = 1 / (1 + (Y_.dims == 3 ? squared / 2 : squared)),
                 q = (Y_.dims == 3 ? w * std::sqrt(w) : w) / total;
    const double p = P_.values[static_cast<std::size_t>(e)] * exaggeration;
    divergence += p * std::log(std::max(p, kTiny) / std::max(q, kTiny));
  }
  return divergence;
}

}   // namespace kedge::engine
