// When LogisticRegression stops, and what it says when it gives up.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "engine/core/rng.h"
#include "engine/estimators/linear/logistic_regression.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;
using testing::Loaded;

// Two standard columns and, as from a one-hot encoder, two that sum to 1; the classes overlap.
Data overlapping() {
  Data data{.n_rows = 400, .n_cols = 4, .X = {}, .y = {}, .classes = {"0", "1"}};
  PhiloxStream random(3, 0);
  for (std::int64_t i = 0; i < data.n_rows; ++i) {
    const double a = 3.4 * random.uniform() - 1.7, b = 3.4 * random.uniform() - 1.7, kind = random.uniform() < 0.4 ? 1 : 0;
    data.X.insert(data.X.end(), {a, b, kind, 1 - kind});
    data.y.push_back(a + kind + 2 * random.uniform() > 1.3 ? 1 : 0);
  }
  return data;
}

struct Outcome {
  std::int64_t n_iter = 0;
  std::vector<std::string> warnings;
};

template <class T>
Outcome fitted(const Data& data, const schema::ValueMap& params) {
  Outcome outcome;
  Context ctx{.device = testing::device_named("cpu")};
  ctx.emit = [&](const schema::EventBody& event) {
    if (const auto* log = std::get_if<schema::LogEvent>(&event)) outcome.warnings.push_back(log->message);
  };
  const Loaded<T> loaded(ctx.device, data);
  LogisticRegression<T> model(params);
  model.fit(ctx, loaded.all(), loaded.target());
  for (const auto& [name, value] : model.attributes())
    if (name == "n_iter_") outcome.n_iter = std::get<std::int64_t>(std::get<schema::ValueList>(value.data)[0].data);
  return outcome;
}

std::string only_warning(const Outcome& outcome) {
  return outcome.warnings.size() == 1 ? outcome.warnings[0] : "warnings: " + std::to_string(outcome.warnings.size());
}

TEST(LogisticRegression, StopsWhereTheLossShowsNoMoreProgress) {
  for (const char* solver : {"lbfgs", "newton-cholesky", "saga"}) {
    const schema::ValueMap params{{"solver", std::string(solver)}, {"tol", 0.0}, {"max_iter", std::int64_t{5000}}};
    for (const Outcome& outcome : {fitted<double>(overlapping(), params), fitted<float>(overlapping(), params)}) {
      EXPECT_LE(outcome.n_iter, 40) << solver;
      EXPECT_TRUE(outcome.warnings.empty()) << only_warning(outcome);
    }
  }
}

TEST(LogisticRegression, AdvisesScalingOnlyWhereColumnsNeedIt) {
  const schema::ValueMap few{{"max_iter", std::int64_t{2}}};
  const std::string scaled = only_warning(fitted<double>(overlapping(), few));
  EXPECT_NE(scaled.find("max_iter = 2 iterations: the largest element of the gradient is"), std::string::npos) << scaled;
  EXPECT_NE(scaled.find("raise max_iter or tol"), std::string::npos) << scaled;
  EXPECT_EQ(scaled.find("scale"), std::string::npos) << scaled;
  Data raw = overlapping();
  for (std::size_t e = 0; e < raw.X.size(); e += 4) raw.X[e] *= 1000;
  EXPECT_NE(only_warning(fitted<double>(raw, few)).find("scale the data (StandardScaler)"), std::string::npos);
}

TEST(LogisticRegression, SaysThatSeparableClassesHaveNoMinimumWithoutPenalty) {
  const Data blobs = testing::make_data(60, 2, 2);
  const Outcome outcome = fitted<double>(blobs, {{"C", std::string("inf")}, {"max_iter", std::int64_t{2}}, {"tol", 1e-12}});
  EXPECT_NE(only_warning(outcome).find("penalise (C)"), std::string::npos) << only_warning(outcome);
}

}  // namespace
}  // namespace kedge::engine
