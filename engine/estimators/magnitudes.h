// How large values are for squares in a number format: factors that bring them near 1, and refusals.
#pragma once

#include <string_view>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

// The power of two that brings a positive, finite value to 1 .. 2; 2^1000 and 2^-1000 at most. Exact to multiply by.
double near_one(double value);

// A power of two, 1 in general: X times it has squares, and sums of n_rows x n_cols of them, that T holds. Reads the
// table's ranges.
template <class T>
double table_factor(const Context& ctx, const Samples<T>& X);

// Whether the sum of the squares of all of X's values, known within a factor of 2, tells that table_factor() is 1.
// Reads nothing.
template <class T>
bool needs_no_factor(const Samples<T>& X, double squares);

// table_factor() by column, in double; empty where all are 1.
template <class T>
std::vector<double> column_factors(const Context& ctx, const Samples<T>& X);

// The same of the values of a target; 1 or a power of two.
double value_factor(const Context& ctx, const Target& y);

// A copy of (dense) X with every column multiplied by its factor.
template <class T>
Samples<T> multiplied(const Context& ctx, const Samples<T>& X, const std::vector<double>& factors);

// Errors: kBadData "OWNER: column 'x' has values up to 1e+160 ..." for values that the estimator's squares() cannot
// hold, or that they lose where none may vanish (Squares::kEachColumn). The same for the target.
template <class T>
void require_magnitudes(const Context& ctx, std::string_view owner, const Estimator<T>& estimator, const Samples<T>& X,
                        const Target& y);

}   // namespace kedge::engine
