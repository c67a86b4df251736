// Pipelines of estimators, and what to do with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  schema::Task task() const {
    return schema::FitScore{.testSize = test_size, .trainSize = train_size, .shuffle = shuffle, .stratify = stratify,
                            .randomState = random_state, .scoring = scoring};
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
  schema::CrossValidate folds() const {
    return {.cv = cv, .splitter = splitter, .shuffle = shuffle, .randomState = random_state, .scoring = scoring,
            .returnTrainScore = return_train_score, .nRepeats = n_repeats, .testSize = test_size, .trainSize = train_size, .gap = gap,
            .maxTrainSize = max_train_size};
  }
  schema::Task task() const { return folds(); }
};

// Searches. param_grid: {{"pca__n_components", schema::ValueList{10, 20}}}, or a schema::ValueList of such maps.
struct grid_search {
  schema::Value param_grid;
  cross_validate cv = {};
  schema::Value refit = true;   // or the name of the scorer that decides
  schema::Value error_score = "NaN";
  schema::Task task() const {
    return schema::GridSearch{.paramGrid = param_grid, .crossValidate = cv.folds(), .refit = refit, .errorScore = error_score};
  }
};

struct randomized_search {
  schema::Value param_distributions;   // values, or {{"loguniform", schema::ValueList{1e-3, 1e3}}}
  std::int64_t n_iter = 10;
  std::optional<std::int64_t> random_state = {};
  cross_validate cv = {};
  schema::Value refit = true;
  schema::Value error_score = "NaN";
  schema::Task task() const {
    return schema::RandomizedSearch{.paramDistributions = param_distributions, .nIter = n_iter, .randomState = random_state,
                                    .crossValidate = cv.folds(), .refit = refit, .errorScore = error_score};
  }
};

struct halving_grid_search {
  schema::Value param_grid;
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
    return schema::HalvingGridSearch{.paramGrid = param_grid, .factor = factor, .resource = resource, .minResources = min_resources,
                                     .maxResources = max_resources, .aggressiveElimination = aggressive_elimination,
                                     .randomState = random_state, .crossValidate = cv.folds(), .refit = refit,
                                     .errorScore = error_score};
  }
};

template <class T>
concept TaskStruct = requires(const T& t) { { t.task() } -> std::same_as<schema::Task>; };

}  // namespace kedge
