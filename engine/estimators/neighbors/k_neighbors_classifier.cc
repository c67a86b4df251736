// KNeighborsClassifier: the neighbour search, and the vote.
#include "engine/estimators/neighbors/k_neighbors_classifier.h"

#include <algorithm>

#include "engine/backend/functors.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"

namespace kedge::engine {
namespace {

using P = KNeighborsClassifierParams;
constexpr const char* kName = "KNeighborsClassifier";
constexpr double kMaxNeighbors = 1024;   // what the selection of NeighbourOps::nearest can hold

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> s(kName);
    s.add("n_neighbors", &P::n_neighbors, between(1, kMaxNeighbors), "Number of neighbours that vote.")
        .any("weights", &P::weights, neighbor_weight_forms(), "uniform: each neighbour counts 1 (null means the same); distance: 1 / distance.");
    return add_neighbor_params(s);
  }();
  return set;
}

// The votes of the k nearest neighbours of some queries. More neighbours go on where fewer have stopped, in the same order and so to
// the same bits.
struct Votes {
  std::size_t k = 0;
  std::vector<double> of_class, total;   // queries x classes; by query
};

// Adds the weights of the neighbours begin .. end - 1 to their classes, and to the total. A neighbour at distance 0, which is the first
// then, takes all.
void vote(std::span<const std::int32_t> indices, std::span<const double> distances, std::size_t begin, bool by_distance,
          const std::vector<std::int32_t>& codes, double* of_class, double& total) {
  const bool is_exact = by_distance && distances[0] == 0;
  for (std::size_t j = begin; j < indices.size() && (!is_exact || distances[j] == 0); ++j) {
    const double weight = by_distance && !is_exact ? 1 / distances[j] : 1;
    of_class[codes[static_cast<std::size_t>(indices[j])]] += weight, total += weight;
  }
}

// Makes the votes those of the lists.
void count_votes(const NearestLists& found, bool by_distance, const std::vector<std::int32_t>& codes, std::size_t n_classes, Votes& votes) {
  const auto n = static_cast<std::size_t>(found.count);
  if (votes.k == 0 || votes.k > found.k) votes = {.of_class = std::vector<double>(n * n_classes), .total = std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    const auto query = static_cast<std::int64_t>(i);
    vote(found.indices_of(query), found.distances_of(query), votes.k, by_distance, codes, votes.of_class.data() + i * n_classes, votes.total[i]);
  }
  votes.k = found.k;
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

// take(row, votes of the classes, their sum) for every row of X.
template <class T>
template <class Take>
void KNeighborsClassifier<T>::visit_votes(const Context& ctx, const Samples<T>& X, const Take& take) const {
  const auto n_classes = static_cast<std::size_t>(present_.n_all());
  const bool by_distance = params_.weights == "distance";
  const std::string lists = model_.shared_lists(ctx, X, params_.n_neighbors);
  const auto shared = lists.empty() ? nullptr : ctx.work->get<Votes>(by_distance ? "votes by distance" : "votes", lists, [] { return Votes{}; });
  std::vector<double> own(n_classes);   // of one row: the classes may be as many as the rows
  model_.nearest(ctx, kName, X, params_.n_neighbors, [&](const NearestLists& found) {
    if (shared) count_votes(found, by_distance, codes_, n_classes, *shared);
    for (std::int64_t i = 0; i < found.count; ++i) {
      const auto at = static_cast<std::size_t>(i), row = static_cast<std::size_t>(found.first) + at;
      if (shared) {
        take(row, std::span(shared->of_class).subspan(at * n_classes, n_classes), shared->total[at]);
        continue;
      }
      ctx.check_stop();
      double total = 0;
      std::ranges::fill(own, 0.0);
      vote(found.indices_of(i), found.distances_of(i), 0, by_distance, codes_, own.data(), total);
      take(row, std::span<const double>(own), total);
    }
  });
}

template <class T>
void KNeighborsClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const auto n_classes = static_cast<std::size_t>(present_.n_all());
  std::vector<double> all(static_cast<std::size_t>(X.n_rows()) * n_classes);
  visit_votes(ctx, X, [&](std::size_t row, std::span<const double> votes, double total) {
    std::ranges::transform(votes, all.begin() + row * n_classes, [=](double of_class) { return of_class / total; });
  });
  require(proba.stride == proba.cols, schema::ErrorCode::kInternal, "{}: probabilities need a matrix without padding", kName);
  if (!all.empty()) ctx.memory().to_device(proba.data, all.data(), all.size() * sizeof(double));
}

template <class T>
std::vector<std::int32_t> KNeighborsClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  std::vector<std::int32_t> codes(static_cast<std::size_t>(X.n_rows()));
  visit_votes(ctx, X, [&](std::size_t row, std::span<const double> votes, double) {
    codes[row] = argmax_row(votes.data(), static_cast<std::int64_t>(votes.size()));
  });
  return codes;
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
