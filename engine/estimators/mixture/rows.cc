// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/mixture/bayesian_gaussian_mixture.h"
#include "engine/estimators/mixture/gaussian_mixture.h"

namespace kedge::engine {

constexpr const char* kStarts = "the draws of starts that are random, and the labels that KMeans starts from";

void add_mixture(Rows& rows) {
  add<GaussianMixture>(rows, GaussianMixture<double>::memory, {26, 9, 8},
                       {.host_part = kStarts, .dealt = DealtFit::kOwnRows});
  add<BayesianGaussianMixture>(rows, BayesianGaussianMixture<double>::memory, {27, 9, 8},
                               {.host_part = kStarts, .dealt = DealtFit::kOwnRows});
}

}   // namespace kedge::engine
