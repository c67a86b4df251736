// How the points of a descent take their slopes, the same on every device.
#pragma once

#include "engine/core/portability.h"

namespace kedge::engine {

// Of one coordinate: its last step, and its gain.
struct Motion {
  double step, gain;
};

// The next step for this slope; `taken` is the slope times its gain. Source: Jacobs, "Increased rates of convergence
// through learning rate adaptation", 1988.
KEDGE_HD_INLINE Motion next_motion(Motion before, double slope, double momentum, double rate, double& taken) {
  constexpr double kLeastGain = 0.01;
  const double wanted = before.step * slope < 0 ? before.gain + 0.2 : before.gain * 0.8;
  const double gain = wanted > kLeastGain ? wanted : kLeastGain;
  taken = slope * gain;
  return {momentum * before.step - rate * taken, gain};
}

}   // namespace kedge::engine
