// Probabilities from decisions: Platt's sigmoid, and classes coupled from pairs.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::engine {

// P(y = 1 | decision f) = 1 / (1 + exp(A f + B)).
struct Sigmoid {
  double A = 0, B = 0;
  double operator()(double decision) const;   // at least 1e-7 from 0 and 1
};

// The sigmoid of the largest likelihood of labels 1 and -1, by Newton's method on smoothed targets. Source: Lin, Lin
// and Weng, "A note on Platt's probabilistic outputs for support vector machines", Machine Learning 68, 2007.
Sigmoid fit_sigmoid(const std::vector<double>& decisions, const std::vector<signed char>& labels);

// Probabilities of k classes from those of pairs: pairs[i * k + j] = P(i | i or j). Source: Wu, Lin and Weng,
// "Probability estimates for multi-class classification by pairwise coupling", JMLR 5, 2004, second method.
std::vector<double> couple_pairs(const std::vector<double>& pairs, std::size_t k);

// The order in which LIBSVM deals n rows to folds, with the generator that scikit-learn gives it.
std::vector<std::int64_t> fold_order(std::uint32_t seed, std::int64_t n);

}   // namespace kedge::engine
