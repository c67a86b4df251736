// KNNImputer: missing values replaced by the mean of the nearest rows that have them.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/memory_need.h"
#include "engine/estimators/preprocessing/missing_indicator.h"
#include "engine/estimators/preprocessing/nearest_donors.h"

namespace kedge::engine {

struct KnnImputerParams {
  schema::Value missing_values = "NaN";
  std::int64_t n_neighbors = 5;
  std::string weights = "uniform";
  std::string metric = "nan_euclidean";
  bool add_indicator = false, keep_empty_features = false;
};

// Distances count the columns that both rows have, scaled to all of them. They are matrix products on the device, a
// block of rows at a time; the host chooses the neighbours, on host memory while a product is in the caches. Keeps the
// fitted rows. Cost: a product of n_rows with the fitted rows over three times the columns, and a scan of the fitted
// rows for each missing value. Errors: kBadData for a nominal column. Source: Troyanskaya et al., "Missing value
// estimation methods for DNA microarrays", Bioinformatics 17(6), 2001.
template <class T>
class KNNImputer final : public Transformer<T> {
 public:
  explicit KNNImputer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  bool accepts_nan() const override { return true; }
  Squares squares() const override { return Squares::kColumns; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Receivers;
  struct Fitted;
  void impute(const Context& ctx, std::vector<T>& rows, const std::vector<char>& lacks) const;
  double imputed(const std::vector<NearestDonors::Donor>& nearest, std::size_t column) const;
  std::vector<std::size_t> missing_columns(const Receivers& receivers, std::size_t place) const;
  void put(NearestDonors& donors, Receivers& receivers, std::size_t place) const;
  void impute_here(const Context& ctx, Receivers& receivers, std::size_t begin, std::size_t end,
                   const Fitted& fitted) const;
  void impute_there(const Context& ctx, Receivers& receivers, std::size_t first, std::size_t count,
                    const Matrix<double>& fitted) const;
  std::size_t n_columns() const { return mean_.size(); }

  KnnImputerParams params_;
  std::vector<double> rows_;   // fitted, row-major; NaN where missing
  std::vector<double> mean_;   // of what each column has; NaN where that is nothing
  std::vector<std::int32_t> lacking_;
};

}   // namespace kedge::engine
