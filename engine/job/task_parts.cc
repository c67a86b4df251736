// Setups of searches, and scores and timings of their fits in a result.
#include "engine/job/task_parts.h"

#include <limits>

namespace kedge::engine {

SearchSetup setup_of(const CheckedJob& job, const schema::CrossValidate& cv, const schema::Value& error_score) {
  SearchSetup setup{.scorers = job.scorers, .return_train_score = cv.returnTrainScore};
  if (const auto* text = std::get_if<std::string>(&error_score.data)) {
    if (*text == "NaN") setup.error_score = std::numeric_limits<double>::quiet_NaN();
  } else if (const auto* whole = std::get_if<std::int64_t>(&error_score.data)) {
    setup.error_score = static_cast<double>(*whole);
  } else {
    setup.error_score = std::get<double>(error_score.data);
  }
  return setup;
}

void add_fold(const schema::FoldTimings& fold, schema::Timings& t) {
  t.fit += fold.fit, t.transform += fold.transform, t.predict += fold.predict, t.score += fold.score;
}

void add_round(const Round& round, schema::Timings& timings) {
  for (const auto& folds : round.scores)
    for (const FoldScores& fold : folds) add_fold(fold.timings, timings), timings.prepare += fold.prepare;
}

void set_scores(const std::vector<FoldScores>& folds, const std::vector<const Scorer*>& scorers,
                schema::Result& result) {
  for (std::size_t s = 0; s < scorers.size(); ++s) {
    std::vector<double> test;
    for (const FoldScores& fold : folds) test.push_back(fold.test[s]);
    result.scores.emplace_back(std::string(scorers[s]->name), summarize(std::move(test)));
  }
}

}   // namespace kedge::engine
