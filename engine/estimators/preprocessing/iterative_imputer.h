// IterativeImputer: each column's missing values predicted from the other columns, round after round.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/preprocessing/simple_imputer.h"

namespace kedge::engine {

struct IterativeImputerParams {
  schema::Value missing_values = "NaN", fill_value, min_value, max_value;
  std::int64_t max_iter = 10;
  double tol = 1e-3;
  std::optional<std::int64_t> n_nearest_features, random_state;
  std::string initial_strategy = "mean", imputation_order = "ascending";
  bool sample_posterior = false, skip_complete = false, add_indicator = false, keep_empty_features = false;
};

// A Bayesian ridge regression for each column and round, from one Gram matrix of the rows that have the column, on the
// device; the host finds its evidence. The result of a fit is its sequence of regressions, which later rows go through.
// Cost: n d^2 for each column and round. Errors: kBadData for a nominal column, limits of another number of columns, no
// value at all. Source: van Buuren, Groothuis-Oudshoorn, "mice", Journal of Statistical Software 45, 2011; Buck, "A
// method of estimation of missing values", 1960.
template <class T>
class IterativeImputer final : public Transformer<T> {
 public:
  explicit IterativeImputer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  bool accepts_nan() const override { return true; }
  Squares squares() const override { return Squares::kColumns; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Regression {   // of a column from the others, among the kept ones
    std::int32_t column = 0;
    double intercept = 0;
    std::vector<double> coef;   // one for each kept column, 0 of its own
  };
  struct Table {                      // rows while they are imputed: of the kept columns
    Matrix<T> filled, marks, known;   // marks: 1 where a cell is missing; known: 0 there
    std::vector<double> missing;      // by column, how many cells
  };
  struct Limits {
    std::vector<double> low, high;   // of the kept columns
  };
  Table start(const Context& ctx, const Samples<T>& X) const;
  Limits limits() const;
  std::vector<std::int32_t> order(const Table& table, LegacyRandom& random) const;
  std::vector<std::vector<double>> nearness(const Context& ctx, const Table& table) const;
  Regression regression(const Context& ctx, const Table& table, std::int32_t column,
                        VectorView<const std::int32_t> rows, const std::vector<std::int32_t>& neighbours) const;
  void impute(const Context& ctx, Table& table, const Regression& regression, const Limits& limits) const;
  void run_rounds(const Context& ctx, Table& table);
  std::int64_t width() const { return static_cast<std::int64_t>(kept_.size()); }

  IterativeImputerParams params_;
  SimpleImputer<T> initial_;
  std::vector<std::int32_t> kept_, lacking_;   // columns: that come out, that lacked values
  std::vector<Regression> sequence_;
  std::int64_t n_features_ = 0, n_iter_ = 0, n_with_missing_ = 0;
};

}   // namespace kedge::engine
