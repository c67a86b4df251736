// PolynomialFeatures: plans each monomial as a product of a feature and an earlier monomial.
#include "engine/estimators/preprocessing/polynomial_features.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/core/stop.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using P = PolynomialFeaturesParams;
constexpr const char* kName = "PolynomialFeatures";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = ParamSet<P>(kName)
                                     .any("degree", &P::degree, {integer_form(at_least(0)), array_form()},
                                          "Largest degree, or smallest and largest as a list of two.")
                                     .add("interaction_only", &P::interaction_only, "Leave out powers of single features.")
                                     .add("include_bias", &P::include_bias, "Begin with a column of ones.")
                                     .ignore("order", "C", {string_form({"C", "F"})});
  return set;
}

bool is_count(double v) { return v >= 0 && v == std::floor(v) && v < 1e9; }

// How many monomials of n features have exactly this degree, as a double: it can be huge.
double monomials_of_degree(double n, std::int64_t degree, bool interaction_only) {
  double count = 1;
  for (std::int64_t i = 0; i < degree; ++i) {
    const double factor = interaction_only ? n - static_cast<double>(i) : n + static_cast<double>(i);
    if (factor <= 0) return 0;
    count *= factor / static_cast<double>(i + 1);
  }
  return count;
}

}  // namespace

template <class T>
PolynomialFeatures<T>::PolynomialFeatures(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (const auto* degree = std::get_if<std::int64_t>(&params_.degree.data)) {
    most_degree_ = *degree;
  } else {
    const std::vector<double> range = *numbers_of(params_.degree);
    if (range.size() != 2 || !is_count(range[0]) || !is_count(range[1]) || range[0] > range[1])
      refuse_param(kName, "degree", params_.degree, "must be two ascending integers of at least 0");
    least_degree_ = static_cast<std::int64_t>(range[0]), most_degree_ = static_cast<std::int64_t>(range[1]);
  }
  if (most_degree_ == 0 && !params_.include_bias)
    refuse_param(kName, "degree", params_.degree, "must be above 0 without include_bias");
}

template <class T>
schema::EstimatorInfo PolynomialFeatures<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Products of columns up to a degree.",
          .params = param_set().infos(),
          .attributes = {"powers_", "n_output_features_"},
          .deviations = {}};
}

// The monomials of degree g that begin with feature f are f times those of degree g - 1 that begin with f or later (interactions:
// later).
template <class T>
void PolynomialFeatures<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  ctx.check_stop();
  n_features_ = X.n_cols();
  double total = 0;
  for (std::int64_t g = 0; g <= most_degree_ && total <= 4e9; ++g)
    total += monomials_of_degree(static_cast<double>(n_features_), g, params_.interaction_only);
  require(total < std::numeric_limits<std::int32_t>::max(), schema::ErrorCode::kBadData,
          "{}: {} columns of degree up to {} would make about {:.3g} columns, more than 2147483647", kName, n_features_,
          most_degree_, total);
  feature_.assign(1, -1), parent_.assign(1, -1), degree_.assign(1, 0);
  std::vector<std::int32_t> starts(static_cast<std::size_t>(n_features_) + 1,
                                   0);   // of degree g - 1, by first feature; then the end
  for (std::int64_t g = 1; g <= most_degree_; ++g) {
    std::vector<std::int32_t> next;
    for (std::int64_t f = 0; f < n_features_; ++f) {
      ctx.check_stop();
      next.push_back(static_cast<std::int32_t>(feature_.size()));
      const std::int32_t first = g == 1 ? 0 : starts[static_cast<std::size_t>(f + (params_.interaction_only ? 1 : 0))];
      const std::int32_t end = g == 1 ? 1 : starts.back();
      for (std::int32_t p = first; p < end; ++p)
        feature_.push_back(static_cast<std::int32_t>(f)), parent_.push_back(g == 1 ? -1 : p),
            degree_.push_back(static_cast<std::int32_t>(g));
    }
    next.push_back(static_cast<std::int32_t>(feature_.size()));
    starts = std::move(next);
  }
  kept_.clear();
  for (std::size_t c = 0; c < degree_.size(); ++c)
    if (degree_[c] == 0 ? params_.include_bias : degree_[c] >= least_degree_) kept_.push_back(static_cast<std::int32_t>(c));
}

template <class T>
Samples<T> PolynomialFeatures<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  ctx.check_stop();
  const bool drops_ones = kept_.empty() || kept_[0] != 0, drops_more = kept_.size() + (drops_ones ? 1 : 0) != feature_.size();
  std::vector<std::int32_t> feature(feature_.begin() + (drops_ones ? 1 : 0), feature_.end());
  std::vector<std::int32_t> parent(parent_.begin() + (drops_ones ? 1 : 0), parent_.end());
  for (std::int32_t& p : parent) p -= drops_ones && p >= 0 ? 1 : 0;
  const Array<std::int32_t> features(ctx.memory(), std::span<const std::int32_t>(feature)),
      parents(ctx.memory(), std::span<const std::int32_t>(parent));
  Matrix<T> scratch, all = table_matrix<T>(ctx.device, X.n_rows(), features.size());
  ctx.ops<T>().maps->monomials(X.values(ctx, scratch), features.view(), parents.view(), all.view());
  if (!drops_more) return samples_of(std::move(all));
  std::vector<std::int32_t> columns = kept_;
  for (std::int32_t& c : columns) c -= drops_ones ? 1 : 0;
  const Array<std::int32_t> taken(ctx.memory(), std::span<const std::int32_t>(columns));
  Matrix<T> out = table_matrix<T>(ctx.device, X.n_rows(), taken.size());
  ctx.ops<T>().categories->take_columns(std::as_const(all).view(), {}, taken.view(), out.view());
  return samples_of(std::move(out));
}

template <class T>
schema::ValueMap PolynomialFeatures<T>::attributes() const {
  std::vector<double> powers;
  for (const std::int32_t column : kept_) {
    check_job_stop();
    std::vector<double> row(static_cast<std::size_t>(n_features_), 0.0);
    for (std::int32_t c = column; c >= 0 && feature_[static_cast<std::size_t>(c)] >= 0; c = parent_[static_cast<std::size_t>(c)])
      ++row[static_cast<std::size_t>(feature_[static_cast<std::size_t>(c)])];
    powers.insert(powers.end(), row.begin(), row.end());
  }
  return {{"powers_", rows_value(powers, n_features_)}, {"n_output_features_", static_cast<std::int64_t>(kept_.size())}};
}

template <class T>
void PolynomialFeatures<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  auto count = static_cast<std::int64_t>(feature_.size());
  archive.number("monomials", count, 1, kMaxSize);
  archive.indices("feature", feature_, count, -1, n_features_ - 1);
  archive.indices("parent", parent_, count, -1, count - 1);
  archive.indices("degree", degree_, count, 0, kMaxSize);
  archive.indices("kept", kept_, kAnySize, 0, count - 1);
  archive.expect(feature_[0] == -1, "feature", "does not begin with the constant");
  for (std::size_t i = 1; archive.is_loading() && i < feature_.size(); ++i) {
    archive.expect(feature_[i] >= 0, "feature", "has two constants");
    archive.expect(parent_[i] < static_cast<std::int32_t>(i), "parent", "has one that comes after its product");
  }
  archive.expect(std::is_sorted(kept_.begin(), kept_.end()), "kept", "is not in order");
}

template class PolynomialFeatures<float>;
template class PolynomialFeatures<double>;

}  // namespace kedge::engine
