// What the last step of a chain says of the rows that are scored.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/estimator.h"
#include "engine/metrics/scorers.h"

namespace kedge::engine {

// Host memory, row after row; filled is what the scorers read.
struct Predicted {
  std::vector<std::int32_t> labels;
  std::vector<double> proba, decision, values;
  // Of several target columns, by column: what is predicted, and probabilities where a scorer reads those.
  std::vector<std::vector<double>> outputs, output_proba;
};

// Whether so many rows are predicted in blocks. Not on a GPU, where the bits of one call may be others than those of
// two.
bool deals_predictions(const Context& ctx, std::int64_t n_rows);

// On the host kLeastDealtRows rows and more are predicted in blocks (dealt_blocks.h), of which each rank of
// the job has its part: the blocks, and so the bits, do not depend on the number of ranks. The first rank gets all of
// it, the others nothing. Rows that a search shares by their content are predicted at once. Errors: those of the step,
// on every rank.
template <class T>
Predicted predicted_rows(const Context& ctx, const Estimator<T>& last, const Samples<T>& X,
                         const std::vector<const Scorer*>& scorers);

}   // namespace kedge::engine
