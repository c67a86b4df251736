// A stored model as the API shows it, and as its file describes it: everything but the fitted numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/job.h"

namespace kedge::schema {

// A column that the model reads, in its order.
struct ModelColumn {
  std::string name;
  std::string kind = "number";             // number or category
  std::vector<std::string> categories = {};   // names of the categories, in code order
  std::string type = {};     // of dates, how cells are read: "date", "date:dmy", "date:year" ...; otherwise empty
  std::string source = {};   // the column of the rows that it is read from, where that has another name
  friend bool operator==(const ModelColumn&, const ModelColumn&) = default;
};

// In a file, `id`, `created`, `bytes` and `sha256` are empty: they belong to the server that keeps it.
struct ModelInfo {
  std::string id, created;
  std::string job;                       // that fitted it; empty after an upload
  std::int64_t bytes = 0;
  std::string sha256;                    // of the file
  DatasetRef dataset;                    // that it was fitted on; the text of an inline one is left out
  std::vector<Step> pipeline;            // as it was fitted: of a search, the best candidate
  std::vector<std::string> outputs;      // predict, predict_proba, decision_function, score_samples, transform
  std::vector<ModelColumn> columns;
  std::string target;                    // name of the target column; empty: none
  std::vector<std::string> classes;      // of a classifier, in code order
  std::string dtype = "float64";         // float32 or float64
  double scale = 1;                      // select.scale: values are multiplied by it before the first step
  std::int64_t nSamples = 0;             // rows of the data set that it was fitted on
  std::int64_t seed = 0;
  std::string dataDigest, version, device;   // version: of kedge; device: cpu or cuda
  std::vector<std::string> naValues = {};    // select.naValues: cells with these texts are missing
  std::vector<TargetColumn> targets =
      {};   // of a model with several outputs, in their order; target and classes are then empty
  friend bool operator==(const ModelInfo&, const ModelInfo&) = default;
};

struct ModelPage {   // GET /v1/models; newest first
  std::vector<ModelInfo> models;
  std::string nextPageToken;   // empty on the last page
  friend bool operator==(const ModelPage&, const ModelPage&) = default;
};

// The values of a column in bins. Of numbers: one more than `edges`, which ascend; a number is in the first whose edge
// is not below it. Of categories: one for each of `categories`, then one for all others; a column of texts has only
// that one. Then, for either, one for missing cells.
struct ProfileColumn {
  std::vector<double> edges = {};
  std::vector<std::string> categories = {};
  std::vector<double> shares = {};   // by bin: of the rows that were counted
  friend bool operator==(const ProfileColumn&, const ProfileColumn&) = default;
};

// What a model keeps of the rows that it was fitted on, as they were before the first step.
struct ModelProfile {
  std::int64_t rows = 0;                     // that were counted
  std::vector<ProfileColumn> columns = {};   // as ModelInfo::columns
  friend bool operator==(const ModelProfile&, const ModelProfile&) = default;
};

// The rows that a model was asked about, as kedged keeps them.
struct DriftCounts {
  std::string since;   // when counting began; empty: nothing was counted yet
  std::int64_t rows = 0;
  std::vector<std::int64_t> counts = {};      // by bin, the columns one after the other
  std::optional<ModelProfile> profile = {};   // absent: the model has none
  friend bool operator==(const DriftCounts&, const DriftCounts&) = default;
};

struct DriftColumn {
  std::string name;
  std::string kind = "number";                  // number, category or text
  std::optional<double> psi = {};               // absent: too few rows
  double trainedMissing = 0, seenMissing = 0;   // shares of missing cells
  std::vector<double> edges = {};               // as in ProfileColumn
  std::vector<std::string> categories = {};
  std::vector<double> trained = {}, seen = {};   // shares of the other bins
  friend bool operator==(const DriftColumn&, const DriftColumn&) = default;
};

struct ModelDrift {                         // GET /v1/models/{id}/drift
  std::string model;                        // its id
  std::string since = {};                   // when counting began; empty: it was not asked yet
  std::int64_t rows = 0, trainedRows = 0;   // that were counted
  std::optional<double> psi = {};           // the largest of a column
  std::vector<DriftColumn> columns = {};    // as ModelInfo::columns
  std::string note = {};                    // why there are no columns
  friend bool operator==(const ModelDrift&, const ModelDrift&) = default;
};

}  // namespace kedge::schema
