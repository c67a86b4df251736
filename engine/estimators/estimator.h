// The interfaces of an estimator: fit, then transform or predict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/samples.h"
#include "schemas/value.h"

namespace kedge::engine {

// Class codes of the rows of a Samples, in its row order.
struct Target {
  std::vector<std::int32_t> codes;          // host, one per row
  const Array<std::int32_t>* table_codes;   // device, one per row of the table (not of the selection); borrowed
  std::vector<std::string> classes;         // names, in code order; all classes of the data set
  std::int32_t n_classes() const { return static_cast<std::int32_t>(classes.size()); }
};

// T is float or double. fit() may be called again; it forgets the former fit. Not thread safe.
template <class T>
class Estimator {
 public:
  virtual ~Estimator() = default;
  // Errors: kBadData naming the estimator, what it needs and what it got; kCancelled.
  virtual void fit(const Context& ctx, const Samples<T>& X, const Target& y) = 0;
  // Whether fit() reads binned_table(); the bins are then made, and timed, before it.
  virtual bool reads_bins() const { return false; }
  // Fitted attributes under scikit-learn's names (coef_, components_ ...), for results.
  virtual schema::ValueMap attributes() const = 0;
};

template <class T>
class Transformer : public Estimator<T> {
 public:
  virtual Samples<T> transform(const Context& ctx, const Samples<T>& X) const = 0;
};

template <class T>
class Classifier : public Estimator<T> {
 public:
  // Classes of the Target that it was fitted with, whether or not its rows had them all; 0 before fit.
  virtual std::int32_t n_classes() const = 0;
  // proba (device): X.n_rows() x n_classes; each row sums to 1.
  virtual void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const = 0;
  // Codes of the predicted classes; the default takes the first largest probability of each row.
  virtual std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const;
};

}  // namespace kedge::engine
