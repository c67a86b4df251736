// Expectation maximisation on the CPU: tiles of rows that stay in the first caches, from distances to shares in one
// pass; sums of terms as a thin product. Ranks divide both by the blocks of rows that they own.
#include "engine/backend/cpu/tables/mixtures.h"

#include <algorithm>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/linear/thin_kernels.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/tables/mixture_kernels.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSumRows = 1024;                           // of one sum in double
constexpr std::int64_t kPartialEntries = std::int64_t{1} << 22;   // doubles kept for partial sums, 32 MiB
constexpr std::int64_t kMostBlocks = 64;                          // that ranks own: see block_rows()
constexpr std::int64_t kMultipliesPerNs = 8;
constexpr std::int64_t kExpNs = 4;
constexpr std::int64_t kVector = 8;   // doubles of the widest vector

std::int64_t rounded_up(std::int64_t n, std::int64_t to) {
  return tiles_of(n, to) * to;
}

// The components as the kernels read them.
class PackedComponents {
 public:
  explicit PackedComponents(const NormalComponents& c) : c_(c), d4_(rounded_up(c.d, 4)) {
    const std::int64_t factors = c.form == FactorForm::kEach ? c.n : c.form == FactorForm::kShared ? 1 : 0;
    for (std::int64_t k = 0; k < factors; ++k) packed_.push_back(packed_factor(c.factors + k * c.d * c.d, c.d));
    for (std::int64_t k = 0; k < c.n; ++k) offsets_.push_back(padded_to_four(c.offsets + k * c.d, c.d));
  }

  // Squared distances of a tile: components x kMixtureTile.
  void distances(const double* strips, std::int64_t n_strips, std::vector<double>& scratch, double* tile) const {
    const bool is_shared = c_.form == FactorForm::kShared;
    if (is_shared) {
      scratch.resize(static_cast<std::size_t>(n_strips * kStripRows * d4_));
      apply_factor(packed_[0].data(), c_.d, strips, n_strips, scratch.data());
    }
    for (std::int64_t k = 0; k < c_.n; ++k) {
      const double* const offset = offsets_[static_cast<std::size_t>(k)].data();
      double* const out = tile + k * kMixtureTile;
      if (is_shared) diagonal_distances(nullptr, offset, c_.d, scratch.data(), d4_, n_strips, out);
      else if (c_.form == FactorForm::kDiagonal)
        diagonal_distances(c_.factors + k * c_.d, offset, c_.d, strips, c_.d, n_strips, out);
      else factor_distances(packed_[static_cast<std::size_t>(k)].data(), offset, c_.d, strips, n_strips, out);
    }
  }

 private:
  const NormalComponents& c_;
  std::int64_t d4_;
  std::vector<std::vector<double>> packed_, offsets_;
};

// Tiles of kMixtureTile rows, or fewer at the end of a block of block_rows(n) rows, so that each block has its own.
class BlockTiles {
 public:
  // rows: whole blocks, but for the last one.
  BlockTiles(std::int64_t n, Part rows)
      : rows_(rows), block_(block_rows(n)), by_block_(tiles_of(block_, kMixtureTile)) {}

  std::int64_t count() const {
    return rows_.size() / block_ * by_block_ + tiles_of(rows_.size() % block_, kMixtureTile);
  }
  Part rows_of(std::int64_t tile) const {
    const std::int64_t block = rows_.begin + tile / by_block_ * block_, begin = block + tile % by_block_ * kMixtureTile;
    return {begin, std::min({rows_.end, block + block_, begin + kMixtureTile})};
  }

 private:
  Part rows_;
  std::int64_t block_, by_block_;
};

