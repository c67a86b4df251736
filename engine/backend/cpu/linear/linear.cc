// Matrix products on the CPU: fixed tiles of the result, each one single-threaded OpenBLAS call, long sums in double.
#include <algorithm>
#include <memory>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/linear/blas.h"
#include "engine/backend/cpu/linear/thin_product.h"
#include "engine/backend/cpu/linear/weighted_gram.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kTileRows = 256, kTileCols = 512;
constexpr std::int64_t kTriangleTile = 400, kTileStep = 16;          // even tiles of a triangle: two for the columns of MNIST
constexpr std::int64_t kDepth = 2048;                                // longest sum left to BLAS alone
constexpr std::int64_t kMultipliesPerNs = 16;                        // one core, in BLAS
constexpr std::int64_t kPartialEntries = std::int64_t{1} << 22;      // doubles kept for partial sums, 32 MiB

template <class T>
struct Product {   // C = alpha op(A) op(B) + beta C, or its lower triangle alone
  Transpose ta, tb;
  T alpha, beta;
  MatrixView<const T> A, B;
  MatrixView<T> C;
  bool lower;
  std::int64_t depth() const { return ta == Transpose::kYes ? A.rows : A.cols; }
  std::int64_t cost_ns() const { return C.size() * depth() / kMultipliesPerNs; }
  const T* a(std::int64_t i, std::int64_t k) const {
    return raw(A) + (ta == Transpose::kYes ? k * A.stride + i : i * A.stride + k);
  }
  const T* b(std::int64_t k, std::int64_t j) const {
    return raw(B) + (tb == Transpose::kYes ? j * B.stride + k : k * B.stride + j);
  }
};

struct Tile {
  std::int64_t row, rows, col, cols;
};

// Of a result that is no larger, such as a network's batch, the longer side is halved until there are some tiles for
// the threads; BLAS copies the other side's operand once for each. Products for one thread stay whole.
void make_smaller(std::int64_t rows, std::int64_t cols, std::int64_t& tile_rows, std::int64_t& tile_cols) {
  constexpr std::int64_t kFewest = 4, kLeast = 128;
  tile_rows = std::min(tile_rows, rows), tile_cols = std::min(tile_cols, cols);
  while (tiles_of(rows, tile_rows) * tiles_of(cols, tile_cols) < kFewest && std::max(tile_rows, tile_cols) > kLeast) {
    std::int64_t& longer = tile_rows > tile_cols ? tile_rows : tile_cols;
    longer = tiles_of(tiles_of(longer, 2), kTileStep) * kTileStep;
  }
}

std::vector<Tile> tiles_of_result(std::int64_t rows, std::int64_t cols, bool lower, bool is_short) {
  std::vector<Tile> tiles;
  if (rows == 0 || cols == 0) return tiles;
  const std::int64_t even = tiles_of(tiles_of(rows, tiles_of(rows, kTriangleTile)), kTileStep) * kTileStep;
  std::int64_t tile_rows = lower ? even : kTileRows,
               tile_cols = lower ? even : kTileCols;   // square: least above the diagonal
  if (!lower && !is_short) make_smaller(rows, cols, tile_rows, tile_cols);
  for (std::int64_t i = 0; i < rows; i += tile_rows) {
    for (std::int64_t j = 0; j < cols; j += tile_cols) {
      if (lower && j >= i + tile_rows) continue;
      tiles.push_back({i, std::min(tile_rows, rows - i), j, std::min(tile_cols, cols - j)});
    }
  }
  return tiles;
}

template <class T>
void short_product(const Product<T>& p, const std::vector<Tile>& tiles) {
  for_tiles(static_cast<std::int64_t>(tiles.size()), 1, p.cost_ns(), [&](std::int64_t i, std::int64_t, std::int64_t) {
    const Tile t = tiles[static_cast<std::size_t>(i)];
    blas::gemm(p.ta, p.tb, t.rows, t.cols, p.depth(), p.alpha, p.a(t.row, 0), p.A.stride, p.b(0, t.col), p.B.stride,
               p.beta, raw(p.C) + t.row * p.C.stride + t.col, p.C.stride);
  });
}

// Sum over k in [begin, end) of one tile, in double over pieces of kDepth.
template <class T>
void sum_pieces(const Product<T>& p, const Tile& t, std::int64_t begin, std::int64_t end, double* sums) {
  if (begin >= end) std::fill_n(sums, t.rows * t.cols, 0.0);
  std::vector<T> piece(static_cast<std::size_t>(t.rows * t.cols));
  for (std::int64_t k = begin; k < end; k += kDepth) {
    check_job_stop();
    if (p.lower && t.row == t.col && t.rows == t.cols)   // what is above the diagonal stays 0 and is not read
      blas::syrk(t.rows, std::min(kDepth, end - k), p.a(t.row, k), p.A.stride, piece.data(), t.cols);
    else
      blas::gemm(p.ta, p.tb, t.rows, t.cols, std::min(kDepth, end - k), T{1}, p.a(t.row, k), p.A.stride, p.b(k, t.col), p.B.stride,
               T{0}, piece.data(), t.cols);
    for (std::size_t e = 0; e < piece.size(); ++e) sums[e] = static_cast<double>(piece[e]) + (k > begin ? sums[e] : 0.0);
  }
}

