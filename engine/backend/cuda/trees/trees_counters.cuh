// Counters in shared memory by which the tree kernels add up rows, and the kinds of rows that are added up.
#pragma once

#include "engine/backend/cuda/launch.cuh"
#include "engine/backend/cuda/trees/trees_device.h"

namespace kedge::engine {

// Threads of a block for a node, and for one of at least kBigNode rows; and of one that takes a node a thread.
inline constexpr int kSmallThreads = 64, kBigThreads = 512, kNodeThreads = 64;
inline constexpr std::int32_t kBigNode = 2048;
inline constexpr std::int32_t kBins = 256;

// Inclusive sums of `n` places by one warp; get(place) and set(place, sum).
template <class T, class Get, class Set>
__device__ void scan_places(int n, const Get& get, const Set& set) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  T carry = 0;
  for (int first = 0; first < n; first += 32) {
    T sum = get(first + lane);
    for (int step = 1; step < 32; step *= 2) {
      const T before = __shfl_up_sync(kFullWarp, sum, step);
      if (lane >= step) sum += before;
    }
    set(first + lane, sum + carry);
    carry += __shfl_sync(kFullWarp, sum, 31);
  }
}

// n_wide counters of 64 bits and n_narrow of 32, each for kPlaces places: bins, or one for each thread, which then needs no atomics.
// A wide one is two planes of words, as shared memory adds 32 bits at once only.
template <int kPlaces, int kThreads>
class Counters {
 public:
  static std::size_t bytes(std::int32_t n_wide, std::int32_t n_narrow) { return static_cast<std::size_t>(2 * n_wide + n_narrow) * kPlaces * 4; }
  __device__ Counters(std::uint32_t* words, std::int32_t n_wide, std::int32_t n_narrow) : words_(words), n_wide_(n_wide), n_narrow_(n_narrow) {}

  __device__ void clear() {
    for (std::int32_t i = static_cast<int>(threadIdx.x); i < (2 * n_wide_ + n_narrow_) * kPlaces; i += kThreads)
      words_[i] = 0;
    __syncthreads();
  }
  // The first `places` of each counter only, a multiple of 32.
  __device__ void clear(int places) {
    const int thread = static_cast<int>(threadIdx.x);
    for (std::int32_t c = thread / 32; c < 2 * n_wide_ + n_narrow_; c += kThreads / 32)
      for (int place = thread % 32; place < places; place += 32) words_[c * kPlaces + place] = 0;
    __syncthreads();
  }
  __device__ void add(std::int32_t counter, int place, std::uint32_t n) { add_word(plane(counter) + place, n); }
  __device__ void add_wide(std::int32_t counter, int place, std::int64_t n) {
    const auto low = static_cast<std::uint32_t>(n), before = add_word(wide_plane(counter) + place, low);
    const std::uint32_t high = static_cast<std::uint32_t>(n >> 32) + (before + low < low);
    if (high != 0) add_word(wide_plane(counter) + kPlaces + place, high);
  }
  __device__ std::int32_t at(std::int32_t counter, int place) const { return static_cast<std::int32_t>(plane(counter)[place]); }
  __device__ std::int64_t wide_at(std::int32_t counter, int place) const {
    const std::uint32_t* low = wide_plane(counter) + place;
    return static_cast<std::int64_t>(std::uint64_t{low[kPlaces]} << 32 | low[0]);
  }

  // Makes each of the first `places`, a multiple of 32, the sum of those up to it.
  __device__ void scan(int places = kPlaces) {
    __syncthreads();
    for (std::int32_t c = static_cast<int>(threadIdx.x) / 32; c < n_wide_ + n_narrow_; c += kThreads / 32) {
      if (c < n_wide_)
        scan_places<std::int64_t>(
            places, [&](int place) { return wide_at(c, place); },
            [&](int place, std::int64_t sum) {
              std::uint32_t* const low = wide_plane(c) + place;
              low[0] = static_cast<std::uint32_t>(sum), low[kPlaces] = static_cast<std::uint32_t>(sum >> 32);
            });
      else
        scan_places<std::int32_t>(
            places, [&](int place) { return at(c - n_wide_, place); },
            [&](int place, std::int32_t sum) { plane(c - n_wide_)[place] = static_cast<std::uint32_t>(sum); });
    }
    __syncthreads();
  }

 private:
  __device__ std::uint32_t* wide_plane(std::int32_t counter) const { return words_ + 2 * counter * kPlaces; }
  __device__ std::uint32_t* plane(std::int32_t counter) const { return words_ + (2 * n_wide_ + counter) * kPlaces; }
  __device__ static std::uint32_t add_word(std::uint32_t* word, std::uint32_t n) {
    if constexpr (kPlaces != kThreads) return atomicAdd(word, n);
    const std::uint32_t before = *word;
    *word = before + n;
    return before;
  }

  std::uint32_t* words_;
  std::int32_t n_wide_, n_narrow_;
};

template <class Total>
__device__ std::int64_t sum_of_classes(std::int32_t n_classes, const Total& total) {
  std::int64_t sum = 0;
  for (std::int32_t c = 0; c < n_classes; ++c) sum += total(c);
  return sum;
}

// The weight and the impurity of a node of classes; weight_of(c): what its rows of class c weigh.
template <class Weight>
KEDGE_HD NodeMeasure measure_classes(std::int32_t n_classes, bool entropy, const Weight& weight_of) {
  SideSum sum;
  for (std::int32_t c = 0; c < n_classes; ++c) sum.add(weight_of(c), entropy);
  return {0, node_impurity(sum, entropy), sum.weight};
}

