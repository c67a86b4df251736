// What memory an estimator will need, found from shapes and parameters before anything is computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/samples.h"
#include "schemas/job.h"

namespace kedge::engine {

// rows x cols elements of some bytes, at most 2^55, so that sums of such terms do not overflow.
std::int64_t bytes_of(std::int64_t rows, std::int64_t cols, std::int64_t element_bytes);

// A step that reads nominal columns, for callers that set SampleShape::uses.
struct NominalUse {
  struct Column {
    std::string name;
    std::int64_t n_categories = 0;
  };
  std::string step;                 // its estimator
  std::vector<Column> columns;      // those that are nominal
  std::int64_t made_columns = 0;    // of its result, at most
  bool is_refused = false;          // it needs numbers
  bool refuses_unknown = false;     // a category that no fitted row had is an error
};

// Samples as far as they are known beforehand.
struct SampleShape {
  std::int64_t rows = 0, cols = 0;
  std::int64_t entries = -1;                           // of sparse samples; -1: dense
  std::int64_t value_bytes = 8;                        // 4 or 8
  std::int64_t n_outputs = 1;                          // classes of the target; 1 for values and without a target
  std::int64_t n_targets = 1;                          // target columns; of several, n_outputs is the most classes of one
  bool in_place = false;                               // a whole table without an affine map, read where it lies
  std::int64_t table_rows = 0;                         // of the table that they are some rows of, if it has more
  std::optional<bool> has_few_values = std::nullopt;   // whether no column has more than 256 distinct values, where that is known
  std::vector<Feature> features = {};                  // one per column, or empty where a transformer does not name what it makes
  std::vector<NominalUse>* uses = nullptr;             // filled with each step that reads nominal columns of these samples

  bool on_host = false;                                // on the CPU, where encoders may leave their result sparse

  bool is_sparse() const { return entries >= 0; }
  std::int64_t value_size() const;                                    // of a copy
  std::int64_t copy() const { return in_place ? 0 : value_size(); }   // to read it as one matrix
};

// Bytes of what exists at the same time, not of all that is allocated.
struct MemoryNeed {
  std::int64_t work = 0;      // without the samples, at the worst moment of fit and of use on as many rows: at most
  std::int64_t minimum = 0;   // of it, what no fit on such samples can do without
  std::int64_t use = -1;      // of it, what using the fitted step on as many rows takes; -1: not known
  std::int64_t kept = 0;      // of a search: what stays until the fold is done, in addition to what transform makes
  std::int64_t made = 0;      // the result of transform on as many rows; 0 where it moves no data
  SampleShape out = {};    // its shape
  bool refuses_categories = false;   // with these parameters, though the estimator may take them
  bool is_exact = true;              // otherwise `made` and `out` are upper bounds: the data decide
};

// The need of a step on X, at the worst of what it may choose to do. Named by its row, in rows.cc of its family.
using MemoryRule = MemoryNeed (*)(const SampleShape& X, const schema::Step& step);

// The need of a step whose estimator is in the catalogue.
MemoryNeed memory_need(const SampleShape& X, const schema::Step& step);

}   // namespace kedge::engine
