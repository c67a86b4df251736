// Sums over rows have the same bits on every device, for any number of threads and in any order of blocks.
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/cpu/exact_tables.h"
#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/loader.h"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

std::vector<double> waves(std::int64_t n, double step) {   // of all magnitudes down to 2^-60
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = std::sin(step * static_cast<double>(i)) * std::ldexp(1.0, -static_cast<int>(i % 61));
  return v;
}

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double v : values) bits.push_back(std::isnan(v) ? 0 : std::bit_cast<std::uint64_t>(v));
  return bits;
}

std::vector<double> on_cpu(const std::vector<double>& tables, std::int64_t entries) {
  std::vector<double> total(static_cast<std::size_t>(entries));
  add_tables(tables.data(), static_cast<std::int64_t>(tables.size()) / entries, entries, total.data());
  return total;
}

TEST(ExactSumsOfDevices, TablesInOneBlockAndInMany) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  for (const std::uint64_t seed : {1, 2}) {
    CudaRuntime gpu{{.seed = seed}};
    for (const std::int64_t entries : {1, 5, 33, 70})
      for (const std::int64_t n : {0, 1, 2, 127, 129, 1300}) {
        auto tables = waves(n * entries, 0.7);
        if (n > 127)
          tables[static_cast<std::size_t>(3 * entries)] = kInfinity, tables[static_cast<std::size_t>(100 * entries)] =
                                                                         entries == 5 ? -kInfinity : 1.0;
        Array<double> device(gpu, std::span<const double>(tables)), total(gpu, entries);
        sum_tables(gpu, raw(device), n, entries, raw(total));
        EXPECT_EQ(bits(total.to_host()), bits(on_cpu(tables, entries))) << n << " x " << entries << ", seed " << seed;
      }
  }
}

TEST(ExactSumsOfDevices, ValuesInTiles) {
  CudaRuntime gpu{{.seed = 3}};
  for (const std::int64_t n : {1, 31, 256, 257, 8192, 8193, 20000}) {
    const auto values = waves(n, 0.3);
    std::vector<double> tiles(static_cast<std::size_t>(tiles_of(n, kRowTile)));
    for (std::int64_t i = 0; i < n; ++i)
      tiles[static_cast<std::size_t>(i / kRowTile)] += values[static_cast<std::size_t>(i)];
    Array<double> device(gpu, std::span<const double>(values)), total(gpu, 1);
    sum_values(gpu, raw(device), n, raw(total));
    EXPECT_EQ(bits(total.to_host()), bits(on_cpu(tiles, 1))) << n;
    sum_values(gpu, nullptr, n, raw(total));
    EXPECT_EQ(total.to_host()[0], static_cast<double>(n));
  }
}

struct Sums {
  std::vector<double> mean, variance, columns, labels, distances;
};

Sums sums_of(Device& device, std::int64_t n) {
  const std::int64_t d = 3, k = 4;
  const auto x = waves(n * d, 0.9);
  std::vector<double> weights(static_cast<std::size_t>(n));
  std::vector<std::int32_t> codes(weights.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<std::int32_t>(i * 7 % 5 % 4), weights[i] = 0.1 + std::abs(x[i]);
  const std::vector<std::int32_t> chosen{0, 2, static_cast<std::int32_t>(n - 1)};
  Memory& memory = device.memory();
  const Backend<double>& ops = device.ops<double>();
  const Matrix<double> X(memory, n, d, std::span<const double>(x));
  const Array<double> W(memory, std::span<const double>(weights));
  const Array<std::int32_t> labels(memory, std::span<const std::int32_t>(codes)),
      candidates(memory, std::span<const std::int32_t>(chosen));
  Array<double> mean(memory, d), variance(memory, d), columns(memory, d), totals(memory, candidates.size());
  Matrix<double> by_label(memory, k, d + 1), least(memory, candidates.size(), n);
  ops.tables->column_moments(X.view(), {}, W.view(), mean.view(), variance.view());
  ops.rows->column_sums(X.view(), columns.view());
  ops.clusters->label_sums(X.view(), labels.view(), W.view(), by_label.view());
  totals.zero();
  if (n < 1000)
    ops.clusters->nearest_within(X.view(), candidates.view(), {}, W.view(), least.view(),
                                 totals.view());   // slow to emulate
  return {mean.to_host(), variance.to_host(), columns.to_host(), by_label.to_host(), totals.to_host()};
}

TEST(ExactSumsOfDevices, OpsForAnyNumberOfThreads) {
  const std::unique_ptr<Device> cpu = open_device("cpu"), gpu = make_cuda_device({.seed = 4});
  const int threads = omp_get_max_threads();
  for (const std::int64_t n : {700, 40000}) {
    const Sums expected = sums_of(*gpu, n);
    for (const int some : {1, 2, 5}) {
      omp_set_num_threads(some);
      const Sums sums = sums_of(*cpu, n);
      EXPECT_EQ(bits(sums.mean), bits(expected.mean)) << n;
      EXPECT_EQ(bits(sums.variance), bits(expected.variance)) << n;
      EXPECT_EQ(bits(sums.columns), bits(expected.columns)) << n;
      EXPECT_EQ(bits(sums.labels), bits(expected.labels)) << n;
      EXPECT_EQ(bits(sums.distances), bits(expected.distances)) << n;
    }
  }
  omp_set_num_threads(threads);
}

}   // namespace
}   // namespace kedge::engine
