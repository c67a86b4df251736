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

// Adds each neighbour's weight to its class, and returns their sum. A neighbour at distance 0, which is the first then, takes all.
double vote(std::span<const std::int32_t> indices, std::span<const double> distances, bool by_distance, const std::vector<std::int32_t>& codes,
            std::span<double> votes) {
  const auto class_of = [&](std::size_t j) -> double& { return votes[static_cast<std::size_t>(codes[static_cast<std::size_t>(indices[j])])]; };
  if (!by_distance) {
    for (std::size_t j = 0; j < indices.size(); ++j) class_of(j) += 1;
    return static_cast<double>(indices.size());
  }
  double total = 0;
  if (distances[0] == 0) {
    for (std::size_t j = 0; j < indices.size() && distances[j] == 0; ++j) class_of(j) += 1, total += 1;
    return total;
  }
  for (std::size_t j = 0; j < indices.size(); ++j) {
    const double weight = 1 / distances[j];
    class_of(j) += weight, total += weight;
  }
  return total;
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
  const auto n_classes = static_cast<std::size_t>(present_.n_all());
  std::vector<double> shares(static_cast<std::size_t>(X.n_rows()) * n_classes, 0.0);
  const bool by_distance = params_.weights == "distance";
  model_.nearest(ctx, kName, X, params_.n_neighbors, [&](const NearestLists& found) {
    for (std::int64_t i = 0; i < found.count; ++i) {
      const std::span own(shares.data() + static_cast<std::size_t>(found.first + i) * n_classes, n_classes);
      const double total = vote(found.indices_of(i), found.distances_of(i), by_distance, codes_, own);
      for (double& share : own) share /= total;
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
