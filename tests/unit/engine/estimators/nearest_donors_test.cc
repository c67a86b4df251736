// The donors of missing values, against a plain search, and KNNImputer by blocks in the caches and on a device.
#include <gtest/gtest.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/rng.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/preprocessing/nearest_donors.h"
#include "fixture.h"

namespace kedge::engine {
namespace {

using testing::Data;
constexpr double kCancelled = 1e-6;   // distances are differences of squares, and weights their inverses
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Small whole numbers, so that many distances are the same; one in `one_in` is missing.
std::vector<double> with_holes(std::int64_t n, std::int64_t d, std::uint32_t one_in, std::uint64_t stream) {
  PhiloxStream random(3, stream);
  std::vector<double> rows(static_cast<std::size_t>(n * d));
  for (double& value : rows) value = random.below(one_in) == 0 ? kNan : static_cast<double>(random.below(4));
  return rows;
}

struct Distances {
  std::vector<double> squares, counts;
};

Distances distances(const std::vector<double>& rows, const double* own, std::size_t d) {
  Distances made;
  for (std::size_t i = 0; i < rows.size() / d; ++i) {
    double sum = 0, count = 0;
    for (std::size_t j = 0; j < d; ++j) {
      const double difference = rows[i * d + j] - own[j];
      if (!std::isnan(difference)) sum += difference * difference, ++count;
    }
    made.squares.push_back(sum), made.counts.push_back(count);
  }
  return made;
}

std::vector<NearestDonors::Donor> plain(const std::vector<double>& rows, const Distances& all, std::size_t column,
                                        std::size_t d, std::size_t k) {
  std::vector<NearestDonors::Donor> donors;
  for (std::size_t i = 0; i < all.counts.size(); ++i)
    if (all.counts[i] > 0 && !std::isnan(rows[i * d + column]))
      donors.emplace_back(std::max(0.0, all.squares[i]) / all.counts[i], i);
  std::ranges::sort(donors);
  donors.resize(std::min(k, donors.size()));
  std::ranges::sort(donors, {}, [](const auto& donor) { return donor.second; });
  return donors;
}

TEST(NearestDonors, AreThoseOfAPlainSearchInBlocksOfAnySize) {
  constexpr std::size_t kRows = 700, kCols = 6;
  std::vector<double> rows = with_holes(kRows, kCols, 4, 1);
  for (std::size_t j = 0; j < kCols; ++j) rows[9 * kCols + j] = kNan;   // has nothing in common with any
  const std::vector<double> asked = with_holes(20, kCols, 3, 2);
  for (const std::size_t k : {1, 5, 2000}) {
    for (const std::size_t width : {1, 31, 96, 700}) {
      NearestDonors donors(rows, kCols, k);
      for (std::size_t q = 0; q < 20; ++q) {
        std::vector<std::size_t> columns;
        for (std::size_t j = 0; j < kCols; ++j)
          if (std::isnan(asked[q * kCols + j])) columns.push_back(j);
        const Distances all = distances(rows, asked.data() + q * kCols, kCols);
        donors.start(columns);
        for (std::size_t first = 0; first < kRows; first += width)
          donors.meet(first, all.squares.data() + first, all.counts.data() + first, std::min(width, kRows - first));
        for (std::size_t c = 0; c < columns.size(); ++c)
          EXPECT_EQ(donors.nearest(c), plain(rows, all, columns[c], kCols, k)) << k << " of blocks of " << width;
      }
    }
  }
}

// Squares beyond double are no numbers in a product: such a row counts as the nearest, as it always has.
TEST(NearestDonors, TakeWhatIsNoNumberForZero) {
  const std::vector<double> rows(100, 1.0);
  std::vector<double> squares(100, 2.0);
  squares[70] = kNan, squares[80] = -1e-17, squares[90] = std::numeric_limits<double>::infinity();
  NearestDonors donors(rows, 1, 2);
  donors.start({0});
  donors.meet(0, squares.data(), std::vector<double>(100, 1.0).data(), 100);
  EXPECT_EQ(donors.nearest(0), (std::vector<NearestDonors::Donor>{{0.0, 70}, {0.0, 80}}));
}

TEST(ColumnMasks, CountColumnsInCommonBeyondOneWord) {
  for (const std::size_t d : {1, 64, 65, 150}) {
    const std::vector<double> rows = with_holes(40, static_cast<std::int64_t>(d), 3, 4),
                              asked = with_holes(3, static_cast<std::int64_t>(d), 2, 5);
    const ColumnMasks fitted(rows, d), others(asked, d);
    std::vector<double> counts(30);
    fitted.common(others, 2, 10, 30, counts.data());
    const Distances all = distances(rows, asked.data() + 2 * d, d);
    EXPECT_EQ(counts, std::vector<double>(all.counts.begin() + 10, all.counts.end())) << d;
  }
}

// More rows and fitted rows than a tile of a product has; 100 rows are fewer, and go by whole products.
TEST(KNNImputer, FillsTheSameInTilesOnEveryDeviceAndAtAnyNumberOfThreads) {
  Data data{.n_rows = 900, .n_cols = 5, .X = {}, .y = std::vector<std::int32_t>(900), .classes = {"0"}};
  PhiloxStream random(7, 0);
  for (std::int64_t e = 0; e < data.n_rows * data.n_cols; ++e)
    data.X.push_back(random.below(6) == 0 ? kNan : random.uniform());
  std::vector<std::int32_t> few(100);
  std::iota(few.begin(), few.end(), 0);
  for (const char* weights : {"uniform", "distance"}) {
    const auto filled = [&](const char* device, bool is_few) {
      const Context ctx{.device = testing::device_named(device)};
      const testing::Loaded<double> loaded(ctx.device, data);
      const auto imputer = find_estimator("KNNImputer")->make_f64({{"weights", weights}});
      imputer->fit(ctx, loaded.all(), loaded.target());
      const Samples<double> rows = is_few ? loaded.rows(few) : loaded.all();
      return host_values(ctx, dynamic_cast<const Transformer<double>&>(*imputer).transform(ctx, rows));
    };
    const std::vector<double> expected = filled("cpu", false);
    const auto expect_near = [&](const std::vector<double>& got, const char* what) {
      ASSERT_LE(got.size(), expected.size());
      for (std::size_t e = 0; e < got.size(); ++e)
        ASSERT_NEAR(got[e], expected[e], kCancelled) << weights << ", " << what << " " << e;
    };
    expect_near(filled("emulated", false), "emulated");
    expect_near(filled("cpu", true), "few rows");
    const int before = omp_get_max_threads();
    for (const int threads : {1, 3}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(filled("cpu", false), expected);
    }
    omp_set_num_threads(before);
  }
}

}   // namespace
}   // namespace kedge::engine
