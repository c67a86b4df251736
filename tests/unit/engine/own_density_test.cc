// DBSCAN's components where each rank has its own rows of the points: the bits of one process, and no other rows.
#include <gtest/gtest.h>
#include <omp.h>

#include <functional>
#include <optional>
#include <thread>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/loader.h"
#include "engine/comm/counted.h"
#include "engine/comm/threads.h"
#include "engine/core/context.h"
#include "engine/core/demand_rows.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

struct DensityCase {
  const char* name;
  std::int64_t cols;
  std::vector<double> cells;
  double eps, least;
  Distance distance = {};
  double weight_step = 0;        // weights are 1 + (row % 3) * weight_step; 0: there are none
  bool has_many_pairs = false;   // which take seconds
  friend void PrintTo(const DensityCase& one, std::ostream* out) { *out << one.name; }
};

constexpr std::int64_t kRows = kLeastDealtRows + 613;

std::vector<double> made(std::int64_t cols, const std::function<double(std::int64_t row, std::int64_t col)>& cell) {
  std::vector<double> cells;
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) cells.push_back(cell(i, j));
  return cells;
}

double noise(std::int64_t i, std::int64_t j) {   // in [0, 1), without a pattern
  const auto hash = static_cast<std::uint64_t>(i * 31 + j + 1) * 0x9E3779B97F4A7C15u;
  return static_cast<double>((hash ^ (hash >> 29)) * 0xBF58476D1CE4E5B9u >> 11) * 0x1p-53;
}

double group(std::int64_t i, std::int64_t j) {   // of five, by turns
  return 4.0 * static_cast<double>((i % 5) * (j + 1) % 5) + noise(i, j);
}
double grid(std::int64_t i, std::int64_t j) {   // many rows are alike, and as far from their neighbours as from others
  return static_cast<double>(j == 0 ? i % 61 : j == 1 ? i / 61 % 37 : 0);
}
double line(std::int64_t i, std::int64_t j) {   // one cluster of all rows, in no order
  return j == 0 ? static_cast<double>(i * 7919 % kRows) : 0.0;
}

std::vector<DensityCase> cases() {
  const auto of = [](std::int64_t cols, double (*cell)(std::int64_t, std::int64_t)) { return made(cols, cell); };
  return {
      {"Groups", 3, of(3, group), 0.09, 5},
      {"GroupsInManyColumns", 12, of(12, group), 1.0, 5},
      {"Ties", 2, of(2, grid), 1.0, 38},
      {"TiesInManyColumns", 11, of(11, grid), 1.0, 38},
      {"OneCluster", 2, of(2, line), 1.0, 3},
      {"OneClusterInManyColumns", 13, of(13, line), 1.0, 3},
      {"NoiseAlone", 4, of(4, noise), 1e-9, 2},
      {"NoiseAloneInManyColumns", 14, of(14, noise), 1e-9, 2},
      {"EqualRows", 2, of(2, [](std::int64_t, std::int64_t) { return 3.0; }), 0.5, 4, {}, 0, true},
      {"WideHalo", 2, of(2, noise), 0.4, 5000, {}, 0, true},   // nearly all points are in each halo
      {"BordersMostly", 3, of(3, group), 0.06, 9},
      {"Manhattan", 3, of(3, group), 0.15, 5, {Metric::kManhattan}},
      {"Chebyshev", 3, of(3, group), 0.06, 5, {Metric::kChebyshev}},
      {"Cubes", 3, of(3, group), 0.09, 5, {Metric::kMinkowski, 3}},
      {"Roots", 3, of(3, group), 0.3, 5, {Metric::kMinkowski, 0.7}},
      {"ManhattanInManyColumns", 12, of(12, group), 2.9, 5, {Metric::kManhattan}},
      {"Counts", 3, of(3, group), 0.09, 9, {}, 2},
      {"CountsInManyColumns", 12, of(12, group), 1.0, 9, {}, 2},
      {"ShareOfWeightsInManyColumns", 12, of(12, group), 1.0, 9.3, {}, 0.1},
      {"ShareOfWeights", 3, of(3, group), 0.09, 9.3, {}, 0.1},   // needs the tree of all points
  };
}

struct Found {
  std::vector<std::int32_t> component;
  std::vector<std::uint8_t> core;
  std::int64_t read = 0;   // bytes of rows of others
  CommCounts counts;
  friend bool operator==(const Found& a, const Found& b) { return a.component == b.component && a.core == b.core; }
};

template <class T>
Found components(const DensityCase& of, MatrixView<const T> points, Device& device) {
  std::vector<double> weights;
  for (std::int64_t i = 0; of.weight_step > 0 && i < kRows; ++i)
    weights.push_back(1 + static_cast<double>(i % 3) * of.weight_step);
  const Array<double> by_row(device.memory(), std::span<const double>(weights));
  Array<std::uint8_t> core(device.memory(), kRows);
  Array<std::int32_t> component(device.memory(), kRows);
  const Context ctx{.device = device};
  ctx.ops<T>()
      .distances->index_points(points, of.distance)
      ->density_components(of.distance.reduced(of.eps), of.least, by_row.view(), core.view(), component.view());
  return {component.to_host(), core.to_host()};
}

