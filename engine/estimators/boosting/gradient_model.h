// A fitted model of exact gradient boosting: its stages, how they came about, and how they are stored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/row_parts.h"
#include "engine/estimators/boosting/gradient_loss.h"
#include "engine/estimators/boosting/gradient_params.h"
#include "engine/estimators/boosting/gradient_stages.h"
#include "engine/estimators/contributions.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

// y: values, or positions of classes. codes: those positions again where the rows set aside take equal shares of each.
struct GradientTarget {
  const char* owner = "";
  StageLoss loss;
  std::vector<double> y;
  const std::vector<double>& weights;   // empty: all are 1
  std::vector<std::int32_t> codes;
  std::int32_t n_classes = 0;
};

template <class T>
class GradientModel {
 public:
  // What fit() with these parameters will ask of a search's work, for announce().
  static void announce(WorkCache& plan, const std::string& content, const char* owner, const GradientParams& params);
  // Within a search (ctx.work) the stages of candidates that differ only in n_estimators are grown once, for the
  // largest. Errors: kBadData for no rows or columns, weights that sum to 0, and rows set aside that leave none or lack
  // a class.
  void fit(const Context& ctx, const GradientParams& params, const Samples<T>& X, const GradientTarget& target);
  // Raw predictions, n_rows x n_outputs, output after output, host.
  std::vector<double> raw(const Context& ctx, const char* owner, const Samples<T>& X) const;
  // To the raw predictions, as Contributor.
  Contributions contributions(const Context& ctx, const char* owner, const Samples<T>& X,
                              const Division<T>& division) const;
  const StageLoss& loss() const { return loss_; }
  // Errors: kBadData with the first stage whose loss is not finite.
  void require_finite(const char* owner) const;
  schema::ValueMap attributes() const;
  // `loss` says what was fitted; its delta is stored.
  void state(StateArchive& archive, const StageLoss& loss, const GradientParams& params);

 private:
  void part_rows(const GradientTarget& target, std::int64_t n, std::uint32_t seed, RowParts& parts) const;
  GradientRows rows_of(const std::vector<double>& values, const GradientTarget& target,
                       const std::vector<std::int32_t>& rows) const;
  GradientStages grown(const Context& ctx, const Samples<T>& X, const GradientTarget& target,
                       std::int64_t n_stages) const;
  void take(const GradientStages& stages);

  GradientParams params_;
  StageLoss loss_;
  double learning_rate_ = 0.1;
  std::int64_t n_features_ = 0, max_features_ = 0, n_stages_ = 0;
  std::vector<double> first_, importances_, train_score_, oob_improvement_, oob_scores_;
  std::vector<Forest> forests_;   // by output, a tree for each stage
  // The forests on a device; made by the first prediction. They borrow forests_, so a copy of the model has none.
  struct Ready {
    Ready() = default;
    Ready(const Ready&) {}
    Ready& operator=(const Ready&) {
      forests.clear();
      return *this;
    }
    std::vector<std::unique_ptr<const ReadyForest>> forests;
    const Device* on = nullptr;
  };
  mutable Ready ready_;
  mutable KeptShap kept_shap_;   // of forests_
};

}   // namespace kedge::engine
