// Importances, elimination and scores of folds.
#include "engine/estimators/meta/elimination.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/require.h"

namespace kedge::engine {

using schema::Value;

template <class T>
std::vector<std::vector<double>> importance_rows(const char* owner, const NestedPredictor<T>& predictor,
                                                 const std::string& getter) {
  const schema::ValueMap attributes = predictor.last_attributes();
  const Value* found = nullptr;
  if (getter == "auto") {
    found = find_value(attributes, "coef_");
    if (!found) found = find_value(attributes, "feature_importances_");
  } else {
    found = find_value(attributes, getter);
  }
  std::vector<std::vector<double>> rows;
  if (found) {
    if (const auto flat = numbers_of(*found)) rows = {*flat};
    else if (const auto many = rows_of(*found)) rows = *many;
  }
  require(!rows.empty(), schema::ErrorCode::kBadData, "{}: {} has no {} to judge columns by", owner,
          predictor.estimator(), getter == "auto" ? "coef_ or feature_importances_" : getter);
  require(static_cast<std::int64_t>(rows.front().size()) == predictor.n_features(), schema::ErrorCode::kBadData,
          "{}: {} judges {} columns, there are {}: its last step must read the columns themselves", owner,
          predictor.estimator(), rows.front().size(), predictor.n_features());
  return rows;
}

schema::ValueList mask_of(const std::vector<std::int32_t>& kept, std::int64_t n_features) {
  schema::ValueList mask(static_cast<std::size_t>(n_features), Value(false));
  for (const std::int32_t j : kept) mask[static_cast<std::size_t>(j)] = true;
  return mask;
}

template <class T>
Samples<T> columns_for_now(const Context& ctx, const Samples<T>& X, const std::vector<std::int32_t>& columns) {
  const std::size_t kept = X.table->parts.size();
  Samples<T> part = column_part(ctx, X, std::vector<std::int64_t>(columns.begin(), columns.end()));
  X.table->parts.resize(kept);
  return part;
}

std::int64_t elimination_step(const Value& step, std::int64_t n_features) {
  if (const auto* whole = std::get_if<std::int64_t>(&step.data)) return *whole;
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::get<double>(step.data) * static_cast<double>(n_features)));
}

template <class T>
Eliminated eliminate(const Context& ctx, const Elimination& options, NestedPredictor<T>& predictor, const Samples<T>& X,
                     const Target& y, const std::function<void(const std::vector<std::int32_t>&)>& on_round) {
  const std::int64_t n_features = X.n_cols(), n_kept = options.n_kept;
  Eliminated done;
  std::vector<std::int32_t>& left = done.kept;
  left.resize(static_cast<std::size_t>(n_features));
  std::iota(left.begin(), left.end(), 0);
  done.ranking.assign(left.size(), 1);
  const auto fit = [&] {
    predictor.fit(ctx, options.owner, columns_for_now(ctx, X, left), y);
    if (on_round) on_round(left);
  };
  while (static_cast<std::int64_t>(left.size()) > n_kept) {
    ctx.check_stop();
    fit();
    const auto rows = importance_rows(options.owner, predictor, options.getter);
    std::vector<double> importances(left.size());
    for (const auto& row : rows)
      for (std::size_t j = 0; j < importances.size(); ++j) importances[j] += row[j] * row[j];
    std::vector<std::size_t> order(left.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t j) { return importances[j]; });
    const auto leaves =
        static_cast<std::size_t>(std::min<std::int64_t>(options.step, static_cast<std::int64_t>(left.size()) - n_kept));
    std::vector<char> goes(left.size());
    for (std::size_t i = 0; i < leaves; ++i) goes[order[i]] = 1;
    std::vector<std::int32_t> next;
    for (std::size_t j = 0; j < left.size(); ++j)
      if (!goes[j]) next.push_back(left[j]);
    left = std::move(next);
    for (std::int64_t& rank : done.ranking) ++rank;
    for (const std::int32_t j : left) --done.ranking[static_cast<std::size_t>(j)];
    ctx.progress("columns", n_features - static_cast<std::int64_t>(left.size()), n_features - n_kept, "columns");
  }
  fit();
  return done;
}

const std::vector<std::string>& fold_scorings() {
  static const std::vector<std::string> names{"accuracy", "r2", "neg_mean_squared_error", "neg_mean_absolute_error"};
  return names;
}

template <class T>
double fold_score(const Context& ctx, const char* owner, const std::string& scoring,
                  const NestedPredictor<T>& predictor, const Samples<T>& X, const Target& y) {
  if (predictor.is_classifier()) {
    const std::vector<std::int32_t> codes = predictor.codes(ctx, owner, X);
    double right = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) right += codes[i] == y.codes[i];
    return right / static_cast<double>(codes.size());
  }
  const std::vector<double> values = predictor.values(ctx, owner, X);
  const auto n = static_cast<double>(values.size());
  double mean = 0, spread = 0, squares = 0, sizes = 0;
  for (const double value : y.values) mean += value / n;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = y.values[i] - values[i];
    squares += error * error, sizes += std::abs(error);
    spread += (y.values[i] - mean) * (y.values[i] - mean);
  }
  if (scoring == "neg_mean_squared_error") return -squares / n;
  if (scoring == "neg_mean_absolute_error") return -sizes / n;
  return spread > 0 ? 1 - squares / spread : squares > 0 ? 0.0 : 1.0;
}

#define KEDGE_ELIMINATION(T)                                                                                  \
  template std::vector<std::vector<double>> importance_rows(const char*, const NestedPredictor<T>&,           \
                                                            const std::string&);                              \
  template Samples<T> columns_for_now(const Context&, const Samples<T>&, const std::vector<std::int32_t>&);   \
  template Eliminated eliminate(const Context&, const Elimination&, NestedPredictor<T>&, const Samples<T>&,   \
                                const Target&, const std::function<void(const std::vector<std::int32_t>&)>&); \
  template double fold_score(const Context&, const char*, const std::string&, const NestedPredictor<T>&,      \
                             const Samples<T>&, const Target&);
KEDGE_ELIMINATION(float)
KEDGE_ELIMINATION(double)
#undef KEDGE_ELIMINATION

}   // namespace kedge::engine
