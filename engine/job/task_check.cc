// Checks the task of a job description against its pipeline.
#include "engine/job/task_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/job/candidate_check.h"
#include "engine/job/curves.h"
#include "engine/job/refuse.h"
#include "engine/job/scorer_check.h"
#include "engine/job/split_check.h"
#include "engine/model_selection/param_grid.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;

void check_scores(CheckedJob& job, const std::vector<std::string>& scoring, std::string_view task) {
  check_predicts(job.last(), job.steps.size(), task);
  job.scorers = check_scoring(scoring, job.last(), fmt::format("task.{}", task));
  if (job.last().clusters) job.target_kind = TargetKind::kClasses;   // scored against known classes
}

void check_evaluation(const CheckedJob& job, bool confusion_matrix, bool curves, const std::string& task) {
  const StepTraits& last = job.last();
  if (confusion_matrix && !last.classifies) refuse(task + ".confusionMatrix", fmt::format("a confusion matrix needs a classifier, {} is none", last.info->name));
  if (curves && !last.has_proba && !last.has_decision)
    refuse(task + ".curves", fmt::format("curves need probabilities or a decision function, {} has neither", last.info->name));
}

// --- searches ---

void check_candidates(CheckedJob& job, Candidates candidates, const std::string& where, const CheckClock& clock) {
  job.candidates = std::move(candidates);
  CandidateCheck check(job, where, clock);
  for (std::size_t i = 0; i < job.candidates.size(); ++i) check.check(i);
}

void check_error_score(const Value& value, const std::string& task) {
  const auto* text = std::get_if<std::string>(&value.data);
  const bool is_number = std::holds_alternative<double>(value.data) || std::holds_alternative<std::int64_t>(value.data);
  if (is_number || (text && (*text == "raise" || *text == "NaN"))) return;
  refuse(task + ".errorScore", fmt::format("errorScore is {}, must be a number, \"NaN\" or \"raise\"", schema::to_string(value)));
}

void check_refit(const Value& refit, const CheckedJob& job, const std::string& task) {
  const std::string path = task + ".refit";
  if (const auto* name = std::get_if<std::string>(&refit.data)) {
    const bool is_there = std::any_of(job.scorers.begin(), job.scorers.end(), [&](const Scorer* s) { return s->name == *name; });
    if (!is_there) refuse(path, fmt::format("refit is '{}', must be one of the scorers of the search", *name));
    return;
  }
  const auto* flag = std::get_if<bool>(&refit.data);
  if (!flag) refuse(path, fmt::format("refit is {}, must be true, false or the name of a scorer", schema::to_string(refit)), ErrorCode::kWrongType);
  if (*flag && job.scorers.size() > 1) refuse(path, "refit is true, with several scorers it must be the name of the one that decides");
}

// The folds of a task that is more than they. what: "a search".
void check_folds(CheckedJob& job, const schema::CrossValidate& cv, const std::string& path, const char* what) {
  check_splitter(cv, job.spec.select, path + ".crossValidate");
  if (cv.confusionMatrix || cv.curves)
    refuse(path + ".crossValidate", fmt::format("{} reports no confusion matrix and no curves", what));
  job.scorers = check_scoring(cv.scoring, job.last(), path + ".crossValidate");
  if (job.last().clusters) job.target_kind = TargetKind::kClasses;
}

// What all searches have in common; before their candidates.
void check_search(CheckedJob& job, const schema::CrossValidate& cv, const Value& error_score, const Value& refit,
                  const char* task) {
  const std::string path = fmt::format("task.{}", task);
  check_folds(job, cv, path, "a search");
  check_error_score(error_score, path);
  check_refit(refit, job, path);
}

template <class ModelTask>
  requires std::is_same_v<ModelTask, schema::Predict> || std::is_same_v<ModelTask, schema::Transform>
void check(const ModelTask&, CheckedJob&, const CheckClock&) {}   // see check_model_task()

void check(const schema::Fit&, CheckedJob&, const CheckClock&) {}

void check(const schema::FitScore& task, CheckedJob& job, const CheckClock&) {
  check_split(task, "task.fitScore");
  check_scores(job, task.scoring, "fitScore");
  check_evaluation(job, task.confusionMatrix, task.curves, "task.fitScore");
}