// The sums of few components: of groups of rows, of which a block has whole ones.
std::vector<double> sum_some_terms(MatrixView<const double> X, MatrixView<const double> shares, RowTerms terms) {
  const std::int64_t n = X.rows, d = X.cols, m = shares.cols, used = n_terms(terms, d),
                     stride = rounded_up(used + kTermRoom, kVector), entries = m * used;
  std::int64_t group = kSumRows;
  while (group < block_rows(n) && tiles_of(n, group) * entries > kPartialEntries) group *= 2;
  const auto sum_group = [&](std::int64_t begin, std::int64_t end, double* total) {
    std::vector<double> made(static_cast<std::size_t>(kTermRows * stride)), sums;
    for (std::int64_t first = begin; first < end; first += kSumRows) {
      check_job_stop();
      sums.assign(static_cast<std::size_t>(m * stride), 0.0);
      for (std::int64_t i = first; i < std::min(end, first + kSumRows); i += kTermRows) {
        const std::int64_t count = std::min({kTermRows, end - i, first + kSumRows - i});
        make_terms(terms, raw(X) + i * X.stride, X.stride, count, d, stride, made.data());
        thin_kernels<double>().add(made.data(), stride, count, stride, raw(shares) + i * shares.stride, shares.stride,
                                   m, sums.data());
      }
      for (std::int64_t k = 0; k < m; ++k)
        for (std::int64_t e = 0; e < used; ++e) total[k * used + e] += sums[static_cast<std::size_t>(k * stride + e)];
    }
  };
  Ranks* const ranks = ranks_of_rows(n);
  const Part own = own_rows(ranks, n);
  std::vector<double> partial, total(static_cast<std::size_t>(entries), 0.0);
  const auto sum_own = [&] {
    partial.assign(static_cast<std::size_t>(tiles_of(own.size(), group) * entries), 0.0);
    for_tiles(own.size(), group, own.size() * (entries + used) / kMultipliesPerNs,
              [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
                sum_group(own.begin + begin, own.begin + end, partial.data() + tile * entries);
              });
    return Tables{partial.data(), tiles_of(own.size(), group)};
  };
  add_tables_of_ranks(ranks, entries, sum_own, total.data());
  return total;
}

}   // namespace

MixtureSums CpuMixtures::share_rows(MatrixView<const double> X, const NormalComponents& components,
                                    MatrixView<double> shares, VectorView<double> log_densities) {
  const std::int64_t n = X.rows, d = X.cols, m = components.n;
  const std::int64_t multiplies = components.form == FactorForm::kEach ? m * d * d / 2 : m * d + d * d / 2;
  const PackedComponents packed(components);
  Ranks* const ranks = ranks_of_rows(n);
  const Part own = own_rows(ranks, n);
  const BlockTiles tiles(n, own);
  std::vector<double> sums(static_cast<std::size_t>(2 * tiles.count()), 0.0);
  const auto share_tile_of = [&](std::int64_t tile) {
    const Part rows = tiles.rows_of(tile);
    std::vector<double> strips(static_cast<std::size_t>(kMixtureTile * d)), scratch,
        values(static_cast<std::size_t>(m * kMixtureTile), 0.0);
    double densities[kMixtureTile], entropies[kMixtureTile];
    make_strips(raw(X) + rows.begin * X.stride, X.stride, rows.size(), d, strips.data());
    packed.distances(strips.data(), tiles_of(rows.size(), kStripRows), scratch, values.data());
    share_tile(components.constants, m, values.data(), densities, entropies);
    double* const of_tile = sums.data() + 2 * tile;
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      double* const row = raw(shares) + (rows.begin + r) * shares.stride;
      for (std::int64_t k = 0; k < m; ++k) row[k] = values[static_cast<std::size_t>(k * kMixtureTile + r)];
      raw(log_densities)[rows.begin + r] = densities[r];
      of_tile[0] += densities[r], of_tile[1] += entropies[r];
    }
  };
  const auto share_own = [&] {
    for_tiles(tiles.count(), 1, own.size() * (multiplies / kMultipliesPerNs + m * kExpNs),
              [&](std::int64_t tile, std::int64_t, std::int64_t) { share_tile_of(tile); });
    return Tables{sums.data(), tiles.count()};
  };
  double total[2] = {};
  add_tables_of_ranks(ranks, 2, share_own, total);
  return {.log_density = total[0], .entropy = total[1]};
}

// Some components at a time, so that the sums of all blocks have room.
std::vector<double> CpuMixtures::sum_terms(MatrixView<const double> X, MatrixView<const double> shares,
                                           RowTerms terms) {
  const std::int64_t m = shares.cols,
                     together = std::max<std::int64_t>(1, kPartialEntries / (kMostBlocks * n_terms(terms, X.cols)));
  std::vector<double> all;
  for (std::int64_t k = 0; k < m; k += together) {
    const MatrixView<const double> some(shares.data + k, shares.rows, std::min(together, m - k), shares.stride);
    const std::vector<double> sums = sum_some_terms(X, some, terms);
    all.insert(all.end(), sums.begin(), sums.end());
  }
  return all;
}

}   // namespace kedge::engine
