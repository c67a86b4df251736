// Every case of tests/data/estimators/golden.json against scikit-learn, in float64 and float32, on the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "engine/estimators/catalogue.h"
#include "fixture.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;
using testing::Data;

const Value& member(const Value& object, std::string_view key) {
  for (const auto& [name, value] : std::get<ValueMap>(object.data))
    if (name == key) return value;
  static const Value none;
  return none;
}

const std::string& text(const Value& value) { return std::get<std::string>(value.data); }
const ValueList& list(const Value& value) { return std::get<ValueList>(value.data); }

double number(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*integer);
  return std::get<double>(value.data);
}

void flatten(const Value& value, std::vector<double>& out) {
  if (const auto* flat = std::get_if<std::vector<double>>(&value.data)) {
    out.insert(out.end(), flat->begin(), flat->end());
  } else if (const auto* values = std::get_if<ValueList>(&value.data)) {
    for (const Value& item : *values) flatten(item, out);
  } else if (const auto* name = std::get_if<std::string>(&value.data)) {
    out.push_back(std::stod(*name));   // classes are the names "0", "1", ...
  } else {
    out.push_back(number(value));
  }
}

std::vector<double> numbers(const Value& value) {
  std::vector<double> out;
  flatten(value, out);
  return out;
}

const Value& golden() {
  static const Value value = schema::value_from_json(testing::read_text("golden.json"));
  return value;
}

// Relative to the largest number of the array: single elements near 0 carry the rounding of the large ones.
void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0;
  for (const double e : expected) largest = std::max(largest, std::abs(e));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(largest, 1e-12)) << what << ", element " << i;
}

template <class T>
std::unique_ptr<Estimator<T>> make_step(const Value& step) {
  const CatalogueEntry* entry = find_estimator(text(member(step, "estimator")));
  const auto& params = std::get<ValueMap>(member(step, "params").data);
  if constexpr (std::is_same_v<T, float>) return entry->make_f32(params);
  else return entry->make_f64(params);
}

template <class T>
class GoldenCase {
 public:
  explicit GoldenCase(const Value& golden_case)
      : case_(golden_case), data_(testing::load_data(text(member(case_, "data")))), loaded_(testing::device_named("cpu"), data_) {
    for (std::int32_t i = 0; i < data_.n_rows; ++i) (i % 3 == 0 ? test_ : train_).push_back(i);
  }

  void run() {
    Samples<T> train = loaded_.rows(train_), test = loaded_.rows(test_);
    const Target target = loaded_.target(train_);
    const ValueList& steps = list(member(case_, "steps"));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto estimator = make_step<T>(steps[i]);
      estimator->fit(ctx_, train, target);
      if (i + 1 == steps.size()) return compare(*estimator, test);
      const auto& transformer = dynamic_cast<const Transformer<T>&>(*estimator);
      train = transformer.transform(ctx_, train), test = transformer.transform(ctx_, test);
    }
  }

 private:
  static constexpr bool kIsFloat = std::is_same_v<T, float>;
  double tolerance() const { return number(member(case_, kIsFloat ? "floatTolerance" : "tolerance")); }

  bool is_skipped(const std::string& attribute) const {
    for (const Value& name : list(member(case_, "notInFloat")))
      if (kIsFloat && text(name) == attribute) return true;
    return false;
  }

  void compare(const Estimator<T>& estimator, const Samples<T>& test) {
    const Value attributes = estimator.attributes();
    for (const auto& [name, expected] : std::get<ValueMap>(member(case_, "attributes").data))
      if (!is_skipped(name)) expect_near(numbers(member(attributes, name)), numbers(expected), tolerance(), name);
    if (const auto* classifier = dynamic_cast<const Classifier<T>*>(&estimator)) return compare_classifier(*classifier, test);
    const std::vector<double> expected = numbers(member(case_, "transform"));
    std::vector<double> actual =
        host_values(ctx_, dynamic_cast<const Transformer<T>&>(estimator).transform(ctx_, test));
    actual.resize(expected.size());
    expect_near(actual, expected, tolerance(), "transform");
  }

  void compare_classifier(const Classifier<T>& classifier, const Samples<T>& test) {
    const std::vector<std::int32_t> codes = classifier.predict(ctx_, test);
    const std::vector<double> labels = numbers(member(case_, "predict"));
    EXPECT_EQ(std::vector<double>(codes.begin(), codes.end()), labels);
    Matrix<double> proba(ctx_.memory(), test.n_rows(), classifier.n_classes());
    classifier.predict_proba(ctx_, test, proba.view());
    const std::vector<double> expected = numbers(member(case_, "proba"));
    std::vector<double> actual = proba.to_host();
    actual.resize(expected.size());
    expect_near(actual, expected, tolerance(), "proba");
  }

  const Value& case_;
  Data data_;
  testing::Loaded<T> loaded_;
  std::vector<std::int32_t> train_, test_;
  Context ctx_{.device = testing::device_named("cpu")};
};

class Golden : public ::testing::TestWithParam<std::size_t> {
 protected:
  static const Value& golden_case() { return list(member(golden(), "cases"))[GetParam()]; }
};

std::size_t n_cases() { return list(member(golden(), "cases")).size(); }

std::string case_name(const ::testing::TestParamInfo<std::size_t>& info) {
  return text(member(list(member(golden(), "cases"))[info.param], "name"));
}

TEST_P(Golden, AgreesWithScikitLearnInDouble) { GoldenCase<double>(golden_case()).run(); }
TEST_P(Golden, AgreesWithScikitLearnInFloat) { GoldenCase<float>(golden_case()).run(); }

INSTANTIATE_TEST_SUITE_P(Cases, Golden, ::testing::Range(std::size_t{0}, n_cases()), case_name);

}  // namespace
}  // namespace kedge::engine