void check(const schema::CrossValidate& task, CheckedJob& job, const CheckClock&) {
  check_splitter(task, job.spec.select, "task.crossValidate");
  check_scores(job, task.scoring, "crossValidate");
  check_evaluation(job, task.confusionMatrix, task.curves, "task.crossValidate");
}

void check(const schema::GridSearch& task, CheckedJob& job, const CheckClock& clock) {
  check_search(job, task.crossValidate, task.errorScore, task.refit, "gridSearch");
  const std::string where = "task.gridSearch.paramGrid";
  check_candidates(job, grid_candidates(parse_param_spaces(task.paramGrid, where, false), where), where, clock);
}

void check(const schema::RandomizedSearch& task, CheckedJob& job, const CheckClock& clock) {
  check_search(job, task.crossValidate, task.errorScore, task.refit, "randomizedSearch");
  if (task.nIter < 1 || task.nIter > 100000) {
    refuse("task.randomizedSearch.nIter", fmt::format("nIter is {}, must be from 1 to 100000", task.nIter));
  }
  check_seed(task.randomState, "task.randomizedSearch.randomState");
  const std::string where = "task.randomizedSearch.paramDistributions";
  const auto seed = static_cast<std::uint32_t>(task.randomState.value_or(0));
  check_candidates(job, sampled_candidates(parse_param_spaces(task.paramDistributions, where, true), task.nIter, seed, where), where, clock);
}

void check_min_resources(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  const auto* number = std::get_if<std::int64_t>(&value.data);
  if ((text && (*text == "exhaust" || *text == "smallest")) || (number && *number >= 1)) return;
  refuse("task.halvingGridSearch.minResources",
         fmt::format("minResources is {}, must be \"exhaust\", \"smallest\" or a whole number of at least 1", schema::to_string(value)));
}

void check(const schema::HalvingGridSearch& task, CheckedJob& job, const CheckClock& clock) {
  const std::string path = "task.halvingGridSearch";
  check_search(job, task.crossValidate, task.errorScore, task.refit, "halvingGridSearch");
  if (job.scorers.size() > 1) refuse(path + ".crossValidate.scoring", "successive halving takes one scorer");
  if (task.factor < 2) refuse(path + ".factor", fmt::format("factor is {}, must be at least 2", task.factor));
  check_min_resources(task.minResources);
  if (task.maxResources && *task.maxResources < 1) {
    refuse(path + ".maxResources", fmt::format("maxResources is {}, must be at least 1", *task.maxResources));
  }
  check_seed(task.randomState, path + ".randomState");
  const std::string where = path + ".paramGrid";
  check_candidates(job, grid_candidates(parse_param_spaces(task.paramGrid, where, false), where), where, clock);
  if (task.resource == "n_samples") return;
  if (!task.maxResources) refuse(path + ".maxResources", fmt::format("maxResources is needed when the resource is '{}'", task.resource));
  CandidateCheck check(job, path + ".resource", clock, std::pair(task.resource, Value(*task.maxResources)));
  for (std::size_t i = 0; i < job.candidates.size(); ++i) {
    const ParamSpace& space = job.candidates.spaces()[job.candidates.space(i)];
    const bool is_searched = std::any_of(space.begin(), space.end(), [&](const ParamChoice& choice) { return choice.path == task.resource; });
    if (is_searched) refuse(path + ".resource", fmt::format("resource '{}' is among the parameters of the grid", task.resource));
    check.check(i);
  }
}

void check_choice(const std::string& value, std::initializer_list<std::string_view> choices, const std::string& path);

// --- curves, permutations, inspections ---

void check(const schema::LearningCurve& task, CheckedJob& job, const CheckClock&) {
  const std::string path = "task.learningCurve";
  check_predicts(job.last(), job.steps.size(), "learningCurve");
  check_train_sizes(task.trainSizes, path + ".trainSizes");
  check_seed(task.randomState, path + ".randomState");
  if (task.randomState && !task.shuffle)
    refuse(path + ".randomState", "randomState has no effect without shuffle: leave it out or set shuffle to true");
  check_folds(job, task.crossValidate, path, "a learning curve");
  check_error_score(task.errorScore, path);
}

