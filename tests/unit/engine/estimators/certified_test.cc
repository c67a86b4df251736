// LinearRegression and Ridge against the certified values of NIST's Statistical Reference Datasets.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "engine/estimators/linear/linear_regression.h"
#include "engine/estimators/linear/ridge.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;

struct Certified {
  std::string name;
  int powers;                         // of the one explanatory variable; 0: the columns as they are
  std::vector<double> coefficients;   // the intercept first
  double digits;                      // that every coefficient must have
  friend void PrintTo(const Certified& c, std::ostream* out) { *out << c.name; }
};

// Values have 15 digits. Powers of x are rounded to double before the estimator sees them, which costs Filip half of its digits
// and Wampler4 and 5 some; Longley's and Norris' data are decimals.
const std::vector<Certified>& certified() {
  static const std::vector<double> ones(6, 1.0);
  static const std::vector<Certified> all{
      {"norris", 0, {-0.262323073774029, 1.00211681802045}, 12.5},
      {"pontius", 2, {0.673565789473684e-03, 0.732059160401003e-06, -0.316081871345029e-14}, 12},
      {"longley",
       0,
       {-3482258.63459582, 15.0618722713733, -0.358191792925910e-01, -2.02022980381683, -1.03322686717359, -0.511041056535807e-01,
        1829.15146461355},
       11.5},
      {"filip",
       10,
       {-1467.48961422980, -2772.17959193342, -2316.37108160893, -1127.97394098372, -354.478233703349, -75.1242017393757,
        -10.8753180355343, -1.06221498588947, -0.670191154593408e-01, -0.246781078275479e-02, -0.402962525080404e-04},
       7},
      {"wampler1", 5, ones, 14},
      {"wampler2", 5, {1, 0.1, 0.01, 0.001, 0.0001, 0.00001}, 12.5},
      {"wampler3", 5, ones, 13},
      {"wampler4", 5, ones, 13},
      {"wampler5", 5, ones, 13},
  };
  return all;
}

Data load(const Certified& c) {
  std::ifstream file("tests/data/nist/" + c.name + ".csv");
  EXPECT_TRUE(file.good()) << "run the tests in the source folder";
  Data data;
  for (std::string line; std::getline(file, line); ++data.n_rows) {
    std::stringstream cells(line);
    std::vector<double> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(std::stod(cell));
    data.values.push_back(row.back());
    row.pop_back();
    for (int k = 2; k <= c.powers; ++k) row.push_back(std::pow(row[0], k));
    data.n_cols = static_cast<std::int64_t>(row.size());
    data.X.insert(data.X.end(), row.begin(), row.end());
  }
  data.y.assign(data.values.size(), 0);
  data.classes = {"0"};
  return data;
}

double value_of(const schema::ValueMap& map, const std::string& name) {
  for (const auto& [key, value] : map)
    if (key == name) return std::get<double>(value.data);
  return std::nan("");
}
std::vector<double> values_of(const schema::ValueMap& map, const std::string& name) {
  for (const auto& [key, value] : map)
    if (key == name) return std::get<std::vector<double>>(value.data);
  return {};
}

// How many leading decimal digits agree, in the worst coefficient.
double agreeing_digits(const schema::ValueMap& fitted, const std::vector<double>& certified) {
  std::vector<double> found = values_of(fitted, "coef_");
  found.insert(found.begin(), value_of(fitted, "intercept_"));
  if (found.size() != certified.size()) return 0;
  double digits = 15;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != certified[i])
      digits = std::min(digits, -std::log10(std::abs(found[i] - certified[i]) / std::abs(certified[i])));
  return digits;
}

class CertifiedRegression : public ::testing::TestWithParam<Certified> {};

TEST_P(CertifiedRegression, IsReproduced) {
  const Data data = load(GetParam());
  for (const std::string& device : testing::device_names()) {
    const Context ctx{.device = testing::device_named(device)};
    const testing::Loaded<double> loaded(ctx.device, data);
    LinearRegression<double> regression({});
    regression.fit(ctx, loaded.all(), loaded.target());
    const double digits = agreeing_digits(regression.attributes(), GetParam().coefficients);
    EXPECT_GE(digits, GetParam().digits) << "on " << device;
    RecordProperty("digits_" + device, std::to_string(digits));
  }
}

// The same data many times over are too much work for 32 digits: double's own triangle has to do.
TEST_P(CertifiedRegression, IsNearlyReproducedFromManyCopiesInDouble) {
  constexpr std::int64_t kCopies = 4000;
  constexpr double kFewerDigits =
      7;   // what double loses at these conditions, with Wampler5's residuals of a thousand times the fit
  const Data once = load(GetParam());
  if (GetParam().name == "filip") GTEST_SKIP() << "no digit is left in double";
  Data data{.n_rows = once.n_rows * kCopies, .n_cols = once.n_cols, .classes = {"0"}};
  for (std::int64_t c = 0; c < kCopies; ++c) {
    data.X.insert(data.X.end(), once.X.begin(), once.X.end());
    data.values.insert(data.values.end(), once.values.begin(), once.values.end());
  }
  data.y.assign(data.values.size(), 0);
  const Context ctx{.device = testing::device_named("cpu")};
  const testing::Loaded<double> loaded(ctx.device, data);
  LinearRegression<double> regression({});
  regression.fit(ctx, loaded.all(), loaded.target());
  EXPECT_GE(agreeing_digits(regression.attributes(), GetParam().coefficients), GetParam().digits - kFewerDigits);
}

INSTANTIATE_TEST_SUITE_P(Nist, CertifiedRegression, ::testing::ValuesIn(certified()),
                         [](const auto& info) { return info.param.name; });

TEST(CertifiedValues, WithoutInterceptIsReproduced) {   // NoInt1 and NoInt2
  const Context ctx{.device = testing::device_named("cpu")};
  Data first{.n_rows = 11, .n_cols = 1, .classes = {"0"}},
      second{.n_rows = 3, .n_cols = 1, .X = {4, 5, 6}, .y = {0, 0, 0}, .classes = {"0"}, .values = {3, 4, 4}};
  for (int i = 0; i < 11; ++i) first.X.push_back(60 + i), first.values.push_back(130 + i), first.y.push_back(0);
  for (const auto& [data, slope] : {std::pair<const Data&, double>{first, 2.07438016528926}, {second, 0.727272727272727}}) {
    const testing::Loaded<double> loaded(ctx.device, data);
    LinearRegression<double> regression({{"fit_intercept", false}});
    regression.fit(ctx, loaded.all(), loaded.target());
    EXPECT_NEAR(values_of(regression.attributes(), "coef_").at(0), slope, 1e-14 * 5);
    EXPECT_EQ(value_of(regression.attributes(), "intercept_"), 0.0);
  }
}

// Ridge without a penalty is least squares: by singular values it must not fall back to normal equations.
TEST(CertifiedValues, RidgeBySingularValuesKeepsLongley) {
  constexpr double kDigits = 7;
  const Certified& longley = certified()[2];
  const Data data = load(longley);
  const Context ctx{.device = testing::device_named("cpu")};
  const testing::Loaded<double> loaded(ctx.device, data);
  Ridge<double> ridge({{"alpha", 0.0}, {"solver", "svd"}});
  ridge.fit(ctx, loaded.all(), loaded.target());
  EXPECT_GE(agreeing_digits(ridge.attributes(), longley.coefficients), kDigits);
}

}   // namespace
}   // namespace kedge::engine
