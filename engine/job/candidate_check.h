// Checks the candidates of a search: each step in each of its forms once, for any number of candidates that have it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/job/check_budget.h"
#include "engine/job/job_check.h"

namespace kedge::engine {

// What the steps that candidates change may hold in memory, added up over their forms.
inline constexpr std::size_t kMostExpandedBytes = std::size_t{1} << 30;

// Borrows the job, whose candidates and scorers must be there, and the clock.
class CandidateCheck {
 public:
  // `where`: the path at which candidates are refused. `extra`: a parameter that is set in all of them, behind their own.
  CandidateCheck(const CheckedJob& job, std::string where, const CheckClock& clock,
                 std::optional<std::pair<std::string, schema::Value>> extra = {});

  // Errors: those of the candidate's parameters, at the path in the grid; kInvalidValue beyond kMostExpandedBytes; those of the clock.
  void check(std::size_t i);

 private:
  // What a step is in one form. Its parameters have been checked and are not kept.
  struct Form {
    schema::Step step;
    std::optional<StepTraits> traits = {};   // none: it is passed through
  };
  using Changes = std::map<std::size_t, std::string>;   // by step that is changed: which values it is given

  std::optional<Changes> changes(std::size_t i);   // unset where a parameter is of no step
  const std::vector<std::optional<std::size_t>>& step_of_params(std::size_t space);
  std::vector<const Form*> known_forms(const Changes& changes) const;   // by step; empty: some are not known
  void make_forms(std::size_t i, const Changes& changes);
  Form checked_form(std::size_t i, std::size_t place, const schema::Step& step) const;
  Candidate candidate(std::size_t i) const;

  const CheckedJob& job_;
  const std::string where_;
  const CheckClock& clock_;
  const std::optional<std::pair<std::string, schema::Value>> extra_;
  const std::vector<std::string> names_;   // of the steps of the job's pipeline
  std::vector<Form> own_;                  // these steps as they are
  std::map<std::pair<std::size_t, std::string>, Form> forms_;   // by step and its values
  std::map<std::size_t, std::vector<std::optional<std::size_t>>> steps_by_space_;
  std::size_t expanded_ = 0;               // bytes
};

}  // namespace kedge::engine
