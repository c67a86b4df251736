// IsolationForest: path lengths as the prediction of a forest.
#include "engine/estimators/outliers/isolation_forest.h"

#include <algorithm>
#include <numbers>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/outliers/contamination.h"
#include "engine/estimators/outliers/isolation_trees.h"
#include "engine/estimators/part_states.h"

namespace kedge::engine {
namespace {

using P = IsolationForestParams;
constexpr const char* kName = "IsolationForest";
constexpr std::int64_t kAutoSamples = 256;
constexpr double kAutoOffset = -0.5;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_estimators", &P::n_estimators, between(1, 1 << 20), "Number of trees.")
          .any("max_samples", &P::max_samples,
               {string_form({"auto"}), integer_form(at_least(1)), number_form(above_up_to(0, 1))},
               "Rows of each tree: a number, a share of all, or auto for at most 256.")
          .any("contamination", &P::contamination, contamination_forms(), kContaminationDoc)
          .any("max_features", &P::max_features, {integer_form(at_least(1)), number_form(above_up_to(0, 1))},
               "Columns of each tree: a number, or a share of all.")
          .add("bootstrap", &P::bootstrap, "Whether the rows of a tree are drawn with replacement.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .random_state(&P::random_state)
          .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
          .ignore("warm_start", false, {boolean_form()});
  return set;
}

std::int64_t samples_for(const schema::Value& max_samples, std::int64_t n) {
  if (const auto* const count = std::get_if<std::int64_t>(&max_samples.data)) return std::min(*count, n);
  if (const auto* const share = std::get_if<double>(&max_samples.data))
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(*share * static_cast<double>(n)));
  return std::min(kAutoSamples, n);
}

}   // namespace

template <class T>
IsolationForest<T>::IsolationForest(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo IsolationForest<T>::info() {
  return {.name = kName,
          .kind = "detector",
          .family = "ensemble",
          .doc = "Outliers by the lengths of the paths that isolate them in random trees.",
          .params = param_set().infos(),
          .attributes = {"max_samples_", "offset_", "estimators_features_"},
          .deviations = {"Missing values are refused.", "warm_start is ignored: every fit starts anew.",
                         "The trees themselves are not among the attributes."}};
}

template <class T>
MemoryNeed IsolationForest<T>::memory(const SampleShape& X, const schema::Step& step) {
  constexpr std::int64_t kNodeBytes = 120;   // of the forest, and where its device reads it
  const schema::Value* const wanted = find_value(step.params, "max_samples");
  const std::int64_t samples = samples_for(wanted ? *wanted : schema::Value("auto"), X.rows);
  const std::int64_t fetched =
      std::min(bytes_of(memory::integer(step, "n_estimators") * samples, X.cols, memory::kDouble),
               bytes_of(samples, X.cols, memory::kDouble) + (std::int64_t{64} << 20));
  const std::int64_t nodes = bytes_of(2 * samples, memory::integer(step, "n_estimators"), kNodeBytes);
  return {.work = X.copy() + 3 * fetched + nodes + X.rows * 4 * memory::kDouble, .minimum = 0};
}

template <class T>
std::int64_t IsolationForest<T>::count_samples(const Context& ctx, std::int64_t n) const {
  const auto* const given = std::get_if<std::int64_t>(&params_.max_samples.data);
  if (given && *given > n)
    ctx.warn(fmt::format("{}: max_samples is {}, more than the {} rows; takes all of them", kName, *given, n));
  return samples_for(params_.max_samples, n);
}

template <class T>
std::int64_t IsolationForest<T>::count_features(std::int64_t d) const {
  const auto* const given = std::get_if<std::int64_t>(&params_.max_features.data);
  if (!given)
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::get<double>(params_.max_features.data) * static_cast<double>(d)));
  require(*given <= d, schema::ErrorCode::kBadData, "{}: max_features is {}, but there are only {} columns", kName,
          *given, d);
  return *given;
}

template <class T>
void IsolationForest<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  n_features_ = X.n_cols(), max_samples_ = count_samples(ctx, X.n_rows()), tree_features_ = count_features(X.n_cols());
  IsolationForestTrees trees = grow_isolation_trees(
      ctx, kName, X,
      {.n_trees = params_.n_estimators,
       .max_samples = max_samples_,
       .max_features = tree_features_,
       .bootstrap = params_.bootstrap,
       .weights = y.weights,
       .seed = static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed)))});
  forest_ = std::move(trees.forest), kept_shap_ = {};
  features_.clear();
  for (const auto& of_tree : trees.features) features_.insert(features_.end(), of_tree.begin(), of_tree.end());
  const auto share = contamination_share(params_.contamination);
  this->offset_ = share ? score_quantile(ctx, scores(ctx, X).view(), *share) : kAutoOffset;
}

// -2^(-mean path / average path of a tree).
template <class T>
Matrix<double> IsolationForest<T>::scores(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  ctx.check_stop();
  Matrix<double> out(ctx.memory(), X.n_rows(), 1);
  if (X.n_rows() == 0) return out;
  Matrix<T> scratch;
  ctx.device.trees().prepare(forest_)->predict(X.values(ctx, scratch), out.view());
  const double average = average_path_length(max_samples_);
  MapOps<double>& maps = *ctx.ops<double>().maps;
  maps.map(Unary::kExp, average > 0 ? -std::numbers::ln2 / average : 0, std::as_const(out).view(), out.view());
  const Matrix<double> factor(ctx.memory(), 1, 1, std::vector<double>{average > 0 ? -1.0 : kAutoOffset});
  maps.combine(Binary::kMultiply, std::as_const(out).view(), factor.view(), out.view());
  return out;
}

template <class T>
Contributions IsolationForest<T>::contributions(const Context& ctx, const Samples<T>& X,
                                                const Division<T>& division) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  return {.values = contributions_of(ctx, X, division, kept_shap_, [&] { return shap_trees(forest_); })};
}

template <class T>
schema::ValueMap IsolationForest<T>::attributes() const {
  return {{"max_samples_", max_samples_},
          {"offset_", this->offset_},
          {"estimators_features_", rows_value({features_.begin(), features_.end()}, tree_features_)}};
}

template <class T>
void IsolationForest<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("max_samples", max_samples_, 1, kMaxSize);
  archive.number("tree_features", tree_features_, 1, archive.n_features());
  archive.field("offset", this->offset_);
  archive.indices("features", features_, params_.n_estimators * tree_features_, 0, archive.n_features() - 1);
  forest_state(archive, forest_, 0);
  if (archive.is_loading()) kept_shap_ = {};
}

template class IsolationForest<float>;
template class IsolationForest<double>;

}   // namespace kedge::engine
