// Checks which scorers fit what a pipeline predicts.
#include "engine/job/scorer_check.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "engine/job/refuse.h"

namespace kedge::engine {
namespace {

const char* noun(ScorerKind kind) {
  return kind == ScorerKind::kClassification ? "classes" : kind == ScorerKind::kRegression ? "numbers" : "clusters";
}

std::vector<std::string_view> of_several(ScorerKind kind) {
  std::vector<std::string_view> names;
  for (const Scorer& scorer : scorers())
    if (scorer.kind == kind && scorer.score_columns) names.push_back(scorer.name);
  return names;
}

std::vector<const Scorer*> default_scoring(const StepTraits& last, const std::string& task) {
  if (last.classifies) return {find_scorer("accuracy")};
  if (last.regresses) return {find_scorer("r2")};
  refuse(task + ".scoring", fmt::format("scoring is empty, {} has no score of its own: name one, such as adjusted_rand_score", last.info->name));
}

}  // namespace

void check_scorer(const Scorer& scorer, const StepTraits& last, const std::string& path) {
  const std::string& name = last.info->name;
  const bool fits = scorer.kind == ScorerKind::kClassification ? last.classifies
                    : scorer.kind == ScorerKind::kRegression   ? last.regresses
                                                               : last.clusters || last.classifies;
  if (!fits) refuse(path, fmt::format("'{}' scores {}, {} is a {}", scorer.name, noun(scorer.kind), name, last.info->kind));
  if (last.fits_targets && !scorer.score_columns) {
    refuse(path, fmt::format("'{}' scores one target, select.targets names several: take {}", scorer.name,
                             fmt::join(of_several(scorer.kind), ", ")));
  }
  if (!last.fits_targets && !scorer.score)
    refuse(path, fmt::format("'{}' scores several columns of labels, {} has one target", scorer.name, name));
  if (scorer.needs_proba && !last.has_proba) refuse(path, fmt::format("'{}' needs probabilities, {} gives none", scorer.name, name));
  if (scorer.needs_decision && !last.has_proba && !last.has_decision) {
    refuse(path, fmt::format("'{}' needs a decision function or probabilities, {} has neither", scorer.name, name));
  }
}

std::vector<const Scorer*> check_scoring(const std::vector<std::string>& names, const StepTraits& last, const std::string& task) {
  std::vector<const Scorer*> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Scorer* scorer = find_scorer(names[i]);
    const std::string path = fmt::format("{}.scoring[{}]", task, i);
    if (!scorer) {
      refuse(path, fmt::format("unknown scorer '{}', must be one of {}{}", names[i], fmt::join(scorer_names(), ", "),
                               suggestion(names[i], scorer_names())));
    }
    if (std::find(found.begin(), found.end(), scorer) != found.end()) refuse(path, fmt::format("'{}' is named twice", names[i]));
    check_scorer(*scorer, last, path);
    found.push_back(scorer);
  }
  return found.empty() ? default_scoring(last, task) : found;
}

void check_predicts(const StepTraits& last, std::size_t n_steps, std::string_view task) {
  if (last.predicts) return;
  refuse(fmt::format("pipeline[{}]", n_steps - 1),
         fmt::format("{} needs a last step that predicts, {} is a {}{}", task, last.info->name, last.info->kind,
                     last.clusters ? " that labels only the rows it is fitted with" : ""));
}

}  // namespace kedge::engine
