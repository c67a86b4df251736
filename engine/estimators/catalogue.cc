// The list of all estimators: the rows of each family.
#include "engine/estimators/catalogue.h"

#include <vector>

#include "engine/core/estimator_names.h"
#include "engine/estimators/catalogue_rows.h"

namespace kedge::engine {

std::span<const CatalogueEntry> catalogue() {
  static const Rows rows = [] {
    Rows all;
    for (const auto add_family :
         {add_preprocessing,  add_composition, add_text,      add_selection,    add_kernels,  add_decomposition,
          add_linear,         add_svm,         add_neighbors, add_cluster,      add_manifold, add_mixture,
          add_covariance,     add_outliers,    add_bayes,     add_discriminant, add_trees,    add_boosting,
          add_neural_network, add_meta,        add_dummy,     add_resampling})
      add_family(all);
    return all;
  }();
  return rows;
}

const CatalogueEntry* find_estimator(std::string_view name) {
  for (const CatalogueEntry& entry : catalogue())
    if (entry.info.name == name) return &entry;
  return nullptr;
}

const CatalogueEntry& known_estimator(std::string_view name, const std::string& where) {
  if (const CatalogueEntry* entry = find_estimator(name)) return *entry;
  std::vector<EstimatorName> here;
  for (const CatalogueEntry& entry : catalogue()) here.push_back({entry.info.name, entry.info.kind});
  throw schema::Error(schema::ErrorCode::kUnknownEstimator, "unknown estimator " + unknown_estimator(name, here), where);
}

}  // namespace kedge::engine
