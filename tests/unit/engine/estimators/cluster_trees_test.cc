// BisectingKMeans, Birch and OPTICS where the compared data do not lead: far from 0, by both ways of OPTICS, on any
// number of threads.
#include <gtest/gtest.h>

#include <omp.h>

#include <memory>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/cluster/birch.h"
#include "engine/estimators/cluster/bisecting_k_means.h"
#include "engine/estimators/cluster/optics.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;

Data spots(std::int64_t n_rows, double offset) {
  Data data{.n_rows = n_rows, .n_cols = 3, .classes = {"0"}};
  PhiloxStream random(5, 0);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    for (std::int64_t j = 0; j < data.n_cols; ++j)
      data.X.push_back(offset + 4.0 * static_cast<double>((i * (j + 2)) % 5) + random.uniform());
    data.y.push_back(0);
  }
  return data;
}

template <template <class> class E>
std::unique_ptr<E<double>> fitted(const Data& data, const schema::ValueMap& params,
                                  std::vector<std::string>* warnings = nullptr) {
  Device& device = testing::device_named("cpu");
  Context ctx{.device = device};
  if (warnings)
    ctx.emit = [&](const schema::EventBody& event) {
      if (const auto* log = std::get_if<schema::LogEvent>(&event)) warnings->push_back(log->message);
    };
  const testing::Loaded<double> loaded(device, data);
  auto made = std::make_unique<E<double>>(params);
  made->fit(ctx, loaded.all(), Target{});
  return made;
}

TEST(Birch, FindsTheSameClustersFarFromZero) {
  const schema::ValueMap params{{"threshold", 0.6}, {"branching_factor", 4}, {"n_clusters", nullptr}};
  const auto near = fitted<Birch>(spots(500, 0), params), far = fitted<Birch>(spots(500, 1e7), params);
  EXPECT_EQ(near->labels(), far->labels());
}

TEST(Birch, WarnsOfFewerSubclustersThanClusters) {
  std::vector<std::string> warnings;
  const auto made = fitted<Birch>(spots(40, 0), {{"threshold", 100.0}, {"n_clusters", 7}}, &warnings);
  EXPECT_EQ(made->labels(), std::vector<std::int32_t>(40, 0));
  EXPECT_EQ(warnings, std::vector<std::string>{"Birch: found 1 subclusters, n_clusters is 7; lower the threshold"});
}

template <template <class> class E>
void expect_same_bits(const Data& data, const schema::ValueMap& params) {
  const int before = omp_get_max_threads();
  std::vector<schema::ValueMap> found;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    found.push_back(fitted<E>(data, params)->attributes());
  }
  omp_set_num_threads(before);
  EXPECT_TRUE(found[0] == found[1]);
  EXPECT_TRUE(found[0] == found[2]);
}

TEST(BisectingKMeans, HasTheSameBitsForAnyNumberOfThreads) {
  expect_same_bits<BisectingKMeans>(spots(20'000, 0), {{"n_clusters", 12}, {"random_state", 3}});
}

TEST(BisectingKMeans, PredictsTheLabelsOfItsRowsByTheTree) {
  const Data data = spots(3000, 0);
  Device& device = testing::device_named("cpu");
  const Context ctx{.device = device};
  const testing::Loaded<double> loaded(device, data);
  BisectingKMeans<double> made({{"n_clusters", 9}, {"random_state", 3}});
  made.fit(ctx, loaded.all(), Target{});
  EXPECT_EQ(made.predict(ctx, loaded.all()), made.labels());
}

TEST(OPTICS, HasTheSameBitsForAnyNumberOfThreads) {
  expect_same_bits<OPTICS>(spots(6000, 0), {{"min_samples", 8}});
}

// With lists the rows come from a heap, without them from scans of all that are left.
TEST(OPTICS, OrdersByListsAsByScans) {
  const Data data = spots(700, 0);
  Device& device = testing::device_named("cpu");
  const Context ctx{.device = device};
  const OpticsRows points{data.X, data.n_rows, data.n_cols, {}, false, 0.3};
  const std::vector<double> core(700, 0.05);
  OpticsLists lists{.offsets = {0}};
  for (std::int64_t i = 0; i < 700; ++i) {
    for (std::int64_t k = 0; k < 700; ++k)
      if (short_distance<Metric::kEuclidean>(&data.X[static_cast<std::size_t>(3 * i)],
                                             &data.X[static_cast<std::size_t>(3 * k)], 3, 2) <= 0.3)
        lists.rows.push_back(static_cast<std::int32_t>(k));
    lists.offsets.push_back(static_cast<std::int64_t>(lists.rows.size()));
  }
  const OpticsOrder listed = optics_order(ctx, points, core, lists), scanned = optics_order(ctx, points, core, {});
  EXPECT_EQ(listed.order, scanned.order);
  EXPECT_EQ(listed.reach, scanned.reach);
  EXPECT_EQ(listed.predecessor, scanned.predecessor);
}

TEST(OPTICS, LeavesRowsWithoutNeighboursAsNoise) {
  const auto made = fitted<OPTICS>(spots(60, 0), {{"max_eps", 1e-6}});
  EXPECT_EQ(made->labels(), std::vector<std::int32_t>(60, -1));
}

}   // namespace
}   // namespace kedge::engine
