// Tiles of products of rows on tensor units: rows in parts of bfloat16, their norms, and a proven bound on what that
// leaves uncertain of a squared distance.
#pragma once

#include <cmath>
#include <limits>

#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/tensor.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {

// Centred rows x, each as high + low, both bfloat16: |high - x| <= 2^-8 |x|, |high + low - x| <= 2^-16 |x|. Tiles of
// kTile rows, kStep columns at a time, lie one after the other: what a block copies at once is side by side. Rows and
// columns beyond the ends are 0.
struct SplitRows {
  static constexpr int kTile = 128, kStep = 16, kThreads = 256;
  static constexpr int kPieceBytes = kTile * kStep * 2;   // of one part
  static constexpr std::int64_t kMostColumns = 4096;      // the bound's constants hold up to here
  const unsigned char *high, *low;                        // tiles x steps x kPieceBytes
  const float* half_norms;   // tiles x kTile, halves of squared norms; NaN: beyond what the bound holds for; infinity:
                             // beyond the end
  const int* beyond;         // not 0: some norms are NaN
  std::int64_t steps;
};

inline std::int64_t split_steps(std::int64_t columns) {
  return (columns + SplitRows::kStep - 1) / SplitRows::kStep;
}

// What tensor units leave uncertain. s = |q|^2 + |p|^2 - 2 q.p is computed from `parts` bfloat16 of each value; the
// squared distance that is computed in double from the rows as given is within
//
//   share (|q|^2 + |p|^2) + least
//
// of s, for squared norms of at most 2^100 and at most 4096 columns. With S = sum |q_j p_j| <= |q| |p| <= (|q|^2 +
// |p|^2) / 2:
// 1. Operands. Of one part: |q p - high high| <= (2 2^-8 + 2^-16) |q p|. Of two, three products are added, high low,
//    low high and high high: 2 2^-16 for the parts, 2^-16 for low low, which is left out, and 2^-32. Doubles are
//    rounded to float first, which is in the factor 1.01.
// 2. Addition. Products are exact. What is added at once is cut, each addend to 2^-23 of the largest at least, in
//    blocks of 4, 8 or 16 products and the sum before them (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of
//    NVIDIA tensor cores, 2021; PTX promises no more). 16 products are at most 4 blocks of 5 addends and one result: 24
//    cuts, each at most 2^-23 of a sum that is at most 1.01 S.
// 3. Float elsewhere: norms, their halves times (1 -+ share), and two additions of sizes of at most 2 (|q|^2 + |p|^2)
//    each 2^-24; centring, 2^-24 of each coordinate, so 2^-22 (|q|^2 + |p|^2). Together 11 2^-24; 16 are used.
// 4. Rounding of the exact distance itself: (d / 16 + 16) 2^-53 of at most 2 (|q|^2 + |p|^2).
// 5. Underflow. Values, products and sums below 2^-126 may become 0: at most 2^-126 (|q_j| + |p_j| + 6) a column, and
//    |q_j| <= 1 + |q|^2. `least` and 2^-100 in the share are beyond that.
struct TensorError {
  float share, least;

  static TensorError of(int parts, std::int64_t columns) {
    const auto d = static_cast<double>(columns);
    const double operands = parts == 1 ? 0x1p-7 + 0x1p-16 : 3 * 0x1p-16 + 0x1p-32;
    const double cuts = static_cast<double>(split_steps(columns)) * (parts == 1 ? 1 : 3) * 24 * 0x1p-23;
    const double share = 1.01 * (operands + 1.01 * cuts) + 16 * 0x1p-24 + 2 * (d / 16 + 16) * 0x1p-53 + 0x1p-100;
    return {static_cast<float>(share), static_cast<float>(0x1p-120 * (d + 16))};
  }
};

