// Mixtures: the same bits for any number of threads, and the same answer row by row, by blocks and on every device.
#include <gtest/gtest.h>

#include <omp.h>

#include <cmath>
#include <tuple>

#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/row_scores.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;

constexpr double kSteps = 1e-8;   // a few iterations in double, in another order of the sums

struct Found {
  std::vector<double> means, densities, shares;
  std::vector<std::int32_t> labels;
  double lower_bound = 0;
};

Found fitted(const char* device, const char* estimator, const char* kind, const Data& data) {
  const Context ctx{.device = testing::device_named(device)};
  const testing::Loaded<double> loaded(ctx.device, data);
  const auto model = find_estimator(estimator)->make_f64({{"n_components", 3},
                                                          {"covariance_type", kind},
                                                          {"random_state", 0},
                                                          {"reg_covar", 1e-3},
                                                          {"tol", 0.0},
                                                          {"max_iter", 4}});
  model->fit(ctx, loaded.all(), loaded.target());
  const auto& scorer = dynamic_cast<const RowScorer<double>&>(*model);
  Found found{.densities = scorer.row_scores(ctx, loaded.all(), kScoreSamples).to_host(),
              .shares = scorer.row_scores(ctx, loaded.all(), kPredictProba).to_host(),
              .labels = dynamic_cast<const Clusterer<double>&>(*model).labels()};
  const schema::ValueMap attributes = model->attributes();
  const std::vector<std::vector<double>> means = rows_of(*find_value(attributes, "means_")).value();
  for (const std::vector<double>& mean : means) found.means.insert(found.means.end(), mean.begin(), mean.end());
  found.lower_bound = std::get<double>(find_value(attributes, "lower_bound_")->data);
  return found;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t e = 0; e < got.size(); ++e)
    ASSERT_NEAR(got[e], expected[e], kSteps * (1 + std::abs(expected[e]))) << what << " " << e;
}

class MixtureOfKind : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  const char* estimator() const { return std::get<0>(GetParam()); }
  const char* kind() const { return std::get<1>(GetParam()); }
};

TEST_P(MixtureOfKind, HasTheSameBitsForAnyNumberOfThreads) {
  const Data data = testing::make_data(2500, 6, 3);   // more tiles and groups than one, and short last ones
  const int before = omp_get_max_threads();
  std::vector<Found> all;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    all.push_back(fitted("cpu", estimator(), kind(), data));
  }
  omp_set_num_threads(before);
  for (const Found& one : all) {
    EXPECT_EQ(one.means, all[0].means);
    EXPECT_EQ(one.densities, all[0].densities);
    EXPECT_EQ(one.shares, all[0].shares);
    EXPECT_EQ(one.labels, all[0].labels);
    EXPECT_EQ(one.lower_bound, all[0].lower_bound);
  }
}

// The emulated device goes by blocks. 70 columns are more than the CPU takes row by row where components have matrices.
TEST_P(MixtureOfKind, FindsTheSameRowByRowAndByBlocks) {
  for (const std::int64_t cols : {5, 70}) {
    const Data data = testing::make_data(500, cols, 3);
    const Found here = fitted("cpu", estimator(), kind(), data), there = fitted("emulated", estimator(), kind(), data);
    EXPECT_EQ(here.labels, there.labels);
    expect_near(here.means, there.means, "mean");
    expect_near(here.densities, there.densities, "density");
    expect_near(here.shares, there.shares, "share");
    EXPECT_NEAR(here.lower_bound, there.lower_bound, kSteps * (1 + std::abs(there.lower_bound)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MixtureOfKind,
                         ::testing::Combine(::testing::Values("GaussianMixture", "BayesianGaussianMixture"),
                                            ::testing::Values("full", "tied", "diag", "spherical")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                         });

}   // namespace
}   // namespace kedge::engine
