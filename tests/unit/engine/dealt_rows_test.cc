// Sums over rows that ranks divide: the bits of one process, from own rows alone.
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/loader.h"
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

// Narrow and wide tables meet differently; ranks beyond the number of tables have none.
TEST_P(DealtRows, AddTablesOfAnyWidthAndNumber) {
  for (const std::int64_t entries : {1, 300, 5000})
    for (const std::int64_t n : {0, 1, 2, 5, 130}) {
      std::vector<double> tables = waves(n * entries), alone(static_cast<std::size_t>(entries));
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
