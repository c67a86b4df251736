// The neighbour estimators except KNeighborsClassifier: searches of neighbor_model.h, and predictions from the
// neighbours.
#include "engine/estimators/neighbors/neighbor_estimators.h"

#include <algorithm>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

constexpr double kMaxNeighbors = 1024;   // what the selection of NeighbourOps::nearest can hold
constexpr const char *kNearest = "NearestNeighbors", *kRegressor = "KNeighborsRegressor", *kRadiusClassifier = "RadiusNeighborsClassifier",
                     *kRadiusRegressor = "RadiusNeighborsRegressor";
constexpr const char *kNeighborsDoc = "Number of neighbours.", *kRadiusDoc = "Distance within which rows are neighbours.",
                     *kWeightsDoc = "uniform: each neighbour counts 1 (null means the same); distance: 1 / distance.";
constexpr const char* kMetrics = "Other metrics than the listed ones, and callables, are refused.";

const ParamSet<NearestNeighborsParams>& nearest_set() {
  using P = NearestNeighborsParams;
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kNearest);
    s.add("n_neighbors", &P::n_neighbors, between(1, kMaxNeighbors), kNeighborsDoc).add("radius", &P::radius, at_least(0), kRadiusDoc);
    return add_neighbor_params(s);
  }();
  return set;
}

const ParamSet<KNeighborsRegressorParams>& regressor_set() {
  using P = KNeighborsRegressorParams;
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kRegressor);
    s.add("n_neighbors", &P::n_neighbors, between(1, kMaxNeighbors), kNeighborsDoc).any("weights", &P::weights, neighbor_weight_forms(), kWeightsDoc);
    return add_neighbor_params(s);
  }();
  return set;
}

ParamSet<RadiusNeighborsParams> radius_set(const char* name) {
  using P = RadiusNeighborsParams;
  ParamSet<P> s(name);
  s.add("radius", &P::radius, at_least(0), kRadiusDoc).any("weights", &P::weights, neighbor_weight_forms(), kWeightsDoc);
  return add_neighbor_params(s);
}
const ParamSet<RadiusNeighborsParams>& radius_regressor_set() {
  static const ParamSet<RadiusNeighborsParams> set = radius_set(kRadiusRegressor);
  return set;
}
const ParamSet<RadiusNeighborsParams>& radius_classifier_set() {
  static const ParamSet<RadiusNeighborsParams> set = radius_set(kRadiusClassifier)
                                                         .any("outlier_label", &RadiusNeighborsParams::outlier_label,
                                                              {string_form(), integer_form(), null_form()},
                                                              "Class of rows without neighbours; most_frequent takes the commonest; null refuses them.");
  return set;
}

double weighted_mean(std::span<const std::int32_t> indices, std::span<const double> weights, const std::vector<double>& values) {
  double sum = 0, total = 0;
  for (std::size_t j = 0; j < indices.size(); ++j)
    sum += weights[j] * values[static_cast<std::size_t>(indices[j])], total += weights[j];
  return sum / total;
}

// The code of the class that outlier_label names, if it does.
std::optional<std::int32_t> outlier_code(const schema::Value& label, const Target& y, const PresentClasses& present) {
  if (label.is_null()) return std::nullopt;
  const auto* text = std::get_if<std::string>(&label.data);
  if (text && *text == "most_frequent")
    return present.codes[static_cast<std::size_t>(std::max_element(present.counts.begin(), present.counts.end()) - present.counts.begin())];
  const std::string name = text ? *text : std::to_string(std::get<std::int64_t>(label.data));
  const auto found = std::find(y.classes.begin(), y.classes.end(), name);
  if (found == y.classes.end()) refuse_param(kRadiusClassifier, "outlier_label", label, "which is no class of the data");
  return static_cast<std::int32_t>(found - y.classes.begin());
}

}  // namespace

template <class T>
NearestNeighbors<T>::NearestNeighbors(const schema::ValueMap& params) : params_(nearest_set().parse(params)) {
  check_neighbor_params(kNearest, params_);
}

template <class T>
schema::EstimatorInfo NearestNeighbors<T>::info() {
  return {.name = kNearest,
          .kind = "neighbors",
          .family = "neighbors",
          .doc = "Keeps rows, prepared for searches of neighbours.",
          .params = nearest_set().infos(),
          .attributes = NeighborModel<T>::attribute_names(),
          .deviations = {"n_neighbors is at most 1024.", kMetrics, "Among equal distances the earlier row is nearer."}};
}

