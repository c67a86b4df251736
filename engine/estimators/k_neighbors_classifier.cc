// KNeighborsClassifier: the neighbour search, and the vote.
#include "engine/estimators/k_neighbors_classifier.h"

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using P = KNeighborsClassifierParams;
constexpr const char* kName = "KNeighborsClassifier";
constexpr double kMaxNeighbors = 1024;   // what the selection of Backend::nearest can hold

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kName);
    s.add("n_neighbors", &P::n_neighbors, between(1, kMaxNeighbors), "Number of neighbours that vote.")
        .any("weights", &P::weights, neighbor_weight_forms(), "uniform: each neighbour counts 1 (null means the same); distance: 1 / distance.");
    return add_neighbor_params(s);
  }();
  return set;
}

}  // namespace

template <class T>
KNeighborsClassifier<T>::KNeighborsClassifier(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_neighbor_params(kName, params_);
}

template <class T>
schema::EstimatorInfo KNeighborsClassifier<T>::info() {
  std::vector<std::string> attributes = NeighborModel<T>::attribute_names();
  attributes.insert(attributes.begin(), "classes_");
  return {.name = kName,
          .kind = "classifier",
          .family = "neighbors",
          .doc = "Vote of the k nearest training rows.",
          .params = param_set().infos(),
          .attributes = std::move(attributes),
          .deviations = {"n_neighbors is at most 1024.", "Other metrics than the listed ones, and callables, are refused.",
                         "Among equal distances the earlier training row is nearer."}};
}

template <class T>
void KNeighborsClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  present_ = PresentClasses(y);
  codes_ = y.codes;
  model_.fit(ctx, X, params_);
}

template <class T>
void KNeighborsClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const auto n_classes = static_cast<std::size_t>(present_.n_all()), k = static_cast<std::size_t>(params_.n_neighbors);
  std::vector<double> shares(static_cast<std::size_t>(X.n_rows()) * n_classes, 0.0), weights;
  const bool by_distance = params_.weights == "distance";
  model_.nearest(ctx, kName, X, params_.n_neighbors, [&](std::int64_t first, std::int64_t count, const std::int32_t* indices, const double* distances) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      double* const own = shares.data() + (static_cast<std::size_t>(first) + i) * n_classes;
      neighbor_weights({distances + i * k, k}, by_distance, weights);
      double total = 0;
      for (std::size_t j = 0; j < k; ++j) own[codes_[static_cast<std::size_t>(indices[i * k + j])]] += weights[j], total += weights[j];
      for (std::size_t c = 0; c < n_classes; ++c) own[c] /= total;
    }
  });
  require(proba.stride == proba.cols, schema::ErrorCode::kInternal, "{}: probabilities need a matrix without padding", kName);
  if (!shares.empty()) ctx.memory().to_device(proba.data, shares.data(), shares.size() * sizeof(double));
}

template <class T>
schema::ValueMap KNeighborsClassifier<T>::attributes() const {
  schema::ValueMap map = model_.attributes();
  map.insert(map.begin(), {"classes_", present_.names_value()});
  return map;
}

template <class T>
void KNeighborsClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  model_.state(archive, params_);
  archive.indices("codes", codes_, model_.n_rows(), 0, archive.n_classes() - 1);
}

template class KNeighborsClassifier<float>;
template class KNeighborsClassifier<double>;

}  // namespace kedge::engine
