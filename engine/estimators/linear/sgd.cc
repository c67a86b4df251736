// The estimators by stochastic gradient descent: seeds, classes, scores and probabilities.
#include "engine/estimators/linear/sgd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/class_signs.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/linear/sgd_params.h"

namespace kedge::engine {
namespace {

constexpr std::uint64_t kMaxInt = 0x7fffffff;   // scikit-learn's draws are below

std::uint32_t first_seed(const Context& ctx, const SgdParams& params) {
  return static_cast<std::uint32_t>(params.random_state ? static_cast<std::uint64_t>(*params.random_state) : ctx.seed);
}

std::uint32_t draw(LegacyRandom& random) {
  return static_cast<std::uint32_t>(random.interval(kMaxInt - 1));
}

void skip_dataset_seed(LegacyRandom& random) {
  random.interval(kMaxInt - 2);
}

// The seed of the shuffles of a classifier's line.
std::uint32_t shuffle_seed(std::uint32_t seed) {
  LegacyRandom random(seed);
  skip_dataset_seed(random);
  return draw(random);
}

void require_weights(const char* owner, const std::vector<double>& weights) {
  require(weights.empty() || std::accumulate(weights.begin(), weights.end(), 0.0) > 0, schema::ErrorCode::kBadData,
          "{}: the sample weights sum to 0, must be more", owner);
}

// What makes the steps shorter.
std::string shorter_steps(SgdKind kind, const SgdOptions& options) {
  if (kind == SgdKind::kPassive) return fmt::format("lower C, which is {}", options.eta0);
  if (options.rate == SgdRate::kOptimal) return fmt::format("raise alpha, which is {}", options.alpha);
  return fmt::format("lower eta0, which is {}", options.eta0);
}

// T: of the numbers that answers are made of.
template <class T>
void check_line(const Context& ctx, SgdKind kind, bool is_classifier, const SgdLine& line, const SgdOptions& options) {
  const char* const owner = sgd_name(kind, is_classifier);
  const auto fits = [](double c) { return std::abs(c) <= static_cast<double>(std::numeric_limits<T>::max()); };
  require(line.is_finite && fits(line.intercept) && std::ranges::all_of(line.coef, fits), schema::ErrorCode::kBadData,
          "{}: the loss or a weight is not finite in epoch {} (the loss was {:.6g} before); scale the columns "
          "(StandardScaler), or {}",
          owner, line.n_iter, line.loss, shorter_steps(kind, options));
  if (line.is_diverged())
    ctx.warn(
        fmt::format("{}: the loss rose from {:.6g} before epoch 1 to {:.6g} in epoch {}; scale the columns "
                    "(StandardScaler), or {}",
                    owner, line.first_loss, line.loss, line.n_iter, shorter_steps(kind, options)));
  if (line.n_iter == options.max_iter && std::isfinite(options.tol))
    ctx.warn(fmt::format("{}: did not converge within max_iter = {} epochs", owner, options.max_iter));
}

}   // namespace

template <class T, SgdKind kKind>
SgdClassifierOf<T, kKind>::SgdClassifierOf(const schema::ValueMap& params)
    : params_(parse_sgd(kKind, true, params)), options_(sgd_options(params_, kKind, true)) {}

template <class T, SgdKind kKind>
schema::EstimatorInfo SgdClassifierOf<T, kKind>::info() {
  return {
      .name = sgd_name(kKind, true),
      .kind = "classifier",
      .family = "linear_model",
      .doc =
          kKind == SgdKind::kGradient
              ? "Linear classification by stochastic gradient descent: support vectors, logistic regression and others."
          : kKind == SgdKind::kPerceptron ? "Rosenblatt's perceptron."
                                          : "Linear classification by passive-aggressive steps.",
      .params = sgd_param_infos(kKind, true),
      .attributes = {"classes_", "coef_", "intercept_", "n_iter_", "t_"},
      .deviations = sgd_deviations(kKind)};
}

template <class T, SgdKind kKind>
void SgdClassifierOf<T, kKind>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  const char* const name = sgd_name(kKind, true);
  require_rows(name, X);
  present_ = PresentClasses(y);
  require(present_.size() >= 2, schema::ErrorCode::kBadData,
          "{}: the target has only the class \"{}\", needs at least 2", name,
          present_.names.empty() ? "" : present_.names[0]);
  require_weights(name, y.weights);
  n_features_ = X.n_cols(), n_rows_ = X.n_rows(), n_iter_ = 0;
  const std::vector<double> by_class = class_weights(name, params_.class_weight, present_, y),
                            signs = class_signs(present_, y);
  const auto weight = [&](std::size_t c) { return by_class.empty() ? 1.0 : by_class[c]; };
  const auto lines = static_cast<std::size_t>(sign_targets(present_));
  std::vector<std::uint32_t> seeds{first_seed(ctx, params_)};
  if (lines > 1) {
    LegacyRandom random(seeds[0]);
    seeds.clear();
    for (std::size_t t = 0; t < lines; ++t) seeds.push_back(draw(random));
  }
  const SgdRows rows = sgd_rows(ctx, X);
  std::vector<SgdLine> found(lines);
  std::mutex telling;
  std::int64_t done = 0;
  side_by_side(static_cast<std::int64_t>(lines), [&](std::int64_t line) {
    const auto t = static_cast<std::size_t>(line);
    std::vector<double> own(y.codes.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double sign = signs[i * lines + t];
      own[i] = options_.loss == SgdLoss::kLog ? (sign > 0 ? 1.0 : 0.0) : sign;
    }
    found[t] = run_sgd(rows, own, y.weights, lines == 1 ? weight(1) : weight(t), lines == 1 ? weight(0) : 1.0, options_,
                       shuffle_seed(seeds[t]), [&](std::int64_t) { ctx.check_stop(); });
    const std::lock_guard lock(telling);
    ctx.progress("lines", ++done, static_cast<std::int64_t>(lines), "lines");
  });
  coef_.clear(), intercept_.clear();
  for (const SgdLine& line : found) {
    check_line<T>(ctx, kKind, true, line, options_);
    coef_.insert(coef_.end(), line.coef.begin(), line.coef.end());
    intercept_.push_back(line.intercept), n_iter_ = std::max(n_iter_, line.n_iter);
  }
}

