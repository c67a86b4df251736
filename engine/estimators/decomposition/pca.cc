// PCA: chooses the solver, keeps the wanted components, fixes their signs, projects.
#include "engine/estimators/decomposition/pca.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/comm/ranks.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/magnitudes.h"

namespace kedge::engine {
namespace {

using P = PCAParams;
constexpr const char* kCovariance = "covariance ";   // of a content: work that a search shares

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>("PCA")
          .any("n_components", &P::n_components,
               {integer_form(at_least(0)), number_form(inside(0, 1)), string_form({"mle"}), null_form()},
               "Components to keep: a number; the share of the variance that they must explain; mle for Minka's estimate; "
               "null for all.")
          .ignore("copy", true, {boolean_form()})
          .add("whiten", &P::whiten, "Scale the result to unit variance.")
          .add("svd_solver", &P::svd_solver, {"auto", "full", "covariance_eigh", "arpack", "randomized"}, "How the components are found.")
          .ignore("tol", 0.0, {number_form(at_least(0))})
          .any("iterated_power", &P::iterated_power, {integer_form(at_least(0)), string_form({"auto"})},
               "Power iterations of the randomized solver.")
          .add("n_oversamples", &P::n_oversamples, at_least(1), "Extra random vectors of the randomized solver.")
          .add("power_iteration_normalizer", &P::power_iteration_normalizer, {"auto", "QR", "LU", "none"},
               "What the randomized solver does between power iterations; LU is done as QR, with the same result.")
          .random_state(&P::random_state);
  return set;
}

double sum(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

const std::int64_t* as_count(const schema::Value& v) { return std::get_if<std::int64_t>(&v.data); }
const double* as_share(const schema::Value& v) { return std::get_if<double>(&v.data); }
bool is_truncated(const std::string& solver) { return solver == "randomized" || solver == "arpack"; }
bool is_mle(const schema::Value& v) { return std::holds_alternative<std::string>(v.data); }

}  // namespace

template <class T>
PCA<T>::PCA(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (is_truncated(params_.svd_solver) && (is_mle(params_.n_components) || as_share(params_.n_components)))
    refuse_param("PCA", "n_components", params_.n_components, "must be an integer for svd_solver \"" + params_.svd_solver + "\"");
}

template <class T>
schema::EstimatorInfo PCA<T>::info() {
  return {.name = "PCA",
          .kind = "transformer",
          .family = "decomposition",
          .doc = "Principal component analysis.",
          .params = param_set().infos(),
          .attributes = {"components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_",
                         "n_components_", "n_samples_", "noise_variance_"},
          .deviations = {"Rows whose squares leave the type are multiplied by a power of two first; scikit-learn fails, or returns "
                         "them as they are. explained_variance_ may then be infinite or 0, and whiten is refused.",
                         "svd_solver \"arpack\" solves exactly, by another method, and ignores tol.",
                         "The randomized solver draws its random vectors from Philox, not from numpy's generator, and solves exactly, "
                         "by the covariance matrix, where that is less work.",
                         "power_iteration_normalizer \"LU\" is done as \"QR\"."}};
}

template <class T>
std::string PCA<T>::solver_for(std::int64_t n, std::int64_t d) const {
  if (params_.svd_solver != "auto") return params_.svd_solver;
  if (d <= 1000 && n >= 10 * d) return "covariance_eigh";
  const std::int64_t* count = as_count(params_.n_components);
  if (std::max(n, d) <= 500 || !count) return "full";
  return *count >= 1 && static_cast<double>(*count) < 0.8 * static_cast<double>(std::min(n, d)) ? "randomized" : "full";
}

template <class T>
void PCA<T>::check_components(const std::string& solver, std::int64_t n, std::int64_t d) const {
  const std::int64_t* count = as_count(params_.n_components);
  const std::int64_t least = is_truncated(solver) ? 1 : 0, most = std::min(n, d) - (solver == "arpack" ? 1 : 0);
  require(!count || (*count >= least && *count <= most), schema::ErrorCode::kBadData,
          "PCA: n_components is {}, must be between {} and {}, for {} rows and {} columns and svd_solver \"{}\"", count ? *count : 0, least,
          most, n, d, solver);
  require(!is_mle(params_.n_components) || n >= d, schema::ErrorCode::kBadData,
          "PCA: n_components is \"mle\", which needs as many rows as columns, got {} rows and {} columns", n, d);
}

template <class T>
std::int64_t PCA<T>::kept_components(const std::vector<double>& variance, double total, std::int64_t n, std::int64_t d) const {
  if (const std::int64_t* count = as_count(params_.n_components)) return *count;
  if (is_mle(params_.n_components)) return minka_dimension(variance, n);
  const double* share = as_share(params_.n_components);
  if (!share) return std::min(n, d) - (params_.svd_solver == "arpack" ? 1 : 0);
  double sum = 0;
  std::int64_t kept = 1;
  for (const double v : variance) {
    sum += v;
    if (total <= 0 || sum / total > *share) break;
    ++kept;
  }
  return std::min(kept, std::min(n, d));
}

template <class T>
void PCA<T>::announce(WorkCache& plan, const std::string& content) const {
  const std::int64_t* count = as_count(params_.n_components);
  plan.want(std::string(kCovariance) + content, count ? static_cast<double>(*count) : std::numeric_limits<double>::infinity());
}

template <class T>
Spectrum PCA<T>::covariance(const Context& ctx, const Samples<T>& X, std::int64_t count) const {
  if (!ctx.work || X.content.empty()) return covariance_spectrum(ctx, X, mean_, count);
  const std::int64_t most = std::min(X.n_rows(), X.n_cols());
  double wanted = static_cast<double>(count);
  for (const double one : ctx.work->wanted(std::string(kCovariance) + X.content))
    if (one <= static_cast<double>(most) || std::isinf(one)) wanted = std::max(wanted, one);
  const std::int64_t together = wanted < static_cast<double>(most) ? static_cast<std::int64_t>(wanted) : std::max(most, count);
  return *ctx.work->get<Spectrum>("covariance spectrum", fmt::format("{} {}", X.content, together),
                                  [&] { return covariance_spectrum(ctx, X, mean_, together); });
}

template <class T>
typename PCA<T>::Solution PCA<T>::solve_randomized(const Context& ctx, const Samples<T>& X) {
  const std::int64_t n = X.n_rows(), small = std::min(n, X.n_cols());
  Moments moments = column_moments(ctx, X);
  mean_ = std::move(moments.mean);
  const double total = sum(moments.variance) * static_cast<double>(n) / static_cast<double>(n - 1);
  RandomizedOptions options{.n_oversamples = params_.n_oversamples, .normalizer = params_.power_iteration_normalizer};
  options.n_components = as_count(params_.n_components) ? *as_count(params_.n_components) : small;
  if (const std::int64_t* iterations = as_count(params_.iterated_power)) options.n_iter = *iterations;
  options.seed = params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed;
  Solution solution{.n_components = options.n_components, .total = total};
  if (is_covariance_cheaper(ctx, n, X.n_cols(), options)) solution.spectrum = covariance(ctx, X, options.n_components);
  if (solution.spectrum.variance.empty() || !is_well_conditioned<T>(solution.spectrum, options.n_components))
    solution.spectrum = randomized_spectrum(ctx, X, mean_, options);
  solution.spectrum.variance.resize(static_cast<std::size_t>(options.n_components));
  const std::int64_t dropped = small - options.n_components;
  if (dropped > 0) solution.noise = std::max(0.0, total - sum(solution.spectrum.variance)) / static_cast<double>(dropped);
  return solution;
}

template <class T>
typename PCA<T>::Solution PCA<T>::solve_fully(const Context& ctx, const Samples<T>& X, bool allow_svd) {
  mean_ = column_means(ctx, X);
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  const std::int64_t* count = as_count(params_.n_components);
  const auto solved = [&](Spectrum spectrum) {
    const double total = sum(spectrum.variance) + spectrum.rest;
    const std::int64_t kept = kept_components(spectrum.variance, total, n, d);
    return Solution{std::move(spectrum), kept, total, 0};
  };
  Solution solution;
  const bool tall = n >= d;
  if (tall || !allow_svd) solution = solved(covariance(ctx, X, count ? *count : d));
  if (allow_svd && !(tall && is_well_conditioned<T>(solution.spectrum, solution.n_components)))
    solution = solved(svd_spectrum(ctx, X, mean_));
  const Spectrum& spectrum = solution.spectrum;
  const std::int64_t dropped = static_cast<std::int64_t>(spectrum.variance.size()) - solution.n_components + spectrum.n_rest;
  if (solution.n_components < std::min(n, d))
    solution.noise = std::accumulate(spectrum.variance.begin() + solution.n_components, spectrum.variance.end(), spectrum.rest) /
                     static_cast<double>(dropped);
  return solution;
}

// A device with memory of its own multiplies floats in double, which holds the squares of all of them: mean and
// variances tell afterwards that no factor was needed. So the table's ranges, which are a pass over it, are read where
// that fails.
template <class T>
std::optional<typename PCA<T>::Solution> PCA<T>::solve_unscaled(const Context& ctx, const Samples<T>& X) {
  const bool is_in_double = std::is_same_v<T, float> && !ctx.device.traits().uses_host_memory && !X.is_sparse();
  if (!is_in_double || X.rows) return std::nullopt;
  if (X.table->ranges && !ranks_of_row_sums()) return std::nullopt;   // ranks may remember different things
  Solution solution = solve_fully(ctx, X, false);
  const auto n = static_cast<double>(X.n_rows());
  double squares = (n - 1) * solution.total;
  for (const double m : mean_) squares += n * m * m;
  if (!needs_no_factor(X, squares)) return std::nullopt;
  return solution;
}

template <class T>
void PCA<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows("PCA", X, 2);
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  const std::string solver = solver_for(n, d);
  check_components(solver, n, d);
  double factor = 1;
  std::optional<Solution> found;
  if (solver == "covariance_eigh") found = solve_unscaled(ctx, X);
  if (!found) {
    factor = table_factor(ctx, X);
    const Samples<T> scaled =
        factor == 1 ? X : multiplied(ctx, X, std::vector<double>(static_cast<std::size_t>(d), factor));
    found =
        solver == "randomized" ? solve_randomized(ctx, scaled) : solve_fully(ctx, scaled, solver != "covariance_eigh");
  }
  const Solution& solution = *found;

