// The rows of a logistic loss, in vectors of rows: see logistic_rows.h. Compiled with fused multiply-adds.
#include "engine/backend/cpu/linear/logistic_rows.h"

#include <algorithm>
#include <memory>

#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr int kSideBySide = 8;   // rows of margins at a time: one vector of doubles

using LaneOfRows = double[kSideBySide];

// What the rows side by side have of their own.
struct RowSums {
  LaneOfRows top, sum, log_sum;   // the largest margin; of exp(margin - top)
};

// exp(margin - top) in place of k margins of each row.
KEDGE_CLONES void exponentials(LaneOfRows* __restrict margins, std::int64_t k, RowSums& rows) {
  LaneOfRows top, sum = {};
  for (int r = 0; r < kSideBySide; ++r) top[r] = margins[0][r];
  for (std::int64_t c = 1; c < k; ++c)
    for (int r = 0; r < kSideBySide; ++r) top[r] = margins[c][r] > top[r] ? margins[c][r] : top[r];
  for (std::int64_t c = 0; c < k; ++c)
    for (int r = 0; r < kSideBySide; ++r) margins[c][r] = vector_exp(margins[c][r] - top[r]), sum[r] += margins[c][r];
  for (int r = 0; r < kSideBySide; ++r) rows.top[r] = top[r], rows.sum[r] = sum[r], rows.log_sum[r] = vector_log(sum[r]);
}

}  // namespace

template <class T>
double logistic_rows(MatrixView<T> Z, const T* intercepts, const std::int32_t* y, const double* weights, std::int64_t begin, std::int64_t end) {
  const auto margins = std::make_unique<LaneOfRows[]>(static_cast<std::size_t>(Z.cols));
  double loss = 0;
  for (std::int64_t first = begin; first < end; first += kSideBySide) {
    const int count = static_cast<int>(std::min<std::int64_t>(kSideBySide, end - first));
    for (int r = 0; r < count; ++r) {
      const T* const z = raw(Z) + (first + r) * Z.stride;
      for (std::int64_t c = 0; c < Z.cols; ++c) margins[c][r] = static_cast<double>(intercepts ? z[c] + intercepts[c] : z[c]);
    }
    LaneOfRows own;
    for (int r = 0; r < count; ++r) own[r] = margins[y[first + r]][r];
    RowSums rows;
    exponentials(margins.get(), Z.cols, rows);
    for (int r = 0; r < count; ++r) {
      T* const z = raw(Z) + (first + r) * Z.stride;
      const double weight = weights ? weights[first + r] : 1.0, share = weight / rows.sum[r];
      for (std::int64_t c = 0; c < Z.cols; ++c) z[c] = static_cast<T>(margins[c][r] * share);
      const std::int32_t at = y[first + r];
      z[at] = static_cast<T>(margins[at][r] * share - weight);
      loss += weight * (rows.log_sum[r] - (own[r] - rows.top[r]));
    }
  }
  return loss;
}

template double logistic_rows(MatrixView<float>, const float*, const std::int32_t*, const double*, std::int64_t, std::int64_t);
template double logistic_rows(MatrixView<double>, const double*, const std::int32_t*, const double*, std::int64_t, std::int64_t);

}  // namespace kedge::engine
