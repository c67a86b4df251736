// One linear support vector machine: the line of some samples, as LinearSVC and LinearSVR need it.
#pragma once

#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

struct SvmOptions {
  double C = 1;
  double intercept_scaling = 1;   // 0: no intercept
  std::int64_t max_iter = 1000;
  bool is_squared = true, is_l1 = false;
  double epsilon = 0;   // of the tube; of classes it has no meaning
  bool has_tube = false;
};

struct SvmLine {
  std::vector<double> coef;
  double intercept = 0;
  std::int64_t n_iter = 0;
};

// y: the target, or where there is no tube 1 and -1. weights: one a row, not all 0, or empty. Warns through the context
// when max_iter is reached.
template <class T>
SvmLine fit_svm(const Context& ctx, const char* owner, const Samples<T>& X, const std::vector<double>& y,
                const std::vector<double>& weights, const SvmOptions& options);

}   // namespace kedge::engine
