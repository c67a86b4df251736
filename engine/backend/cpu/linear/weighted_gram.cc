// Weighted Gram matrices on the CPU: blocks of rows, scaled by the roots of their weights, multiplied while they are in the
// cache.
#include "engine/backend/cpu/linear/weighted_gram.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/linear/blas.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kPackEntries = std::int64_t{1} << 15;     // of scaled rows: they stay in the second-level cache
constexpr std::int64_t kPartialEntries = std::int64_t{1} << 22;  // doubles kept for partial sums, 32 MiB
constexpr std::int64_t kFewestGroupRows = 2048;
constexpr std::int64_t kMultipliesPerNs = 8;

template <class T>
KEDGE_CLONES void scale_row(const T* row, std::int64_t d, T factor, T* __restrict out) {
  for (std::int64_t j = 0; j < d; ++j) out[j] = row[j] * factor;
}

// The lower triangle of the sum over rows [begin, end), in double over packs.
template <class T>
void sum_group(MatrixView<const T> X, const double* w, std::int64_t w_stride, bool with_ones, std::int64_t begin,
               std::int64_t end, double* sums) {
  const std::int64_t d = X.cols, q = d + (with_ones ? 1 : 0), pack = std::clamp<std::int64_t>(kPackEntries / q, 64, 2048);
  std::vector<T> scaled(static_cast<std::size_t>(pack * q)), piece(static_cast<std::size_t>(q * q));
  for (std::int64_t first = begin; first < end; first += pack) {
    check_job_stop();
    const std::int64_t count = std::min(pack, end - first);
    for (std::int64_t i = 0; i < count; ++i) {
      const T factor = static_cast<T>(std::sqrt(w[(first + i) * w_stride]));
      scale_row(raw(X) + (first + i) * X.stride, d, factor, scaled.data() + i * q);
      if (with_ones) scaled[static_cast<std::size_t>(i * q + d)] = factor;
    }
    blas::syrk(q, count, scaled.data(), q, piece.data(), q);
    for (std::int64_t r = 0; r < q; ++r)
      for (std::int64_t c = 0; c <= r; ++c) sums[r * q + c] += static_cast<double>(piece[static_cast<std::size_t>(r * q + c)]);
  }
}

}  // namespace

template <class T>
void weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C) {
  const std::int64_t n = X.rows, q = X.cols + (with_ones ? 1 : 0),
                     most = std::max<std::int64_t>(1, kPartialEntries / std::max<std::int64_t>(1, W.cols * q * q));
  const std::int64_t group_rows = std::max(kFewestGroupRows, tiles_of(n, most)),
                     groups = std::max<std::int64_t>(1, tiles_of(n, group_rows));
  Ranks* const ranks = ranks_of_rows(n);
  const Part own = own_part(ranks, groups);
  std::vector<double> partial, total(static_cast<std::size_t>(W.cols * q * q));
  const auto sum_own = [&] {
    const std::int64_t tasks = own.size() * W.cols;
    partial.assign(static_cast<std::size_t>(tasks * q * q), 0.0);
    for_tiles(tasks, 1, n * q * q / 2 * W.cols / kMultipliesPerNs, [&](std::int64_t task, std::int64_t, std::int64_t) {
      const std::int64_t m = task % W.cols, begin = (own.begin + task / W.cols) * group_rows;
      sum_group(X, raw(W) + m, W.stride, with_ones, begin, std::min(n, begin + group_rows),
                partial.data() + task * q * q);
    });
    return Tables{partial.data(), own.size()};
  };
  add_tables_of_ranks(ranks, W.cols * q * q, sum_own, total.data());
  for_tiles(W.cols, 1, W.cols * q * q, [&](std::int64_t m, std::int64_t, std::int64_t) {
    for (std::int64_t r = 0; r < q; ++r)
      for (std::int64_t c = 0; c <= r; ++c)
        raw(C)[(m * q + r) * C.stride + c] = raw(C)[(m * q + c) * C.stride + r] =
            static_cast<T>(total[static_cast<std::size_t>((m * q + r) * q + c)]);
  });
}

template void weighted_gram(MatrixView<const float>, MatrixView<const double>, bool, MatrixView<float>);
template void weighted_gram(MatrixView<const double>, MatrixView<const double>, bool, MatrixView<double>);

}  // namespace kedge::engine
