// MultinomialNB, ComplementNB, BernoulliNB and CategoricalNB: naive Bayes on counts, with scores that are linear in what is
// counted.
#pragma once

#include <optional>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

enum class BayesKind { kMultinomial, kComplement, kBernoulli, kCategorical };

// All four share this struct; each declares those that it has.
struct DiscreteBayesParams {
  schema::Value alpha = 1.0;
  bool force_alpha = true, fit_prior = true, norm = false;
  schema::Value class_prior;
  std::optional<double> binarize = 0.0;
  schema::Value min_categories;
};

// fit counts an encoding of the rows by class: the values themselves, whether they exceed `binarize`, or an indicator of each
// column's category. Cost: O(n_samples * width of the encoding), in double; rows are encoded by blocks. predict: a product with
// the log probabilities. Errors: kBadData without rows, for a negative value (naming the column) and for a category that was not
// there in fit; kInvalidValue for alpha, class_prior and min_categories that do not fit the data. Source: Manning, Raghavan and
// Schütze, "Introduction to Information Retrieval", 2008, chapter 13; complement: Rennie et al., ICML 2003.
template <class T, BayesKind K>
class DiscreteNB final : public Classifier<T> {
 public:
  explicit DiscreteNB(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool accepts_sparse() const override { return K != BayesKind::kCategorical; }
  bool accepts_categories() const override { return K == BayesKind::kCategorical; }
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  Samples<T> prepared(const Samples<T>& X) const;
  MatrixView<const T> encoded(const Context& ctx, const Samples<T>& prepared, std::int64_t first, std::int64_t count,
                              Matrix<T>& values, Matrix<T>& encoding) const;
  void set_categories(const Context& ctx, const Samples<T>& X);
  void check_values(const Context& ctx, const Samples<T>& X, bool is_fit) const;
  void count(const Context& ctx, const Samples<T>& X, const Target& y);
  CsrMatrix<T> encoded_sparse(const Context& ctx, const Samples<T>& X) const;
  void count_sparse(const Context& ctx, const Samples<T>& X, const Target& y);
  void predict_sparse(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const;
  void set_prior(const Target& y);
  std::vector<double> smoothing(const Context& ctx) const;
  void set_probabilities(const std::vector<double>& alpha);
  void set_scores();
  schema::Value by_column(const std::vector<double>& numbers) const;

  DiscreteBayesParams params_;
  PresentClasses present_;
  std::int64_t n_features_ = 0, width_ = 0;  // width_: of the encoding
  std::vector<std::int64_t> offsets_;        // categorical: where each column's indicators begin, and their end
  std::vector<double> class_count_, class_log_prior_;
  std::vector<double> feature_count_, feature_log_prob_;  // classes x width_
  std::vector<double> weights_, biases_;                  // of the scores: classes x width_, and classes
};

template <class T>
using MultinomialNB = DiscreteNB<T, BayesKind::kMultinomial>;
template <class T>
using ComplementNB = DiscreteNB<T, BayesKind::kComplement>;
template <class T>
using BernoulliNB = DiscreteNB<T, BayesKind::kBernoulli>;
template <class T>
using CategoricalNB = DiscreteNB<T, BayesKind::kCategorical>;

}  // namespace kedge::engine
