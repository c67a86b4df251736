// TSNE on a device that moves points itself, beside the host: how well it does, and that it does so again.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/core/params.h"
#include "engine/estimators/manifold/tsne.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;

struct Found {
  double divergence = 0;
  std::vector<double> places;
};

template <class T>
Found fitted(const char* device_name, const Data& data, schema::ValueMap params) {
  Device& device = testing::device_named(device_name);
  const testing::Loaded<T> loaded(device, data);
  params.emplace_back("random_state", 1);
  TSNE<T> made(params);
  made.fit({.device = device}, loaded.all(), Target{});
  const schema::ValueMap attributes = made.attributes();
  Found found{.divergence = std::get<double>(find_value(attributes, "kl_divergence_")->data), .places = {}};
  const std::vector<std::vector<double>> rows = rows_of(*find_value(attributes, "embedding_")).value();
  for (const std::vector<double>& row : rows) found.places.insert(found.places.end(), row.begin(), row.end());
  return found;
}

Data some_rows(const Data& all, std::int64_t step) {
  Data made{.n_rows = 0, .n_cols = all.n_cols};
  for (std::int64_t i = 0; i < all.n_rows; i += step, ++made.n_rows)
    made.X.insert(made.X.end(), all.X.begin() + i * all.n_cols, all.X.begin() + (i + 1) * all.n_cols);
  return made;
}

// Rounding drives the places apart, not what they are worth: within twice what another seed changes on the host.
constexpr double kWorse = 0.03;

TEST(TsneOnADevice, FindsPlacesAsGoodAsTheHost) {
  const Data data = some_rows(testing::load_data("iris"), 2);
  for (const std::int64_t dims : {2, 3}) {
    const schema::ValueMap params{{"n_components", dims}, {"perplexity", 10.0}, {"max_iter", 500}};
    EXPECT_LT(fitted<double>("emulated", data, params).divergence,
              fitted<double>("cpu", data, params).divergence + kWorse)
        << dims;
  }
}

TEST(TsneOnADevice, GivesTheSameBitsAgain) {
  const Data data = some_rows(testing::load_data("iris"), 3);
  const schema::ValueMap params{{"perplexity", 5.0}, {"max_iter", 300}};
  EXPECT_EQ(fitted<double>("emulated", data, params).places, fitted<double>("emulated", data, params).places);
}

// Short steps from places apart, which rounding does not drive elsewhere.
TEST(TsneOnADevice, TakesTheStepsOfTheHost) {
  constexpr double kNear = 1e-4;
  const Data data = some_rows(testing::load_data("iris"), 3);
  for (const std::int64_t dims : {1, 2, 3}) {
    schema::ValueList init;
    for (std::int64_t i = 0; i < data.n_rows; ++i) {
      schema::ValueList place;
      for (std::int64_t d = 0; d < dims; ++d) place.push_back(data.X[static_cast<std::size_t>(i * data.n_cols + d)]);
      init.emplace_back(place);
    }
    const schema::ValueMap params{{"n_components", dims}, {"perplexity", 5.0},         {"max_iter", 260},
                                  {"init", init},         {"early_exaggeration", 1.5}, {"learning_rate", 0.05},
                                  {"method", "exact"}};
    const Found device = fitted<double>("emulated", data, params), host = fitted<double>("cpu", data, params);
    EXPECT_NEAR(device.divergence, host.divergence, kNear * host.divergence) << dims;
    ASSERT_EQ(device.places.size(), host.places.size());
    for (std::size_t e = 0; e < host.places.size(); ++e)
      ASSERT_NEAR(device.places[e], host.places[e], kNear) << dims << ", " << e;
  }
}

TEST(TsneOnADevice, SaysWhenPointsLeaveTheNumbers) {
  const Data data = some_rows(testing::load_data("iris"), 5);
  const schema::ValueMap params{{"perplexity", 5.0}, {"learning_rate", 1e300}};
  for (const char* device : {"cpu", "emulated"}) {
    try {
      fitted<double>(device, data, params);
      FAIL() << device;
    } catch (const schema::Error& error) {
      EXPECT_NE(std::string(error.what()).find("a learning_rate of 1e+300 is too high"), std::string::npos)
          << device << ": " << error.what();
    }
  }
}

}   // namespace
}   // namespace kedge::engine