// Of a rank whose own rows alone are there at first.
template <class T>
Found components_of_rank(const DensityCase& of, Ranks& ranks) {
  const std::unique_ptr<Device> device = open_device("cpu");
  const auto copy = [&](std::int64_t row, T* out) {
    for (std::int64_t j = 0; j < of.cols; ++j)
      out[j] = static_cast<T>(of.cells[static_cast<std::size_t>(row * of.cols + j)]);
  };
  DemandRows<T> rows(device->memory(), of.cols, copy);
  Matrix<T> points(rows.memory(), kRows, of.cols);
  const Part own = own_rows(&ranks, kRows);
  rows.bring(own.begin, own.size(), [&](T* to) {
    for (std::int64_t i = own.begin; i < own.end; ++i) copy(i, to + i * of.cols);
  });
  const std::int64_t before = rows.held();
  Found found = components<T>(of, std::as_const(points).view(), *device);
  found.read = rows.held() - before;
  return found;
}

std::vector<Found> on_ranks(int size, const std::function<Found(Ranks&)>& work) {
  const auto comms = make_thread_comms(size);
  std::vector<Found> results(comms.size());
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < comms.size(); ++r) {
    threads.emplace_back([&, r] {
      omp_set_num_threads(1 + static_cast<int>(r) % 2);
      CountedComm counted(*comms[r]);
      Ranks ranks(counted);
      const RanksScope scope(&ranks);
      const RowSumsScope sums(true);
      std::optional<schema::Error> error;
      try {
        results[r] = work(ranks);
      } catch (const schema::Error& failure) {
        error = failure;
      }
      results[r].counts = counted.counts();
      error = ranks.end(error);
      if (error) results[r].read = static_cast<std::int64_t>(error->code);
    });
  }
  threads.clear();
  return results;
}

class OwnDensity : public testing::TestWithParam<DensityCase> {};
INSTANTIATE_TEST_SUITE_P(Points, OwnDensity, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

template <class T>
void expect_found(const DensityCase& of, const std::vector<int>& sizes) {
  const std::unique_ptr<Device> device = open_device("cpu");
  std::vector<T> cells(of.cells.begin(), of.cells.end());
  const Matrix<T> points(device->memory(), kRows, of.cols, std::span<const T>(cells));
  const Found alone = components<T>(of, points.view(), *device);
  const bool reads_all = of.cols <= 10 && of.weight_step > 0 && of.weight_step < 1;
  for (const int size : sizes)
    for (const Found& found : on_ranks(size, [&](Ranks& ranks) { return components_of_rank<T>(of, ranks); })) {
      EXPECT_TRUE(found == alone) << size << " ranks";
      if (reads_all) EXPECT_GT(found.read, 0);
      else EXPECT_EQ(found.read, 0) << size << " ranks";
    }
}

TEST_P(OwnDensity, IsThatOfOneProcess) {
  const std::vector<int> sizes = GetParam().has_many_pairs ? std::vector<int>{4} : std::vector<int>{2, 3, 4, 7};
  expect_found<double>(GetParam(), sizes);
}

TEST_P(OwnDensity, InFloatIsThatOfOneProcess) {
  expect_found<float>(GetParam(), {3});
}

TEST(OwnDensityOfManyRanks, GivesEmptyOnesNothing) {   // of 30 ranks 13 have no rows
  for (const char* name : {"Groups", "GroupsInManyColumns"})
    for (const DensityCase& of : cases())
      if (of.name == std::string(name)) expect_found<double>(of, {30});
}

TEST(OwnDensityErrors, ReachEveryRank) {
  for (const DensityCase& of : cases()) {
    std::stop_source cancelled;
    cancelled.request_stop();
    for (const Found& found : on_ranks(3, [&](Ranks& ranks) {
           std::optional<StopScope> stop;
           if (ranks.rank() == 1) stop.emplace(cancelled.get_token());
           return components_of_rank<double>(of, ranks);
         }))
      EXPECT_EQ(found.read, static_cast<std::int64_t>(schema::ErrorCode::kCancelled)) << of.name;
  }
}

// What a rank brings: its rows once as they are where they go round, and once, with their halo, where they move.
TEST(OwnDensityBytes, AreTheRowsOfTheRank) {
  for (const DensityCase& of : cases()) {
    const std::string name = of.name;
    if (name != "Groups" && name != "GroupsInManyColumns") continue;
    constexpr int kRanks = 4;
    for (const Found& found : on_ranks(kRanks, [&](Ranks& ranks) { return components_of_rank<float>(of, ranks); })) {
      const auto moved = static_cast<double>(found.counts.moved_bytes);
      const double rows = static_cast<double>(of.cells.size()) / kRanks * 4;
      EXPECT_LE(moved, (name == "Groups" ? 1.0 : 0.0) * rows * 1.4 + rows * 1.3 + 5e4 + kRows * 4.0) << name;
      EXPECT_LE(static_cast<double>(found.counts.summed_bytes), 8.0 * kRows * 9) << name;
    }
  }
}

}   // namespace
}   // namespace kedge::engine
