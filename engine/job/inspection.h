// What a fitted pipeline makes of its columns: permutation importance and partial dependence.
#pragma once

#include <vector>

#include "engine/model_selection/chain.h"
#include "schemas/job.h"

namespace kedge::engine {

// The numbers that a partial dependence may have in all: 32 MiB of them.
inline constexpr std::int64_t kMostDependences = std::int64_t{1} << 22;

// How many copies of n_rows rows are predicted at once, of `points` that are to be: about 65,536 rows.
std::int64_t copies_at_once(std::int64_t n_rows, std::int64_t points);

// Both fill in result.evaluation, with the numbers of sklearn.inspection 1.9 ("brute" for partial dependence). X: the
// examined rows, which become dense; y: their targets. They cost a copy of the rows, or copies_at_once() of them, and
// as many predictions as there are columns and repeats, or points. Progress is by prediction. Errors: kBadData and
// kInvalidValue at the task's field; kCancelled.
template <class T>
void permutation_importance(const Context& ctx, const schema::PermutationImportance& task,
                            const std::vector<const Scorer*>& scorers, Chain<T>& chain, const Samples<T>& X,
                            const Target& y, schema::Result& result);
template <class T>
void partial_dependence(const Context& ctx, const schema::PartialDependence& task, Chain<T>& chain, const Samples<T>& X,
                        const Target& y, schema::Result& result);

}   // namespace kedge::engine
