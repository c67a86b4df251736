// Kernel rows: a matrix product, the kernel's function of each element, and a ring of rows that are kept.
#include "engine/estimators/svm/kernel_rows.h"

#include <algorithm>
#include <numeric>

#include "engine/backend/host/side_by_side.h"
#include "engine/backend/simd.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlock = 512;         // rows of a product
constexpr std::int64_t kMirrorTile = 64;     // side of a square that is transposed within the cache
constexpr std::int64_t kColumnTile = 2048;   // columns that one thread adds up: their sums stay in the L1 cache

// Four rows, with their coefficients: sums are read and written once for all of them.
struct FourRows {
  const float *a, *b, *c, *d;
  double x, y, z, w;
  double operator()(double sum, std::int64_t j) const {
    return (((sum + x * static_cast<double>(a[j])) + y * static_cast<double>(b[j])) + z * static_cast<double>(c[j])) +
           w * static_cast<double>(d[j]);
  }
};

KEDGE_CLONES void add_four(std::int64_t n, const FourRows rows, double* __restrict out) {
  std::int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    for (int l = 0; l < kLanes; ++l) out[j + l] = rows(out[j + l], j + l);
  for (; j < n; ++j) out[j] = rows(out[j], j);
}

void add_rows(std::int64_t n, std::int64_t rows, const float* const* values, const double* coefs, double* out) {
  for (std::int64_t i = 0; i < rows; i += 4) {
    const auto row = [&](std::int64_t k) { return values[std::min(i + k, rows - 1)]; };
    const auto coef = [&](std::int64_t k) { return i + k < rows ? coefs[i + k] : 0.0; };
    add_four(n, {row(0), row(1), row(2), row(3), coef(0), coef(1), coef(2), coef(3)}, out);
  }
}

}   // namespace

template <class T>
KernelRows::KernelRows(const Context& ctx, const KernelChoice& kernel, MatrixView<const T> X, double tol,
                       std::int64_t cache_bytes, std::int64_t most)
    : ctx_(ctx), choice_(kernel), m_(X.rows) {
  EitherPoints points = kernel_points(ctx, kernel, X, tol);
  is_double_ = points.is_double;
  float_ = std::move(points.in_float), double_ = std::move(points.in_double);
  if (is_double_) own_products(double_, own_double_);
  else own_products(float_, own_float_);
  capacity_ = std::clamp(cache_bytes / std::max<std::int64_t>(1, m_ * static_cast<std::int64_t>(sizeof(float))),
                         std::min(2 * most, m_), m_);
  slots_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(capacity_ * m_));
  slot_of_.assign(static_cast<std::size_t>(m_), -1), row_in_.assign(static_cast<std::size_t>(capacity_), -1);
}

template <class E>
void KernelRows::own_products(KernelPoints<E>& points, RowProducts<E>& own) const {
  if (!ctx_.device.traits().uses_host_memory || points.X.cols > RowProducts<E>::kMostColumns) return;
  Matrix<E> packed;
  if (points.own.rows() == 0) {
    packed = Matrix<E>(ctx_.memory(), m_, points.X.cols);
    ctx_.ops<E>().tables->gather(points.X, {}, {}, {}, packed.view());
  }
  own = RowProducts<E>((points.own.rows() == 0 ? packed : points.own).to_host(), m_, points.X.cols);
  points.own = {}, points.X = {};
}

void KernelRows::compute(std::span<const std::int32_t> rows, std::int64_t first_column, std::int64_t slot) {
  for (std::size_t first = 0; first < rows.size(); first += kBlock) {
    ctx_.check_stop();
    const auto block = rows.subspan(first, std::min<std::size_t>(kBlock, rows.size() - first));
    const std::int64_t at = slot + static_cast<std::int64_t>(first);
    if (is_double_) compute_from(double_, block, first_column, at);
    else compute_from(float_, block, first_column, at);
  }
}

template <class E>
KernelRows::Chosen<E> KernelRows::chosen(const KernelPoints<E>& points, std::span<const std::int32_t> rows) const {
  const Array<std::int32_t> places(ctx_.memory(), rows);
  Matrix<E> some(ctx_.memory(), static_cast<std::int64_t>(rows.size()), points.X.cols);
  ctx_.ops<E>().tables->gather(points.X, places.view(), {}, {}, some.view());
  return {std::move(some), norms_of(points, rows)};
}

