// Where a data set comes from, and which part of it a job wants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schemas/value.h"

namespace kedge::schema {

// OpenML by id, or by name with an optional version (0: the newest active one).
struct OpenmlRef {
  std::string name;
  std::int64_t version = 0;
  std::int64_t id = 0;
  friend bool operator==(const OpenmlRef&, const OpenmlRef&) = default;
};

// A file behind a URL, or several of the same columns, `urls`, as one table of their rows in this order; one of the two is given.
// format: "csv", "arff", "libsvm", "parquet" or "arrow". sha256: 64 hex digits of the one file, or empty for no check. target:
// column name, or empty for the last column.
struct UrlRef {
  std::string url;
  std::string format = "csv";
  std::string sha256;
  std::string target;
  std::vector<std::string> urls = {};
  friend bool operator==(const UrlRef&, const UrlRef&) = default;
};

// A small set inside the server: digits, iris, wine, breast_cancer, diabetes, mnist_10k. JSON: {"builtin": "iris"}.
struct BuiltinRef {
  std::string name;
  friend bool operator==(const BuiltinRef&, const BuiltinRef&) = default;
};

// A small CSV, with a header line, inside the job. target: column name, or empty for the last column. bytes and sha256 (64 hex
// digits) describe the CSV. The server fills them in; answers may then leave the CSV itself out, which is empty there.
struct InlineRef {
  std::string csv;
  std::string target;
  std::int64_t bytes = 0;
  std::string sha256 = {};
  friend bool operator==(const InlineRef&, const InlineRef&) = default;
};

// An upload of PUT /v1/datasets/{name}, by its name or as "sha256:" and 64 hex digits. JSON: {"stored": "name"}.
struct StoredRef {
  std::string name;
  friend bool operator==(const StoredRef&, const StoredRef&) = default;
};

// Made by the server as scikit-learn's function of that name makes it, with the same numbers for the same seed
// (random_state, 0 by default): make_classification, make_regression, make_blobs, make_moons, make_circles,
// make_friedman1, make_swiss_roll, make_s_curve. Columns x0, x1 ... and the target y.
struct GenerateRef {
  std::string name;
  ValueMap params = {};
  friend bool operator==(const GenerateRef&, const GenerateRef&) = default;
};

// What scikit-learn's fetch_ function of that name fetches, from the same address, with the same checksum: covtype.
// JSON: {"sklearn": "covtype"}.
struct SklearnRef {
  std::string name;
  friend bool operator==(const SklearnRef&, const SklearnRef&) = default;
};

// JSON: {"openml": {...}} | {"url": {...}} | {"builtin": "name"} | {"inline": {...}} | {"stored": "name"} |
// {"generate": {...}} | {"sklearn": "name"}
struct DatasetRef {
  std::variant<OpenmlRef, UrlRef, BuiltinRef, InlineRef, StoredRef, GenerateRef, SklearnRef> source;
  friend bool operator==(const DatasetRef&, const DatasetRef&) = default;
};

// Part of a data set. Unset members mean: all rows, every numeric column, the data's own dtype, no scaling.
struct Select {
  std::optional<std::int64_t> rows;      // the first `rows` rows
  std::vector<std::string> columns;      // feature columns to keep; empty keeps all
  std::optional<std::string> target;     // target column instead of the data set's own
  std::optional<std::string> dtype;      // "float32" or "float64"
  std::optional<double> scale;           // every feature value is multiplied by it
  std::optional<std::string> weights = {};   // column of sample weights, for the last step's fit; not a feature
  std::optional<std::string> groups = {};    // column of groups, for group splitters; not a feature
  std::vector<std::string> naValues = {};    // cells with these texts are missing, in every column
  bool keepDefaultNa = true;                 // as are, of guessed columns, pandas' usual texts: "", "NA", "N/A", "null", "None" ...
  // By column: "number", "category", "date" (days since 1970-01-01), "date:parts" (year, month, day, weekday), "drop". Dates with
  // the day or the month first are "date:dmy", "date:mdy", "date:dmy:parts" ...
  std::vector<std::pair<std::string, std::string>> types = {};
  // Which rows, before `rows` takes the first of what is left, in this order.
  std::vector<std::string> where =
      {};                        // those that meet all: "age >= 30", "city in ['Paris', 'Rome']", "`net income` notna"
  bool dropna = false;           // without a missing cell in the columns of the selection
  bool dropDuplicates = false;   // the first of those that are equal there
  std::optional<std::int64_t> sample = {};       // so many at random, as pandas' sample() draws them
  std::optional<std::int64_t> sampleSeed = {};   // its random_state; 0 where none is given
  std::vector<std::string> targets =
      {};   // the target columns of a model with several outputs, at least two; not beside target
  friend bool operator==(const Select&, const Select&) = default;
};

// One of several target columns.
struct TargetColumn {
  std::string name;
  std::vector<std::string> classes = {};   // names of its classes, in code order; none for numbers
  friend bool operator==(const TargetColumn&, const TargetColumn&) = default;
};

}  // namespace kedge::schema