template <class T>
void NearestNeighbors<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kNearest, X);
  model_.fit(ctx, X, params_);
}

template <class T>
typename NearestNeighbors<T>::Neighbors NearestNeighbors<T>::kneighbors(const Context& ctx, const Samples<T>& X) const {
  Neighbors result;
  model_.nearest(ctx, kNearest, X, params_.n_neighbors, [&](const NearestLists& found) {
    for (std::int64_t i = 0; i < found.count; ++i) {
      result.indices.insert(result.indices.end(), found.indices_of(i).begin(), found.indices_of(i).end());
      result.distances.insert(result.distances.end(), found.distances_of(i).begin(), found.distances_of(i).end());
    }
  });
  return result;
}

template <class T>
typename NearestNeighbors<T>::Neighborhoods NearestNeighbors<T>::radius_neighbors(const Context& ctx, const Samples<T>& X) const {
  Neighborhoods result{.offsets = {0}};
  model_.within(ctx, kNearest, X, params_.radius, [&](std::int64_t, std::span<const std::int32_t> indices, std::span<const double> distances) {
    result.indices.insert(result.indices.end(), indices.begin(), indices.end());
    result.distances.insert(result.distances.end(), distances.begin(), distances.end());
    result.offsets.push_back(static_cast<std::int64_t>(result.indices.size()));
  });
  return result;
}

template <class T>
KNeighborsRegressor<T>::KNeighborsRegressor(const schema::ValueMap& params) : params_(regressor_set().parse(params)) {
  check_neighbor_params(kRegressor, params_);
}

template <class T>
schema::EstimatorInfo KNeighborsRegressor<T>::info() {
  return {.name = kRegressor,
          .kind = "regressor",
          .family = "neighbors",
          .doc = "Mean target of the k nearest training rows.",
          .params = regressor_set().infos(),
          .attributes = NeighborModel<T>::attribute_names(),
          .deviations = {"n_neighbors is at most 1024.", kMetrics, "Among equal distances the earlier training row is nearer."}};
}

template <class T>
void KNeighborsRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRegressor, X);
  values_ = y.values;
  model_.fit(ctx, X, params_);
}

template <class T>
std::vector<double> KNeighborsRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<double> predicted, weights;
  model_.nearest(ctx, kRegressor, X, params_.n_neighbors, [&](const NearestLists& found) {
    for (std::int64_t i = 0; i < found.count; ++i) {
      neighbor_weights(found.distances_of(i), params_.weights == "distance", weights);
      predicted.push_back(weighted_mean(found.indices_of(i), weights, values_));
    }
  });
  return predicted;
}

template <class T>
RadiusNeighborsClassifier<T>::RadiusNeighborsClassifier(const schema::ValueMap& params) : params_(radius_classifier_set().parse(params)) {
  check_neighbor_params(kRadiusClassifier, params_);
}

template <class T>
schema::EstimatorInfo RadiusNeighborsClassifier<T>::info() {
  std::vector<std::string> attributes = NeighborModel<T>::attribute_names();
  attributes.insert(attributes.begin(), {"classes_", "outlier_label_"});
  return {.name = kRadiusClassifier,
          .kind = "classifier",
          .family = "neighbors",
          .doc = "Vote of the training rows within a radius.",
          .params = radius_classifier_set().infos(),
          .attributes = std::move(attributes),
          .deviations = {kMetrics, "outlier_label must be a class of the data."}};
}

template <class T>
void RadiusNeighborsClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRadiusClassifier, X);
  present_ = PresentClasses(y);
  codes_ = y.codes;
  outlier_ = outlier_code(params_.outlier_label, y, present_);
  model_.fit(ctx, X, params_);
}

