// The list of all estimators, and how to make one from a step of a pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "schemas/catalogue.h"
#include "schemas/job.h"

namespace kedge::engine {

// How often an estimator may wait for the device: in a fit on 40 rows of 6 columns and 3 classes, and in using it on
// them (transform, or predict and predict_proba, and fetching what they gave). And how many bytes a fit may fetch from
// the device for each row: 0 where nothing on the host grows with the rows. A wait costs a GPU tens of microseconds;
// sync_budget_test.cc counts them.
struct SyncBudget {
  int fit, use;
  int row_bytes = 0;
};

// What of a fit ranks divide. kRowSums: sums over rows, or columns of boosted trees, by RowSumsScope. It calls the same
// operations with the same arguments on every rank, from the thread that runs it: not by the clock, not by the number
// of threads or by free memory. kOwnRows: the same, of a fit that reads few rows of the table but those whose sums are
// the rank's, unless the data ask for a more exact solver. kTrees: the trees that it grows, by their numbers
// (dealt_trees.h). kFits: the fits of estimators inside of it (meta/dealt_fits.h). kInside: its fits wait for each
// other, and ranks divide each of them as far as the estimator inside says; with `cv` the fits of folds as well.
enum class DealtFit : std::uint8_t { kNothing, kRowSums, kOwnRows, kTrees, kFits, kInside };
// What a transformer of DealtFit::kOwnRows leaves to the step behind it, where its rank has its own rows. kWhole: new
// rows, which each rank makes of all. kInPlace: an affine map of the table, which moves no data. kOwn: new rows, of
// which a rank makes its own, and others when they are read (made_rows()). kGiven: new rows, which each rank makes of
// its own and gives to all.
enum class RowsLeft : std::uint8_t { kWhole, kInPlace, kOwn, kGiven };
inline bool deals_row_sums(DealtFit dealt) {
  return dealt == DealtFit::kRowSums || dealt == DealtFit::kOwnRows;
}

// One row of the catalogue. make_* return Transformer or Classifier; both check the parameters and throw Error with
// `where` = "params.NAME" (kUnknownParameter, kWrongType, kInvalidValue).
struct CatalogueEntry {
  schema::EstimatorInfo info;
  MemoryRule memory;   // what it will need
  SyncBudget syncs;
  DealtFit dealt = DealtFit::kNothing;
  RowsLeft leaves = RowsLeft::kWhole;
  std::string_view inside = {};   // of kInside the estimator that null stands for
  bool wants_value_counts =
      false;   // the rule is worth a pass over the data file that finds SampleShape::has_few_values
  bool is_line = false;   // see RowTraits
  std::unique_ptr<Estimator<float>> (*make_f32)(const schema::ValueMap& params);
  std::unique_ptr<Estimator<double>> (*make_f64)(const schema::ValueMap& params);
};

std::span<const CatalogueEntry> catalogue();
const CatalogueEntry* find_estimator(std::string_view name);   // null if there is none
// The same, or Error{kUnknownEstimator} at `where` with what is nearest: see unknown_estimator().
const CatalogueEntry& known_estimator(std::string_view name, const std::string& where);

}  // namespace kedge::engine