// A path that is of no step is a fault of the name, and another of a value.
void check(const schema::ValidationCurve& task, CheckedJob& job, const CheckClock& clock) {
  const std::string path = "task.validationCurve", where = path + ".paramRange";
  check_predicts(job.last(), job.steps.size(), "validationCurve");
  if (task.paramName.empty())
    refuse(path + ".paramName", "paramName is empty, must be the path of a parameter, such as ridge__alpha");
  if (task.paramRange.empty()) refuse(where, "paramRange is empty, must have at least one value");
  check_folds(job, task.crossValidate, path, "a validation curve");
  check_error_score(task.errorScore, path);
  const Value grid = schema::ValueMap{{task.paramName, task.paramRange}};
  try {
    check_candidates(job, grid_candidates(parse_param_spaces(grid, where, false), where), where, clock);
  } catch (schema::Error& error) {
    if (error.where == where + "." + task.paramName) error.where = path + ".paramName";
    throw;
  }
}

void check(const schema::PermutationTestScore& task, CheckedJob& job, const CheckClock&) {
  const std::string path = "task.permutationTestScore";
  check_predicts(job.last(), job.steps.size(), "permutationTestScore");
  if (task.nPermutations < 1 || task.nPermutations > 100000)
    refuse(path + ".nPermutations", fmt::format("nPermutations is {}, must be from 1 to 100000", task.nPermutations));
  check_seed(task.randomState, path + ".randomState");
  check_folds(job, task.crossValidate, path, "a permutation test");
  if (task.crossValidate.returnTrainScore)
    refuse(path + ".crossValidate.returnTrainScore", "a permutation test has no train scores");
}

// The division of an inspection's rows has no scores of its own.
void check_parts(const std::optional<schema::FitScore>& parts, const std::string& path) {
  if (!parts) return;
  check_split(*parts, path);
  if (!parts->scoring.empty() || parts->confusionMatrix || parts->curves)
    refuse(path, "scoring, confusionMatrix and curves of fitScore have no effect here: leave them out");
}

void check_max_samples(const std::optional<Value>& value, const std::string& path) {
  if (!value || value->is_null()) return;
  const auto* rows = std::get_if<std::int64_t>(&value->data);
  const auto* fraction = std::get_if<double>(&value->data);
  if (!rows && !fraction)
    refuse(path, fmt::format("maxSamples is {}, must be a number", schema::to_string(*value)), ErrorCode::kWrongType);
  if (rows ? *rows < 1 : !(*fraction > 0 && *fraction <= 1))
    refuse(path, fmt::format("maxSamples is {}, must be a fraction above 0 and at most 1, or a whole number of rows",
                             schema::to_string(*value)));
}

void check(const schema::PermutationImportance& task, CheckedJob& job, const CheckClock&) {
  const std::string path = "task.permutationImportance";
  check_scores(job, task.scoring, "permutationImportance");
  if (task.nRepeats < 1 || task.nRepeats > 100000)
    refuse(path + ".nRepeats", fmt::format("nRepeats is {}, must be from 1 to 100000", task.nRepeats));
  check_max_samples(task.maxSamples, path + ".maxSamples");
  check_seed(task.randomState, path + ".randomState");
  check_parts(task.fitScore, path + ".fitScore");
}

// A name or a position; in a list of two of them each.
void check_feature(const Value& feature, const std::string& path) {
  if (const auto* pair = std::get_if<schema::ValueList>(&feature.data)) {
    if (pair->empty() || pair->size() > 2)
      refuse(path, fmt::format("has {} columns, must be one or two", pair->size()));
    for (std::size_t k = 0; k < pair->size(); ++k) {
      const std::string item = fmt::format("{}[{}]", path, k);
      if (std::holds_alternative<schema::ValueList>((*pair)[k].data))
        refuse(item, "is a list, must be a name or a position", ErrorCode::kWrongType);
      check_feature((*pair)[k], item);
    }
    return;
  }
  const auto* position = std::get_if<std::int64_t>(&feature.data);
  if (!position && !std::holds_alternative<std::string>(feature.data))
    refuse(
        path,
        fmt::format("is {}, must be the name or the position of a column, or two of them", schema::to_string(feature)),
        ErrorCode::kWrongType);
  if (position && *position < 0) refuse(path, fmt::format("is {}, positions count from 0", *position));
}