template <class T, SgdKind kKind>
bool SgdClassifierOf<T, kKind>::has_proba() const {
  return kKind == SgdKind::kGradient && (options_.loss == SgdLoss::kLog || options_.loss == SgdLoss::kModifiedHuber);
}

template <class T, SgdKind kKind>
std::vector<double> SgdClassifierOf<T, kKind>::scores(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(sgd_name(kKind, true), X, static_cast<std::size_t>(n_features_));
  return linear_values(ctx, X, coef_, intercept_).to_host();
}

// Each line's probability; of several lines in shares of their sum.
template <class T, SgdKind kKind>
void SgdClassifierOf<T, kKind>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const std::vector<double> values = scores(ctx, X);
  const auto k = static_cast<std::size_t>(present_.size()), lines = intercept_.size();
  std::vector<double> shares(static_cast<std::size_t>(X.n_rows()) * k);
  for (std::size_t i = 0; i < static_cast<std::size_t>(X.n_rows()); ++i) {
    double sum = 0;
    for (std::size_t t = 0; t < lines; ++t) {
      const double z = values[i * lines + t];
      const double p = options_.loss == SgdLoss::kLog ? 1 / (1 + std::exp(-z)) : (std::clamp(z, -1.0, 1.0) + 1) / 2;
      shares[i * k + t + (k - lines)] = p, sum += p;
    }
    if (lines < k) shares[i * k] = 1 - shares[i * k + 1];
    for (std::size_t c = 0; lines == k && c < k; ++c)
      shares[i * k + c] = sum > 0 ? shares[i * k + c] / sum : 1 / static_cast<double>(k);
  }
  const Matrix<double> own(ctx.memory(), X.n_rows(), present_.size(), shares);
  spread_scores(ctx, present_, own.view(), 0.0, proba);
}

template <class T, SgdKind kKind>
void SgdClassifierOf<T, kKind>::decision_function(const Context& ctx, const Samples<T>& X,
                                                  MatrixView<double> decision) const {
  sign_decision(ctx, present_, scores(ctx, X), decision);
}