// The upper half of a float's bits, rounded to nearest: bfloat16.
__device__ inline unsigned bfloat_bits(float value) {
  const unsigned bits = __float_as_uint(value);
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

// One thread for eight columns of a row, in the order in which they lie.
template <class T>
__global__ void split_rows(MatrixView<const T> centred, std::int64_t steps, std::int64_t pieces, unsigned char* high,
                           unsigned char* low) {
  const std::int64_t item = own_item();
  if (item >= pieces) return;
  const std::int64_t step = item / (2 * SplitRows::kTile) % steps,
                     row = item / (2 * SplitRows::kTile) / steps * SplitRows::kTile + item / 2 % SplitRows::kTile,
                     col = step * SplitRows::kStep + item % 2 * 8;
  FourValues<unsigned> upper, lower;
  KEDGE_UNROLL
  for (int e = 0; e < 4; ++e) upper.values[e] = lower.values[e] = 0;
  KEDGE_UNROLL
  for (int e = 0; e < 8; ++e) {
    if (row >= centred.rows || col + e >= centred.cols) continue;
    const T value = raw(centred)[row * centred.stride + col + e];
    const unsigned bits = bfloat_bits(static_cast<float>(value));
    const T rest = value - static_cast<T>(__uint_as_float(bits << 16));
    upper.values[e / 2] |= bits << (16 * (e % 2));
    lower.values[e / 2] |= bfloat_bits(static_cast<float>(rest)) << (16 * (e % 2));
  }
  put_four(reinterpret_cast<unsigned*>(high) + 4 * item, upper);
  put_four(reinterpret_cast<unsigned*>(low) + 4 * item, lower);
}

template <class T>
__global__ void halve_norms(const T* norms, std::int64_t n, std::int64_t padded, float* half_norms, int* beyond,
                            float infinity) {
  const std::int64_t i = own_item();
  if (i >= padded) return;
  float half = infinity;
  if (i < n) half = norms[i] <= static_cast<T>(0x1p100) ? static_cast<float>(norms[i] / 2) : infinity - infinity;
  half_norms[i] = half;
  if (half != half) atomicOr(beyond, 1);
}

// Which products of a pair of tiles a thread has: 4 x 4 fragments of 16 x 8, each warp a part of 64 x 32.
struct TensorPlaces {
  static constexpr int kTile = SplitRows::kTile, kValues = 64;
  static constexpr int kRows = 8, kColumns = 8, kLanesAcross = 4;   // of a thread; lanes that share their rows
  using Word = unsigned long long;                                  // a bit a value
  static constexpr int bit_of(int r, int c) { return 16 * (r / 2) + 2 * (r % 2) + 4 * (c / 2) + c % 2; }
  __device__ static int row_of(int thread, int e) {
    return thread / 128 * 64 + e / 16 * 16 + thread % 32 / 4 + e % 4 / 2 * 8;
  }
  __device__ static int column_of(int thread, int e) {
    return thread / 32 % 4 * 32 + e / 4 % 4 * 8 + thread % 4 * 2 + e % 2;
  }
};

struct alignas(8) TwoWords {
  unsigned values[2];
};

inline constexpr std::size_t kTensorTileBytes = 64 * 1024;   // of shared memory

// The products of one tile of rows with tiles that follow one another, from kParts of each value. What is multiplied
// next, of the next tile too, is copied meanwhile. All threads of the block call start() and next().
template <int kParts>
class TensorProducts {
 public:
  __device__ TensorProducts(const SplitRows& left, std::int64_t tile, const SplitRows& right, unsigned char* shared)
      : left_(left), right_(right), tile_(tile), shared_(shared) {}

  // Of tiles [first, last). Whatever another one has begun in `shared` is over.
  __device__ void start(std::int64_t first, std::int64_t last) {
    await_copies<0>();
    __syncthreads();
    from_ = first, end_ = last, step_ = 0, filled_ = 0, used_ = 0;
    for (int s = 0; s < kStages - 1; ++s) fetch();
  }

  // sums: this thread's of the next tile.
  __device__ void next(float (&sums)[4][4][4]) {
    KEDGE_UNROLL
    for (int e = 0; e < 64; ++e) sums[e / 16][e / 4 % 4][e % 4] = 0;
    for (int step = 0; step < static_cast<int>(left_.steps); step += kDeep) {
      await_copies<kStages - 2>();
      __syncthreads();   // all see this stage, and have done with the one that is filled now
      fetch();
      const unsigned char* const stage = shared_ + used_ * kStageBytes;
      multiply(stage, sums);
      if (step + 1 < static_cast<int>(left_.steps)) multiply(stage + SplitRows::kPieceBytes, sums);
      used_ = (used_ + 1) % kStages;
    }
  }

 private:
  static constexpr int kDeep = 2;   // steps of a stage
  static constexpr int kPlanes = 2 * kParts, kPlaneBytes = kDeep * SplitRows::kPieceBytes,
                       kStageBytes = kPlanes * kPlaneBytes, kStages = static_cast<int>(kTensorTileBytes) / kStageBytes;

  // Starts the copies of the next stage, if there is one: of each part the left tile's steps, then the right one's.
  __device__ void fetch() {
    if (from_ < end_) {
      const int steps = static_cast<int>(left_.steps);
      const std::int64_t mine = 16 * static_cast<std::int64_t>(threadIdx.x);
      unsigned char* const stage = shared_ + filled_ * kStageBytes + mine;
      const std::int64_t left = (tile_ * steps + step_) * SplitRows::kPieceBytes + mine,
                         right = (from_ * steps + step_) * SplitRows::kPieceBytes + mine;
      KEDGE_UNROLL
      for (int part = 0; part < kParts; ++part) {
        KEDGE_UNROLL
        for (int deep = 0; deep < kDeep; ++deep) {
          if (step_ + deep >= steps) continue;
          const int at = deep * SplitRows::kPieceBytes;
          copy_ahead(stage + 2 * part * kPlaneBytes + at, (part == 0 ? left_.high : left_.low) + left + at);
          copy_ahead(stage + (2 * part + 1) * kPlaneBytes + at, (part == 0 ? right_.high : right_.low) + right + at);
        }
      }
      step_ += kDeep;
      if (step_ >= steps) step_ = 0, ++from_;
      filled_ = (filled_ + 1) % kStages;
    }
    end_copy_group();
  }

  // Four columns of a lane's row, as the halves of a fragment's 16; both sides take them in the same order.
  __device__ static const TwoWords& words(const unsigned char* stage, int plane, int row) {
    return *reinterpret_cast<const TwoWords*>(stage + plane * kPlaneBytes + row * (2 * SplitRows::kStep) +
                                              static_cast<int>(threadIdx.x) % 4 * 8);
  }

  __device__ static void multiply(const unsigned char* stage, float (&sums)[4][4][4]) {
    const int thread = static_cast<int>(threadIdx.x);
    unsigned right[kParts][4][2];
    KEDGE_UNROLL
    for (int part = 0; part < kParts; ++part) {
      KEDGE_UNROLL
      for (int n = 0; n < 4; ++n) {
        const TwoWords two = words(stage, 2 * part + 1, thread / 32 % 4 * 32 + n * 8 + thread % 32 / 4);
        right[part][n][0] = two.values[0], right[part][n][1] = two.values[1];
      }
    }
    KEDGE_UNROLL
    for (int m = 0; m < 4; ++m) {
      unsigned left[kParts][4];
      KEDGE_UNROLL
      for (int part = 0; part < kParts; ++part) {
        const int row = thread / 128 * 64 + m * 16 + thread % 32 / 4;
        const TwoWords upper = words(stage, 2 * part, row), lower = words(stage, 2 * part, row + 8);
        left[part][0] = upper.values[0], left[part][2] = upper.values[1];
        left[part][1] = lower.values[0], left[part][3] = lower.values[1];
      }
      if constexpr (kParts == 2) {
        KEDGE_UNROLL
        for (int n = 0; n < 4; ++n) multiply_fragments(sums[m][n], left[1], right[0][n]);
        KEDGE_UNROLL
        for (int n = 0; n < 4; ++n) multiply_fragments(sums[m][n], left[0], right[1][n]);
      }
      KEDGE_UNROLL
      for (int n = 0; n < 4; ++n) multiply_fragments(sums[m][n], left[0], right[0][n]);
    }
  }

  const SplitRows &left_, &right_;   // of the kernel's parameters
  std::int64_t tile_, from_ = 0, end_ = 0;
  unsigned char* shared_;
  int step_ = 0, filled_ = 0, used_ = 0;   // where copies have come to; stages of the ring
};

// The parts and norms of centred rows, on the host's side.
template <class T>
class SplitTable {
 public:
  SplitTable() = default;
  SplitTable(CudaRuntime& gpu, MatrixView<const T> centred, const T* norms)
      : steps_(split_steps(centred.cols)), tiles_((centred.rows + SplitRows::kTile - 1) / SplitRows::kTile) {
    const std::int64_t bytes = tiles_ * steps_ * SplitRows::kPieceBytes, padded = tiles_ * SplitRows::kTile;
    high_ = Array<unsigned char>(gpu, bytes), low_ = Array<unsigned char>(gpu, bytes);
    half_norms_ = Array<float>(gpu, padded), beyond_ = Array<int>(gpu, 1);
    beyond_.zero();
    KEDGE_LAUNCH(gpu, split_rows<T>, blocks_for(bytes / 16, SplitRows::kThreads), SplitRows::kThreads, 0, centred,
                 steps_, bytes / 16, high_.data(), low_.data());
    KEDGE_LAUNCH(gpu, halve_norms<T>, blocks_for(padded, SplitRows::kThreads), SplitRows::kThreads, 0, norms,
                 centred.rows, padded, half_norms_.data(), beyond_.data(), std::numeric_limits<float>::infinity());
  }
  SplitRows rows() const { return {raw(high_), raw(low_), raw(half_norms_), raw(beyond_), steps_}; }
  std::int64_t tiles() const { return tiles_; }

 private:
  std::int64_t steps_ = 0, tiles_ = 0;
  Array<unsigned char> high_, low_;
  Array<float> half_norms_;
  Array<int> beyond_;
};

}   // namespace kedge::engine
