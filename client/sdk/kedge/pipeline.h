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
  schema::Task task() const {
    return schema::CrossValidate{.cv = cv, .splitter = splitter, .shuffle = shuffle, .randomState = random_state,
                                 .scoring = scoring, .returnTrainScore = return_train_score};
  }
};

template <class T>
concept TaskStruct = requires(const T& t) { { t.task() } -> std::same_as<schema::Task>; };

}  // namespace kedge
