// Ridge: its parameters, and the solution of one target.
#include "engine/estimators/linear/ridge.h"

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

constexpr const char* kName = "Ridge";

const ParamSet<RidgeOptions>& param_set() {
  static const ParamSet<RidgeOptions> set = [] {
    ParamSet<RidgeOptions> made(kName);
    add_ridge_solver_params(add_ridge_params(made));
    return made;
  }();
  return set;
}

}   // namespace

std::vector<std::string> ridge_deviations() {
  return {
      "Sparse data of more than 4,194,304 cells are solved by conjugate gradients, to rounding, for any tol and max_iter.",
      "Solvers lsqr, sparse_cg, sag and saga are accepted and the problem solved exactly, by Cholesky's decomposition; solver_ "
      "says what was done.",
      "Positive coefficients are found exactly, by an active set; max_iter and tol have no meaning, and n_iter_ is null.",
      "float32 input is solved in double."};
}

template <class T>
Ridge<T>::Ridge(const schema::ValueMap& params)
    : params_(param_set().parse(params)), alphas_(check_ridge_options(kName, params_)) {}

template <class T>
schema::EstimatorInfo Ridge<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "linear_model",
          .doc = "Least squares with an L2 penalty.",
          .params = param_set().infos(),
          .attributes = {"coef_", "intercept_", "n_iter_", "solver_"},
          .deviations = ridge_deviations()};
}

template <class T>
void Ridge<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  model_.fit(ctx, kName, X, "values", params_, alphas_,
             [&] { return RidgeTargets{y.device_values(ctx), y.device_weights(ctx)}; });
}

template <class T>
std::vector<double> Ridge<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, model_.solution().coef.size());
  return model_.host_values(ctx, X);
}

template <class T>
schema::ValueMap Ridge<T>::attributes() const {
  const RidgeSolution& found = model_.solution();
  return {{"coef_", found.coef},
          {"intercept_", found.intercept.empty() ? schema::Value() : schema::Value(found.intercept[0])},
          {"n_iter_", nullptr},
          {"solver_", found.solver}};
}

template <class T>
void Ridge<T>::state(StateArchive& archive) {
  model_.state(archive, 1);
}

template class Ridge<float>;
template class Ridge<double>;

}   // namespace kedge::engine
