// What the differential suite cannot see of neighbours and clusters: the searches of NearestNeighbors, and equal bits at any number of threads.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "engine/estimators/cluster/dbscan.h"
#include "engine/estimators/cluster/k_means.h"
#include "engine/estimators/neighbors/neighbor_estimators.h"
#include "fixture.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using testing::Data;

Data grid() {   // 0, 1, ... 8 on a line
  Data data{.n_rows = 9, .n_cols = 1};
  for (int i = 0; i < 9; ++i) data.X.push_back(i), data.y.push_back(0);
  data.classes = {"0"};
  return data;
}

TEST(NearestNeighbors, FindsTheNearestAndPrefersTheLowerIndex) {
  for (const std::string& name : testing::device_names()) {
    const Context ctx{.device = testing::device_named(name)};
    const Data data = grid();
    const testing::Loaded<double> loaded(ctx.device, data);
    NearestNeighbors<double> model({{"n_neighbors", 3}, {"radius", 1.0}});
    model.fit(ctx, loaded.all(), loaded.target());
    const auto nearest = model.kneighbors(ctx, loaded.rows({0, 4}));
    EXPECT_EQ(nearest.indices, (std::vector<std::int32_t>{0, 1, 2, 4, 3, 5})) << name;
    EXPECT_EQ(nearest.distances, (std::vector<double>{0, 1, 2, 0, 1, 1})) << name;
    const auto within = model.radius_neighbors(ctx, loaded.rows({0, 4}));
    EXPECT_EQ(within.offsets, (std::vector<std::int64_t>{0, 2, 5})) << name;   // a distance equal to the radius counts
  }
}

TEST(NearestNeighbors, MeasuresTheCosineOfRowsOfAnyLength) {
  const Context ctx{.device = testing::device_named("cpu")};
  Data data{.n_rows = 4, .n_cols = 2, .X = {1e-200, 0, 0, 3e200, 5, 5, 0, 0}, .y = {0, 0, 0, 0}, .classes = {"0"}};
  const testing::Loaded<double> loaded(ctx.device, data);
  NearestNeighbors<double> model({{"n_neighbors", 4}, {"metric", "cosine"}});
  model.fit(ctx, loaded.all(), loaded.target());
  const auto nearest = model.kneighbors(ctx, loaded.rows({0, 3}));
  EXPECT_EQ(nearest.indices, (std::vector<std::int32_t>{0, 2, 1, 3, 0, 1, 2, 3}));
  EXPECT_EQ(nearest.distances[0], 0.0);
  EXPECT_NEAR(nearest.distances[1], 1 - std::sqrt(0.5), 1e-15);
  EXPECT_DOUBLE_EQ(nearest.distances[2], 1.0);
  for (std::size_t i = 3; i < 8; ++i) EXPECT_DOUBLE_EQ(nearest.distances[i], 1.0);   // a row of zeros is far from all
}

TEST(KMeans, RefusesCentresOfAnotherShape) {
  EXPECT_THROW(KMeans<double>({{"n_clusters", 2}, {"init", schema::ValueList{schema::Value(schema::ValueList{1.0, 2.0})}}}), schema::Error);
}

template <class E>
schema::ValueMap fitted_with_threads(int threads, const schema::ValueMap& params, const Data& data) {
  const Context ctx{.device = testing::device_named("cpu")};
  const testing::Loaded<double> loaded(ctx.device, data);
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  E model(params);
  model.fit(ctx, loaded.all(), loaded.target());
  omp_set_num_threads(before);
  return model.attributes();
}

TEST(Clusters, AreTheSameBitsAtAnyNumberOfThreads) {
  for (const std::int64_t cols : {3, 20}) {   // in a tree, and by scans
    const Data data = testing::make_data(3000, cols, 4);
    const schema::ValueMap dense{{"eps", cols == 3 ? 0.15 : 1.0}};
    EXPECT_EQ(fitted_with_threads<KMeans<double>>(1, {}, data), fitted_with_threads<KMeans<double>>(5, {}, data));
    EXPECT_EQ(fitted_with_threads<DBSCAN<double>>(1, dense, data), fitted_with_threads<DBSCAN<double>>(5, dense, data));
  }
}

}  // namespace
}  // namespace kedge::engine
