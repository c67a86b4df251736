// Confusion matrices and curves of scored rows, for a job's result.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/target.h"
#include "engine/metrics/scorers.h"
#include "engine/model_selection/scored_rows.h"
#include "schemas/value.h"

namespace kedge::engine {

// "confusion_matrix": {"labels", "matrix": rows of true classes}, if labels were wanted. If scores were: "roc_curve"
// and "precision_recall_curve", by name of the class that counts as positive (the second of two, otherwise each against
// the rest, and "micro": all such decisions together, as in scikit-learn's average="micro"); each with its points, at
// most 200 of them, and its area ("auc", "average_precision"). A class that does not occur among the rows has no curve.
schema::ValueMap evaluation_of(const ScoredRows& rows, const std::vector<std::string>& classes);

// "outputs": of several target columns by name, the scores of each by scorer, as {"perFold", "mean", "std"}.
schema::ValueMap output_scores_of(const ScoredRows& rows, const std::vector<TargetOutput>& outputs,
                                  const std::vector<const Scorer*>& scorers);

}  // namespace kedge::engine
