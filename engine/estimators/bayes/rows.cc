// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/bayes/discrete_bayes.h"
#include "engine/estimators/bayes/gaussian_nb.h"
#include "engine/estimators/bayes/memory.h"
#include "engine/estimators/catalogue_rows.h"

namespace kedge::engine {

void add_bayes(Rows& rows) {
  add<GaussianNB>(rows, memory::bayes, {2, 4}, {.dealt = DealtFit::kOwnRows});
  add<MultinomialNB>(rows, memory::bayes, {4, 4}, {.dealt = DealtFit::kOwnRows});
  add<ComplementNB>(rows, memory::bayes, {4, 4}, {.dealt = DealtFit::kOwnRows});
  add<BernoulliNB>(rows, memory::bayes, {2, 4}, {.dealt = DealtFit::kOwnRows});
  add<CategoricalNB>(rows, memory::category_bayes, {6, 8}, {.dealt = DealtFit::kOwnRows});
}

}  // namespace kedge::engine