// Each kind of rows says which counters they need, adds one, and judges the cut that leaves the rows of the places up
// to `place` on the left. `total` are the n_totals() sums of the node, which are the counters' but for the rows.
// class_weight() is what rows of a class weigh that sum up to `total`; weight() what a node weighs in the rows' unit.

// Rows of classes that count as often as they were drawn.
struct CountedKind {
  using Row = CountedRow;
  static constexpr bool kMeasured = false;
  std::int32_t n_classes;
  const double* of_class = nullptr;          // trees x n_classes, or null
  const double* min_weight_leaf = nullptr;   // by tree
  bool entropy = false;

  KEDGE_HD std::int32_t n_wide() const { return 0; }
  KEDGE_HD std::int32_t n_narrow() const { return n_classes + 1; }
  KEDGE_HD std::int32_t n_totals() const { return n_classes; }
  template <class C>
  __device__ void add(C& counters, int place, const Row& row) const {
    counters.add(row.cls, place, row.draws);
    counters.add(n_classes, place, 1);
  }
  template <class C>
  __device__ std::int32_t rows(const C& counters, int place) const { return counters.at(n_classes, place); }
  template <class C>
  __device__ std::int64_t sum(const C& counters, std::int32_t k, int place) const { return counters.at(k, place); }
  template <class C>
  __device__ double score(const C& counters, int place, const LevelNode& node, const std::int64_t* total) const {
    const double* const weights = of_class ? of_class + std::int64_t{node.tree} * n_classes : nullptr;
    return cut_score(CutRules{entropy, weights, min_weight_leaf[node.tree]}, n_classes, total, node.weight,
                     [&](std::int32_t c) { return counters.at(c, place); });
  }
  KEDGE_HD double class_weight(std::int32_t tree, std::int32_t c, std::int64_t total) const {
    return (of_class ? of_class[std::int64_t{tree} * n_classes + c] : 1.0) * static_cast<double>(total);
  }
  template <class Total>
  __device__ std::int64_t weight(const Total& total) const {
    return sum_of_classes(n_classes, total);
  }
  template <class Total>
  __device__ NodeMeasure measure(std::int32_t tree, const Total& total) const {
    return measure_classes(n_classes, entropy, [&](std::int32_t c) { return class_weight(tree, c, total(c)); });
  }
};

// Rows of classes with weights of their own.
struct WeighedKind {
  using Row = WeighedRow;
  static constexpr bool kMeasured = false;
  std::int32_t n_classes;
  const double* min_weight = nullptr;   // of a leaf, by tree
  const double* scale = nullptr;        // of the weights, by tree
  bool entropy = false;

  KEDGE_HD std::int32_t n_wide() const { return n_classes; }
  KEDGE_HD std::int32_t n_narrow() const { return 1; }
  KEDGE_HD std::int32_t n_totals() const { return n_classes; }
  template <class C>
  __device__ void add(C& counters, int place, const Row& row) const {
    counters.add_wide(row.cls, place, row.weight);
    counters.add(0, place, 1);
  }
  template <class C>
  __device__ std::int32_t rows(const C& counters, int place) const { return counters.at(0, place); }
  template <class C>
  __device__ std::int64_t sum(const C& counters, std::int32_t k, int place) const { return counters.wide_at(k, place); }
  template <class C>
  __device__ double score(const C& counters, int place, const LevelNode& node, const std::int64_t* total) const {
    return share_cut_score(entropy, min_weight[node.tree], n_classes, total, node.weight,
                           [&](std::int32_t c) { return counters.wide_at(c, place); });
  }
  KEDGE_HD double class_weight(std::int32_t tree, std::int32_t, std::int64_t total) const {
    return static_cast<double>(total) / scale[tree];
  }
  template <class Total>
  __device__ std::int64_t weight(const Total& total) const {
    return sum_of_classes(n_classes, total);
  }
  template <class Total>
  __device__ NodeMeasure measure(std::int32_t tree, const Total& total) const {
    return measure_classes(n_classes, entropy, [&](std::int32_t c) { return class_weight(tree, c, total(c)); });
  }
};

// Rows of values. totals: weight, weighted value.
struct SummedKind {
  using Row = SummedRow;
  static constexpr bool kMeasured = true;   // nodes need more than their sums
  const double* min_weight = nullptr;   // of a leaf, by tree
  bool poisson = false;

  KEDGE_HD std::int32_t n_wide() const { return 2; }
  KEDGE_HD std::int32_t n_narrow() const { return 1; }
  KEDGE_HD std::int32_t n_totals() const { return 2; }
  template <class C>
  __device__ void add(C& counters, int place, const Row& row) const {
    counters.add_wide(0, place, row.weight), counters.add_wide(1, place, row.sum);
    counters.add(0, place, 1);
  }
  template <class C>
  __device__ std::int32_t rows(const C& counters, int place) const { return counters.at(0, place); }
  template <class C>
  __device__ std::int64_t sum(const C& counters, std::int32_t k, int place) const { return counters.wide_at(k, place); }
  template <class C>
  __device__ double score(const C& counters, int place, const LevelNode& node, const std::int64_t* total) const {
    return value_cut_score(poisson, min_weight[node.tree], total[0], counters.wide_at(0, place), total[1], counters.wide_at(1, place));
  }
  template <class Total>
  __device__ std::int64_t weight(const Total& total) const {
    return total(0);
  }
};

// Shared memory of a kernel that adds up rows of this kind.
template <int kPlaces, class Kind>
std::size_t counter_bytes(const Kind& kind) {
  return Counters<kPlaces, kSmallThreads>::bytes(kind.n_wide(), kind.n_narrow());
}

}  // namespace kedge::engine
