// NMF over more rows than a block: the same bits for any number of threads, factors that explain the data, and what is
// refused.
#include <gtest/gtest.h>

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/core/params.h"
#include "engine/core/rng.h"
#include "engine/estimators/decomposition/nmf.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;

// Rows that are sums of two parts, and noise.
Data sums_of_parts(std::int64_t n_rows) {
  Data data{.n_rows = n_rows, .n_cols = 6, .classes = {"0"}};
  PhiloxStream random(11, 0);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const double a = random.uniform(), b = random.uniform();
    for (std::int64_t j = 0; j < data.n_cols; ++j)
      data.X.push_back((j < 3 ? a : b) * static_cast<double>(j + 1) + 0.01 * random.uniform());
    data.y.push_back(0);
  }
  return data;
}

double error_of(const NMF<double>& fitted) {
  return std::get<double>(find_value(fitted.attributes(), "reconstruction_err_")->data);
}

class Parts : public ::testing::TestWithParam<const char*> {
 protected:
  static schema::ValueMap params(const schema::ValueMap& more) {
    schema::ValueMap all{{"n_components", 2}, {"random_state", 1}, {"max_iter", 30}};
    if (std::string(GetParam()) != "cd") all.insert(all.end(), {{"solver", "mu"}, {"beta_loss", GetParam()}});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<double> factors(const schema::ValueMap& more) const {
    NMF<double> made(params(more));
    std::vector<double> all = host_values(ctx_, made.fit_transform(ctx_, loaded_.all(), Target{}));
    const schema::ValueMap attributes = made.attributes();
    const std::vector<std::vector<double>> parts = rows_of(*find_value(attributes, "components_")).value();
    for (const std::vector<double>& row : parts) all.insert(all.end(), row.begin(), row.end());
    const std::vector<double> again = host_values(ctx_, made.transform(ctx_, loaded_.all()));
    all.insert(all.end(), again.begin(), again.end());
    return all;
  }

  Device& device_ = testing::device_named("cpu");
  const Context ctx_{.device = device_};
  const Data data_ = sums_of_parts(9000);   // more groups than one, and a last block that is short
  const testing::Loaded<double> loaded_{device_, data_};
};

TEST_P(Parts, AreTheSameBitsForAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    found.push_back(factors({}));
  }
  omp_set_num_threads(before);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TEST_P(Parts, ExplainTheDataFromEveryStart) {
  for (const char* init : {"random", "nndsvda", "nndsvdar"}) {
    NMF<double> made(params({{"init", init}}));
    made.fit(ctx_, loaded_.all(), Target{});
    NMF<double> mean(params({{"init", init}, {"n_components", 1}}));
    mean.fit(ctx_, loaded_.all(), Target{});
    EXPECT_LT(error_of(made), 0.25 * error_of(mean)) << init;
  }
}

TEST_P(Parts, AreNeverNegative) {
  const std::vector<double> all = factors({{"alpha_W", 0.01}, {"l1_ratio", 0.5}});
  EXPECT_TRUE(std::ranges::all_of(all, [](double value) { return value >= 0 && std::isfinite(value); }));
}

// Within what some steps of the same formula in another order differ by. Without KL a step waits for its violation
// alone.
TEST_P(Parts, AreTheProcessorsOnAGpu) {
  Device& gpu = testing::device_named("emulated");
  const auto& memory = static_cast<emulated::Emulator*>(static_cast<CudaRuntime&>(gpu.memory()).stream())->memory;
  const Data data = sums_of_parts(300);
  for (const schema::ValueMap& more :
       {schema::ValueMap{{"tol", 0}, {"max_iter", 8}},
        {{"tol", 0}, {"max_iter", 8}, {"shuffle", true}},
        {{"tol", 0}, {"max_iter", 8}, {"alpha_W", 0.01}, {"alpha_H", 0.003}, {"l1_ratio", 0.5}}}) {
    std::vector<std::vector<double>> found;
    std::int64_t waits = 0;
    for (Device* const device : {&device_, &gpu}) {
      const Context ctx{.device = *device};
      const testing::Loaded<double> loaded(*device, data);
      NMF<double> made(params(more));
      waits = -memory.syncs;
      found.push_back(host_values(ctx, made.fit_transform(ctx, loaded.all(), Target{})));
      waits += memory.syncs;
      for (const double value : host_values(ctx, made.transform(ctx, loaded.all()))) found.back().push_back(value);
    }
    ASSERT_EQ(found[0].size(), found[1].size());
    for (std::size_t i = 0; i < found[0].size(); ++i) ASSERT_NEAR(found[0][i], found[1][i], 1e-9) << i;
    EXPECT_LE(waits, 8 + 12);   // the iterations, the start and the end
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, Parts, ::testing::Values("cd", "frobenius", "kullback-leibler"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Nmf, RefusesNewRowsWithNegativeValuesByColumn) {
  Device& device = testing::device_named("cpu");
  const Context ctx{.device = device};
  const Data data = sums_of_parts(30);
  const testing::Loaded<double> loaded(device, data);
  NMF<double> made({{"n_components", 2}});
  made.fit(ctx, loaded.all(), Target{});
  Data negative = data;
  negative.X[4] = -2;
  const testing::Loaded<double> wrong(device, negative);
  try {
    made.transform(ctx, wrong.all());
    FAIL() << "taken";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.message, "NMF: column 4 has -2, must have no negative value");
  }
}

}   // namespace
}   // namespace kedge::engine
