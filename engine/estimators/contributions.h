// What each column contributes to what an estimator says of a row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/backend/host/tree_shap.h"
#include "engine/backend/ops/trees.h"
#include "engine/estimators/samples.h"
#include "schemas/value.h"

namespace kedge::engine {

inline constexpr std::string_view kContributions = "contributions", kInteractions = "interactions";

// Host: rows x n_outputs x (n_cols + 1), among pairs rows x n_outputs x (n_cols x n_cols + 1), the last of each the
// answer that is expected without knowing the row. Together they are the probability of a class (forests), its decision
// function (boosting; of two classes the second one's alone), or the raw value.
struct Contributions {
  std::int64_t n_outputs = 1;
  std::vector<double> values;
};

// How answers are divided. Borrows.
template <class T>
struct Division {
  const Samples<T>* background = nullptr;   // rows that the parts are counted against; null: what is known of the
                                            // fitted rows
  bool among_pairs = false;   // interactions: as tree_interactions() in engine/backend/host/tree_shap.h; without a
                              // background
};

// An estimator whose answers can be divided among its columns. Beside Estimator.
template <class T>
class Contributor {
 public:
  virtual ~Contributor() = default;
  // On the host. Errors: kBadData for other columns than were fitted; kInvalidValue for interactions that are more than
  // kMostInteractions; kCancelled.
  virtual Contributions contributions(const Context& ctx, const Samples<T>& X, const Division<T>& division) const = 0;
};

// Trees of a forest, which answer with the mean of their values; n_outputs: classes, of two of them the second one
// alone, or 1.
ShapTrees shap_trees(const Forest& forest);
void append_shap_trees(const Forest& forest, std::int32_t output, ShapTrees& all);

// Host copies.
template <class T>
AskedCells asked_cells(const Context& ctx, const Samples<T>& X, const Division<T>& division);

// The trees of a fitted model on the device that was last asked for contributions; copies share them. Who fits or loads
// other trees assigns {}. Destroyed before the device.
struct KeptShap {
  std::shared_ptr<const ReadyShap> ready;
  const Device* on = nullptr;
};

// Those of tree_contributions() that a device counts itself, which are the path-dependent ones of a device with memory
// of its own; empty where they are left to the host. X is not empty.
template <class T>
std::optional<std::vector<double>> device_contributions(const Context& ctx, const Samples<T>& X,
                                                        const Division<T>& division, KeptShap& kept,
                                                        const std::function<ShapTrees()>& trees,
                                                        const std::function<CellKeys()>& keys = {});

// Contributions of X by trees whose cells are read as they are, on the device where it counts them, otherwise on the
// host.
template <class T>
std::vector<double> contributions_of(const Context& ctx, const Samples<T>& X, const Division<T>& division,
                                     KeptShap& kept, const std::function<ShapTrees()>& trees);

// Of an estimator that is a line (RowTraits): coef (x - mean) of each column; the expected answer is the line's at the
// means, which are those of the background where there is one. Pairs of columns add nothing: the matrix of interactions
// is a diagonal. Errors: kBadData where the sizes do not fit each other.
Contributions line_contributions(const schema::ValueMap& attributes, const std::vector<double>& means,
                                 const AskedCells& asked);

// What is known of the second of two classes, so many numbers for each row, as that of both.
Contributions of_both_classes(const std::vector<double>& second, std::int64_t numbers_a_row);

}   // namespace kedge::engine
