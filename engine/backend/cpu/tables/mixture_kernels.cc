// The inner loops of mixtures. Compiled with fused multiply-adds; each row is computed alone, so that vectors of any
// width give the same bits.
#include "engine/backend/cpu/tables/mixture_kernels.h"

#include <algorithm>
#include <cstring>

#include "engine/backend/simd.h"

#define KEDGE_INLINE inline __attribute__((always_inline))

namespace kedge::engine {
namespace {

using Four __attribute__((vector_size(32))) = double;
constexpr int kParts = kStripRows / 4, kSide = 4;

KEDGE_INLINE void load(const double* from, Four& v) {
  std::memcpy(&v, from, sizeof v);
}
KEDGE_INLINE void store(const Four& v, double* to) {
  std::memcpy(to, &v, sizeof v);
}

// Four rows of M x for a strip, from sums that are there.
KEDGE_INLINE const double* multiply_side(const double* m, std::int64_t cols, const double* x,
                                         Four (&sums)[kSide * kParts]) {
  for (std::int64_t j = 0; j < cols; ++j, m += kSide, x += kStripRows) {
    Four own[kParts];
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) load(x + 4 * p, own[p]);
#pragma GCC unroll 4
    for (int s = 0; s < kSide; ++s)
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) sums[s * kParts + p] += m[s] * own[p];
  }
  return m;
}

KEDGE_CLONES void exponentials(double* __restrict z, const double* __restrict top, double* __restrict sums,
                               double* __restrict products) {
  for (std::int64_t r = 0; r < kMixtureTile; ++r) {
    const double u = z[r] - top[r], e = vector_exp(u);
    z[r] = e, sums[r] += e, products[r] += e > 0 ? e * u : 0.0;
  }
}

// Row by row x[a] x[0 .. a], then the next a; a row of out has what it needs behind it for whole vectors. Rows are the
// inner loop, so that those of vectors have one length for long.
KEDGE_INLINE void make_products(const double* x, std::int64_t x_stride, std::int64_t count, std::int64_t q,
                                std::int64_t stride, double* out) {
  for (std::int64_t a = 0; a < q; out += ++a)
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t b = 0; b <= a; b += 4) {   // up to three numbers beyond a, which the next a replaces
        Four v;
        load(x + i * x_stride + b, v);
        store(x[i * x_stride + a] * v, out + i * stride + b);
      }
}

}   // namespace

std::vector<double> packed_factor(const double* factor, std::int64_t d) {
  std::vector<double> packed;
  for (std::int64_t i = 0; i < d; i += kSide)
    for (std::int64_t j = 0; j < std::min(d, i + kSide); ++j)
      for (std::int64_t s = i; s < i + kSide; ++s) packed.push_back(s < d && j <= s ? factor[s * d + j] : 0.0);
  return packed;
}

std::vector<double> padded_to_four(const double* values, std::int64_t d) {
  std::vector<double> padded(values, values + d);
  padded.resize(static_cast<std::size_t>((d + kSide - 1) / kSide * kSide), 0.0);
  return padded;
}

void make_strips(const double* rows, std::int64_t stride, std::int64_t count, std::int64_t d, double* strips) {
  for (std::int64_t first = 0; first < count; first += kStripRows, strips += d * kStripRows) {
    const std::int64_t own = std::min(kStripRows, count - first);
    if (own < kStripRows) std::fill_n(strips, d * kStripRows, 0.0);
    for (std::int64_t r = 0; r < own; ++r)
      for (std::int64_t j = 0; j < d; ++j) strips[j * kStripRows + r] = rows[(first + r) * stride + j];
  }
}

KEDGE_CLONES void factor_distances(const double* packed, const double* offset, std::int64_t d, const double* strips,
                                   std::int64_t n, double* out) {
  for (std::int64_t t = 0; t < n; ++t, strips += d * kStripRows, out += kStripRows) {
    const double* m = packed;
    Four total[kParts] = {};
    for (std::int64_t i = 0; i < d; i += kSide) {
      Four sums[kSide * kParts];
#pragma GCC unroll 16
      for (int e = 0; e < kSide * kParts; ++e) sums[e] = Four{} - offset[i + e / kParts];
      m = multiply_side(m, i + kSide < d ? i + kSide : d, strips, sums);
#pragma GCC unroll 16
      for (int e = 0; e < kSide * kParts; ++e) total[e % kParts] += sums[e] * sums[e];
    }
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) store(total[p], out + 4 * p);
  }
}

