// Runs of expectation maximisation, with scikit-learn's draws and its test of convergence.
#include "engine/estimators/mixture/mixture_fit.h"

#include <cmath>
#include <limits>

#include "engine/core/require.h"
#include "engine/estimators/cluster/cluster_centers.h"
#include "engine/estimators/cluster/k_means.h"

namespace kedge::engine {
namespace {

using Numbers = std::vector<double>;
constexpr double kSpread = 10 * std::numeric_limits<double>::epsilon();   // what scikit-learn adds to counts

// Rows of shares that sum to 1, drawn as scikit-learn draws them.
Numbers random_shares(LegacyRandom& random, std::int64_t n, std::int64_t k) {
  Numbers shares(static_cast<std::size_t>(n * k));
  for (double& share : shares) share = random.uniform();
  for (auto row = shares.begin(); row != shares.end(); row += k) {
    double sum = 0;
    for (std::int64_t c = 0; c < k; ++c) sum += row[c];
    for (std::int64_t c = 0; c < k; ++c) row[c] /= sum;
  }
  return shares;
}

Numbers chosen_rows(const Context& ctx, MatrixView<const double> X, LegacyRandom& random, std::int64_t k) {
  std::vector<std::int64_t> order = random.permutation(X.rows);
  order.resize(static_cast<std::size_t>(k));
  const std::vector<std::int32_t> rows(order.begin(), order.end());
  const Array<std::int32_t> positions(ctx.memory(), std::span<const std::int32_t>(rows));
  Matrix<double> taken(ctx.memory(), k, X.cols);
  ctx.ops<double>().tables->gather(X, positions.view(), {}, {}, taken.view());
  return taken.to_host();
}

// The moments of components that have one row each. A tied covariance sets the scatter of all rows against these few
// about 0, as scikit-learn does, so that it depends on where the data lie.
MixtureMoments moments_of_rows(const MixtureParams& params, const Numbers& chosen, const Numbers& mean,
                               MatrixView<const double> X, MixtureRows& rows) {
  const CovarianceKind kind = covariance_kind(params.covariance_type);
  const std::int64_t k = params.n_components, d = X.cols;
  MixtureMoments made{.counts = Numbers(static_cast<std::size_t>(k), 1 + kSpread), .means = chosen};
  made.covariances.assign(covariance_size(kind, k, d), 0.0);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  if (kind == CovarianceKind::kTied) {
    const Numbers& scatter = rows.scatter();
    const double n = static_cast<double>(X.rows), total = static_cast<double>(k) * (1 + kSpread);
    for (std::int64_t i = 0; i < d; ++i)
      for (std::int64_t j = 0; j < d; ++j) {
        double sum = scatter[at(i * d + j)] + n * mean[at(i)] * mean[at(j)];
        for (std::int64_t c = 0; c < k; ++c)
          sum -= (1 + kSpread) * (chosen[at(c * d + i)] + mean[at(i)]) * (chosen[at(c * d + j)] + mean[at(j)]);
        made.covariances[at(i * d + j)] = sum / total + (i == j ? params.reg_covar : 0);
      }
    return made;
  }
  const bool is_full = kind == CovarianceKind::kFull;
  for (std::size_t e = 0; e < made.covariances.size(); ++e)
    if (!is_full || e % at(d * d) % at(d + 1) == 0) made.covariances[e] = params.reg_covar;
  return made;
}

MixtureMoments first_moments(const Context& ctx, const char* owner, const MixtureParams& params, LegacyRandom& random,
                             MatrixView<const double> X, const Numbers& mean, MixtureRows& rows) {
  const std::int64_t k = params.n_components;
  if (params.init_params == "random_from_data")
    return moments_of_rows(params, chosen_rows(ctx, X, random, k), mean, X, rows);
  if (params.init_params == "k-means++")
    return moments_of_rows(params, initial_centers<double>(ctx, owner, "k-means++", X, {}, {}, k, random), mean, X,
                           rows);
  if (params.init_params == "random") rows.set_shares(random_shares(random, X.rows, k));
  else rows.set_labels(k_means_labels<double>(ctx, X, k, random));
  return rows.moments(params.reg_covar);
}

// One run from `state` on.
FittedMixture iterate(const Context& ctx, const char* owner, const MixtureParams& params, const MixtureRule& rule,
                      MixtureState state, std::int64_t d, MixtureRows& rows) {
  FittedMixture run{.state = std::move(state), .lower_bound = -std::numeric_limits<double>::infinity()};
  while (run.n_iter < params.max_iter && !run.has_converged) {
    ctx.check_stop();
    const MixtureLikelihood likelihood = rows.expect(components_of(rule, run.state, params, d));
    run.state = rule.maximise(rows.moments(params.reg_covar), std::nullopt);
    const double bound = rule.lower_bound(run.state, likelihood);
    require(std::isfinite(bound), schema::ErrorCode::kBadData,
            "{}: the densities of the rows leave double precision; scale the columns", owner);
    run.has_converged = std::abs(bound - run.lower_bound) < params.tol;
    run.lower_bound = bound, run.lower_bounds.push_back(bound), ++run.n_iter;
    ctx.progress("iterations", run.n_iter, params.max_iter, "iterations");
  }
  return run;
}

}   // namespace

MixtureComponents components_of(const MixtureRule& rule, const MixtureState& state, const MixtureParams& params,
                                std::int64_t d) {
  return {.kind = covariance_kind(params.covariance_type),
          .n = params.n_components,
          .d = d,
          .means = state.means,
          .factors = state.factors,
          .log_weights = rule.log_weights(state)};
}

FittedMixture fit_mixture(const Context& ctx, const char* owner, const MixtureParams& params, const MixtureRule& rule,
                          MatrixView<const double> X, const std::vector<double>& mean, MixtureRows& rows) {
  LegacyRandom random(static_cast<std::uint32_t>(params.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  std::optional<FittedMixture> best;
  for (std::int64_t i = 0; i < params.n_init; ++i) {
    const MixtureMoments start =
        rule.has_all_starts() ? MixtureMoments{} : first_moments(ctx, owner, params, random, X, mean, rows);
    FittedMixture run = iterate(ctx, owner, params, rule, rule.maximise(start, X.rows), X.cols, rows);
    if (!best || run.lower_bound > best->lower_bound) best = std::move(run);
  }
  if (!best->has_converged && params.max_iter > 0)
    ctx.warn(
        fmt::format("{}: no convergence within max_iter = {} iterations; raise it or tol", owner, params.max_iter));
  return std::move(*best);
}

}   // namespace kedge::engine
