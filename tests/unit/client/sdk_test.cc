// What the SDK sends: only what the user set, in the contract's form.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <kedge/client.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "schemas/codec.h"

namespace kedge {
namespace {

TEST(Pipeline, HoldsTransformersWithTheirColumns) {
  const ColumnTransformer mixed{.transformers = {{"num", pipeline(SimpleImputer{.strategy = "median"}, StandardScaler{}), {"age", "fare"}},
                                                 {"cat", OneHotEncoder{.handle_unknown = "ignore"}, columns_of_type("category")},
                                                 {"id", "drop", {0, -1}}},
                                .remainder = "passthrough"};
  EXPECT_EQ(to_string(schema::Value(mixed.step().params)),
            R"({"transformers":[{"name":"num","transformer":[{"estimator":"SimpleImputer","params":{"strategy":"median"}},)"
            R"({"estimator":"StandardScaler","params":{}}],"columns":["age","fare"]},)"
            R"({"name":"cat","transformer":{"estimator":"OneHotEncoder","params":{"handle_unknown":"ignore"}},"columns":{"dtypeInclude":"category"}},)"
            R"({"name":"id","transformer":"drop","columns":[0,-1]}],"remainder":"passthrough"})");
}

TEST(Pipeline, HoldsTransformersSideBySide) {
  const FeatureUnion both{.transformer_list = {{"pca", PCA{.n_components = 2}}, {"same", "passthrough"}}};
  EXPECT_EQ(to_string(schema::Value(both.step().params)),
            R"({"transformer_list":[{"name":"pca","transformer":{"estimator":"PCA","params":{"n_components":2}}},)"
            R"({"name":"same","transformer":"passthrough"}]})");
}

TEST(SdkPipeline, SendsOnlyParametersThatWereSet) {
  const auto steps = pipeline(StandardScaler{}, RandomForestClassifier{.n_estimators = 200, .random_state = 42});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_TRUE(steps[0].params.empty());
  const schema::ValueMap expected = {{"n_estimators", schema::Value(200)}, {"random_state", schema::Value(42)}};
  EXPECT_EQ(steps[1].params, expected);
}

TEST(SdkPipeline, TakesEveryFormOfAParameterWithSeveral) {
  EXPECT_EQ(RandomForestClassifier{.max_features = "log2"}.step().params.at(0).second, schema::Value("log2"));
  EXPECT_EQ(RandomForestClassifier{.max_features = 0.5}.step().params.at(0).second, schema::Value(0.5));
  EXPECT_EQ(RandomForestClassifier{.max_features = 28}.step().params.at(0).second, schema::Value(28));
  EXPECT_EQ(RandomForestClassifier{.max_features = nullptr}.step().params.at(0).second, schema::Value());
}

TEST(SdkDataset, CarriesReferenceAndSelection) {
  const Dataset data = openml("mnist_784", 1).rows(52667).scale(0.5).dtype("float32").weights("w").groups("site");
  EXPECT_EQ(std::get<schema::OpenmlRef>(data.ref().source).name, "mnist_784");
  EXPECT_EQ(data.select().rows, 52667);
  EXPECT_EQ(data.select().scale, 0.5);
  EXPECT_EQ(data.select().dtype, "float32");
  EXPECT_EQ(data.select().weights, "w");
  EXPECT_EQ(data.select().groups, "site");
}

TEST(SdkTask, HasTheDefaultsOfTheContract) {
  const schema::Value no_grid = schema::ValueMap{};
  EXPECT_EQ(fit_score{}.task(), schema::Task(schema::FitScore{}));
  EXPECT_EQ(cross_validate{}.task(), schema::Task(schema::CrossValidate{}));
  EXPECT_EQ(grid_search{}.task(), schema::Task(schema::GridSearch{.paramGrid = no_grid}));
  EXPECT_EQ(randomized_search{}.task(), schema::Task(schema::RandomizedSearch{.paramDistributions = no_grid}));
  EXPECT_EQ(halving_grid_search{}.task(), schema::Task(schema::HalvingGridSearch{.paramGrid = no_grid}));
  EXPECT_EQ(learning_curve{}.task(), schema::Task(schema::LearningCurve{}));
  EXPECT_EQ(validation_curve{}.task(), schema::Task(schema::ValidationCurve{}));
  EXPECT_EQ(permutation_test_score{}.task(), schema::Task(schema::PermutationTestScore{}));
  EXPECT_EQ(permutation_importance{}.task(), schema::Task(schema::PermutationImportance{}));
  EXPECT_EQ(partial_dependence{}.task(), schema::Task(schema::PartialDependence{}));
  EXPECT_EQ(predict{}.task(), schema::Task(schema::Predict{}));
  EXPECT_EQ(transform{}.task(), schema::Task(schema::Transform{}));
}

TEST(SdkTask, DividesTheRowsOfAnInspection) {
  const auto task = std::get<schema::PermutationImportance>(
      permutation_importance{.split = fit_score{.test_size = 0.3, .random_state = 1}}.task());
  EXPECT_EQ(task.fitScore, (schema::FitScore{.testSize = 0.3, .randomState = 1}));
  const auto curve = std::get<schema::LearningCurve>(learning_curve{.train_sizes = {0.5, 1.0}, .cv = {.cv = 3}}.task());
  EXPECT_EQ(curve.crossValidate.cv, 3);
  EXPECT_EQ(curve.trainSizes.size(), 2U);
}

TEST(SdkTask, RequestsMatrixAndCurves) {
  const auto split = std::get<schema::FitScore>(fit_score{.confusion_matrix = true}.task());
  EXPECT_TRUE(split.confusionMatrix && !split.curves);
  const auto folds = std::get<schema::CrossValidate>(cross_validate{.curves = true}.task());
  EXPECT_TRUE(folds.curves && !folds.confusionMatrix);
}

TEST(SdkSession, SaysWhichServerDoesNotAnswer) {
  const Session session = connect("http://127.0.0.1:1");
  try {
    session.info();
    FAIL() << "nothing listens on port 1";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kConnection);
    EXPECT_NE(error.message.find("http://127.0.0.1:1"), std::string::npos) << error.message;
  }
}

// Takes connections and resets the first of them; then answers.
class BadNetwork {
 public:
  explicit BadNetwork(int lost) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::jthread([this, lost] { serve(lost); });
  }
  ~BadNetwork() {
    ::shutdown(listener_, SHUT_RDWR);   // ends accept()
    thread_.join();
    ::close(listener_);
  }
  const std::string& url() const { return url_; }

