// The interfaces of an estimator: fit, then transform or predict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/samples.h"
#include "engine/estimators/target.h"
#include "schemas/value.h"

namespace kedge::engine {

class StateArchive;

inline constexpr const char* kFeaturesIn = "n_features_in_";   // an attribute of every estimator

enum class TargetKind { kNone, kClasses, kValues };

// Which squares of its columns fit() makes, and so which finite values it cannot distinguish: see magnitudes.h.
enum class Squares {
  kNone,         // none, or it scales the columns first
  kColumns,      // of columns, in double; what is small compared with 1 may vanish
  kEachColumn,   // of columns, in double, and none may vanish
  kRows,         // of the distances of rows, in T
  kProducts,     // of the whole table, in T
};

// T is float or double. fit() may be called again; it forgets the former fit. Not thread safe.
template <class T>
class Estimator {
 public:
  virtual ~Estimator() = default;
  // X has no NaN or infinity unless accepts_nan(). Errors: kBadData naming the estimator, what it needs and what it got;
  // kCancelled.
  virtual void fit(const Context& ctx, const Samples<T>& X, const Target& y) = 0;
  // What fit() reads of its Target.
  virtual TargetKind target_kind() const { return TargetKind::kNone; }
  // Whether fit() reads Target::weights. Without it, a job with sample weights is refused.
  virtual bool takes_weights() const { return false; }
  // Whether missing values (NaN) may be in X, for fit and after it.
  virtual bool accepts_nan() const { return false; }
  // Whether X may have nominal columns: codes of their categories, see Table::features.
  virtual bool accepts_categories() const { return false; }
  // Whether X may be sparse, for fit and after it: see sparse_rows.h. What does not take it gets a dense copy, while that is small.
  virtual bool accepts_sparse() const { return false; }
  // Whether fit() reads binned_table(); the bins are then made, and timed, before it.
  virtual bool reads_bins() const { return false; }
  // Tables that leave the range of these squares are refused before fit().
  virtual Squares squares() const { return Squares::kNone; }
  // Whether fit() squares Target::values: the same for them.
  virtual bool squares_target() const { return false; }
  // Before any candidate of a search is fitted: says by plan.want() which shared work fit() on samples of this content, and what
  // follows it, will ask of Context::work. Called on an estimator that is not fitted.
  virtual void announce(WorkCache&, const std::string&) const {}
  // Fitted attributes under scikit-learn's names (coef_ ...), except n_features_in_: see fitted_attributes().
  virtual schema::ValueMap attributes() const = 0;
  // What fit() left, member by member (engine/core/state_archive.h): saves it to a model, or loads it into an estimator that was made with
  // the same parameters, on any device; what is loaded is checked so that no later call can go wrong. The default refuses.
  virtual void state(StateArchive& archive);
};

// What a result says of a fitted estimator: its attributes, and how many columns it was fitted with.
template <class T>
schema::ValueMap fitted_attributes(const Estimator<T>& estimator, std::int64_t n_features) {
  schema::ValueMap map = estimator.attributes();
  map.emplace_back(kFeaturesIn, n_features);
  return map;
}

// A class may be both a Transformer and a predictor (LinearDiscriminantAnalysis, KMeans), therefore the virtual bases.
template <class T>
class Transformer : public virtual Estimator<T> {
 public:
  virtual Samples<T> transform(const Context& ctx, const Samples<T>& X) const = 0;
};

template <class T>
class Classifier : public virtual Estimator<T> {
 public:
  TargetKind target_kind() const override { return TargetKind::kClasses; }
  // Classes of the Target that it was fitted with, whether or not its rows had them all; 0 before fit.
  virtual std::int32_t n_classes() const = 0;
  virtual bool has_proba() const { return true; }
  // proba (device): X.n_rows() x n_classes; each row sums to 1. Called only if has_proba().
  virtual void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const;
  virtual bool has_decision() const { return false; }
  // decision (device): X.n_rows() x 1 with n_classes() = 2 (positive: the second class), otherwise X.n_rows() x
  // n_classes, where a class that the fitted rows lacked has -infinity. Called only if has_decision().
  virtual void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const;
  // Codes of the predicted classes. The default takes the first largest probability of each row, or decision without has_proba().
  virtual std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const;
};

template <class T>
class Regressor : public virtual Estimator<T> {
 public:
  TargetKind target_kind() const override { return TargetKind::kValues; }
  // Predicted values, host, one per row.
  virtual std::vector<double> predict(const Context& ctx, const Samples<T>& X) const = 0;
};

// Fits several target columns, Target::outputs, to one table. It is neither a Classifier nor a Regressor, whose callers
// know one target.
template <class T>
class MultiOutput : public virtual Estimator<T> {
 public:
  // By output: how many classes it has, 0 of values; empty before fit.
  virtual std::vector<std::int32_t> class_counts() const = 0;
  // By output, host, one entry a row: values, or the codes of the predicted classes.
  virtual std::vector<std::vector<double>> predict(const Context& ctx, const Samples<T>& X) const = 0;
  virtual bool has_proba() const { return false; }
  // By output, host: rows x classes. Called only if has_proba().
  virtual std::vector<std::vector<double>> predict_proba(const Context& ctx, const Samples<T>& X) const;
};

template <class T>
class Clusterer : public virtual Estimator<T> {
 public:
  // Cluster of each row that it was fitted with, host; -1 is noise.
  virtual const std::vector<std::int32_t>& labels() const = 0;
  virtual bool can_predict() const { return true; }
  // Cluster of each row, host. Called only if can_predict().
  virtual std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const;
};

}  // namespace kedge::engine
