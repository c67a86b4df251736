// The rules of how rows are split, and the splits themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/model_selection/splitters.h"
#include "engine/model_selection/task_data.h"
#include "schemas/job.h"

namespace kedge::engine {

// Errors: kInvalidValue or kWrongType at `where` or below it; a field that the splitter does not have is refused.
void check_splitter(const schema::CrossValidate& task, const schema::Select& select, const std::string& where);
void check_split(const schema::FitScore& task, const std::string& where);
// numpy's RandomState takes 32 bits.
void check_seed(const std::optional<std::int64_t>& seed, const std::string& where);

// Rows in the order of scikit-learn's splitter for the same arguments; the seed of the job where randomState is not set.
// Errors: kBadData for too few rows, classes or groups; kInvalidValue where groups or classes are needed and not there.
std::vector<Split> make_splits(const Context& ctx, const schema::CrossValidate& task, std::int64_t n_rows, const TaskTarget& target,
                               bool classifies);
Split make_split(const Context& ctx, const schema::FitScore& task, std::int64_t n_rows, const TaskTarget& target);

}  // namespace kedge::engine
