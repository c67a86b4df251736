// What a model keeps of the rows that it was fitted on: how the values of each column, before the first step, fall into
// bins. Rows that it is asked about later are counted into the same bins.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/dataset_file.h"
#include "engine/core/state_archive.h"
#include "engine/model/model_rows.h"
#include "engine/table/selection.h"
#include "schemas/model.h"

namespace kedge::engine {

// The bins of a column: see schema::ProfileColumn. Texts have one bin, and one for missing cells.
struct ColumnBins {
  std::vector<double> edges = {};              // of numbers: ascending
  std::vector<std::int32_t> categories = {};   // of categories: codes of the most frequent ones
  std::vector<std::int32_t> counts = {};       // rows in each bin; the last: missing cells
  std::size_t bin_of(double value) const;      // of a value as the model reads it; NaN is a missing cell
};

// A value.
struct TrainingProfile {
  // More columns than that have no profile: a request would carry too much for what a person can look at.
  static constexpr std::int64_t kMostColumns = 1000;
  static constexpr std::int64_t kMostCategories = 20;   // with a bin of their own
  // Rows that are counted: as many as make so many cells, from 1,000 to 10,000, evenly spread over all.
  static constexpr std::int64_t kMostCells = 100'000, kFewestRows = 1000, kMostRows = 10'000;

  std::int64_t rows = 0;
  std::vector<ColumnBins> columns;

  // To a model or from one. Errors: kModelCorrupt where it does not fit itself or the description.
  void state(StateArchive& archive, const schema::ModelInfo& info);
  schema::ModelProfile described(const schema::ModelInfo& info) const;
};

// Of the rows that a model with this description was fitted on. Edges are deciles of the values, without those that are
// equal. Reads the data file alone, so that it is the same on every device. Nothing for a sparse data set or for more
// columns than kMostColumns.
std::optional<TrainingProfile> training_profile(const Selection& selection, const DatasetFile& data,
                                                const schema::ModelInfo& info);

// Counts rows that a model is asked about into the bins of its profile, which it borrows. Not thread safe.
class BinCounter {
 public:
  // Bins are numbered through all columns.
  struct Counts {
    std::vector<std::int64_t> bins, counts;   // those that have any, ascending
  };
  BinCounter(const TrainingProfile& profile, const schema::ModelInfo& info);
  Counts count(const ModelRows& rows);

 private:
  const TrainingProfile& profile_;
  const bool is_float32_;            // the model computes in it: values are rounded as it does
  std::vector<std::int64_t> sums_;   // by bin; all 0 between calls
};

}   // namespace kedge::engine
