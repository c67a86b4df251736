// The words that a list of jobs is searched for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/job.h"

namespace kedge::server {

// As in a job's JSON: "gridSearch".
std::string_view task_name(const schema::Task& task);

// A value. A job is found when each word is part of its id, its data set, an estimator or a step, its task, its device,
// its state, or the reason of a failure. Capitals of ASCII do not matter.
class JobSearch {
 public:
  explicit JobSearch(std::string_view words);   // with spaces between them
  bool finds(const schema::Job& job) const;

 private:
  std::vector<std::string> words_;
};

}   // namespace kedge::server
