// The three ways to find principal components.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/samples.h"

namespace kedge::engine {

// Calls visit(first row, rows less `mean`) for blocks of X in order; each block is valid during the call only. Checks for a stop.
template <class T>
void for_centred_blocks(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean,
                        const std::function<void(std::int64_t, MatrixView<const T>)>& visit);

// Principal components, largest variance first, on the host. Signs are the solver's.
struct Spectrum {
  std::vector<double> variance;     // r, with n - 1 in the denominator, never negative
  std::vector<double> components;   // r x n_features, row-major
  double rest = 0;                  // sum of the variances left out
  std::int64_t n_rest = 0;          // how many those are
};

// Leading eigenvectors of the covariance matrix: count or more of them. Rows are centred before they are multiplied,
// and blocks of them are summed in double, so nothing is lost to a large mean. Error of each variance: a few eps(T) of
// the largest one.
template <class T>
Spectrum covariance_spectrum(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean, std::int64_t count);

// Whether covariance_spectrum() is as good as a singular value decomposition for the first `kept` components: the smallest of them
// must be at least 1e-8 (double) or 1e-3 (float) of the largest, which keeps the relative error of each below about 1e-7 or 1e-3.
template <class T>
bool is_well_conditioned(const Spectrum& spectrum, std::int64_t kept);

// Singular value decomposition of a centred copy of X; r = min(n_samples, n_features).
template <class T>
Spectrum svd_spectrum(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean);

struct RandomizedOptions {
  std::int64_t n_components = 1, n_oversamples = 10;
  std::optional<std::int64_t> n_iter;   // null: 7 below a tenth of min(n_samples, n_features), otherwise 4
  std::string normalizer = "auto";      // auto, QR, LU (as QR), none
  std::uint64_t seed = 0;

  std::int64_t iterations(std::int64_t n, std::int64_t d) const;
};

// Randomised range finder with power iterations (Halko et al. 2011, algorithm 4.4); r = n_components.
template <class T>
Spectrum randomized_spectrum(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean,
                             const RandomizedOptions& options);

// The same about 0 for sparse samples, in double.
template <class T>
Spectrum sparse_spectrum(const Context& ctx, const Samples<T>& X, const RandomizedOptions& options);

// Whether the covariance matrix of n x d data costs less than the passes over the data that the options require; it is
// then also the better answer, being exact.
bool is_covariance_cheaper(const Context& ctx, std::int64_t n, std::int64_t d, const RandomizedOptions& options);

// scikit-learn's svd_flip(u_based_decision=False): the largest loading of each component (a row of `cols`) is positive.
void fix_signs(std::vector<double>& components, std::int64_t cols);
// The singular value behind a variance.
double singular_value(const Spectrum& spectrum, std::int64_t i, std::int64_t n_samples);

// Components for project(): divided by their standard deviations where variances are given (whitening).
template <class T>
std::vector<T> projection(const std::vector<double>& components, const std::vector<double>& variances, std::int64_t cols);
// Rows less `mean` times the transposed components (row-major, as many columns as X).
template <class T>
Samples<T> project(const Context& ctx, const Samples<T>& X, const std::vector<double>& mean, const std::vector<T>& components);

// Number of components by Minka's estimate (NIPS 2000), 1 .. n_features - 1. `variance`: full spectrum, largest first.
std::int64_t minka_dimension(const std::vector<double>& variance, std::int64_t n_samples);

}  // namespace kedge::engine
