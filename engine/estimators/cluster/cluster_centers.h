// What the k-means estimators share: where centres start, and what fitted centres do with rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/legacy_random.h"
#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

// init: "k-means++", "random" or the centres themselves; n_init: "auto" or an integer.
std::vector<schema::ParamForm> center_init_forms();
std::vector<schema::ParamForm> n_init_forms();
// Throws Error{kInvalidValue} unless an array of centres has n_clusters rows.
void check_center_init(std::string_view owner, const schema::Value& init, std::int64_t n_clusters);
// Runs that "auto" stands for: 1, or `random_runs` with init "random". One run for given centres.
std::int64_t runs_of(const schema::Value& n_init, const schema::Value& init, std::int64_t random_runs);

// Centres to start from, host, n_clusters x X.cols, without the shift that X had: rows of X (device), or the given centres minus `shift`.
// "k-means++" is scikit-learn's greedy form with its draws: Arthur, Vassilvitskii, "k-means++", SODA 2007, section 5; the best of
// 2 + floor(log(n_clusters)) candidates by potential. Empty weights mean 1. Errors: kBadData where given centres have other columns.
template <class T>
std::vector<T> initial_centers(const Context& ctx, std::string_view owner, const schema::Value& init, MatrixView<const T> X,
                               std::span<const double> weights, const std::vector<double>& shift, std::int64_t n_clusters, LegacyRandom& random);

// Index of the nearest centre (host, row-major, X.n_cols() columns) of each row.
template <class T>
std::vector<std::int32_t> nearest_centers(const Context& ctx, const Samples<T>& X, const std::vector<T>& centers);
// Distances of each row to each centre, as samples.
template <class T>
Samples<T> center_distances(const Context& ctx, const Samples<T>& X, const std::vector<T>& centers);
// Every rank gets the labels of all rows, of which each has those of its own.
void give_labels(const Context& ctx, Array<std::int32_t>& labels);
// sum_i weights[i] * |X[i] - centers[labels[i]]|^2; all are on the device. Empty weights mean 1. Ranks read the labels
// of their own rows.
template <class T>
double inertia_of(const Context& ctx, MatrixView<const T> X, MatrixView<const T> centers,
                  VectorView<const std::int32_t> labels, VectorView<const double> weights);

}  // namespace kedge::engine