// The sum is cut into groups as well, or a thin result would leave most threads idle. Groups depend on the shape alone.
// The ranks of the rows divide them where the sum is over rows.
template <class T>
void long_product(const Product<T>& p, const std::vector<Tile>& tiles) {
  const std::int64_t n_tiles = static_cast<std::int64_t>(tiles.size()), pieces = tiles_of(p.depth(), kDepth);
  const std::int64_t groups = std::clamp<std::int64_t>(kPartialEntries / (n_tiles * tiles[0].rows * tiles[0].cols), 1, pieces);
  const std::int64_t group_depth = tiles_of(pieces, groups) * kDepth;
  std::vector<std::int64_t> offsets{0};   // of the tiles in a group's table
  for (const Tile& t : tiles) offsets.push_back(offsets.back() + t.rows * t.cols);
  const std::int64_t entries = offsets.back();
  Ranks* const ranks = p.ta == Transpose::kYes && p.tb == Transpose::kNo ? ranks_of_rows(p.depth()) : nullptr;
  const Part own = own_part(ranks, groups);
  std::unique_ptr<double[]> partial;
  const auto sum_own = [&] {
    partial = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(own.size() * entries));
    for_tiles(own.size() * n_tiles, 1, p.cost_ns(), [&](std::int64_t task, std::int64_t, std::int64_t) {
      const std::int64_t tile = task % n_tiles, group = task / n_tiles;
      const std::int64_t begin = std::min(p.depth(), (own.begin + group) * group_depth);
      sum_pieces(p, tiles[static_cast<std::size_t>(tile)], begin, std::min(p.depth(), begin + group_depth),
                 partial.get() + group * entries + offsets[static_cast<std::size_t>(tile)]);
    });
    return Tables{partial.get(), own.size()};
  };
  const auto sums = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(entries));
  add_tables_of_ranks(ranks, entries, sum_own, sums.get());
  for_tiles(n_tiles, 1, p.C.size(), [&](std::int64_t i, std::int64_t, std::int64_t) {
    const Tile& t = tiles[static_cast<std::size_t>(i)];
    const double* const of_tile = sums.get() + offsets[static_cast<std::size_t>(i)];
    for (std::int64_t r = 0; r < t.rows; ++r) {
      T* const c = raw(p.C) + (t.row + r) * p.C.stride + t.col;
      for (std::int64_t j = 0; j < t.cols; ++j) {
        const double sum = static_cast<double>(p.alpha) * of_tile[r * t.cols + j];
        c[j] = static_cast<T>(p.beta == T{0} ? sum : sum + static_cast<double>(p.beta) * static_cast<double>(c[j]));
      }
    }
  });
}

// Logistic regression's two products a step: a few classes against a tall table.
template <class T>
bool multiply_thin(const Product<T>& p) {
  if (p.lower || p.alpha != T{1} || p.beta != T{0}) return false;
  const bool rows = p.ta == Transpose::kNo && p.tb == Transpose::kYes, columns = p.ta == Transpose::kYes && p.tb == Transpose::kNo;
  if (rows && is_thin_rows(p.A.rows, p.A.cols, p.B.rows)) {
    thin_rows_product(p.A, p.B, p.C);
    return true;
  }
  if (columns && is_thin_columns(p.B.rows, p.B.cols, p.A.cols)) {
    thin_columns_product(p.A, p.B, p.C);
    return true;
  }
  return false;
}

// A'A of a small table by groups of columns: each with those before it and its own. With the columns of a group or two BLAS has little to copy, with more
// than these it is as fast.
template <class T>
bool gram_thin(MatrixView<const T> A, MatrixView<T> C) {
  constexpr std::int64_t kFewest = 2 * kThin + 1, kMost = 256;
  if (A.cols < kFewest || A.cols > kMost || A.rows > kDepth || !is_thin_columns(A.rows, A.cols, kThin)) return false;
  for (std::int64_t c = 0; c < A.cols; c += kThin) {
    const std::int64_t own = std::min(kThin, A.cols - c);
    thin_columns_product<T>({raw(A) + c, A.rows, own, A.stride}, {raw(A), A.rows, c + own, A.stride},
                            {raw(C) + c * C.stride, own, c + own, C.stride});
  }
  return true;
}

template <class T>
void multiply(const Product<T>& p) {
  if (multiply_thin(p)) return;
  const auto tiles = tiles_of_result(p.C.rows, p.C.cols, p.lower, p.cost_ns() < kSerialNs);
  if (tiles.empty()) return;
  p.depth() <= kDepth ? short_product(p, tiles) : long_product(p, tiles);
}

template <class T>
class CpuLinear final : public LinearOps<T> {
 public:
  void gemm(Transpose ta, Transpose tb, T alpha, MatrixView<const T> A, MatrixView<const T> B, T beta,
            MatrixView<T> C) override {
    multiply(Product<T>{ta, tb, alpha, beta, A, B, C, false});
  }

  void gram(T alpha, MatrixView<const T> A, MatrixView<T> C) override {
    if (alpha != T{1} || !gram_thin(A, C))
      multiply(Product<T>{Transpose::kYes, Transpose::kNo, alpha, T{0}, A, A, C, true});
    for_tiles(C.rows, kRowTile, C.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = i + 1; j < C.cols; ++j) raw(C)[i * C.stride + j] = raw(C)[j * C.stride + i];
      }
    });
  }

  void weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C) override {
    engine::weighted_gram(X, W, with_ones, C);
  }
};

}   // namespace

template <class T>
std::unique_ptr<LinearOps<T>> make_cpu_linear() {
  return std::make_unique<CpuLinear<T>>();
}
template std::unique_ptr<LinearOps<float>> make_cpu_linear<float>();
template std::unique_ptr<LinearOps<double>> make_cpu_linear<double>();

}  // namespace kedge::engine
