// Functions of the target by name, and their inverses.
#include "engine/estimators/meta/transformed_target.h"

#include <algorithm>
#include <cmath>

#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

constexpr const char* kName = "TransformedTargetRegressor";

struct NamedFunction {
  const char* name;
  double (*at)(double);
};
constexpr NamedFunction kFunctions[] = {
    {"log", [](double y) { return std::log(y); }},     {"exp", [](double y) { return std::exp(y); }},
    {"log1p", [](double y) { return std::log1p(y); }}, {"expm1", [](double y) { return std::expm1(y); }},
    {"log2", [](double y) { return std::log2(y); }},   {"exp2", [](double y) { return std::exp2(y); }},
    {"sqrt", [](double y) { return std::sqrt(y); }},   {"square", [](double y) { return y * y; }},
    {"cbrt", [](double y) { return std::cbrt(y); }},   {"arcsinh", [](double y) { return std::asinh(y); }},
    {"sinh", [](double y) { return std::sinh(y); }},   {"negative", [](double y) { return -y; }},
};

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const NamedFunction& function : kFunctions) names.emplace_back(function.name);
  return names;
}

// No name: the same value.
double applied(const std::optional<std::string>& name, double y) {
  if (!name) return y;
  return std::ranges::find_if(kFunctions, [&](const NamedFunction& f) { return f.name == *name; })->at(y);
}

const ParamSet<TransformedTargetParams>& param_set() {
  using P = TransformedTargetParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("regressor", &P::regressor, std::move(forms),
               "Is fitted to func of the target; null takes LinearRegression.")
          .ignore("transformer", nullptr, {null_form()})
          .any("func", &P::func, {string_form(function_names()), null_form()},
               "Function of the target, by numpy's name; null for none.")
          .any("inverse_func", &P::inverse_func, {string_form(function_names()), null_form()},
               "What brings predictions back, by numpy's name; null for none.")
          .add("check_inverse", &P::check_inverse, "Warn where inverse_func does not bring the fitted targets back.");
  return set;
}

}   // namespace

template <class T>
TransformedTargetRegressor<T>::TransformedTargetRegressor(const schema::ValueMap& params)
    : params_(param_set().parse(params)),
      predictor_(params_.regressor.is_null() ? schema::Value(schema::ValueMap{{"estimator", "LinearRegression"}})
                                             : params_.regressor,
                 "params.regressor", NestedPredictor<T>::Kind::kRegressor) {
  if (params_.func && !params_.inverse_func)
    refuse_param(kName, "inverse_func", nullptr, "must be given where func is");
}

template <class T>
schema::EstimatorInfo TransformedTargetRegressor<T>::info() {
  return {
      .name = kName,
      .kind = "regressor",
      .family = "compose",
      .doc = "Fit a regressor to a function of the target, and bring its predictions back.",
      .params = param_set().infos(),
      .attributes = {"regressor_"},
      .deviations = {"func and inverse_func are names of numpy's functions; a transformer of the target is refused."}};
}

template <class T>
void TransformedTargetRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  Target own = y;
  bool is_inverse = true;
  for (double& value : own.values) {
    const double before = value;
    value = applied(params_.func, value);
    require(std::isfinite(value), schema::ErrorCode::kBadData, "{}: the target has {}, whose {} is not finite", kName,
            before, params_.func.value_or(""));
    is_inverse =
        is_inverse && std::abs(applied(params_.inverse_func, value) - before) <= 1e-8 + 1e-5 * std::abs(before);
  }
  if (params_.check_inverse && !is_inverse)
    ctx.warn(std::string(kName) + ": inverse_func is not the inverse of func for the fitted targets");
  predictor_.fit(ctx, kName, X, own);
}

template <class T>
std::vector<double> TransformedTargetRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<double> values = predictor_.values(ctx, kName, X);
  for (double& value : values) value = applied(params_.inverse_func, value);
  return values;
}

template class TransformedTargetRegressor<float>;
template class TransformedTargetRegressor<double>;

}   // namespace kedge::engine