void check_response(const schema::PartialDependence& task, const StepTraits& last, const std::string& path) {
  if (!last.classifies && !last.regresses)
    refuse("pipeline", fmt::format("partialDependence needs a classifier or a regressor at the end, {} is a {}",
                                   last.info->name, last.info->kind));
  check_choice(task.responseMethod, {"auto", "predict_proba", "decision_function"}, path);
  const std::string& method = task.responseMethod;
  const bool has = last.regresses                  ? method == "auto"
                   : method == "predict_proba"     ? last.has_proba
                   : method == "decision_function" ? last.has_decision
                                                   : last.has_proba || last.has_decision;
  if (!has) refuse(path, fmt::format("responseMethod is '{}', which {} does not have", method, last.info->name));
}

void check(const schema::PartialDependence& task, CheckedJob& job, const CheckClock&) {
  const std::string path = "task.partialDependence";
  if (task.features.empty()) refuse(path + ".features", "features is empty, must name at least one column");
  for (std::size_t i = 0; i < task.features.size(); ++i)
    check_feature(task.features[i], fmt::format("{}.features[{}]", path, i));
  if (task.gridResolution < 2 || task.gridResolution > 100000)
    refuse(path + ".gridResolution",
           fmt::format("gridResolution is {}, must be from 2 to 100000", task.gridResolution));
  const std::vector<double>& p = task.percentiles;
  if (!p.empty() && !(p.size() == 2 && p[0] >= 0 && p[0] < p[1] && p[1] <= 1))
    refuse(
        path + ".percentiles",
        fmt::format("percentiles is [{}], must be two numbers from 0 to 1, the smaller one first", fmt::join(p, ", ")));
  check_choice(task.kind, {"average", "individual", "both"}, path + ".kind");
  check_response(task, job.last(), path + ".responseMethod");
  check_parts(task.fitScore, path + ".fitScore");
}

void check_choice(const std::string& value, std::initializer_list<std::string_view> choices, const std::string& path) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  const std::string name = path.substr(path.rfind('.') + 1);
  refuse(path, fmt::format("{} is '{}', must be {}{}", name, value, fmt::join(choices, ", "), suggestion(value, choices)));
}

}  // namespace

void check_model_task(const schema::JobSpec& spec) {
  const auto* predict = std::get_if<schema::Predict>(&spec.task);
  const std::string task = predict ? "task.predict" : "task.transform";
  if (schema::model_of(spec.task)->empty()) refuse(task + ".model", "model is empty, must be the id of a stored model");
  if (predict)
    check_choice(predict->output, {"predict", "predict_proba", "decision_function", "score_samples", "contributions"},
                 task + ".output");
  check_choice(predict ? predict->format : std::get<schema::Transform>(spec.task).format, {"npy", "csv"}, task + ".format");
  if (!spec.pipeline.empty()) refuse("pipeline", "a task with a stored model takes no pipeline: the model has its own");
  const schema::Select& select = spec.select;
  const char* field = !select.columns.empty()    ? "columns"
                      : select.dtype             ? "dtype"
                      : select.scale             ? "scale"
                      : !select.targets.empty()  ? "targets"
                      : select.weights           ? "weights"
                      : select.groups            ? "groups"
                      : !select.types.empty()    ? "types"
                      : !select.naValues.empty() ? "naValues"
                                                 : nullptr;
  if (field) refuse(fmt::format("select.{}", field), fmt::format("select.{} is the model's own: leave it out", field));
}

void check_task(CheckedJob& job, const CheckClock& clock) {
  job.target_kind = target_kind_of(job.steps);
  std::visit([&](const auto& task) { check(task, job, clock); }, job.spec.task);
  if (job.spec.select.weights && !job.last().takes_weights) {
    refuse("select.weights", fmt::format("{} takes no sample weights", job.last().info->name));
  }
  for (const StepTraits& step : job.steps)
    if (job.spec.select.weights && step.drops_weights)
      refuse("select.weights", fmt::format("{} makes rows that have no sample weights", step.info->name));
}

}  // namespace kedge::engine
