// What linear models hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed least_squares(const SampleShape& X, const schema::Step& step);
MemoryNeed ridge(const SampleShape& X, const schema::Step& step);
MemoryNeed ridge_cv(const SampleShape& X, const schema::Step& step);
MemoryNeed ridge_classifier_cv(const SampleShape& X, const schema::Step& step);
MemoryNeed coordinate_descent(const SampleShape& X, const schema::Step& step);   // Lasso and ElasticNet
MemoryNeed coordinate_descent_cv(const SampleShape& X, const schema::Step& step);   // with their searches
MemoryNeed logistic(const SampleShape& X, const schema::Step& step);
MemoryNeed logistic_cv(const SampleShape& X, const schema::Step& step);
MemoryNeed margins(const SampleShape& X, const schema::Step& step);      // what MarginProblem fits
MemoryNeed row_by_row(const SampleShape& X, const schema::Step& step);   // stochastic gradient descent, on the host
MemoryNeed evidence(const SampleShape& X, const schema::Step& step);     // Bayesian regressions

}  // namespace kedge::engine::memory
