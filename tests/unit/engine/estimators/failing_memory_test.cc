// Every row of the catalogue while memory runs out, on any thread. A program of its own: it replaces new.
#include <gtest/gtest.h>

#include <omp.h>

#include "engine/estimators/catalogue.h"
#include "fixture.h"
#include "tests/support/failing_new.h"

namespace kedge::engine {
namespace {

using tests::failing;
using tests::kNever;
using tests::taken;

constexpr std::int64_t kPlaces = 16;   // allocations that fail, one a fit, spread over all of a fit's, most of them in parallel loops

// Large enough for loops to take several threads.
const testing::Data& data_for(const std::string& estimator) {
  static const testing::Data most = testing::make_data(6000, 24, 3), fewer = testing::make_data(1000, 24, 3);
  const bool has_many_trials = estimator == "MinCovDet" || estimator == "EllipticEnvelope";
  return has_many_trials || testing::compares_all_rows(estimator) ? fewer : most;
}

// From the estimator's making on the allocation of this number fails.
void fit_and_use(const Context& ctx, const CatalogueEntry& entry, const testing::Loaded<double>& loaded, std::int64_t place) {
  const bool has_radius = entry.info.name == "RadiusNeighborsRegressor";   // else all rows would be neighbours of all
  const schema::ValueMap params = has_radius ? schema::ValueMap{{"radius", 1.0}} : testing::small_params(entry.info.name);
  const Target y = loaded.target();
  taken = 0, failing = place;
  const auto estimator = entry.make_f64(params);
  estimator->fit(ctx, loaded.all(), y);
  if (const auto* classifier = dynamic_cast<const Classifier<double>*>(estimator.get())) classifier->predict(ctx, loaded.all());
  if (const auto* regressor = dynamic_cast<const Regressor<double>*>(estimator.get())) regressor->predict(ctx, loaded.all());
  if (const auto* several = dynamic_cast<const MultiOutput<double>*>(estimator.get()))
    several->predict(ctx, loaded.all());
  if (const auto* transformer = dynamic_cast<const Transformer<double>*>(estimator.get()))
    transformer->transform(ctx, loaded.all());
}

class MemoryThatRunsOut : public ::testing::TestWithParam<std::string> {};

TEST_P(MemoryThatRunsOut, IsAnErrorAndNotTheEndOfTheProcess) {
  omp_set_num_threads(3);
  Device& device = testing::device_named("cpu");
  const Context ctx{.device = device};
  const testing::Loaded<double> loaded(device, data_for(GetParam()), GetParam());
  const CatalogueEntry& entry = *find_estimator(GetParam());
  fit_and_use(ctx, entry, loaded, kNever);
  const std::int64_t all = taken;
  int told = 0;   // not always: shrink_to_fit() does without what it does not get
  for (std::int64_t i = 0; i < kPlaces; ++i) {
    try {
      fit_and_use(ctx, entry, loaded, all * i / kPlaces);
    } catch (const std::bad_alloc&) {
      ++told;
    }
    failing = kNever;   // the test's own may come
  }
  EXPECT_GT(told, 0);
  EXPECT_NO_THROW(fit_and_use(ctx, entry, loaded, kNever));
}

// libstdc++ 12's own copy of such a variant jumped anywhere.
TEST(Value, ThatCannotBeCopiedLeavesNothingBehind) {
  const std::string text(100, 'a');
  const schema::ValueMap object{{text, schema::ValueList{text, std::vector<double>{1, 2}, text}}, {text, text}};
  const schema::Value value(schema::ValueList{object, text, object});
  schema::Value target(text);
  taken = 0;
  EXPECT_EQ(schema::Value(value), value);
  const std::int64_t all = taken;
  std::int64_t told = 0;
  for (std::int64_t i = 0; i < all; ++i) {
    try {
      taken = 0, failing = i;
      target = value;
    } catch (const std::bad_alloc&) {
      ++told;
    }
    failing = kNever;
  }
  EXPECT_EQ(told, all);
  EXPECT_EQ(target, schema::Value(text));
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const CatalogueEntry& entry : catalogue()) all.push_back(entry.info.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Rows, MemoryThatRunsOut, ::testing::ValuesIn(names()), [](const auto& row) { return row.param; });

}   // namespace
}   // namespace kedge::engine
