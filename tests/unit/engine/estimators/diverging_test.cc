// Fits whose steps are too long: each ends with an error or a warning that names the parameter, the epoch and the loss.
#include <gtest/gtest.h>

#include "engine/core/params.h"
#include "fitted_with_warnings.h"

namespace kedge::engine {
namespace {

using schema::ValueMap;
using testing::Data;
using testing::fitted;

std::string error_of(const char* name, const ValueMap& params, const Data& data, const char* device = "cpu") {
  try {
    fitted<double>(name, params, data, device);
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
    return error.message;
  }
  return "no error";
}

void expect_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
}

// The one warning that says so.
std::string rise_of(const testing::FittedWithWarnings& found) {
  for (const std::string& warning : found.warnings)
    if (warning.find("rose from") != std::string::npos) return warning;
  return found.warnings.empty() ? "no warning" : found.warnings[0];
}

Data values() {
  Data data = testing::make_data(60, 3, 2);
  for (std::int64_t i = 0; i < data.n_rows; ++i) data.values.push_back(0.5 * static_cast<double>(i % 7) - 1);
  return data;
}

TEST(Divergence, OfSgdIsAWarningWhereTheModelIsOfNumbers) {
  expect_words(
      rise_of(fitted<double>("SGDRegressor", {{"eta0", 1e10}}, values())),
      {"SGDRegressor: the loss rose from ", " before epoch 1 to ", " in epoch ", "lower eta0, which is 10000000000"});
  const ValueMap constant{{"learning_rate", "constant"}, {"eta0", 1e10}, {"loss", "log_loss"}};
  expect_words(rise_of(fitted<double>("SGDClassifier", constant, testing::make_data(60, 3, 2))),
               {"SGDClassifier: the loss rose from 0.693147 before epoch 1 to ", "lower eta0"});
  expect_words(rise_of(fitted<double>("SGDClassifier", {{"alpha", 1e-30}, {"loss", "squared_error"}},
                                      testing::make_data(60, 3, 3))),
               {"raise alpha, which is 1e-30"});
}

TEST(Divergence, OfSgdIsAnErrorWhereTheModelWouldBeOfNone) {
  const std::vector<std::string> words{": the loss or a weight is not finite in epoch 1 (the loss was ", " before)",
                                       "lower eta0, which is 1e+300"};
  expect_words(error_of("SGDRegressor", {{"eta0", 1e300}}, values()), words);
  expect_words(error_of("SGDClassifier", {{"eta0", 1e300}, {"learning_rate", "constant"}, {"loss", "squared_error"}},
                        testing::make_data(60, 3, 3)),
               words);
  // Coefficients that are numbers, of a loss that is none.
  expect_words(error_of("SGDRegressor", {{"eta0", 1e160}, {"learning_rate", "constant"}}, values()),
               {"not finite in epoch 1"});
}

TEST(Divergence, OfSgdIsAnErrorWhereAnswersInFloat32WouldBeNone) {
  EXPECT_NO_THROW(fitted<double>("SGDRegressor", {{"eta0", 1e40}}, values()));
  EXPECT_THROW(fitted<float>("SGDRegressor", {{"eta0", 1e40}}, values()), schema::Error);
}

TEST(Divergence, IsNotSaidOfOrdinarySteps) {
  for (const char* name : {"SGDClassifier", "Perceptron", "PassiveAggressiveClassifier"})
    EXPECT_TRUE(fitted<double>(name, {}, testing::make_data(60, 3, 3)).warnings.empty()) << name;
  EXPECT_TRUE(fitted<double>("SGDRegressor", {}, values()).warnings.empty());
  EXPECT_TRUE(fitted<double>("Perceptron", {{"eta0", 1e10}}, testing::make_data(60, 3, 2)).warnings.empty());
  EXPECT_TRUE(fitted<double>("UMAP", {{"n_epochs", 50}}, testing::make_data(60, 3, 2)).warnings.empty());
}

TEST(Divergence, OfUmapIsAWarningOrAnError) {
  const Data data = testing::make_data(60, 3, 2);
  for (const char* device : {"cpu", "emulated"}) {
    expect_words(rise_of(fitted<double>("UMAP", {{"n_epochs", 20}, {"learning_rate", 1e10}}, data, device)),
                 {"UMAP: the loss of the edges rose from ", " before epoch 1 to ", " in epoch 20",
                  "lower learning_rate, which is 10000000000"});
    expect_words(error_of("UMAP", {{"n_epochs", 20}, {"learning_rate", 1e300}}, data, device),
                 {"UMAP: a place is not finite in epoch ", "the loss of the edges was ",
                  "lower learning_rate, which is 1e+300"});
  }
}

}   // namespace
}   // namespace kedge::engine
