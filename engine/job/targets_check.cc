// Checks what a job with several target columns asks for.
#include "engine/job/targets_check.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/job/refuse.h"

namespace kedge::engine {
namespace {

constexpr const char* kPath = "select.targets";

// The use of a column beside that of a target, or nothing.
std::string_view other_use(const schema::Select& select, const std::string& name) {
  if (std::ranges::find(select.columns, name) != select.columns.end()) return "select.columns";
  if (select.weights == name) return "select.weights";
  return select.groups == name ? "select.groups" : "";
}

// The name of a task that takes one target, or nothing.
std::string_view task_of_one(const schema::Task& task) {
  if (std::holds_alternative<schema::HalvingGridSearch>(task)) return "halvingGridSearch";
  if (std::holds_alternative<schema::PermutationTestScore>(task)) return "permutationTestScore";
  if (std::holds_alternative<schema::PermutationImportance>(task)) return "permutationImportance";
  return std::holds_alternative<schema::PartialDependence>(task) ? "partialDependence" : "";
}

const schema::CrossValidate* folds_of(const schema::Task& task) {
  return std::visit(
      [](const auto& one) -> const schema::CrossValidate* {
        if constexpr (requires { one.crossValidate; }) return &one.crossValidate;
        else if constexpr (requires { one.splitter; }) return &one;
        else return nullptr;
      },
      task);
}

void refuse_evaluation(bool confusion_matrix, bool curves, const std::string& task) {
  constexpr const char* kOfOne = "{} is of one target, select.targets names several";
  if (confusion_matrix) refuse(task + ".confusionMatrix", fmt::format(kOfOne, "a confusion matrix"));
  if (curves) refuse(task + ".curves", fmt::format(kOfOne, "a curve"));
}

}   // namespace

void check_targets(const schema::Select& select) {
  const std::vector<std::string>& targets = select.targets;
  if (targets.empty()) return;
  if (select.target) refuse(kPath, "target and targets are both given, must be one of them");
  if (targets.size() < 2) refuse(kPath, "targets has 1 column, must have at least 2: select.target names a single one");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", kPath, i);
    if (!seen.insert(targets[i]).second) refuse(path, fmt::format("column '{}' is named twice", targets[i]));
    if (const std::string_view use = other_use(select, targets[i]); !use.empty())
      refuse(path, fmt::format("column '{}' is a target, {} names it as well", targets[i], use));
  }
}

void check_targets(const std::vector<StepTraits>& steps, const schema::Select& select, const std::string& where) {
  const StepTraits& last = steps.back();
  const std::size_t n = select.targets.size();
  if (n == 0 && last.fits_targets)
    refuse(where, fmt::format("{} fits several target columns: name them in select.targets", last.info->name));
  if (n == 0) return;
  if (!last.fits_targets) {
    const char* advice = last.classifies  ? ": MultiOutputClassifier and ClassifierChain fit a copy of one to each"
                         : last.regresses ? ": MultiOutputRegressor and RegressorChain fit a copy of one to each"
                                          : "";
    refuse(where, fmt::format("select.targets names {} columns, {} fits {}{}", n, last.info->name,
                              last.target_kind == TargetKind::kNone ? "none" : "one", advice));
  }
  if (last.n_targets && *last.n_targets != static_cast<std::int64_t>(n))
    refuse(where,
           fmt::format("select.targets names {} columns, order of {} has {}", n, last.info->name, *last.n_targets));
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    if (steps[i].target_kind != TargetKind::kNone)
      refuse(where, fmt::format("select.targets names {} columns, {} reads one", n, steps[i].info->name));
}

void check_task_of_targets(const schema::JobSpec& spec) {
  if (spec.select.targets.empty()) return;
  if (const std::string_view name = task_of_one(spec.task); !name.empty())
    refuse(kPath, fmt::format("select.targets names {} columns, {} takes one", spec.select.targets.size(), name));
  if (const auto* parts = std::get_if<schema::FitScore>(&spec.task)) {
    if (parts->stratify) refuse("task.fitScore.stratify", "stratify needs one target, select.targets names several");
    refuse_evaluation(parts->confusionMatrix, parts->curves, "task.fitScore");
  }
  const schema::CrossValidate* const folds = folds_of(spec.task);
  if (!folds) return;
  if (folds->splitter.find("Stratified") != std::string::npos)
    refuse(kPath,
           fmt::format("splitter is '{}', which needs one target; select.targets names several", folds->splitter));
  if (std::holds_alternative<schema::CrossValidate>(spec.task))
    refuse_evaluation(folds->confusionMatrix, folds->curves, "task.crossValidate");
}

}   // namespace kedge::engine