template <class T, SgdKind kKind>
std::vector<std::int32_t> SgdClassifierOf<T, kKind>::predict(const Context& ctx, const Samples<T>& X) const {
  const std::vector<double> values = scores(ctx, X);
  const auto lines = static_cast<std::ptrdiff_t>(intercept_.size());
  std::vector<std::int32_t> codes;
  for (auto row = values.begin(); row != values.end(); row += lines) {
    const auto best = lines == 1 ? static_cast<std::ptrdiff_t>(*row > 0) : std::max_element(row, row + lines) - row;
    codes.push_back(present_.codes[static_cast<std::size_t>(best)]);
  }
  return codes;
}

template <class T, SgdKind kKind>
schema::ValueMap SgdClassifierOf<T, kKind>::attributes() const {
  return {{"classes_", present_.names_value()},
          {"coef_", rows_value(coef_, n_features_)},
          {"intercept_", intercept_},
          {"n_iter_", n_iter_},
          {"t_", 1.0 + static_cast<double>(n_iter_) * static_cast<double>(n_rows_)}};
}

template <class T, SgdKind kKind>
void SgdClassifierOf<T, kKind>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  const std::int64_t lines = sign_targets(present_);
  archive.field("coef", coef_, lines, n_features_);
  archive.field("intercept", intercept_, lines);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.number("n_rows", n_rows_, 0, std::int64_t{1} << 53);
}

template <class T, SgdKind kKind>
SgdRegressorOf<T, kKind>::SgdRegressorOf(const schema::ValueMap& params)
    : params_(parse_sgd(kKind, false, params)), options_(sgd_options(params_, kKind, false)) {}

template <class T, SgdKind kKind>
schema::EstimatorInfo SgdRegressorOf<T, kKind>::info() {
  return {.name = sgd_name(kKind, false),
          .kind = "regressor",
          .family = "linear_model",
          .doc = kKind == SgdKind::kGradient ? "Linear regression by stochastic gradient descent."
                                             : "Linear regression by passive-aggressive steps.",
          .params = sgd_param_infos(kKind, false),
          .attributes = {"coef_", "intercept_", "n_iter_", "t_"},
          .deviations = sgd_deviations(kKind)};
}

template <class T, SgdKind kKind>
void SgdRegressorOf<T, kKind>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  const char* const name = sgd_name(kKind, false);
  require_rows(name, X);
  require_weights(name, y.weights);
  LegacyRandom random(first_seed(ctx, params_));
  const SgdRows rows = sgd_rows(ctx, X);
  SgdLine line = run_sgd(rows, y.values, y.weights, 1.0, 1.0, options_, draw(random), [&](std::int64_t epoch) {
    ctx.check_stop(), ctx.progress("epochs", epoch, options_.max_iter, "epochs");
  });
  check_line<T>(ctx, kKind, false, line, options_);
  coef_ = std::move(line.coef), intercept_ = line.intercept, n_iter_ = line.n_iter, n_rows_ = X.n_rows();
}

template <class T, SgdKind kKind>
std::vector<double> SgdRegressorOf<T, kKind>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(sgd_name(kKind, false), X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T, SgdKind kKind>
schema::ValueMap SgdRegressorOf<T, kKind>::attributes() const {
  return {{"coef_", coef_},
          {"intercept_", std::vector<double>{intercept_}},
          {"n_iter_", n_iter_},
          {"t_", 1.0 + static_cast<double>(n_iter_) * static_cast<double>(n_rows_)}};
}

template <class T, SgdKind kKind>
void SgdRegressorOf<T, kKind>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.number("n_rows", n_rows_, 0, std::int64_t{1} << 53);
}

template class SgdClassifierOf<float, SgdKind::kGradient>;
template class SgdClassifierOf<double, SgdKind::kGradient>;
template class SgdClassifierOf<float, SgdKind::kPerceptron>;
template class SgdClassifierOf<double, SgdKind::kPerceptron>;
template class SgdClassifierOf<float, SgdKind::kPassive>;
template class SgdClassifierOf<double, SgdKind::kPassive>;
template class SgdRegressorOf<float, SgdKind::kGradient>;
template class SgdRegressorOf<double, SgdKind::kGradient>;
template class SgdRegressorOf<float, SgdKind::kPassive>;
template class SgdRegressorOf<double, SgdKind::kPassive>;

}   // namespace kedge::engine