KEDGE_CLONES void apply_factor(const double* packed, std::int64_t d, const double* strips, std::int64_t n,
                               double* out) {
  for (std::int64_t t = 0; t < n; ++t, strips += d * kStripRows) {
    const double* m = packed;
    for (std::int64_t i = 0; i < d; i += kSide, out += kSide * kStripRows) {
      Four sums[kSide * kParts] = {};
      m = multiply_side(m, i + kSide < d ? i + kSide : d, strips, sums);
#pragma GCC unroll 16
      for (int e = 0; e < kSide * kParts; ++e) store(sums[e], out + 4 * e);
    }
  }
}

KEDGE_CLONES void diagonal_distances(const double* factor, const double* offset, std::int64_t d, const double* strips,
                                     std::int64_t stride, std::int64_t n, double* out) {
  for (std::int64_t t = 0; t < n; ++t, strips += stride * kStripRows, out += kStripRows) {
    Four total[kParts] = {};
    for (std::int64_t j = 0; j < d; ++j) {
      const double scale = factor ? factor[j] : 1.0;
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        Four x;
        load(strips + j * kStripRows + 4 * p, x);
        x = scale * x - offset[j];
        total[p] += x * x;
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) store(total[p], out + 4 * p);
  }
}

KEDGE_CLONES void share_tile(const double* constants, std::int64_t components, double* tile, double* log_densities,
                             double* entropies) {
  alignas(64) double top[kMixtureTile], sums[kMixtureTile] = {}, products[kMixtureTile] = {};
  for (std::int64_t k = 0; k < components; ++k) {
    double* const z = tile + k * kMixtureTile;
    for (std::int64_t r = 0; r < kMixtureTile; ++r) z[r] = constants[k] - 0.5 * z[r];
    for (std::int64_t r = 0; r < kMixtureTile; ++r) top[r] = k == 0 || z[r] > top[r] ? z[r] : top[r];
  }
  for (std::int64_t k = 0; k < components; ++k) exponentials(tile + k * kMixtureTile, top, sums, products);
  for (std::int64_t r = 0; r < kMixtureTile; ++r) {
    const double log_sum = vector_log(sums[r]);
    log_densities[r] = top[r] + log_sum;
    entropies[r] = log_sum - products[r] / sums[r];
  }
  for (std::int64_t k = 0; k < components; ++k)
    for (std::int64_t r = 0; r < kMixtureTile; ++r) tile[k * kMixtureTile + r] /= sums[r];
}

KEDGE_CLONES void make_terms(RowTerms terms, const double* rows, std::int64_t row_stride, std::int64_t count,
                             std::int64_t d, std::int64_t stride, double* out) {
  const std::int64_t used = n_terms(terms, d);
  if (terms == RowTerms::kProducts) {
    constexpr std::int64_t kWidth = 72;   // of (x, 1) and what whole vectors read; is_narrow_mixture()
    alignas(64) double x[kTermRows * kWidth] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(x + i * kWidth, rows + i * row_stride, static_cast<std::size_t>(d) * sizeof(double));
      x[i * kWidth + d] = 1;
    }
    make_products(x, kWidth, count, d + 1, stride, out);
  }
  for (std::int64_t i = 0; i < count; ++i, rows += row_stride, out += stride) {
    if (terms != RowTerms::kProducts) {
      double* at = out;
      if (terms == RowTerms::kSquares) {
        for (std::int64_t j = 0; j < d; ++j) at[j] = rows[j] * rows[j];
        at += d;
      }
      std::memcpy(at, rows, static_cast<std::size_t>(d) * sizeof(double));
      at[d] = 1;
    }
    std::fill(out + used, out + stride, 0.0);
  }
}

}   // namespace kedge::engine
