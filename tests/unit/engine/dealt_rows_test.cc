// Sums over rows that ranks divide: the bits of one process, from own rows alone.
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <utility>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/loader.h"
#include "engine/backend/ops/mixtures.h"
#include "engine/comm/threads.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> waves(std::int64_t n) {   // of all magnitudes down to 2^-60
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = std::sin(0.7 * static_cast<double>(i)) * std::ldexp(1.0, -static_cast<int>(i % 61));
  return v;
}

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double v : values) bits.push_back(std::isnan(v) ? 0 : std::bit_cast<std::uint64_t>(v));
  return bits;
}

// What work(ranks) returns on each rank, whose threads are one or two. An error becomes the number of its code.
std::vector<std::vector<double>> on_ranks(int size, const std::function<std::vector<double>(Ranks&)>& work) {
  const auto comms = make_thread_comms(size);
  std::vector<std::vector<double>> results(comms.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < comms.size(); ++r) {
      threads.emplace_back([&, r] {
        omp_set_num_threads(1 + static_cast<int>(r) % 2);
        Ranks ranks(*comms[r]);
        const RanksScope scope(&ranks);
        const RowSumsScope sums(true);
        try {
          results[r] = work(ranks);
        } catch (const schema::Error& error) {
          results[r] = {static_cast<double>(error.code)};
        }
        ranks.end(std::nullopt);
      });
    }
  }
  return results;
}

class DealtRows : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, DealtRows, testing::Values(1, 2, 3, 4, 7), testing::PrintToStringParamName());

std::vector<double> column_sums(std::vector<double> cells, std::int64_t cols) {
  const std::unique_ptr<Device> device = open_device("cpu");
  const auto rows = static_cast<std::int64_t>(cells.size()) / cols;
  const Matrix<double> Z(device->memory(), rows, cols, cells);
  Array<double> sums(device->memory(), cols);
  device->f64().rows->column_sums(Z.view(), sums.view());
  return sums.to_host();
}

TEST_P(DealtRows, GiveTheSumsOfOneProcessAndReadTheirOwnRows) {
  constexpr std::int64_t kRows = 40'001, kCols = 3;
  const std::vector<double> cells = waves(kRows * kCols), alone = column_sums(cells, kCols);
  for (const auto& sums : on_ranks(GetParam(), [&](Ranks& ranks) {
         const Part own = own_rows(ranks_of_rows(kRows), kRows);
         std::vector<double> mine(cells.size(), ranks.size() > 1 ? kNaN : 0.0);
         std::copy(cells.begin() + own.begin * kCols, cells.begin() + own.end * kCols,
                   mine.begin() + own.begin * kCols);
         return column_sums(std::move(mine), kCols);
       }))
    EXPECT_EQ(bits(sums), bits(alone));
}

TEST_P(DealtRows, OfFewRowsAreSummedByEveryRank) {
  const std::vector<double> cells = waves(kLeastDealtRows - 1), alone = column_sums(cells, 1);
  for (const auto& sums : on_ranks(GetParam(), [&](Ranks&) { return column_sums(cells, 1); }))
    EXPECT_EQ(bits(sums), bits(alone));
}

