// What the tasks of a job have in common beside their splits.
#pragma once

#include "engine/job/job_check.h"
#include "engine/model_selection/search.h"

namespace kedge::engine {

// How candidates are scored. error_score: a checked one, see schema::GridSearch.
SearchSetup setup_of(const CheckedJob& job, const schema::CrossValidate& cv, const schema::Value& error_score);

void add_fold(const schema::FoldTimings& fold, schema::Timings& timings);

// All fits of a round.
void add_round(const Round& round, schema::Timings& timings);

// The test scores of one candidate, in the order of the scorers, become those of the result.
void set_scores(const std::vector<FoldScores>& folds, const std::vector<const Scorer*>& scorers,
                schema::Result& result);

}   // namespace kedge::engine