  n_samples_ = n, n_features_ = d;
  n_components_ = solution.n_components, noise_variance_ = solution.noise;
  const Spectrum& spectrum = solution.spectrum;
  components_.assign(spectrum.components.begin(), spectrum.components.begin() + n_components_ * d);
  fix_signs(components_, d);
  explained_variance_.assign(spectrum.variance.begin(), spectrum.variance.begin() + n_components_);
  explained_variance_ratio_.clear(), singular_values_.clear();
  for (const double v : explained_variance_) {
    explained_variance_ratio_.push_back(solution.total > 0 ? v / solution.total : 0.0);
    singular_values_.push_back(std::sqrt(v * static_cast<double>(n - 1)));
  }
  if (factor != 1) multiply(1 / factor);
}

// From the model of rows to that of `factor` times the rows.
template <class T>
void PCA<T>::multiply(double factor) {
  for (double& m : mean_) m *= factor;
  for (double& s : singular_values_) s *= factor;
  for (double& v : explained_variance_) v = v * factor * factor;
  noise_variance_ = noise_variance_ * factor * factor;
  const bool is_lost = std::ranges::any_of(explained_variance_, [](double v) { return !std::isnormal(v); });
  require(!params_.whiten || !is_lost, schema::ErrorCode::kBadData,
          "PCA: the variances of columns near {:.3g} leave float64, and whiten divides by them; scale the columns first", factor);
}

