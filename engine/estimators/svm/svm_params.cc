// What parameters of support vector machines mean.
#include "engine/estimators/svm/svm_params.h"

#include <algorithm>

namespace kedge::engine {

template <class T>
KernelChoice svm_kernel(const Context& ctx, const SvmParams& params, const Samples<T>& X) {
  KernelChoice choice{.name = params.kernel, .coef0 = params.coef0, .degree = static_cast<double>(params.degree)};
  if (const auto* number = std::get_if<double>(&params.gamma.data)) {
    choice.gamma = *number;
    return choice;
  }
  choice.gamma = 1 / static_cast<double>(X.n_cols());
  if (std::get<std::string>(params.gamma.data) == "auto" || params.kernel == "linear") return choice;
  const double variance = total_variance(column_moments(ctx, X));
  choice.gamma = variance > 0 ? 1 / variance : 1;
  return choice;
}

SmoOptions smo_options(const SvmParams& params) {
  return {.tol = params.tol, .max_iter = params.max_iter};
}

std::int64_t cache_bytes(const SvmParams& params) {
  constexpr double kMegabyte = 1 << 20, kMost = 1 << 20;   // a terabyte
  return static_cast<std::int64_t>(std::min(params.cache_size, kMost) * kMegabyte);
}

std::vector<std::string> svm_deviations(std::vector<std::string> own) {
  std::vector<std::string> all{
      "The kernel precomputed, and callables, are not implemented.",
      "Solved in working sets of 512 multipliers (problems of up to 2048 are one set) until no pair violates by tol, "
      "as LIBSVM does: the multipliers differ within tol. Up to 512 of them that are between their bounds also move "
      "together, to where no two of them violate. n_iter_ counts the steps of this solver.",
      "Kernel values are rounded to float, as LIBSVM does; they are computed in float where that changes them little "
      "beside tol.",
      "duality_gap_ and dual_objective_, which scikit-learn does not have, show how near the optimum the fit ended."};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

void warn_of_fits(const Context& ctx, const char* owner, const SvmParams& params, std::span<const SmoResult> fits) {
  if (std::ranges::any_of(fits, &SmoResult::is_indefinite))
    ctx.warn(std::string(owner) + ": the kernel " + params.kernel +
             " is not positive semidefinite on these rows, so that the fit ends at one of several optima; take another "
             "gamma, coef0 or kernel");
  if (std::ranges::all_of(fits, &SmoResult::has_converged)) return;
  ctx.warn(std::string(owner) + ": ended after max_iter = " + std::to_string(params.max_iter) +
           " steps, before tol was reached; scale the columns, or raise max_iter");
}

template KernelChoice svm_kernel(const Context&, const SvmParams&, const Samples<float>&);
template KernelChoice svm_kernel(const Context&, const SvmParams&, const Samples<double>&);

}   // namespace kedge::engine
