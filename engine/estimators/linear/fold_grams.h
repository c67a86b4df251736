// Gram matrices of the folds of a regression: one pass over the rows serves every training and test set.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/estimators/linear/elastic_net_folds.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {

// A training set, and the means that its Gram matrix was centred by.
struct TrainFold {
  TargetGram gram;
  std::vector<double> mean;   // of the columns and then the target, counted from those of all rows
  double n_rows = 0;
};

// Gram matrices have d columns, the target, and a column of ones (times the root of the weights): side() = d + 2.
// Columns and target are less their means over all rows, with an intercept.
class FoldGrams {
 public:
  template <class T>
  FoldGrams(const Context& ctx, const LinearProblem<T>& problem, const std::vector<FoldRange>& folds,
            bool fit_intercept)
      : ctx_(ctx), folds_(folds), d_(problem.n_cols()), n_rows_(problem.n_rows()), fit_intercept_(fit_intercept) {
    Design<T> design = problem.design();
    const Matrix<double> targets = targets_and_ones(design.Y);
    design.Y = targets.view();
    for (const FoldRange& fold : folds) {
      ctx.check_stop();
      tests_.emplace_back(ctx.memory(), side(), side());
      ctx.ops<T>().design->gram(cut(design, fold), tests_.back().view());
      host_.push_back(tests_.back().to_host());
    }
  }

  std::int64_t side() const { return d_ + 2; }
  TrainFold train(std::size_t fold) const;
  // Mean squared errors of the coefficients (rows of W, also on the host in `coef`) on a fold's test rows.
  std::vector<double> errors(std::size_t fold, const TrainFold& train, const Matrix<double>& W,
                             const std::vector<double>& coef) const;
  // V G V' on the host, for the Gram matrix G of a fold's test rows: only the products of each row of V (count x
  // side(), host) with itself and, behind those, with the next row.
  std::vector<double> neighbour_products(std::size_t fold, const std::vector<double>& V) const;
  double test_weight(std::size_t fold) const { return host_[fold].back(); }

 private:
  template <class T>
  static Design<T> cut(Design<T> design, FoldRange fold) {   // some consecutive rows
    if (design.rows.empty()) design.X = design.X.row_range(fold.first, fold.count);
    else design.rows = design.rows.slice(fold.first, fold.count);
    if (!design.weights.empty()) design.weights = design.weights.slice(fold.first, fold.count);
    design.Y = design.Y.row_range(fold.first, fold.count);
    return design;
  }
  Matrix<double> targets_and_ones(MatrixView<const double> Y) const;

  const Context& ctx_;
  const std::vector<FoldRange>& folds_;
  std::int64_t d_, n_rows_;
  bool fit_intercept_;
  std::vector<Matrix<double>> tests_;
  std::vector<std::vector<double>> host_;
};

}   // namespace kedge::engine
