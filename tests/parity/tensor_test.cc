// The bound of TensorError against products on the emulated tensor units, which cut as badly as it allows, and pairs as
// bits.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/cuda/neighbours/density_tensor.cuh"
#include "engine/backend/cuda/neighbours/density_tiles.cuh"
#include "engine/backend/distance.h"
#include "engine/backend/emulated/gpu_models.h"
#include "engine/core/rng.h"

namespace kedge::parity {
namespace {

using namespace engine;

constexpr int kTile = TensorPlaces::kTile;

template <int kParts>
__global__ void products_within(SplitRows rows, float* out) {
  KEDGE_DYNAMIC_SHARED(unsigned char, shared);
  float sums[4][4][4];
  TensorProducts<kParts> products(rows, 0, rows, shared);
  products.start(0, 1);
  products.next(sums);
  const int thread = static_cast<int>(threadIdx.x);
  for (int e = 0; e < TensorPlaces::kValues; ++e)
    out[TensorPlaces::row_of(thread, e) * kTile + TensorPlaces::column_of(thread, e)] = sums[e / 16][e / 4 % 4][e % 4];
}

// Of one kind of table: what the bound allows, and how much of it is used, at most, by any pair.
template <class T>
double largest_share_of_bound(int parts, std::int64_t d,
                              const std::function<double(std::int64_t, std::int64_t)>& value) {
  CudaRuntime gpu({.seed = 3});
  std::vector<T> host(static_cast<std::size_t>(kTile * d));
  std::vector<T> norms(kTile);
  for (std::int64_t i = 0; i < kTile; ++i) {
    double norm = 0;
    for (std::int64_t j = 0; j < d; ++j) {
      const T x = static_cast<T>(value(i, j));
      host[static_cast<std::size_t>(i * d + j)] = x;
      norm += static_cast<double>(x) * static_cast<double>(x);
    }
    norms[static_cast<std::size_t>(i)] = static_cast<T>(norm);
  }
  const Array<T> table(gpu, host), device_norms(gpu, norms);
  const SplitTable<T> split(gpu, {table.data(), kTile, d}, raw(device_norms));
  Array<float> out(gpu, kTile * kTile);
  if (parts == 1)
    KEDGE_LAUNCH(gpu, products_within<1>, 1, SplitRows::kThreads, kTensorTileBytes, split.rows(), raw(out));
  else KEDGE_LAUNCH(gpu, products_within<2>, 1, SplitRows::kThreads, kTensorTileBytes, split.rows(), raw(out));
  const std::vector<float> dots = out.to_host();
  const TensorError error = TensorError::of(parts, d);
  double most = 0;
  for (std::int64_t i = 0; i < kTile; ++i)
    for (std::int64_t j = 0; j < kTile; ++j) {
      double exact = 0;
      for (std::int64_t c = 0; c < d; ++c) {
        const double difference = static_cast<double>(host[static_cast<std::size_t>(i * d + c)]) -
                                  static_cast<double>(host[static_cast<std::size_t>(j * d + c)]);
        exact += difference * difference;
      }
      const double both = static_cast<double>(norms[static_cast<std::size_t>(i)]) +
                          static_cast<double>(norms[static_cast<std::size_t>(j)]);
      const double score = both - 2 * static_cast<double>(dots[static_cast<std::size_t>(i * kTile + j)]);
      const double bound = static_cast<double>(error.share) * both + static_cast<double>(error.least);
      most = std::max(most, std::fabs(score - exact) / bound);
    }
  return most;
}

template <class T>
void expect_within_bound() {
  PhiloxStream random(7, 7);
  const auto uniform = [&](std::int64_t, std::int64_t) { return 0.5 + random.uniform(); };   // every cut has one sign
  const auto around_zero = [&](std::int64_t, std::int64_t) { return random.uniform() - 0.5; };
  const auto falling = [](std::int64_t i, std::int64_t j) {
    return std::ldexp(1.0 + static_cast<double>(i) / 977, -static_cast<int>(j % 40));
  };
  const auto tiny = [&](std::int64_t, std::int64_t) { return std::ldexp(random.uniform(), -70); };
  for (const int parts : {1, 2})
    for (const std::int64_t d : {1, 17, 40, 515}) {
      for (const auto& value :
           std::vector<std::function<double(std::int64_t, std::int64_t)>>{uniform, around_zero, falling, tiny})
        EXPECT_LE((largest_share_of_bound<T>(parts, d, value)), 1) << parts << " parts, " << d << " columns";
    }
}

TEST(TensorUnits, LeaveNoMoreUncertainThanTheBoundSays) {
  expect_within_bound<float>();
  expect_within_bound<double>();
}

// A bound that was far too wide would send most pairs to exact distances.
TEST(TensorUnits, ReachAGoodPartOfTheBound) {
  PhiloxStream random(7, 8);
  const auto uniform = [&](std::int64_t, std::int64_t) { return 0.5 + random.uniform(); };
  EXPECT_GT((largest_share_of_bound<float>(1, 1, uniform)), 1.0 / 8);      // rounding of the parts
  EXPECT_GT((largest_share_of_bound<float>(2, 515, uniform)), 1.0 / 64);   // cut addends
}

// What a device finds: nearest neighbours, their distances, DBSCAN's core points and components.
template <class T>
struct FoundBy {
  std::vector<std::int32_t> neighbours, components;
  std::vector<T> distances;
  std::vector<std::uint8_t> core;
  friend bool operator==(const FoundBy&, const FoundBy&) = default;
};

template <class T>
FoundBy<T> found_by(const char* model, std::int64_t cols, double limit) {
  constexpr std::int64_t kRows = 300, kQueries = 40;
  constexpr int kNeighbours = 7;
  const auto device = make_cuda_device({.seed = 5, .model = &emulated::gpu_model(model)});
  Memory& memory = device->memory();
  std::vector<T> host(static_cast<std::size_t>(kRows * cols));
  PhiloxStream random(7, 9);
  for (T& value : host) value = static_cast<T>(random.uniform());
  const Matrix<T> points(memory, kRows, cols, host);
  Matrix<std::int32_t> indices(memory, kQueries, kNeighbours);
  Matrix<T> squared(memory, kQueries, kNeighbours);
  const auto& ops = device->ops<T>();
  ops.neighbours->nearest(points.view().row_range(0, kQueries), points.view(), kNeighbours, indices.view(),
                          squared.view());
  Array<std::uint8_t> core(memory, kRows);
  Array<std::int32_t> components(memory, kRows);
  ops.distances->index_points(points.view(), Distance{})
      ->density_components(limit, 3, {}, core.view(), components.view());
  return {indices.to_host(), components.to_host(), squared.to_host(), core.to_host()};
}

TEST(TensorUnits, FindWhatDevicesWithoutThemFind) {
  EXPECT_EQ(found_by<float>("H100", 36, 2.15), found_by<float>("T4", 36, 2.15));
  EXPECT_EQ(found_by<double>("H100", 36, 2.15), found_by<double>("T4", 36, 2.15));
}

// From few neighbours to all pairs, which limits of any size decide, infinity too.
TEST(TensorUnits, FindTheSameOfFewColumnsWithinAnyLimit) {
  for (const double limit : {0.3, 0.7, 2.0, 13.0, 1e300, std::numeric_limits<double>::infinity()}) {
    const FoundBy<float> found = found_by<float>("H100", 12, limit);
    EXPECT_EQ(found, found_by<float>("T4", 12, limit)) << limit;
    EXPECT_EQ(found_by<double>("H100", 12, limit), found_by<double>("T4", 12, limit)) << limit;
    if (limit > 12) EXPECT_EQ(found.components, std::vector<std::int32_t>(found.components.size(), 0)) << limit;
  }
}

// The bits of a thread's rows and columns are those of its pairs, and the lanes that follow one another share rows.
template <class Places>
void expect_bits_of_pairs() {
  using Word = typename Places::Word;
  constexpr WordBits<Places> bits;
  for (int thread = 0; thread < 256; ++thread)
    for (int r = 0; r < Places::kRows; ++r)
      for (int c = 0; c < Places::kColumns; ++c) {
        const int e = Places::bit_of(r, c), first = thread / Places::kLanesAcross * Places::kLanesAcross;
        EXPECT_EQ(bits.rows[r] & bits.columns[c], Word{1} << e);
        EXPECT_EQ(Places::row_of(thread, e), tile_row<Places>(first, r));
        EXPECT_EQ(Places::column_of(thread, e),
                  tile_column<Places>(thread - thread % kLanes + thread % Places::kLanesAcross, c));
      }
}

TEST(PairBits, LieWhereTheirPairsAre) {
  expect_bits_of_pairs<TensorPlaces>();
  expect_bits_of_pairs<MicroPlaces<float>>();
  expect_bits_of_pairs<MicroPlaces<double>>();
}

// A block's hits, a chosen few of them, counted by words and one by one.
template <class Places>
__global__ void counted_words(const typename Places::Word* words, std::int32_t* counts) {
  __shared__ std::int32_t shared[2 * SplitRows::kTile];
  for (int i = static_cast<int>(threadIdx.x); i < 2 * Places::kTile; i += 256) shared[i] = 0;
  __syncthreads();
  count_hits<Places>(words[threadIdx.x], shared);
  __syncthreads();
  bring_counts(shared, 2 * Places::kTile, counts);
}

template <class Places>
void expect_counts_of_words() {
  CudaRuntime gpu({.seed = 4});
  PhiloxStream random(7, 10);
  for (const double share : {0.0, 0.01, 0.5, 1.0}) {
    std::vector<typename Places::Word> words(256);
    std::vector<std::int32_t> expected(2 * Places::kTile);
    for (int thread = 0; thread < 256; ++thread)
      for (int e = 0; e < Places::kValues; ++e) {
        if (random.uniform() >= share) continue;
        auto& word = words[static_cast<std::size_t>(thread)];
        word = static_cast<typename Places::Word>(word | typename Places::Word{1} << e);
        ++expected[static_cast<std::size_t>(Places::row_of(thread, e))];
        ++expected[static_cast<std::size_t>(Places::kTile + Places::column_of(thread, e))];
      }
    const Array<typename Places::Word> given(gpu, words);
    Array<std::int32_t> counts(gpu, 2 * Places::kTile);
    counts.zero();
    KEDGE_LAUNCH(gpu, counted_words<Places>, 1, 256, 0, given.data(), counts.data());
    EXPECT_EQ(counts.to_host(), expected) << share;
  }
}

TEST(PairBits, AreCountedByRowAndColumn) {
  expect_counts_of_words<TensorPlaces>();
  expect_counts_of_words<MicroPlaces<float>>();
  expect_counts_of_words<MicroPlaces<double>>();
}

}   // namespace
}   // namespace kedge::parity
