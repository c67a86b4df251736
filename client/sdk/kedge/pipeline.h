// Pipelines of estimators, and what to do with them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kedge/columns.h"
#include "schemas/job.h"

namespace kedge {

template <class E>
concept EstimatorStruct = requires(const E& e) { { e.step() } -> std::same_as<schema::Step>; };

// The steps in order; all but the last transform.
template <EstimatorStruct... Steps>
std::vector<schema::Step> pipeline(const Steps&... steps) {
  return {steps.step()...};
}

// Tasks: what to do with the pipeline. Members that are left alone keep the server's (scikit-learn's) defaults.
struct fit {
  schema::Task task() const { return schema::Fit{}; }
};

struct fit_score {
  std::optional<schema::Value> test_size, train_size;   // a fraction, or a number of rows
  bool shuffle = true, stratify = false;
  std::optional<std::int64_t> random_state;
  std::vector<std::string> scoring;
  bool confusion_matrix = false, curves = false;   // into Result::evaluation; curves: ROC and precision-recall
  schema::Task task() const {
    return schema::FitScore{.testSize = test_size, .trainSize = train_size, .shuffle = shuffle, .stratify = stratify,
                            .randomState = random_state, .scoring = scoring, .confusionMatrix = confusion_matrix, .curves = curves};
  }
};

struct cross_validate {
  std::int64_t cv = 5;
  std::string splitter = "auto";
  bool shuffle = false;
  std::optional<std::int64_t> random_state;
  std::vector<std::string> scoring;
  bool return_train_score = false;
  std::optional<std::int64_t> n_repeats = {};
  std::optional<schema::Value> test_size = {}, train_size = {};
  std::optional<std::int64_t> gap = {}, max_train_size = {};
  bool confusion_matrix = false, curves = false;   // of all test folds together, into Result::evaluation
  schema::CrossValidate folds() const {
    return {.cv = cv, .splitter = splitter, .shuffle = shuffle, .randomState = random_state, .scoring = scoring,
            .returnTrainScore = return_train_score, .nRepeats = n_repeats, .testSize = test_size, .trainSize = train_size, .gap = gap,
            .maxTrainSize = max_train_size, .confusionMatrix = confusion_matrix, .curves = curves};
  }
  schema::Task task() const { return folds(); }
};

// What a stored model makes of the rows of a data set; the answer is an artifact (Job::download).
struct predict {
  std::string model;                // its id: Result::model
  std::string output = "predict";   // predict, predict_proba or decision_function
  std::string format = "npy";       // npy or csv
  schema::Task task() const { return schema::Predict{.model = model, .output = output, .format = format}; }
};

struct transform {
  std::string model;
  std::string format = "npy";
  schema::Task task() const { return schema::Transform{.model = model, .format = format}; }
};

// Searches.

// An estimator as a candidate for a step: {"model", {kedge::candidate(kedge::Ridge{}), kedge::candidate(kedge::Lasso{})}}.
template <EstimatorStruct E>
schema::Value candidate(const E& estimator) {
  return step_value(estimator.step());
}

// Distributions for randomized_search, as in SciPy.
inline schema::Value uniform(double low, double high) { return schema::ValueMap{{"uniform", schema::ValueList{low, high}}}; }
inline schema::Value loguniform(double low, double high) { return schema::ValueMap{{"loguniform", schema::ValueList{low, high}}}; }
inline schema::Value randint(std::int64_t low, std::int64_t high) { return schema::ValueMap{{"randint", schema::ValueList{low, high}}}; }

// What a parameter may be: a list of values, or a distribution.
class Choices {
 public:
  Choices(std::initializer_list<schema::Value> values) : value_(schema::ValueList(values)) {}
  Choices(schema::ValueList values) : value_(std::move(values)) {}
  Choices(schema::ValueMap distribution) : value_(std::move(distribution)) {}
  Choices(schema::Value value) : value_(std::move(value)) {}   // of uniform(), loguniform(), randint()
  const schema::Value& value() const { return value_; }

 private:
  schema::Value value_;
};

// Parameters by their paths and what to try for each, in braces:
//   kedge::grid_search{.param_grid = {{"pca__n_components", {10, 20}}, {"ridge__alpha", {0.1, 1.0}}}}
// Several such grids, one after the other, are kedge::grids({{...}, {...}}).
class ParamGrid {
 public:
  ParamGrid() = default;
  ParamGrid(std::initializer_list<std::pair<std::string, Choices>> parameters) {
    schema::ValueMap map;
    for (const auto& [path, choices] : parameters) map.emplace_back(path, choices.value());
    value_ = std::move(map);
  }
  explicit ParamGrid(schema::Value value) : value_(std::move(value)) {}   // as it is sent
  const schema::Value& value() const { return value_; }

 private:
  schema::Value value_ = schema::ValueMap{};
};

inline ParamGrid grids(const std::vector<ParamGrid>& several) {
  schema::ValueList list;
  for (const ParamGrid& grid : several) list.push_back(grid.value());
  return ParamGrid(schema::Value(std::move(list)));
}

struct grid_search {
  ParamGrid param_grid;
  cross_validate cv = {};
  schema::Value refit = true;   // or the name of the scorer that decides
  schema::Value error_score = "NaN";
  schema::Task task() const {
    return schema::GridSearch{.paramGrid = param_grid.value(), .crossValidate = cv.folds(), .refit = refit, .errorScore = error_score};
  }
};

struct randomized_search {
  ParamGrid param_distributions;   // {{"logisticregression__C", kedge::loguniform(1e-3, 1e3)}, {"pca__n_components", {5, 10}}}
  std::int64_t n_iter = 10;
  std::optional<std::int64_t> random_state = {};
  cross_validate cv = {};
  schema::Value refit = true;
  schema::Value error_score = "NaN";
  schema::Task task() const {
    return schema::RandomizedSearch{.paramDistributions = param_distributions.value(), .nIter = n_iter, .randomState = random_state,
                                    .crossValidate = cv.folds(), .refit = refit, .errorScore = error_score};
  }
};

struct halving_grid_search {
  ParamGrid param_grid;
  std::int64_t factor = 3;
  std::string resource = "n_samples";
  schema::Value min_resources = "exhaust";
  std::optional<std::int64_t> max_resources = {};
  bool aggressive_elimination = false;
  std::optional<std::int64_t> random_state = {};
  cross_validate cv = {};
  bool refit = true;
  schema::Value error_score = "NaN";
  schema::Task task() const {
    return schema::HalvingGridSearch{.paramGrid = param_grid.value(), .factor = factor, .resource = resource, .minResources = min_resources,
                                     .maxResources = max_resources, .aggressiveElimination = aggressive_elimination,
                                     .randomState = random_state, .crossValidate = cv.folds(), .refit = refit,
                                     .errorScore = error_score};
  }
};

template <class T>
concept TaskStruct = requires(const T& t) { { t.task() } -> std::same_as<schema::Task>; };

}  // namespace kedge
