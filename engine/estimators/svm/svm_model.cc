// Decisions of support vector machines: a kernel matrix with the support vectors, in blocks of rows, and its products.
#include "engine/estimators/svm/svm_model.h"

#include <algorithm>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlockValues = std::int64_t{1} << 22;   // kernel values held together
constexpr std::int64_t kLeastRows = 64, kMostRows = 4096;

template <class T>
Matrix<double> widened(const Context& ctx, MatrixView<const T> X) {
  Matrix<double> wide(ctx.memory(), X.rows, X.cols);
  ctx.ops<T>().design->gather({.X = X}, 0, wide.view());
  return wide;
}

std::vector<double> doubles(const auto& values) {
  return {values.begin(), values.end()};
}

}   // namespace

template <class T>
void SvmModel<T>::begin(const char* owner, const KernelChoice& kernel, bool in_double, std::int64_t n_rows,
                        std::int64_t n_features) {
  *this = SvmModel();
  owner_ = owner, kernel_ = kernel, in_double_ = in_double, n_rows_ = n_rows, n_features_ = n_features;
}

template <class T>
void SvmModel<T>::set_support(const Context& ctx, const Samples<T>& X, std::vector<std::int64_t> support,
                              std::vector<double> coefs, std::int64_t width, std::vector<std::int64_t> first) {
  support_ = std::move(support), coefs_ = std::move(coefs), width_ = width, first_ = std::move(first);
  const auto is_finite = [](double value) { return value - value == 0; };
  require(std::ranges::all_of(coefs_, is_finite) && std::ranges::all_of(intercept, is_finite),
          schema::ErrorCode::kBadData,
          "{}: the multipliers left the range of numbers, because the values are too large; scale the columns", owner_);
  vectors_.clear();
  if (support_.empty()) return;
  Matrix<T> scratch;
  const Samples<T> chosen = selected_rows(ctx, X, support_);
  const MatrixView<const T> rows = chosen.values(ctx, scratch);
  if (scratch.rows() > 0) {
    vectors_ = scratch.to_host();
    return;
  }
  Matrix<T> packed(ctx.memory(), rows.rows, rows.cols);
  ctx.ops<T>().tables->gather(rows, {}, {}, {}, packed.view());
  vectors_ = packed.to_host();
}

template <class T>
void SvmModel<T>::add_fit(const SmoResult& result) {
  gaps_.push_back(result.gap), objectives_.push_back(result.objective);
  n_iter_.push_back(static_cast<double>(result.n_iter));
  has_converged_ = has_converged_ && result.has_converged;
}

template <class T>
std::int64_t SvmModel<T>::group_size(std::int64_t g) const {
  const auto at = static_cast<std::size_t>(g);
  return (at + 1 < first_.size() ? first_[at + 1] : n_support()) - first_[at];
}

template <class T>
Matrix<double> SvmModel<T>::decisions(const Context& ctx, const Samples<T>& X, std::int64_t first, std::int64_t count,
                                      const Matrix<T>& vectors, const Matrix<double>& wide) const {
  Matrix<T> scratch;
  const MatrixView<const T> rows = X.values(ctx, first, count, scratch);
  if constexpr (std::is_same_v<T, double>) return kernel_matrix<double>(ctx, kernel_, rows, vectors.view());
  else {
    if (in_double_) {
      const Matrix<double> wide_rows = widened(ctx, rows);
      return kernel_matrix<double>(ctx, kernel_, wide_rows.view(), wide.view());
    }
    const Matrix<T> K = kernel_matrix<T>(ctx, kernel_, rows, vectors.view());
    return widened(ctx, K.view());
  }
}

template <class T>
void SvmModel<T>::products(const Context& ctx, const char* owner, const Samples<T>& X, const Take& take) const {
  require_fitted_columns(owner, X, static_cast<std::size_t>(n_features_));
  const std::int64_t outputs = n_groups() * width_, n = n_support();
  const std::int64_t block = std::clamp(kBlockValues / std::max<std::int64_t>(1, n), kLeastRows, kMostRows);
  const Matrix<T> vectors(ctx.memory(), n, n_features_, vectors_);
  const Matrix<double> coefs(ctx.memory(), width_, n, coefs_);
  const Matrix<double> wide = in_double_ ? widened(ctx, vectors.view()) : Matrix<double>();
  for (std::int64_t begin = 0; begin < X.n_rows(); begin += block) {
    ctx.check_stop();
    const std::int64_t count = std::min(block, X.n_rows() - begin);
    std::vector<double> sums(static_cast<std::size_t>(count * outputs), 0.0);
    if (n > 0) {
      const Matrix<double> K = decisions(ctx, X, begin, count, vectors, wide);
      Matrix<double> out(ctx.memory(), n_groups(), count * width_);
      out.zero();
      for (std::int64_t g = 0; g < n_groups(); ++g) {
        const std::int64_t from = first_[static_cast<std::size_t>(g)];
        MatrixView<const double> of_group = K.view(), by = coefs.view();
        of_group = of_group.last_columns(n - from), of_group.cols = group_size(g);
        by = by.last_columns(n - from), by.cols = group_size(g);
        MatrixView<double> to = out.view().row_range(g, 1);
        to.rows = count, to.cols = to.stride = width_;
        if (group_size(g) > 0)
          ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, of_group, by, 0.0, to);
      }
      const std::vector<double> host = out.to_host();
      for (std::int64_t g = 0; g < n_groups(); ++g)
        for (std::int64_t i = 0; i < count; ++i)
          std::copy_n(host.begin() + (g * count + i) * width_, width_, sums.begin() + i * outputs + g * width_);
    }
    take(begin, count, sums);
  }
}