// Narrow and wide tables meet differently; ranks beyond the number of tables have none. Some entries are 0 on every
// rank or on some, and some are less than the least normal number.
TEST_P(DealtRows, AddTablesOfAnyWidthAndNumber) {
  for (const std::int64_t entries : {1, 300, 20'000})
    for (const std::int64_t n : {0, 1, 2, 5, 130}) {
      std::vector<double> tables = waves(n * entries), alone(static_cast<std::size_t>(entries));
      for (std::size_t i = 0; i < tables.size() && entries > 1; ++i) {
        const std::int64_t table = static_cast<std::int64_t>(i) / entries, e = static_cast<std::int64_t>(i) % entries;
        if (e % 3 == 2 || (e % 7 == 3 && table > 0)) tables[i] = 0;
        else if (e % 5 == 4) tables[i] *= std::numeric_limits<double>::denorm_min() * 0x1p20;
      }
      if (n == 130) tables[static_cast<std::size_t>(3 * entries)] = std::numeric_limits<double>::infinity();
      if (n == 130 && entries > 1) tables[static_cast<std::size_t>(70 * entries + 1)] = kNaN;
      add_tables(tables.data(), n, entries, alone.data());
      for (const auto& sums : on_ranks(GetParam(), [&](Ranks& ranks) {
             const Part own = own_part(&ranks, n);
             std::vector<double> total(static_cast<std::size_t>(entries));
             add_tables_of_ranks(
                 &ranks, entries, [&] { return Tables{tables.data() + own.begin * entries, own.size()}; },
                 total.data());
             return total;
           }))
        EXPECT_EQ(bits(sums), bits(alone)) << n << " x " << entries;
    }
}

TEST_P(DealtRows, FailOnEveryRankWhereOneFails) {
  const int last = GetParam() - 1;
  for (const auto& result : on_ranks(GetParam(), [&](Ranks& ranks) {
         double total = 0;
         add_tables_of_ranks(
             &ranks, 1,
             [&]() -> Tables {
               if (ranks.rank() == last) throw schema::Error(schema::ErrorCode::kBadData, "here");
               return {&total, 1};
             },
             &total);
         return std::vector{total};
       }))
    EXPECT_EQ(result, std::vector{static_cast<double>(schema::ErrorCode::kBadData)});
}

// All that a neighbour index finds: with up to 10 columns by a tree, and by a scan beyond.
std::vector<double> neighbours(const std::vector<double>& cells, std::int64_t cols, double limit) {
  const std::unique_ptr<Device> device = open_device("cpu");
  const auto n = static_cast<std::int64_t>(cells.size()) / cols;
  constexpr int kNearest = 3;
  const Matrix<double> points(device->memory(), n, cols, cells);
  const auto index = device->f64().distances->index_points(points.view(), {});
  Matrix<std::int32_t> nearest(device->memory(), n, kNearest);
  Matrix<double> distance(device->memory(), n, kNearest);
  index->nearest(points.view(), kNearest, nearest.view(), distance.view());
  Array<std::int32_t> counts(device->memory(), n), component(device->memory(), n);
  index->count_within(points.view(), limit, counts.view());
  std::vector<std::int64_t> offsets;
  std::int64_t total = 0;
  for (const std::int32_t count : counts.to_host()) offsets.push_back(std::exchange(total, total + count));
  const Array<std::int64_t> begin(device->memory(), offsets);
  Array<std::int32_t> within(device->memory(), total);
  Array<double> reduced(device->memory(), total);
  index->list_within(points.view(), limit, begin.view(), within.view(), reduced.view());
  std::vector<double> all = distance.to_host();
  const auto append = [&](const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
  append(nearest.to_host()), append(counts.to_host()), append(within.to_host()), append(reduced.to_host());
  std::vector<double> of_rows(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < of_rows.size(); ++i) of_rows[i] = 0.1 + 0.7 * static_cast<double>(i % 5);
  const Array<double> weights(device->memory(), std::span<const double>(of_rows));
  Array<std::uint8_t> core(device->memory(), n);
  for (const double least : {3.0, 40.0})   // most points are core, and few
    for (const bool are_weighed : {false, true}) {
      index->density_components(limit, least, are_weighed ? weights.view() : VectorView<const double>(), core.view(),
                                component.view());
      append(core.to_host()), append(component.to_host());
    }
  return all;
}

TEST_P(DealtRows, GiveTheNeighboursAndComponentsOfOneProcess) {
  constexpr std::int64_t kRows = kLeastDealtRows + 613;
  for (const std::int64_t cols : {2, 12}) {
    std::vector<double> cells(static_cast<std::size_t>(kRows * cols));
    for (std::size_t i = 0; i < cells.size(); ++i)
      cells[i] = std::sin(0.37 * static_cast<double>(i * i % 10007)) + static_cast<double>(i / 40 % 3);
    const double limit = cols == 2 ? 0.0009 : 1.1;
    const std::vector<double> alone = neighbours(cells, cols, limit);
    for (const auto& found : on_ranks(GetParam(), [&](Ranks&) { return neighbours(cells, cols, limit); }))
      EXPECT_EQ(bits(found), bits(alone)) << cols << " columns";
  }
}

// Of 0 and -0, which are equal, the range has the first; what is missing is in no column.
// The first place where a running sum reaches a threshold: groups of 65,536 values lie within ranks, and across them.
TEST_P(DealtRows, SearchSumsOfGroupsThatRanksHaveWhole) {
  constexpr std::int64_t kRows = 300'001;
  std::vector<double> values = waves(kRows), thresholds;
  double total = 0;
  for (double& value : values) total += value = std::abs(value);
  for (int e = 0; e <= 20; ++e) thresholds.push_back(total * e / 20);
  const auto found = [&](const std::vector<double>& mine) {
    const std::unique_ptr<Device> device = open_device("cpu");
    const Array<double> of_rows(device->memory(), std::span<const double>(mine)),
        wanted(device->memory(), std::span<const double>(thresholds));
    Array<std::int32_t> places(device->memory(), wanted.size());
    device->f64().clusters->cumulative_search(of_rows.view(), {}, wanted.view(), places.view());
    const std::vector<std::int32_t> host = places.to_host();
    return std::vector<double>(host.begin(), host.end());
  };
  const std::vector<double> alone = found(values);
  EXPECT_GT(alone[10], 1000);
  for (const auto& places : on_ranks(GetParam(), [&](Ranks& ranks) {
         const Part own = own_rows(ranks_of_rows(kRows), kRows);
         std::vector<double> mine(values.size(), ranks.size() > 1 ? kNaN : 0.0);
         std::copy(values.begin() + own.begin, values.begin() + own.end, mine.begin() + own.begin);
         return found(mine);
       }))
    EXPECT_EQ(places, alone);
}

// How many labels change, and the sums of clusters, of two steps of k-means; with NaN in rows that are not `read`.
std::vector<double> steps_of_means(std::int64_t n, std::int64_t k, std::int64_t d, const std::vector<double>& waves,
                                   Part read) {
  const std::unique_ptr<Device> device = open_device("cpu");
  std::vector<float> cells(static_cast<std::size_t>(n * d), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t e = read.begin * d; e < read.end * d; ++e)
    cells[static_cast<std::size_t>(e)] = static_cast<float>(waves[static_cast<std::size_t>(e)]);
  const Matrix<float> X(device->memory(), n, d, cells);
  Array<std::int32_t> labels(device->memory(), n);
  const auto rows = device->f32().clusters->follow_centers(X.view(), {}, labels.view());
  std::vector<double> said;
  for (std::int64_t step = 0; step < 2; ++step) {
    const auto first = waves.begin() + step * d;
    const Matrix<float> centers(device->memory(), k, d, std::vector<float>(first, first + k * d));
    Matrix<double> sums(device->memory(), k, d + 1);
    said.push_back(static_cast<double>(rows->assign(centers.view())));
    rows->sum(sums.view());
    const std::vector<double> host = sums.to_host();
    said.insert(said.end(), host.begin(), host.end());
  }
  return said;
}

// Tables of sums are of 1,024 rows each; of more where they are large; and of more than the blocks that ranks own have,
// where labels go to all.
TEST(DealtRowsOfMeans, GiveTheSumsOfOneProcess) {
  struct Shape {
    std::int64_t n, k, d;
    bool own_alone;
  };
  for (const auto& [n, k, d, own_alone] :
       {Shape{40'000, 5, 3, true}, {70'000, 500, 125, true}, {17'000, 2000, 131, false}}) {
    const std::vector<double> cells = waves((n + 2) * d), alone = steps_of_means(n, k, d, cells, {0, n});
    for (const int size : {2, 3})
      for (const auto& said : on_ranks(size, [&](Ranks& ranks) {
             const Part read = own_alone ? own_rows(&ranks, n) : Part{0, n};
             return steps_of_means(n, k, d, cells, read);
           }))
        EXPECT_EQ(bits(said), bits(alone)) << n << " rows on " << size;
  }
}

// The sums of both steps of a mixture; behind them the shares and log densities of some rows.
std::vector<double> steps_of_mixture(std::int64_t n, std::int64_t d, FactorForm form, const std::vector<double>& cells,
                                     Part rows) {
  constexpr std::int64_t kComponents = 3;
  const std::unique_ptr<Device> device = open_device("cpu");
  MixtureOps& ops = *mixture_ops(*device->f64().bayes);
  const Matrix<double> X(device->memory(), n, d, cells);
  std::vector<double> factors = waves(kComponents * d * d), offsets = waves(kComponents * d);
  const std::vector<double> constants{-1, -1.5, 0.5};
  for (std::size_t e = 0; e < factors.size(); ++e) factors[e] = 1 + factors[e] / 4;
  const NormalComponents components{.n = kComponents,
                                    .d = d,
                                    .form = form,
                                    .factors = factors.data(),
                                    .offsets = offsets.data(),
                                    .constants = constants.data()};
  Matrix<double> shares(device->memory(), n, kComponents);
  Array<double> densities(device->memory(), n);
  const MixtureSums sums = ops.share_rows(X.view(), components, shares.view(), densities.view());
  std::vector<double> all{sums.log_density, sums.entropy};
  for (const RowTerms terms : {RowTerms::kProducts, RowTerms::kSquares, RowTerms::kValues}) {
    const std::vector<double> of_terms = ops.sum_terms(X.view(), std::as_const(shares).view(), terms);
    all.insert(all.end(), of_terms.begin(), of_terms.end());
  }
  const std::vector<double> of_rows = densities.to_host(), of_shares = shares.to_host();
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    all.push_back(of_rows[static_cast<std::size_t>(i)]);
    all.insert(all.end(), of_shares.begin() + i * kComponents, of_shares.begin() + (i + 1) * kComponents);
  }
  return all;
}

TEST_P(DealtRows, GiveTheStepsOfAMixtureOfOneProcess) {
  constexpr std::int64_t kRows = 70'001, kCols = 5;   // blocks of 2,048 rows, which are no whole tiles
  const std::vector<double> cells = waves(kRows * kCols);
  for (const FactorForm form : {FactorForm::kEach, FactorForm::kShared, FactorForm::kDiagonal}) {
    const std::vector<double> alone = steps_of_mixture(kRows, kCols, form, cells, {0, kRows});
    const auto n_sums = std::ssize(alone) - kRows * 4;
    const auto found = on_ranks(GetParam(), [&](Ranks& ranks) {
      const Part own = own_rows(ranks_of_rows(kRows), kRows);
      std::vector<double> mine(cells.size(), ranks.size() > 1 ? kNaN : 0.0);
      std::copy(cells.begin() + own.begin * kCols, cells.begin() + own.end * kCols, mine.begin() + own.begin * kCols);
      return steps_of_mixture(kRows, kCols, form, mine, own);
    });
    for (int r = 0; r < GetParam(); ++r) {
      const Part own = rows_of_rank(r, GetParam(), kRows);
      std::vector<double> expected(alone.begin(), alone.begin() + n_sums);
      expected.insert(expected.end(), alone.begin() + n_sums + 4 * own.begin, alone.begin() + n_sums + 4 * own.end);
      EXPECT_EQ(bits(found[static_cast<std::size_t>(r)]), bits(expected)) << "rank " << r;
    }
  }
}

TEST_P(DealtRows, GiveTheColumnsOfOneProcess) {
  constexpr std::int64_t kRows = 40'001, kCols = 5;
  std::vector<double> cells = waves(kRows * kCols);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % kCols == 1) cells[i] = i / kCols == 30'000 ? 0.0 : -0.0;
    if (i % kCols == 2) cells[i] = static_cast<double>(i % 7);
    if (i % kCols == 3) cells[i] = kNaN;
    if (i % 1001 == 0) cells[i] = kNaN;
    if (i % kCols == 4 && i / kCols < 9'000) cells[i] = kNaN;   // whole tiles of rows
  }
  const auto found = [&](Ranks*) {
    const std::unique_ptr<Device> device = open_device("cpu");
    const Matrix<double> X(device->memory(), kRows, kCols, cells);
    const Array<double> q(device->memory(), std::vector<double>{0.1, 0.25, 0.5, 1}),
        missing(device->memory(), std::vector<double>(kCols, 3.0));
    Array<double> low(device->memory(), kCols), high(device->memory(), kCols), centre(device->memory(), kCols);
    Array<std::int64_t> present(device->memory(), kCols);
    Matrix<double> quantiles(device->memory(), 4, kCols);
    std::vector<double> all;
    const auto append = [&](const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
    device->f64().tables->column_range(X.view(), {}, low.view(), high.view());
    device->f64().columns->column_quantiles(X.view(), {}, q.view(), quantiles.view());
    append(low.to_host()), append(high.to_host()), append(quantiles.to_host());
    for (const ColumnCentre kind : {ColumnCentre::kMean, ColumnCentre::kMedian, ColumnCentre::kMode}) {
      device->f64().columns->column_centres(kind, X.view(), {}, missing.view(), centre.view(), present.view());
      append(centre.to_host()), append(present.to_host());
    }
    const std::vector<std::int32_t> columns{0, 1, 2, 3, 4};
    for (const auto& column : device->f64().columns->count_numbers(X.view(), {}, columns)) {
      append(column.numbers), append(column.counts);
      all.push_back(static_cast<double>(column.missing));
    }
    return all;
  };
  const std::vector<double> alone = found(nullptr);
  EXPECT_TRUE(std::signbit(alone[1]) && std::signbit(alone[kCols + 1]));
  EXPECT_TRUE(alone[3] > alone[kCols + 3]) << "a column without values has no range";
  EXPECT_TRUE(std::abs(alone[4]) <= 1 && std::abs(alone[kCols + 4]) <= 1);
  for (const int size : {GetParam(), 50})   // of 50 ranks some have no rows
    for (const auto& result : on_ranks(size, [&](Ranks& ranks) { return found(&ranks); }))
      EXPECT_EQ(bits(result), bits(alone));
}

// Of a design with a target and weights: its slopes at coefficients, and its triangle.
std::vector<double> slopes_and_triangle(const std::vector<double>& cells, std::int64_t cols) {
  const std::unique_ptr<Device> device = open_device("cpu");
  const auto n = static_cast<std::int64_t>(cells.size()) / cols;
  const Matrix<double> X(device->memory(), n, cols, cells), Y(device->memory(), n, 1, waves(n));
  std::vector<double> roots = waves(n), w = waves(cols);
  for (double& root : roots) root = 1 + root / 2;
  const Array<double> weights(device->memory(), std::span<const double>(roots)),
      coef(device->memory(), std::span<const double>(w));
  const Design<double> design{.X = X.view(), .weights = weights.view(), .Y = Y.view()};
  Array<double> slopes(device->memory(), cols);
  Matrix<double> R(device->memory(), cols + 1, cols + 1);
  device->f64().design->slopes(design, coef.view(), slopes.view());
  device->f64().design->triangle(design, R.view());
  std::vector<double> all = slopes.to_host();
  for (const double r : R.to_host()) all.push_back(r);
  return all;
}

TEST_P(DealtRows, GiveTheSlopesAndTheTriangleOfOneProcess) {
  const std::vector<double> cells = waves(40'001 * 5), alone = slopes_and_triangle(cells, 5);
  for (const auto& found : on_ranks(GetParam(), [&](Ranks&) { return slopes_and_triangle(cells, 5); }))
    EXPECT_EQ(bits(found), bits(alone));
}

TEST(RowSumsScope, IsNeededForRanksToDivideRows) {
  for (const auto& result : on_ranks(2, [](Ranks& ranks) {
         const bool within = ranks_of_row_sums() == &ranks;
         const RowSumsScope none(false);
         bool in_share = true;
         ranks.share([&]() -> std::vector<std::byte> {
           in_share = ranks_of_job() != nullptr;
           return {};
         });
         return std::vector<double>{within ? 1.0 : 0.0, ranks_of_row_sums() ? 1.0 : 0.0, in_share ? 1.0 : 0.0};
       }))
    EXPECT_EQ(result, (std::vector<double>{1, 0, 0}));
}

}   // namespace
}   // namespace kedge::engine
