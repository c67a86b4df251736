// Folds by their Gram matrices, or one after the other by working sets.
#include "engine/estimators/linear/elastic_net_folds.h"

#include <algorithm>
#include <numeric>

#include "engine/core/require.h"
#include "engine/estimators/linear/elastic_net.h"
#include "engine/estimators/linear/fold_grams.h"

namespace kedge::engine {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

template <class T>
std::vector<double> by_gram(const Context& ctx, const LinearProblem<T>& problem, bool fit_intercept,
                            const std::vector<FoldRange>& folds, const std::vector<double>& ratios,
                            const std::vector<std::vector<double>>& alphas, const ElasticNetOptions& options) {
  const FoldGrams grams(ctx, problem, folds, fit_intercept);
  std::vector<TrainFold> trains;
  for (std::size_t f = 0; f < folds.size(); ++f) trains.push_back(grams.train(f));
  const std::vector<double> zero(at(problem.n_cols()), 0.0);
  std::vector<PathBuffers> buffers;
  for (std::size_t r = 0; r < ratios.size(); ++r)
    for (const TrainFold& train : trains) buffers.emplace_back(ctx, problem.n_cols(), alphas[r], ratios[r], train.n_rows, zero);
  std::vector<ElasticNetPath> paths;
  for (std::size_t i = 0; i < buffers.size(); ++i) paths.push_back(buffers[i].path(trains[i % folds.size()].gram));
  ctx.ops<double>().convex->elastic_net_paths(paths, options);
  const std::size_t k = folds.size(), n_alphas = alphas[0].size();
  std::vector<double> errors(ratios.size() * n_alphas * k);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    ctx.check_stop();
    const auto found = grams.errors(i % k, trains[i % k], buffers[i].coef(), buffers[i].coef().to_host());
    for (std::size_t a = 0; a < n_alphas; ++a) errors[(i / k * n_alphas + a) * k + i % k] = found[a];
  }
  return errors;
}

template <class T>
std::vector<double> by_working_sets(const Context& ctx, const char* owner, const Samples<T>& X, const Target& y,
                                    bool fit_intercept, const std::vector<FoldRange>& folds, const std::vector<double>& ratios,
                                    const std::vector<std::vector<double>>& alphas, const ElasticNetOptions& options) {
  const std::size_t k = folds.size(), n_alphas = alphas[0].size();
  std::vector<double> errors(ratios.size() * n_alphas * k);
  for (std::size_t f = 0; f < k; ++f) {
    const LinearProblem<T> train(ctx, owner, without_rows(ctx, X, folds[f]), without_rows(y.values, folds[f]), 1,
                                 normalised_weights(without_rows(y.weights, folds[f])), fit_intercept);
    const Samples<T> test = only_rows(ctx, X, folds[f]);
    const std::vector<double> expected = only_rows(y.values, folds[f]), weights = only_rows(y.weights, folds[f]);
    for (std::size_t r = 0; r < ratios.size(); ++r) {
      const ElasticNetSolutions solved = solve_elastic_nets(ctx, train, alphas[r], ratios[r], options);
      std::vector<double> intercepts;
      const std::size_t d = at(train.n_cols());
      for (std::size_t a = 0; a < n_alphas; ++a)
        intercepts.push_back(train.intercepts(std::span(solved.coef).subspan(a * d, d))[0]);
      const std::vector<double> values = linear_values(ctx, test, solved.coef, intercepts).to_host();
      const double total =
          weights.empty() ? static_cast<double>(expected.size()) : std::accumulate(weights.begin(), weights.end(), 0.0);
      for (std::size_t a = 0; a < n_alphas; ++a) {
        double sum = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const double error = values[i * n_alphas + a] - expected[i];
          sum += (weights.empty() ? 1.0 : weights[i]) * error * error;
        }
        errors[(r * n_alphas + a) * k + f] = sum / total;
      }
    }
  }
  return errors;
}

}   // namespace

std::vector<FoldRange> fold_ranges(const char* owner, std::int64_t n_rows, std::int64_t n_folds) {
  require(n_folds <= n_rows, schema::ErrorCode::kBadData, "{}: cv is {}, must be at most the {} rows", owner, n_folds, n_rows);
  std::vector<FoldRange> folds;
  for (std::int64_t f = 0, first = 0; f < n_folds; ++f) {
    folds.push_back({first, n_rows / n_folds + (f < n_rows % n_folds ? 1 : 0)});
    first += folds.back().count;
  }
  return folds;
}