 private:
  void serve(int lost) {
    for (int peer; (peer = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(peer)) {
      std::array<char, 4096> request;
      (void)::recv(peer, request.data(), request.size(), 0);
      constexpr linger kReset{.l_onoff = 1, .l_linger = 0};
      constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
      if (lost-- > 0) ::setsockopt(peer, SOL_SOCKET, SO_LINGER, &kReset, sizeof kReset);
      else (void)::send(peer, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    }
  }

  const int listener_;
  std::string url_;
  std::jthread thread_;
};

TEST(SdkSession, TriesAgainWhereTheFirstAnswersAreLost) {
  const BadNetwork network(4);
  EXPECT_NO_THROW(connect(network.url()).info());
}

TEST(SdkEvents, PrintAsOneLine) {
  std::ostringstream text;
  text << schema::Event{4, "", schema::MetricEvent{"accuracy", 0.5, 2}};
  EXPECT_EQ(text.str(), "4 accuracy 0.500000 (fold 3)");
}

TEST(SdkResult, NamesAScoreThatIsNotThere) {
  Result result;
  result.scores.emplace_back("accuracy", schema::Score{{0.5, 1.0}, 0.75, 0.25});
  EXPECT_EQ(result.mean("accuracy"), 0.75);
  EXPECT_THROW(result.mean("f1_macro"), Error);
}

}  // namespace
}  // namespace kedge
