// A transformer inside another: one step, several in a row, "passthrough" or "drop". What ColumnTransformer and FeatureUnion are
// made of.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/resampler.h"
#include "schemas/error.h"
#include "schemas/job.h"

namespace kedge::engine {

// A step as an object, {"estimator": NAME, "params": {...}, "name": NAME}. Errors: kWrongType, kUnknownParameter, with `where`
// under `path`.
schema::Step step_of(const schema::Value& value, const std::string& path);
schema::Value value_of(const schema::Step& step);

schema::ParamForm step_form();                       // such an object
std::vector<schema::ParamForm> transformer_forms();  // a step, a list of steps, "passthrough" or "drop"

// Names of the steps of a pipeline: their own, or as make_pipeline gives them: "pca", or "pca-1", "pca-2" where it is repeated.
std::vector<std::string> step_names(const std::vector<schema::Step>& steps);
std::vector<std::string> step_names(std::span<const schema::Step* const> steps);

// The estimator of a step that stands at `path`. Errors: kUnknownEstimator, and those of its constructor under its
// path.
template <class T>
std::unique_ptr<Estimator<T>> make_nested(const schema::Step& step, const std::string& path);

// Runs `work`; what it says of the data gets the owner's name in front.
template <class Work>
auto with_owner(const std::string& owner, Work&& work) {
  try {
    return work();
  } catch (const schema::Error& error) {
    if (error.code != schema::ErrorCode::kBadData) throw;
    throw schema::Error(error.code, owner + ": " + error.message, error.where);
  }
}

// Whether the steps of a NestedTransformer may change the rows of a fit: not beside other parts, whose rows stay.
enum class RowsOfFit { kStay, kMayChange };

// A transformer as the user wrote it. Resource: owns its estimators. Not thread safe.
template <class T>
class NestedTransformer {
 public:
  // `value`: one of transformer_forms(); `path`: where it stands, "params.transformers[0].transformer". Errors: those
  // of the estimators' constructors under their path; kInvalidValue for an estimator that cannot transform, and for a
  // resampler where rows stay.
  NestedTransformer(const schema::Value& value, const std::string& path, RowsOfFit rows = RowsOfFit::kStay);

  bool is_drop() const { return kind_ == Kind::kDrop; }
  bool is_passthrough() const { return kind_ == Kind::kPassthrough; }
  const schema::Step* resampler() const;   // the first step that is one; null: none
  TargetKind target_kind() const;
  // `owner` stands before the messages of what the data lack: "ColumnTransformer: 'num': StandardScaler: ...".
  void fit(const Context& ctx, const std::string& owner, const Samples<T>& X, const Target& y);
  Samples<T> transform(const Context& ctx, const std::string& owner, const Samples<T>& X) const;
  // See FitTransformer.
  bool has_own_fit_transform() const;
  Samples<T> fit_transform(const Context& ctx, const std::string& owner, const Samples<T>& X, const Target& y);
  // As the first steps of a pipeline: transformers do not see the weights, resamplers replace `y`.
  Samples<T> fit_transform(const Context& ctx, const std::string& owner, const Samples<T>& X, FitTarget& y);
  // Names and categories of what transform() made of X, in scikit-learn's way: "age", "sex_female", "pca0".
  std::vector<Feature> features_out(const Samples<T>& X, const Samples<T>& made) const;
  // Of a single step its fitted attributes; of several those of each, by name; or "passthrough", "drop".
  schema::Value attributes() const;
  void state(StateArchive& archive);
  // Whether its first step takes a column's categories as texts.
  bool reads_texts() const;

 private:
  enum class Kind { kSteps, kPassthrough, kDrop };
  // Fits step after step; the rows as they leave the last one. `fit_one(step, its rows)` fits one.
  template <class FitOne>
  Samples<T> fit_steps(const Context& ctx, const Samples<T>& X, FitTarget& y, FitOne&& fit_one);
  void add_step(const schema::Value& value, const std::string& path);
  const Transformer<T>& step(std::size_t i) const { return dynamic_cast<const Transformer<T>&>(*estimators_[i]); }

  Kind kind_ = Kind::kSteps;
  RowsOfFit rows_of_fit_;
  bool is_list_ = false;
  std::vector<schema::Step> steps_;
  std::vector<std::unique_ptr<Estimator<T>>> estimators_;
  std::vector<std::int64_t> widths_;   // by step: columns that it was fitted with
};

// One transformer or predictor of a list with its name and where it stands, whether it is an object or a tuple.
struct NamedValue {
  std::string name, path;   // path of the value
  schema::Value value, columns;
  std::string columns_path;
};

// The elements of a parameter such as `transformers`, each {"name", FIELD, "columns"} or [name, value, columns],
// without columns unless they are wanted. `field`: "transformer" or "estimator". Names are unique and hold no "__".
// Errors: kWrongType, kInvalidValue, kUnknownParameter under their path.
std::vector<NamedValue> named_values(std::string_view owner, std::string_view param, const char* field,
                                     const schema::Value& list, bool has_columns = false);

// The weights of transformers, in their order, 1 where none is given. Errors: kInvalidValue for a name that no
// transformer has.
std::vector<double> transformer_weights(std::string_view owner, const schema::Value& weights,
                                        const std::vector<std::string>& names);

// The results of several transformers side by side, each times its weight, in one matrix: dense, or on the CPU sparse where a part is
// and that is much smaller (sparse_choice.h). `features`: of all of them.
template <class T>
Samples<T> side_by_side(const Context& ctx, const std::vector<Samples<T>>& made, const std::vector<double>& weights,
                        std::vector<Feature> features);

// X with its first row alone: enough to learn the names of what a transformer makes. X has rows.
template <class T>
Samples<T> first_row(const Context& ctx, const Samples<T>& X);

// "num__age", or with another format of verbose_feature_names_out; false leaves names alone.
std::string verbose_name(const schema::Value& verbose, const std::string& transformer, const std::string& feature);
// Errors: kBadData for a name that occurs twice.
void require_unique_names(std::string_view owner, const std::vector<Feature>& features);

}  // namespace kedge::engine
