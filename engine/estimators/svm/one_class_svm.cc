// OneClassSVM: the sum of the multipliers is nu times their bounds; the threshold is where the boundary lies.
#include "engine/estimators/svm/one_class_svm.h"

#include <algorithm>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/svm/smo_device.h"

namespace kedge::engine {
namespace {

using P = SvmParams;
constexpr const char* kName = "OneClassSVM";
constexpr std::int64_t kMostTogether = 512;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kName);
    made.add("nu", &P::nu, above_up_to(0, 1), "Share of rows outside at most, and of support vectors at least.");
    return add_svm_params(made);
  }();
  return set;
}

SmoProblem problem(double nu, std::int64_t n, const std::vector<double>& weights) {
  SmoProblem made{.ranges = {{0, n}}};
  made.row.resize(static_cast<std::size_t>(n));
  std::iota(made.row.begin(), made.row.end(), 0);
  made.y.assign(made.size(), 1), made.offset.assign(made.size(), 0.0);
  made.C = weights.empty() ? std::vector<double>(made.size(), 1.0) : weights;
  double left = nu * std::accumulate(made.C.begin(), made.C.end(), 0.0);
  for (const double C : made.C) {
    made.alpha.push_back(std::min(C, left));
    left -= made.alpha.back();
  }
  return made;
}

}   // namespace

template <class T>
OneClassSVM<T>::OneClassSVM(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo OneClassSVM<T>::info() {
  std::vector<std::string> attributes = SvmModel<T>::attribute_names();
  attributes.emplace_back("offset_");
  return {.name = kName,
          .kind = "clusterer",
          .family = "svm",
          .doc = "A boundary around most of the rows: 1 within it, -1 outside.",
          .params = param_set().infos(),
          .attributes = std::move(attributes),
          .deviations = svm_deviations({"It is a clusterer whose labels are 1 and -1: what predict gives."})};
}

template <class T>
void OneClassSVM<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  const std::int64_t n = X.n_rows();
  require(y.weights.empty() || std::ranges::any_of(y.weights, [](double w) { return w > 0; }),
          schema::ErrorCode::kBadData, "{}: all rows weigh 0", kName);
  const KernelChoice choice = svm_kernel(ctx, params_, X);
  Matrix<T> scratch;
  bool in_double = false;
  const auto solved = [&](auto&& kernel) {
    in_double = kernel.is_double();
    return solve_smo(kernel, problem(params_.nu, n, y.weights), smo_options(params_));
  };
  const MatrixView<const T> rows = X.values(ctx, scratch);
  SupportVectorOps* const ops = n > kWholeProblem ? support_vector_ops(ctx.device) : nullptr;
  const SmoResult result = ops ? solved(DeviceRows(ctx, *ops, choice, rows, params_.tol, cache_bytes(params_)))
                               : solved(KernelRows(ctx, choice, rows, params_.tol, cache_bytes(params_),
                                                   n <= kWholeProblem ? n : kMostTogether));
  model_.begin(kName, choice, in_double, n, X.n_cols());
  model_.intercept = {result.threshold[0]};
  std::vector<std::int64_t> support;
  std::vector<double> coefs;
  labels_.clear();
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (result.alpha[at] != 0) support.push_back(i), coefs.push_back(result.alpha[at]);
    labels_.push_back(result.values[at] + result.threshold[0] > 0 ? 1 : -1);
  }
  model_.add_fit(result);
  model_.set_support(ctx, X, std::move(support), std::move(coefs), 1, {0});
  warn_of_fits(ctx, kName, params_, {&result, 1});
}

template <class T>
std::vector<std::int32_t> OneClassSVM<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<std::int32_t> labels;
  model_.products(ctx, kName, X, [&](std::int64_t, std::int64_t, const std::vector<double>& sums) {
    for (const double sum : sums) labels.push_back(sum + model_.intercept[0] > 0 ? 1 : -1);
  });
  return labels;
}

template <class T>
schema::ValueMap OneClassSVM<T>::attributes() const {
  schema::ValueMap map = model_.attributes(1, false);
  map.emplace_back("n_support_", std::vector<double>{static_cast<double>(model_.n_support())});
  map.emplace_back("offset_", std::vector<double>{-model_.intercept[0]});
  return map;
}

template <class T>
void OneClassSVM<T>::state(StateArchive& archive) {
  model_.state(archive, 1, 1, 1);
  archive.indices("labels", labels_, kAnySize, -1, 1);
}

template class OneClassSVM<float>;
template class OneClassSVM<double>;

}   // namespace kedge::engine
