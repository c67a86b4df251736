// A fitted forest, or tree, of an estimator: grown on the job's bins or on exact values, shared between candidates of a search.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/ops/grown_forest.h"
#include "engine/estimators/contributions.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/trees/tree_params.h"

namespace kedge::engine {

// What fit() grows from.
struct TreeFit {
  const char* owner;
  ForestOptions options;
  TreeTarget target;                 // without `codes`
  const Target& y;
  bool is_exact = false;             // no quantile bins
  const std::string& draws;          // the parameter; fit() sets options.draws by it
  double ccp_alpha = 0;
  std::string share_key;   // names the parameters that the trees depend on, except their number and depth
};

// Value semantics except for the forest, which candidates of a search may share. A forest that was grown on a GPU stays
// there, and borrows the device, as predictions do. Not thread safe.
template <class T>
class TreeModel {
 public:
  // fit.options.n_trees trees. Within a search (ctx.work) they are taken from those that an equal candidate has left: the first ones
  // of a larger forest, cut at max_depth; trees that are missing are grown and left there. Errors: those of TreeOps; kCancelled.
  void fit(const Context& ctx, const Samples<T>& X, TreeFit fit);
  // out (device): X.n_rows() x n_outputs. Rows of the fitted table go through as bytes.
  void predict(const Context& ctx, const char* owner, const Samples<T>& X, MatrixView<double> out) const;
  // As Contributor; of classes the shares of each.
  Contributions contributions(const Context& ctx, const char* owner, const Samples<T>& X,
                              const Division<T>& division) const;
  // The forest alone: loaded, it reads rows by their values.
  void state(StateArchive& archive, std::int32_t n_classes);

  // On the host, where a forest that has stayed on its device is brought when it is asked for first.
  const Forest& forest() const;
  const OutOfBag& out_of_bag() const { return out_of_bag_; }   // where options.bootstrap and `wants_out_of_bag`
  bool wants_out_of_bag = false;

 private:
  struct Growth;   // where and how trees are grown
  struct There {   // the forest on the device that grew it
    std::shared_ptr<const GrownForest> forest;   // null: it was brought
    std::vector<double> shift, scale;            // of the samples, and the table's edges: what brought thresholds need
    BinEdges edges;
    const Device* on = nullptr;
  };
  struct Ready {   // made by the first prediction
    std::shared_ptr<const ReadyForest> forest;   // shared by copies of the model
    const void* of = nullptr;                    // the forest, here or there
    const Device* on = nullptr;
  };
  Forest grow(const Context& ctx, const Growth& growth, std::int64_t first, std::int64_t n_trees, std::int32_t max_depth) const;
  std::shared_ptr<const Forest> grown(const Context& ctx, const Samples<T>& X, const Growth& growth) const;
  void fit_bins(const Context& ctx, const Samples<T>& X, const Growth& growth);
  bool stays_there(const Context& ctx, const Samples<T>& X, const Growth& growth);
  const ReadyForest* ready_there(const Context& ctx) const;   // for bytes; null where it is to be brought
  bool has_fitted_codes(const Samples<T>& X) const;

  // Thresholds are on the values that fit was given; shared by equal candidates. Null while the forest is `there_`
  // alone.
  mutable std::shared_ptr<const Forest> forest_;
  mutable There there_;
  OutOfBag out_of_bag_;
  std::weak_ptr<Table<T>> fitted_table_;   // whose bytes the trees were grown on; none if a copy was binned
  std::vector<double> shift_, scale_;      // of the fitted samples
  mutable Ready ready_;                    // the forest on the device; destroyed before it
  mutable KeptShap kept_shap_;             // of the forest
};

}  // namespace kedge::engine
