// Classes as targets of 1 and -1, and scores of such targets as a decision: what linear classifiers of one line a class
// share.
#pragma once

#include <vector>

#include "engine/estimators/classes.h"

namespace kedge::engine {

// One target for two classes or fewer, otherwise one for each.
inline std::int64_t sign_targets(const PresentClasses& present) {
  return present.size() <= 2 ? 1 : present.size();
}

// n_rows x sign_targets: 1 where the row has the target's class (of two: the second), otherwise -1.
std::vector<double> class_signs(const PresentClasses& present, const Target& y);

// The same on the device.
Matrix<double> device_class_signs(const Context& ctx, const PresentClasses& present, const Target& y);

// Sample weight times class weight of each row; empty if all weigh 1.
std::vector<double> class_row_weights(const std::vector<double>& by_class, const PresentClasses& present,
                                      const Target& y);

// Scores (n_rows x sign_targets) as Classifier::decision_function(). A single class is always predicted.
void sign_decision(const Context& ctx, const PresentClasses& present, std::vector<double> scores,
                   MatrixView<double> decision);

}   // namespace kedge::engine