// The norms of these rows, all of which are on the host.
template <class E>
Array<E> KernelRows::norms_of(const KernelPoints<E>& points, std::span<const std::int32_t> rows) const {
  std::vector<E> norms;
  for (const std::int32_t row : rows) norms.push_back(points.norms[static_cast<std::size_t>(row)]);
  return Array<E>(ctx_.memory(), std::span<const E>(norms));
}

// K = the kernel's function of a b'.
template <class E>
void KernelRows::products(MatrixView<const E> a, VectorView<const E> a_norms, MatrixView<const E> b,
                          VectorView<const E> b_norms, MatrixView<E> K) const {
  const Backend<E>& ops = ctx_.ops<E>();
  ops.linear->gemm(Transpose::kNo, Transpose::kYes, E{1}, a, b, E{0}, K);
  apply<E>(a_norms, b_norms, K);
}

// The kernel's function of products.
template <class E>
void KernelRows::apply(VectorView<const E> a_norms, VectorView<const E> b_norms, MatrixView<E> K) const {
  apply_kernel<E>(ctx_, choice_, a_norms, b_norms, K);
}

template <class E>
void KernelRows::compute_from(const KernelPoints<E>& points, std::span<const std::int32_t> rows,
                              std::int64_t first_column, std::int64_t slot) {
  const auto count = static_cast<std::int64_t>(rows.size()), cols = m_ - first_column;
  const VectorView<const E> of_columns = points.device_norms.view().slice(first_column, cols);
  float* const to = slots_.get() + slot * m_ + first_column;
  const auto make_own = [&](E* K, std::int64_t stride) {
    own<E>().with_all(rows, first_column, K, stride);
    const Array<E> norms = norms_of(points, rows);
    apply<E>(norms.view(), of_columns, MatrixView<E>(K, count, cols, stride));
  };
  const auto make = [&](MatrixView<E> K) {
    const Chosen<E> some = chosen(points, rows);
    products<E>(some.X.view(), some.norms.view(), points.X.row_range(first_column, cols), of_columns, K);
  };
  if constexpr (std::is_same_v<E, float>) {
    if (!own<E>().empty()) return make_own(to, m_);
    if (ctx_.device.traits().uses_host_memory) return make(MatrixView<E>(to, count, cols, m_));
    if (cols == m_) {   // whole rows lie as the slots do
      Matrix<E> made(ctx_.memory(), count, cols);
      make(made.view());
      return ctx_.memory().to_host(to, made.data(), static_cast<std::size_t>(count * cols) * sizeof(E));
    }
  }
  std::vector<E> host(static_cast<std::size_t>(count * cols));
  if (own<E>().empty()) {
    Matrix<E> made(ctx_.memory(), count, cols);
    make(made.view());
    host = made.to_host();
  } else {
    make_own(host.data(), cols);
  }
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(host.begin() + i * cols, cols, to + i * m_);
}

template <class E>
std::vector<float> KernelRows::square_of(const KernelPoints<E>& points, std::span<const std::int32_t> rows) const {
  const auto count = static_cast<std::int64_t>(rows.size());
  if (!own<E>().empty()) {
    std::vector<E> host(rows.size() * rows.size());
    own<E>().between(rows, host.data());
    const Array<E> norms = norms_of(points, rows);
    apply<E>(norms.view(), norms.view(), MatrixView<E>(host.data(), count, count));
    return {host.begin(), host.end()};
  }
  const Chosen<E> some = chosen(points, rows);
  Matrix<E> K(ctx_.memory(), count, count);
  products<E>(some.X.view(), some.norms.view(), some.X.view(), some.norms.view(), K.view());
  const std::vector<E> host = K.to_host();
  return {host.begin(), host.end()};
}

