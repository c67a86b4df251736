// Finds out what each candidate changes, checks what has not been checked, and then how its steps go together.
#include "engine/job/candidate_check.h"

#include "engine/core/value_size.h"
#include "engine/estimators/composition/nested.h"
#include "engine/faults/fail_point.h"
#include "engine/job/param_path.h"
#include "engine/job/refuse.h"
#include "engine/job/scorer_check.h"
#include "engine/job/targets_check.h"

namespace kedge::engine {
namespace {

// For Changes: one value of one parameter of one space.
void append(std::string& text, std::uint64_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof number); }

}  // namespace

CandidateCheck::CandidateCheck(const CheckedJob& job, std::string where, const CheckClock& clock,
                               std::optional<std::pair<std::string, schema::Value>> extra)
    : job_(job), where_(std::move(where)), clock_(clock), extra_(std::move(extra)), names_(step_names(job.spec.pipeline)) {
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const schema::Step& step = job.spec.pipeline[i];
    own_.push_back({.step = {.estimator = step.estimator, .params = {}, .name = step.name}, .traits = job.steps[i]});
  }
}

Candidate CandidateCheck::candidate(std::size_t i) const {
  Candidate candidate = job_.candidates[i];
  if (extra_) candidate.push_back(*extra_);
  return candidate;
}

const std::vector<std::optional<std::size_t>>& CandidateCheck::step_of_params(std::size_t space) {
  std::vector<std::optional<std::size_t>>& steps = steps_by_space_[space];
  if (!steps.empty()) return steps;
  for (const ParamChoice& choice : job_.candidates.spaces()[space]) steps.push_back(step_of_path(names_, choice.path));
  if (extra_) steps.push_back(step_of_path(names_, extra_->first));
  return steps;
}

std::optional<CandidateCheck::Changes> CandidateCheck::changes(std::size_t i) {
  const std::size_t space = job_.candidates.space(i);
  const std::span<const std::uint64_t> picks = job_.candidates.picks(i);
  const std::vector<std::optional<std::size_t>>& steps = step_of_params(space);
  Changes changes;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (!steps[k]) return std::nullopt;
    std::string& values = changes[*steps[k]];
    if (values.empty()) append(values, space);
    append(values, k), append(values, k < picks.size() ? picks[k] : 0);
  }
  return changes;
}

std::vector<const CandidateCheck::Form*> CandidateCheck::known_forms(const Changes& changes) const {
  std::vector<const Form*> forms;
  for (const Form& form : own_) forms.push_back(&form);
  for (const auto& change : changes) {
    const auto found = forms_.find(change);
    if (found == forms_.end()) return {};
    forms[change.first] = &found->second;
  }
  return forms;
}

CandidateCheck::Form CandidateCheck::checked_form(std::size_t i, std::size_t place, const schema::Step& step) const {
  try {
    StepTraits traits = traits_of(step, fmt::format("pipeline[{}]", place));   // first: gcc 12 destroys .step twice when this throws
    return {.step = {.estimator = step.estimator, .params = {}, .name = step.name}, .traits = std::move(traits)};
  } catch (const schema::Error& error) {
    throw schema::Error(error.code, fmt::format("candidate {}: {}", schema::to_string(candidate(i)), error.message), where_);
  }
}

void CandidateCheck::make_forms(std::size_t i, const Changes& changes) {
  const SharedSteps steps = with_params_in_place(shared_steps(job_.spec.pipeline), candidate(i), where_);
  for (const auto& change : changes) {
    const auto& step = steps[change.first];
    if (forms_.contains(change)) continue;
    if (step) expanded_ += held_bytes(step->params);
    if (expanded_ > kMostExpandedBytes && !KEDGE_CONTROL("unbounded-checks")) {
      refuse(where_, fmt::format("pipeline[{}] has {} bytes of parameters in candidate {} of {}: the steps that candidates change may "
                                 "hold {} MiB together, written out; take fewer candidates or shorter parameters",
                                 change.first, step ? held_bytes(step->params) : 0, i + 1, job_.candidates.size(), kMostExpandedBytes >> 20));
    }
    forms_.emplace(change, step ? checked_form(i, change.first, *step) : Form{});
  }
}

void CandidateCheck::check(std::size_t i) {
  clock_.spend(where_, i, job_.candidates.size());
  const std::optional<Changes> changed = changes(i);
  if (!changed) {   // a parameter is of no step: this says which
    with_params(shared_steps(job_.spec.pipeline), candidate(i), where_);
    refuse(where_, "the candidate sets a parameter of no step");
  }
  std::vector<const Form*> forms = known_forms(*changed);
  if (forms.empty()) {
    make_forms(i, *changed);
    forms = known_forms(*changed);
  }
  std::vector<schema::Step> steps;
  std::vector<StepTraits> traits;
  for (const Form* form : forms)
    if (form->traits) steps.push_back(form->step), traits.push_back(*form->traits);
  if (steps.empty()) refuse(where_, "the candidate passes all steps through, one must be left");
  check_order(steps, traits, where_);
  check_targets(traits, job_.spec.select, where_);
  check_predicts(traits.back(), steps.size(), "a search");
  for (const Scorer* scorer : job_.scorers) check_scorer(*scorer, traits.back(), where_);
  const bool is_first = i == 0 && !extra_;
  if (!is_first && target_kind_of(traits) != job_.target_kind)
    refuse(where_, fmt::format("candidate {} reads another kind of target than the first", schema::to_string(candidate(i))));
}

}  // namespace kedge::engine
