// Tables whose rows are taken as dictionaries. tests/estimators/records.py compares them with scikit-learn's.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/estimators/catalogue.h"
#include "engine/estimators/text/documents.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using schema::ValueMap;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class RecordsOn : public ::testing::TestWithParam<std::string> {
 protected:
  // Columns "city" (Paris, Rome) and "size".
  Samples<double> table(const std::vector<double>& cells, std::vector<std::string> cities = {"Paris", "Rome"}) const {
    std::vector<Feature> features{{.name = "city", .categories = std::move(cities), .is_nominal = true},
                                  {.name = "size"}};
    const auto n = static_cast<std::int64_t>(cells.size() / 2);
    return samples_of(Matrix<double>(ctx_.memory(), n, 2, cells), std::move(features));
  }
  std::vector<double> transformed(const Estimator<double>& made, const Samples<double>& X) const {
    return host_values(ctx_, dynamic_cast<const Transformer<double>&>(made).transform(ctx_, X));
  }

  Context ctx_{.device = testing::device_named(GetParam())};
};

TEST_P(RecordsOn, ColumnsAreNamedAfterWhatTheFittedRowsHave) {
  const auto made = find_estimator("DictVectorizer")->make_f64({});
  made->fit(ctx_, table({0, 1.5, 0, kNan}), {});
  EXPECT_EQ(dynamic_cast<const NamesOutputs&>(*made).output_names(), (std::vector<std::string>{"city=Paris", "size"}));
  EXPECT_EQ(transformed(*made, table({1, 2, kNan, 3, 0, kNan})), (std::vector<double>{0, 2, 0, 3, 1, 0}));
}

TEST_P(RecordsOn, CategoriesAreFoundByNameWhateverTheirPlace) {
  const auto made = find_estimator("DictVectorizer")->make_f64({});
  made->fit(ctx_, table({0, 1, 1, 1}), {});
  EXPECT_EQ(transformed(*made, table({2, 5, 1, 6, 0, 7}, {"Oslo", "Rome", "Paris"})),
            (std::vector<double>{1, 0, 5, 0, 1, 6, 0, 0, 7}));
}

TEST_P(RecordsOn, ADenseResultIsTheSame) {
  const auto sparse = find_estimator("DictVectorizer")->make_f64({}),
             dense = find_estimator("DictVectorizer")->make_f64({{"sparse", false}});
  const Samples<double> X = table({0, 1.5, 1, kNan, kNan, 0});
  sparse->fit(ctx_, X, {}), dense->fit(ctx_, X, {});
  EXPECT_FALSE(dynamic_cast<const Transformer<double>&>(*dense).transform(ctx_, X).is_sparse());
  EXPECT_EQ(transformed(*sparse, X), transformed(*dense, X));
}

TEST_P(RecordsOn, FeaturesOfOneColumnAreAddedUp) {
  const auto made = find_estimator("FeatureHasher")->make_f64({{"n_features", 1}, {"alternate_sign", false}});
  made->fit(ctx_, table({0, 1}), {});
  EXPECT_EQ(transformed(*made, table({0, 2.5, 1, kNan, kNan, kNan})), (std::vector<double>{3.5, 1, 0}));
}

TEST_P(RecordsOn, RefusesATableWithoutAnyValue) {
  const auto made = find_estimator("DictVectorizer")->make_f64({});
  try {
    made->fit(ctx_, table({kNan, kNan}), {});
    ADD_FAILURE() << "it was fitted";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kBadData);
    EXPECT_EQ(error.message, "DictVectorizer: no cell has a value");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, RecordsOn, ::testing::ValuesIn(testing::device_names()),
                         [](const auto& info) { return info.param; });

TEST(Records, TakeNoOtherInputThanTables) {
  for (const char* type : {"pair", "string"})
    EXPECT_THROW(find_estimator("FeatureHasher")->make_f64({{"input_type", type}}), schema::Error);
}

}   // namespace
}   // namespace kedge::engine