template <class T>
std::vector<std::string> SvmModel<T>::attribute_names() {
  return {"support_", "support_vectors_", "n_support_", "dual_coef_",   "intercept_",     "fit_status_",
          "n_iter_",  "shape_fit_",       "coef_",      "duality_gap_", "dual_objective_"};
}

// Of each decision the sum of its support vectors, times their coefficients.
template <class T>
std::vector<double> SvmModel<T>::linear_coef(double sign) const {
  const auto d = static_cast<std::size_t>(n_features_);
  std::vector<double> all;
  const auto add = [&](std::int64_t group, std::int64_t w) {   // to the last d
    const std::int64_t from = first_[static_cast<std::size_t>(group)];
    for (std::int64_t s = from; s < from + group_size(group); ++s)
      for (std::size_t j = 0; j < d; ++j)
        all[all.size() - d + j] += sign * coefs_[static_cast<std::size_t>(w * n_support() + s)] *
                                   static_cast<double>(vectors_[static_cast<std::size_t>(s) * d + j]);
  };
  if (n_groups() == 1) {
    all.resize(d), add(0, 0);
    return all;
  }
  for (std::int64_t a = 0; a < n_groups(); ++a)
    for (std::int64_t b = a + 1; b < n_groups(); ++b) all.resize(all.size() + d), add(a, b - 1), add(b, a);
  return all;
}

template <class T>
schema::ValueMap SvmModel<T>::attributes(double sign, bool is_list_of_fits) const {
  std::vector<double> coefs = coefs_, thresholds = intercept, sizes;
  for (double& coef : coefs) coef *= sign;
  for (double& threshold : thresholds) threshold *= sign;
  schema::ValueMap map{
      {"support_", doubles(support_)},
      {"support_vectors_", rows_value(doubles(vectors_), n_features_)},
      {"dual_coef_",
       coefs.empty() ? schema::Value(schema::ValueList{std::vector<double>()}) : rows_value(coefs, n_support())},
      {"intercept_", thresholds},
      {"fit_status_", std::int64_t{has_converged_ ? 0 : 1}},
      {"shape_fit_", std::vector<double>{static_cast<double>(n_rows_), static_cast<double>(n_features_)}}};
  if (kernel_.name == "linear") map.emplace_back("coef_", rows_value(linear_coef(sign), n_features_));
  if (is_list_of_fits) {
    map.emplace_back("n_iter_", n_iter_);
    map.emplace_back("duality_gap_", gaps_), map.emplace_back("dual_objective_", objectives_);
  } else {
    map.emplace_back("n_iter_", static_cast<std::int64_t>(n_iter_.at(0)));
    map.emplace_back("duality_gap_", gaps_.at(0)), map.emplace_back("dual_objective_", objectives_.at(0));
  }
  return map;
}

template <class T>
void SvmModel<T>::state(StateArchive& archive, std::int64_t n_groups, std::int64_t width, std::int64_t n_decisions) {
  archive.features(n_features_);
  archive.field("kernel", kernel_.name);
  archive.expect(
      kernel_.name == "linear" || kernel_.name == "poly" || kernel_.name == "rbf" || kernel_.name == "sigmoid",
      "kernel", "is not one of linear, poly, rbf, sigmoid");
  archive.field("gamma", kernel_.gamma), archive.field("coef0", kernel_.coef0), archive.field("degree", kernel_.degree);
  archive.field("in_double", in_double_), archive.field("has_converged", has_converged_);
  archive.number("n_rows", n_rows_, 1, kMaxSize);
  archive.indices("support", support_, kAnySize, 0, n_rows_ - 1);
  archive.indices("first", first_, n_groups, 0, n_support());
  archive.expect(std::ranges::is_sorted(first_) && first_[0] == 0, "first",
                 "does not begin with 0 or is not ascending");
  if (archive.is_loading()) width_ = width;
  archive.field("vectors", vectors_, n_support(), n_features_);
  archive.field("coefs", coefs_, width_, n_support());
  archive.field("intercept", intercept, n_decisions);
  archive.field("n_iter", n_iter_, n_decisions), archive.field("gaps", gaps_, n_decisions);
  archive.field("objectives", objectives_, n_decisions);
}

template class SvmModel<float>;
template class SvmModel<double>;

}   // namespace kedge::engine
