// Tensor units on the emulator: see tensor.h.
#include "engine/backend/emulated/tensor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace kedge::engine::emulated {
namespace {

constexpr unsigned kWarp = 32, kMostThreads = 1024;
constexpr int kProducts = 16, kKeptBits = 23;

// What the lanes of each warp have brought along. One kernel runs at a time in the process (Emulator::launch()).
struct Fragments {
  unsigned a[4], b[2];
};
std::array<Fragments, kMostThreads> brought;

double value_of(unsigned pair, int which) {
  return static_cast<double>(std::bit_cast<float>(which == 0 ? pair << 16 : pair & 0xffff0000u));
}

void meet_warp(int line) {   // a vote, which orders no memory
  running->meet({.kind = Meeting::Kind::kBallot, .file = __FILE__, .line = line, .mask = ~0u});
}

// The sum of addends, each cut to 2^-23 of the largest one's power of two.
float cut_sum(const double* addends, int n) {
  double largest = 0;
  bool is_finite = true;
  for (int i = 0; i < n; ++i) {
    largest = std::max(largest, std::fabs(addends[i]));
    is_finite = is_finite && std::isfinite(addends[i]);
  }
  double sum = 0;
  if (!is_finite) {
    for (int i = 0; i < n; ++i) sum += addends[i];
    return static_cast<float>(sum);
  }
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest);
  const double unit = std::ldexp(1.0, std::max(exponent - kKeptBits, -1000)), per_unit = 1 / unit;
  for (int i = 0; i < n; ++i) sum += static_cast<double>(static_cast<std::int64_t>(addends[i] * per_unit));
  sum *= unit;
  const auto rounded = static_cast<float>(sum);   // to nearest; hardware cuts
  return std::fabs(static_cast<double>(rounded)) > std::fabs(sum) ? std::nextafterf(rounded, 0) : rounded;
}

}   // namespace

void multiply_fragments(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const unsigned rank = running->fiber().rank, lane = rank % kWarp;
  Fragments* const warp = &brought[rank - lane];
  std::copy(std::begin(a), std::end(a), warp[lane].a);
  std::copy(std::begin(b), std::end(b), warp[lane].b);
  meet_warp(__LINE__);
  tensor_operations += 2.0 * 4 * kProducts;   // of this lane
  const unsigned group = lane / 4, place = lane % 4;
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned lower = e / 2, column = 2 * place + e % 2;   // row group + 8 lower of the 16
    double addends[kProducts + 1];
    for (unsigned k = 0; k < kProducts; ++k) {
      const unsigned holder = k % 8 / 2, upper = k / 8;
      addends[k] = value_of(warp[4 * group + holder].a[2 * upper + lower], static_cast<int>(k % 2)) *
                   value_of(warp[4 * column + holder].b[upper], static_cast<int>(k % 2));
    }
    addends[kProducts] = static_cast<double>(sum[e]);
    sum[e] = cut_sum(addends, kProducts + 1);
  }
  meet_warp(__LINE__);   // all have read before the next ones are brought
}

LateSharedCopies& running_copies() {   // on the heap: what watches takes the program's variables for shared memory
  static std::vector<LateSharedCopies> copies(kMostThreads);
  return copies[running->fiber().rank];
}

}   // namespace kedge::engine::emulated
