// Parameters that all support vector machines share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/kernels/kernel_matrix.h"
#include "engine/estimators/samples.h"
#include "engine/estimators/svm/smo_solver.h"

namespace kedge::engine {

struct SvmParams {
  std::string kernel = "rbf";
  std::int64_t degree = 3, max_iter = -1;
  schema::Value gamma = std::string("scale");
  double coef0 = 0, tol = 1e-3, cache_size = 200;
  double C = 1, nu = 0.5, epsilon = 0.1;   // of those that have them
  bool shrinking = true;
};

// kernel, degree, gamma, coef0, tol, cache_size, shrinking, verbose and max_iter.
template <class P>
ParamSet<P>& add_svm_params(ParamSet<P>& set) {
  return set
      .add("kernel", &P::kernel, {"linear", "poly", "rbf", "sigmoid"},
           "What takes the place of the product of two rows.")
      .add("degree", &P::degree, at_least(0), "Degree of the poly kernel.")
      .any("gamma", static_cast<schema::Value P::*>(&P::gamma),
           {string_form({"scale", "auto"}), number_form(at_least(0))},
           "Factor of the rbf, poly and sigmoid kernels. scale: 1 / (n_features * variance of all values); auto: 1 / "
           "n_features.")
      .add("coef0", &P::coef0, {}, "Constant of the poly and sigmoid kernels.")
      .add("tol", &P::tol, above(0), "Largest violation of the optimality conditions at which the fit ends.")
      .add("cache_size", &P::cache_size, above(0),
           "Megabytes of kernel values that are kept; at least two working sets are.")
      .add("shrinking", &P::shrinking, "Does not change the result: working sets take its place.")
      .add("max_iter", &P::max_iter, at_least(-1), "Most steps of two multipliers; -1: no limit.")
      .ignore("verbose", false, {boolean_form(), integer_form()});
}

// The kernel with gamma as a number; `X` is read for scale.
template <class T>
KernelChoice svm_kernel(const Context& ctx, const SvmParams& params, const Samples<T>& X);

SmoOptions smo_options(const SvmParams& params);
std::int64_t cache_bytes(const SvmParams& params);

// Sentences that hold for each of them.
std::vector<std::string> svm_deviations(std::vector<std::string> own = {});

// Warns where max_iter ended a fit, and once where a fit met that its kernel is not positive semidefinite.
void warn_of_fits(const Context& ctx, const char* owner, const SvmParams& params, std::span<const SmoResult> fits);

}   // namespace kedge::engine
