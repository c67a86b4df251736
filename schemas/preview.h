// What a data set holds and how a job would read its columns, without running one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/dataset.h"
#include "schemas/value.h"

namespace kedge::schema {

// POST /v1/datasets/preview
struct PreviewRequest {
  DatasetRef dataset;
  Select select;
  friend bool operator==(const PreviewRequest&, const PreviewRequest&) = default;
};

struct PreviewColumn {
  std::string name;
  std::string type;                   // number, category, text (whose cells are not kept) or date
  std::string role;                   // feature, target, weights, groups or leftOut
  std::int64_t missing = 0;           // cells, of the rows that were counted
  std::int64_t distinct = 0;          // values that are not missing, at most 1000 for numbers
  bool moreDistinct = false;          // there are more
  std::string hint = {};              // what is odd about it, and what to write in the job; empty: nothing
  friend bool operator==(const PreviewColumn&, const PreviewColumn&) = default;
};

// Bounded for any data set: at most 200 columns, 100 rows and 4000 cells; texts of at most 100 bytes.
struct DatasetPreview {
  std::string name;                   // for messages: "stored customers"
  std::int64_t rows = 0, nColumns = 0;   // of the data set
  std::int64_t countedRows = 0;       // `missing` and `distinct` are of that many rows, the first
  std::string target;                 // empty: none
  std::vector<PreviewColumn> columns; // the first ones, as a job would have them
  ValueList firstRows;                // of each its cells, in the order of `columns`; null: missing
  std::vector<std::string> notes = {};   // what a job would be warned of
  friend bool operator==(const DatasetPreview&, const DatasetPreview&) = default;
};

}  // namespace kedge::schema