template <class T>
void RadiusNeighborsClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const auto n_classes = static_cast<std::size_t>(present_.n_all());
  std::vector<double> shares(static_cast<std::size_t>(X.n_rows()) * n_classes, 0.0), weights;
  model_.within(ctx, kRadiusClassifier, X, params_.radius, [&](std::int64_t i, std::span<const std::int32_t> indices, std::span<const double> distances) {
    double* const own = shares.data() + static_cast<std::size_t>(i) * n_classes;
    if (indices.empty()) {
      require(outlier_.has_value(), schema::ErrorCode::kBadData, "{}: row {} has no neighbours within radius {}; set outlier_label, or a larger radius",
              kRadiusClassifier, i, params_.radius);
      own[*outlier_] = 1;
      return;
    }
    neighbor_weights(distances, params_.weights == "distance", weights);
    double total = 0;
    for (std::size_t j = 0; j < indices.size(); ++j) own[codes_[static_cast<std::size_t>(indices[j])]] += weights[j], total += weights[j];
    for (std::size_t c = 0; c < n_classes; ++c) own[c] /= total;
  });
  require(proba.stride == proba.cols, schema::ErrorCode::kInternal, "{}: probabilities need a matrix without padding", kRadiusClassifier);
  if (!shares.empty()) ctx.memory().to_device(proba.data, shares.data(), shares.size() * sizeof(double));
}

template <class T>
schema::ValueMap RadiusNeighborsClassifier<T>::attributes() const {
  schema::ValueMap map = model_.attributes();
  schema::Value label;
  if (outlier_) label = present_.positions[static_cast<std::size_t>(*outlier_)] < 0
                            ? params_.outlier_label
                            : schema::Value(present_.names[static_cast<std::size_t>(present_.positions[static_cast<std::size_t>(*outlier_)])]);
  map.insert(map.begin(), {{"classes_", present_.names_value()}, {"outlier_label_", std::move(label)}});
  return map;
}

template <class T>
RadiusNeighborsRegressor<T>::RadiusNeighborsRegressor(const schema::ValueMap& params) : params_(radius_regressor_set().parse(params)) {
  check_neighbor_params(kRadiusRegressor, params_);
}

template <class T>
schema::EstimatorInfo RadiusNeighborsRegressor<T>::info() {
  return {.name = kRadiusRegressor,
          .kind = "regressor",
          .family = "neighbors",
          .doc = "Mean target of the training rows within a radius.",
          .params = radius_regressor_set().infos(),
          .attributes = NeighborModel<T>::attribute_names(),
          .deviations = {kMetrics}};
}

template <class T>
void RadiusNeighborsRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRadiusRegressor, X);
  values_ = y.values;
  model_.fit(ctx, X, params_);
}

template <class T>
std::vector<double> RadiusNeighborsRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<double> predicted, weights;
  std::int64_t alone = 0;
  model_.within(ctx, kRadiusRegressor, X, params_.radius, [&](std::int64_t, std::span<const std::int32_t> indices, std::span<const double> distances) {
    neighbor_weights(distances, params_.weights == "distance", weights);
    predicted.push_back(indices.empty() ? std::numeric_limits<double>::quiet_NaN() : weighted_mean(indices, weights, values_));
    alone += indices.empty();
  });
  if (alone > 0) ctx.warn(fmt::format("{}: {} rows have no neighbours within radius {}; their prediction is NaN", kRadiusRegressor, alone, params_.radius));
  return predicted;
}

template <class T>
void NearestNeighbors<T>::state(StateArchive& archive) {
  model_.state(archive, params_);
}

template <class T>
void KNeighborsRegressor<T>::state(StateArchive& archive) {
  model_.state(archive, params_);
  archive.field("values", values_, model_.n_rows());
}

template <class T>
void RadiusNeighborsClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  model_.state(archive, params_);
  archive.indices("codes", codes_, model_.n_rows(), 0, archive.n_classes() - 1);
  std::int32_t outlier = outlier_.value_or(-1);
  archive.number("outlier", outlier, -1, archive.n_classes() - 1);
  if (archive.is_loading()) outlier_ = outlier < 0 ? std::nullopt : std::optional(outlier);
}

template <class T>
void RadiusNeighborsRegressor<T>::state(StateArchive& archive) {
  model_.state(archive, params_);
  archive.field("values", values_, model_.n_rows());
}

template class NearestNeighbors<float>;
template class NearestNeighbors<double>;
template class KNeighborsRegressor<float>;
template class KNeighborsRegressor<double>;
template class RadiusNeighborsClassifier<float>;
template class RadiusNeighborsClassifier<double>;
template class RadiusNeighborsRegressor<float>;
template class RadiusNeighborsRegressor<double>;

}  // namespace kedge::engine
