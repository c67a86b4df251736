// A fitted pipeline that is kept: saved after a fit, loaded again on any device, used for predictions.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/model_file.h"
#include "engine/model/model_rows.h"
#include "engine/model/training_profile.h"
#include "engine/model_selection/chain.h"

namespace kedge::engine {

// What a model says of rows; one of the two is filled. n_cols is 1 for classes, values and the decision of two classes.
struct ModelAnswer {
  std::int64_t n_rows = 0, n_cols = 1;
  bool is_vector = true;              // of one number or text a row
  bool is_float32 = false;            // the numbers are
  bool is_whole = false;              // the numbers are whole: clusters, and classes whose names are
  std::vector<double> numbers;        // row-major
  std::vector<std::string> texts;     // names of classes
  std::vector<std::string> columns;   // names of what is not a vector
};

// Types: application/json, text/csv, application/x-npy, kNamedNpy. Numbers keep their bits in all of them.
std::string encoded_answer(const ModelAnswer& answer, std::string_view type);

// The memory that loading a model's file may take, in addition to a few fixed MiB: so many bytes for each byte of the
// file. Lists are counted before there is memory for them, in the file's description as in its state.
inline constexpr std::int64_t kMostLoadedPerByte = 64;

// Resource: a model on a device. Not thread safe.
class StoredModel {
 public:
  virtual ~StoredModel() = default;
  // Errors: kModelCorrupt for a file that is no model of this version, or whose parts do not fit each other; kNotFound;
  // kOutOfMemory. Every length, name and index is checked before use, so that a file from a stranger is safe to load.
  static std::unique_ptr<StoredModel> load(const Context& ctx, const std::filesystem::path& path);
  static std::unique_ptr<StoredModel> load(const Context& ctx, const ModelFile& file);

  virtual const schema::ModelInfo& info() const = 0;
  // Of the rows that it was fitted on. Nothing for a model that keeps none: one that was imported, that an earlier
  // version has fitted, or of a data set for which training_profile() has nothing.
  virtual const std::optional<TrainingProfile>& profile() const;
  // output: one of info().outputs. Errors: kInvalidValue for another; kBadData for rows that the steps do not take.
  virtual ModelAnswer answer(const Context& ctx, const ModelRows& rows, std::string_view output) = 0;
};

// Whether it is how a whole number is written: such classes are numbers in answers.
bool is_whole_number(const std::string& text);

// Outputs that a pipeline has, in the order of ModelInfo::outputs. A line has contributions as well where its model
// keeps the means of its columns.
std::vector<std::string> outputs_of(const std::vector<schema::Step>& pipeline);

// What a model keeps beside its fitted chain.
struct ModelExtras {
  std::vector<double> column_means = {};   // of what the last step was fitted on, if it is a line
  std::optional<TrainingProfile> profile = {};
};

// Writes the fitted chain; one of at most `keep` bytes is returned instead. `info` says everything about it but
// `pipeline` and `outputs`, which are filled in. Errors: kInvalidValue for an estimator that cannot be stored;
// kInternal with the system's words.
template <class T>
std::string save_model(const Context& ctx, const std::filesystem::path& path, const std::vector<schema::Step>& pipeline,
                       Chain<T>& chain, ModelExtras extras, schema::ModelInfo& info, std::size_t keep);

}  // namespace kedge::engine
