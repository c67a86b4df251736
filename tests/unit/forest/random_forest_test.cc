// RandomForestClassifier on the CPU device: scaled input, tables it was not fitted on, attributes, refused parameters.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/backend/cpu/cpu_device.h"
#include "engine/estimators/trees/tree_estimators.h"
#include "tests/unit/forest/forest_cases.h"

namespace kedge::engine::test {
namespace {

class RandomForest : public testing::Test {
 protected:
  RandomForest() : device_(make_cpu_device()), data_(make_data(400, 8, 40, 3, 0.5, 21)) {
    target_ = {.codes = data_.y, .classes = {"a", "b", "c"}};
  }
  Samples<float> samples() {
    return samples_of(Matrix<float>(device_->memory(), data_.rows, data_.cols, std::span<const float>(data_.X)));
  }
  std::vector<double> proba(const RandomForestClassifier<float>& forest, const Samples<float>& X) {
    Matrix<double> out(device_->memory(), X.n_rows(), 3);
    forest.predict_proba(ctx_(), X, out.view());
    return out.to_host();
  }
  Context ctx_() { return {.device = *device_}; }

  std::unique_ptr<Device> device_;
  Data data_;
  Target target_;
};

const schema::ValueMap kParams{{"n_estimators", 20}, {"random_state", 3}, {"oob_score", true}};

TEST_F(RandomForest, GivesTheSameSharesOnScaledInput) {
  const Samples<float> plain = samples(), scaled = samples().then(std::vector<double>(8, 1.5), std::vector<double>(8, 0.37));
  RandomForestClassifier<float> a(kParams), b(kParams);
  a.fit(ctx_(), plain, target_), b.fit(ctx_(), scaled, target_);
  EXPECT_EQ(proba(a, plain), proba(b, scaled));
}

TEST_F(RandomForest, GivesTheSameSharesOnACopyOfItsTable) {
  const Samples<float> X = samples().then(std::vector<double>(8, 1.5), std::vector<double>(8, 0.37));
  RandomForestClassifier<float> forest(kParams);
  forest.fit(ctx_(), X, target_);
  EXPECT_EQ(proba(forest, X), proba(forest, samples().then(X.shift, X.scale)));
}

TEST_F(RandomForest, BinsACopyWhereTheMapReordersValues) {
  const Samples<float> X = samples().then(std::vector<double>(8, 0.0), std::vector<double>(8, -1.0));
  RandomForestClassifier<float> forest(kParams);
  forest.fit(ctx_(), X, target_);
  EXPECT_GT(forest.predict(ctx_(), X).size(), 0u);
}

TEST_F(RandomForest, ReportsImportancesThatSumToOneAndAnOobScore) {
  RandomForestClassifier<float> forest(kParams);
  forest.fit(ctx_(), samples(), target_);
  const schema::ValueMap map = forest.attributes();
  const auto find = [&](const char* name) { return std::find_if(map.begin(), map.end(), [&](const auto& p) { return p.first == name; }); };
  const auto& importances = std::get<std::vector<double>>(find("feature_importances_")->second.data);
  EXPECT_NEAR(std::accumulate(importances.begin(), importances.end(), 0.0), 1.0, 1e-12);   // eight rounded terms
  const double oob = std::get<double>(find("oob_score_")->second.data);
  EXPECT_GT(oob, 1.0 / 3);   // better than guessing
  EXPECT_LT(oob, 1.0);
}

// Candidates of a search in an order that lets each take less, more or something else than what is there.
TEST_F(RandomForest, SharesTreesInASearchWithoutChangingThem) {
  WorkCache work;
  Context searching{.device = *device_, .work = &work};
  Samples<float> X = samples();
  X.content = "train";
  const auto params = [](std::int64_t n, schema::Value depth) {
    return schema::ValueMap{{"n_estimators", n}, {"max_depth", std::move(depth)}, {"random_state", 3}, {"oob_score", true}};
  };
  for (const schema::ValueMap& candidate : {params(4, 3), params(9, 3), params(6, schema::Value()), params(12, 2), params(9, schema::Value()), params(5, 1)}) {
    RandomForestClassifier<float> shared(candidate), alone(candidate);
    shared.fit(searching, X, target_), alone.fit(ctx_(), X, target_);
    EXPECT_EQ(proba(shared, X), proba(alone, X));
    EXPECT_EQ(shared.attributes(), alone.attributes());
  }
}

TEST_F(RandomForest, PrunesToASingleLeafWhereLeavesCostMuch) {
  const auto leaves = [&](double alpha) {
    DecisionTreeClassifier<float> tree({{"ccp_alpha", alpha}, {"random_state", 0}});
    tree.fit(ctx_(), samples(), target_);
    return std::get<std::int64_t>(find_value(tree.attributes(), "n_leaves_")->data);
  };
  EXPECT_GT(leaves(0.0), leaves(0.005));
  EXPECT_GT(leaves(0.005), leaves(1.0));
  EXPECT_EQ(leaves(1.0), 1);
}

TEST_F(RandomForest, RefusesWhatItCannotDo) {
  const auto make = [](const schema::ValueMap& params) { RandomForestClassifier<float> forest(params); };
  EXPECT_THROW(make({{"n_estimators", 0}}), schema::Error);
  EXPECT_THROW(make({{"warm_start", true}}), schema::Error);
  EXPECT_THROW(make({{"ccp_alpha", -0.1}}), schema::Error);
  EXPECT_THROW(make(schema::ValueMap{{"bootstrap", false}, {"oob_score", true}}), schema::Error);
  EXPECT_THROW(make({{"max_features", "many"}}), schema::Error);
}

}  // namespace
}  // namespace kedge::engine::test