template <class T>
Samples<T> PCA<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns("PCA", X, static_cast<std::size_t>(n_features_));
  return project<T>(ctx, X, mean_, projection<T>(components_, params_.whiten ? explained_variance_ : std::vector<double>(), n_features_));
}

template <class T>
schema::ValueMap PCA<T>::attributes() const {
  return {{"components_", rows_value(components_, n_features_)},
          {"explained_variance_", explained_variance_},
          {"explained_variance_ratio_", explained_variance_ratio_},
          {"singular_values_", singular_values_},
          {"mean_", mean_},
          {"n_components_", n_components_},
          {"n_samples_", n_samples_},
          {"noise_variance_", noise_variance_}};
}

template <class T>
void PCA<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_components", n_components_, 0, kMaxSize);
  archive.number("n_samples", n_samples_, 0, kMaxSize);
  archive.field("mean", mean_, n_features_);
  archive.field("components", components_, n_components_, n_features_);
  archive.field("explained_variance", explained_variance_, n_components_);
  archive.field("explained_variance_ratio", explained_variance_ratio_, n_components_);
  archive.field("singular_values", singular_values_, n_components_);
  archive.field("noise_variance", noise_variance_);
}

template class PCA<float>;
template class PCA<double>;

}  // namespace kedge::engine