template <class T>
Samples<T> rows_at(const Context& ctx, const Samples<T>& X, std::vector<std::int32_t> positions) {
  if (X.rows) {
    const std::vector<std::int32_t> rows = X.rows->to_host();
    for (std::int32_t& p : positions) p = rows[static_cast<std::size_t>(p)];
  }
  Samples<T> selected = X;
  selected.content.clear();
  selected.rows = std::make_shared<Array<std::int32_t>>(ctx.memory(), std::span<const std::int32_t>(positions));
  return selected;
}

template <class T>
Samples<T> without_rows(const Context& ctx, const Samples<T>& X, FoldRange fold) {
  std::vector<std::int32_t> positions;
  for (std::int64_t i = 0; i < X.n_rows(); ++i)
    if (i < fold.first || i >= fold.first + fold.count) positions.push_back(static_cast<std::int32_t>(i));
  return rows_at(ctx, X, std::move(positions));
}

template <class T>
Samples<T> only_rows(const Context& ctx, const Samples<T>& X, FoldRange fold) {
  std::vector<std::int32_t> positions(at(fold.count));
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(fold.first));
  return rows_at(ctx, X, std::move(positions));
}

std::vector<double> without_rows(const std::vector<double>& values, FoldRange fold) {
  std::vector<double> rest = values;
  if (!rest.empty()) rest.erase(rest.begin() + fold.first, rest.begin() + fold.first + fold.count);
  return rest;
}

std::vector<double> only_rows(const std::vector<double>& values, FoldRange fold) {
  if (values.empty()) return {};
  return {values.begin() + fold.first, values.begin() + fold.first + fold.count};
}

template <class T>
std::vector<double> elastic_net_fold_errors(const Context& ctx, const char* owner, const Samples<T>& X, const Target& y,
                                            const LinearProblem<T>& problem, bool fit_intercept,
                                            const std::vector<FoldRange>& folds, const std::vector<double>& ratios,
                                            const std::vector<std::vector<double>>& alphas, const ElasticNetOptions& options) {
  const bool has_l1 = std::ranges::all_of(ratios, [](double r) { return r > 0; }) && alphas[0].back() > 0;
  for (const FoldRange& fold : folds)
    require(y.weights.empty() || (std::ranges::any_of(only_rows(y.weights, fold), [](double w) { return w > 0; }) &&
                                  std::ranges::any_of(without_rows(y.weights, fold), [](double w) { return w > 0; })),
            schema::ErrorCode::kBadData, "{}: the sample weights of rows {} to {}, a fold, or of all others sum to 0", owner,
            fold.first, fold.first + fold.count - 1);
  return takes_gram(problem.n_rows(), problem.n_cols()) || !has_l1
             ? by_gram(ctx, problem, fit_intercept, folds, ratios, alphas, options)
             : by_working_sets(ctx, owner, X, y, fit_intercept, folds, ratios, alphas, options);
}

template Samples<float> rows_at(const Context&, const Samples<float>&, std::vector<std::int32_t>);
template Samples<double> rows_at(const Context&, const Samples<double>&, std::vector<std::int32_t>);
template Samples<float> without_rows(const Context&, const Samples<float>&, FoldRange);
template Samples<double> without_rows(const Context&, const Samples<double>&, FoldRange);
template Samples<float> only_rows(const Context&, const Samples<float>&, FoldRange);
template Samples<double> only_rows(const Context&, const Samples<double>&, FoldRange);
template std::vector<double> elastic_net_fold_errors(const Context&, const char*, const Samples<float>&, const Target&,
                                                     const LinearProblem<float>&, bool, const std::vector<FoldRange>&,
                                                     const std::vector<double>&, const std::vector<std::vector<double>>&,
                                                     const ElasticNetOptions&);
template std::vector<double> elastic_net_fold_errors(const Context&, const char*, const Samples<double>&, const Target&,
                                                     const LinearProblem<double>&, bool, const std::vector<FoldRange>&,
                                                     const std::vector<double>&, const std::vector<std::vector<double>>&,
                                                     const ElasticNetOptions&);

}   // namespace kedge::engine