std::vector<float> KernelRows::square(std::span<const std::int32_t> rows) const {
  const std::size_t n = rows.size();
  std::vector<float> values(n * n), of_others;
  std::vector<std::int32_t> others;
  std::vector<std::size_t> places;   // of the others among the rows
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_there(rows[i])) others.push_back(rows[i]), places.push_back(i);
    else
      for (std::size_t j = 0; j < n; ++j) values[i * n + j] = row(rows[i])[rows[j]];
  }
  if (others.empty()) return values;
  of_others = is_double_ ? square_of(double_, others) : square_of(float_, others);
  for (std::size_t a = 0; a < others.size(); ++a) {
    float* const to = values.data() + places[a] * n;
    for (std::size_t j = 0; j < n; ++j)
      if (is_there(rows[j])) to[j] = values[j * n + places[a]];
    for (std::size_t b = 0; b < others.size(); ++b) to[places[b]] = of_others[a * others.size() + b];
  }
  return values;
}

void KernelRows::load_all() {
  std::vector<std::int32_t> all(static_cast<std::size_t>(m_));
  std::iota(all.begin(), all.end(), 0);
  for (std::int64_t first = 0; first < m_; first += kBlock)   // the upper triangle
    compute(
        std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(std::min(kBlock, m_ - first))),
        first, first);
  const std::int64_t tiles = (m_ + kMirrorTile - 1) / kMirrorTile;
  float* const K = slots_.get();
  side_by_side(tiles, [&](std::int64_t tile) {   // what lies left of each block
    check_job_stop();
    const std::int64_t begin = tile * kMirrorTile, end = std::min(m_, begin + kMirrorTile),
                       most = begin / kBlock * kBlock;
    for (std::int64_t left = 0; left < most; left += kMirrorTile)
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t j = left; j < left + kMirrorTile; ++j) K[i * m_ + j] = K[j * m_ + i];
  });
  std::iota(slot_of_.begin(), slot_of_.end(), 0), std::iota(row_in_.begin(), row_in_.end(), 0);
  all_loaded_ = true;
  float_ = {}, double_ = {}, own_float_ = {}, own_double_ = {};   // nothing is left to compute
}

void KernelRows::load(std::span<const std::int32_t> rows) {
  std::vector<std::int32_t> missing;
  const auto collect = [&](std::int64_t begin, std::int64_t end) {   // what is not there, or lies where the new rows go
    missing.clear();
    for (const std::int32_t row : rows) {
      const std::int64_t slot = slot_of_[static_cast<std::size_t>(row)];
      if (slot < 0 || (slot >= begin && slot < end)) missing.push_back(row);
    }
    return static_cast<std::int64_t>(missing.size());
  };
  std::int64_t count = collect(0, 0);
  if (count == 0) return;
  if (next_ + count > capacity_) next_ = 0;
  for (std::int64_t more; (more = collect(next_, next_ + count)) != count; count = more)
    if (next_ + more > capacity_) next_ = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t& held = row_in_[static_cast<std::size_t>(next_ + i)];
    if (held >= 0) slot_of_[static_cast<std::size_t>(held)] = -1;
    held = -1;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t row = missing[static_cast<std::size_t>(i)];
    row_in_[static_cast<std::size_t>(next_ + i)] = row, slot_of_[static_cast<std::size_t>(row)] = next_ + i;
  }
  compute(missing, 0, next_);
  next_ += count;
}

void KernelRows::add_products(std::span<const std::int32_t> rows, std::span<const double> coefs,
                              std::span<const KernelColumns> ranges, double* out) const {
  struct Tile {
    std::int64_t column, at, count;
  };
  std::vector<Tile> tiles;
  std::int64_t at = 0;
  for (const KernelColumns& range : ranges)
    for (std::int64_t first = 0; first < range.count; first += kColumnTile) {
      const std::int64_t count = std::min(kColumnTile, range.count - first);
      tiles.push_back({range.first + first, at, count});
      at += count;
    }
  side_by_side(static_cast<std::int64_t>(tiles.size()), [&](std::int64_t i) {
    check_job_stop();
    const Tile& tile = tiles[static_cast<std::size_t>(i)];
    std::vector<const float*> values;
    for (const std::int32_t r : rows) values.push_back(row(r) + tile.column);
    add_rows(tile.count, static_cast<std::int64_t>(values.size()), values.data(), coefs.data(), out + tile.at);
  });
}

template KernelRows::KernelRows(const Context&, const KernelChoice&, MatrixView<const float>, double, std::int64_t,
                                std::int64_t);
template KernelRows::KernelRows(const Context&, const KernelChoice&, MatrixView<const double>, double, std::int64_t,
                                std::int64_t);

}   // namespace kedge::engine
