// Elastic nets on many rows with few columns that count: a sample of the rows names those, and one pass over all rows does the
// rest.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/elastic_net.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

struct ElasticNetPenalty {
  double alpha = 1, l1_ratio = 1;
};

struct TallSolution {
  std::vector<double> coef;
  double intercept = 0, gap = 0;   // the gap as ElasticNetSolutions have it
  std::int64_t n_iter = 0;         // passes over the coordinates of working sets
};

// Whether a sample costs little compared with all rows. It needs an L1 penalty.
bool takes_sample(std::int64_t n_rows, std::int64_t n_cols, const ElasticNetPenalty& penalty);

// The solution of solve_elastic_nets() for one penalty, to the same gap over all columns, from a pass over X that gives
// the products of all columns with those that count in a sample of rows (or, if that is many, the whole Gram matrix);
// further passes, with the columns that turn out to violate the optimum, only where the sample misled. X is dense. y
// and weights: device, one a row, weights that sum to the number of rows, or none. The sample is every so-manyth row,
// so the answer depends on the data alone. Errors: kBadData naming `owner`, for no columns or weights that sum to 0;
// kCancelled.
template <class T>
TallSolution solve_tall_elastic_net(const Context& ctx, const char* owner, const Samples<T>& X,
                                    MatrixView<const double> y, VectorView<const double> weights, bool fit_intercept,
                                    const ElasticNetPenalty& penalty, const ElasticNetOptions& options);

}   // namespace kedge::engine
