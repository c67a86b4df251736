// Checks and the last step of all splitters that test every row once.
#include "engine/model_selection/split_checks.h"

#include "engine/core/stop.h"

namespace kedge::engine {

void require_splits(std::int64_t n_splits, std::int64_t minimum) {
  require_split(n_splits >= minimum, schema::ErrorCode::kInvalidValue, kCvPath, "cv is {}, must be at least {}", n_splits, minimum);
}

std::vector<Split> splits_from_folds(const std::vector<std::int32_t>& fold_of, std::int64_t n_splits) {
  std::vector<std::size_t> tested(static_cast<std::size_t>(n_splits));
  for (std::int32_t fold : fold_of) ++tested[static_cast<std::size_t>(fold)];
  std::vector<Split> splits(tested.size());
  for (std::size_t k = 0; k < splits.size(); ++k) {
    check_job_stop();
    splits[k].test.reserve(tested[k]);
    splits[k].train.reserve(fold_of.size() - tested[k]);
    for (std::size_t i = 0; i < fold_of.size(); ++i) {
      const bool is_test = fold_of[i] == static_cast<std::int32_t>(k);
      (is_test ? splits[k].test : splits[k].train).push_back(static_cast<std::int32_t>(i));
    }
  }
  return splits;
}

}  // namespace kedge::engine
