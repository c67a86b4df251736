// t-SNE's gradient descent: its phases on any device, and its iterations on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/embedding_functors.h"
#include "engine/backend/host/step_team.h"
#include "engine/backend/ops/embedding.h"
#include "engine/core/context.h"
#include "engine/estimators/manifold/affinities.h"
#include "engine/estimators/manifold/attraction.h"
#include "engine/estimators/manifold/repulsion.h"

namespace kedge::engine {

struct DescentPhase {
  std::int64_t last, patience;   // iterations: where it ends at the latest, and without progress
  double least_gradient;         // it ends below this length
  PointStep step;
};

struct DescentEnd {
  std::int64_t iteration;   // the last one
  double divergence;        // before it
};

// Goes on from iteration `first`, and looks at progress after each 50. Errors: kCancelled.
DescentEnd run_phase(const Context& ctx, PointDescent& descent, const DescentPhase& phase, std::int64_t first,
                     std::int64_t total);

// On the host's threads: far points count as one, by `angle` (repulsion.h). Context and team outlive it.
class HostDescent final : public PointDescent {
 public:
  HostDescent(const Context& ctx, StepTeam& team, Affinities affinities, EmbeddedPoints points, double angle);

  void restart() override;
  DescentMeasure advance(const PointStep& step, std::int64_t count) override;
  std::vector<double> points() const override { return Y_.coordinates; }

 private:
  double slopes(double exaggeration, bool wants_divergence);   // returns the divergence, if it is wanted
  double move(const PointStep& step);                          // returns the squares of what was taken
  double divergence_of(std::int64_t i, double exaggeration, double total) const;
  Entries entries(std::int64_t i) const;

  const Context& ctx_;
  StepTeam& team_;
  Affinities P_;
  EmbeddedPoints Y_, repelled_;
  std::vector<float> weights_, narrow_;   // the affinities, and the points
  std::vector<double> gradient_;
  std::vector<Motion> motions_;
  Repulsion repulsion_;
  double angle_;
};

}   // namespace kedge::engine
