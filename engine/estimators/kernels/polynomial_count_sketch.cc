// PolynomialCountSketch: spectra of count sketches by matrix products, multiplied, and brought back.
#include "engine/estimators/kernels/polynomial_count_sketch.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/backend/linked_tables.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = PolynomialCountSketchParams;
constexpr const char* kName = "PolynomialCountSketch";
constexpr std::int64_t kBlockRows = 2048;

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("gamma", &P::gamma, at_least(0), "Factor of the inner product in the polynomial kernel.")
          .add("degree", &P::degree, between(1, 64), "Degree of the polynomial kernel.")
          .add("coef0", &P::coef0, at_least(0), "Constant of the polynomial kernel.")
          .add("n_components", &P::n_components, between(1, 1 << 20), "Features to make.")
          .random_state(&P::random_state);
  return set;
}

// Frequencies that a real sequence of k numbers has; the others are their conjugates.
std::int64_t n_frequencies(std::int64_t k) {
  return k / 2 + 1;
}

// exp(-2 pi i e / k) for e = 0 .. k - 1.
struct Circle {
  std::vector<double> re, im;
  explicit Circle(std::int64_t k) : re(static_cast<std::size_t>(k)), im(re.size()) {
    for (std::size_t e = 0; e < re.size(); ++e) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(e) / static_cast<double>(k);
      re[e] = std::cos(angle), im[e] = -std::sin(angle);
    }
  }
};

// Real and imaginary parts, both rows x frequencies.
template <class T>
struct Spectra {
  Matrix<T> re, im;
  Spectra(Memory& memory, std::int64_t rows, std::int64_t cols) : re(memory, rows, cols), im(memory, rows, cols) {}
};

// What turns rows into the spectrum of their count sketch: X re + re_bias, X im + im_bias.
template <class T>
struct Hashing {
  Matrix<T> re, im;
  Array<T> re_bias, im_bias;
};

template <class T>
Hashing<T> hashing(const Context& ctx, const P& params, const Circle& circle, std::int64_t d,
                   const std::int64_t* places, const std::int64_t* signs) {
  const std::int64_t k = params.n_components, m = n_frequencies(k);
  std::vector<T> re, im;
  const auto put = [&](std::int64_t column, double size) {
    for (std::int64_t f = 0; f < m; ++f) {
      const auto e = static_cast<std::size_t>(f * places[column] % k);
      re.push_back(static_cast<T>(size * circle.re[e])), im.push_back(static_cast<T>(size * circle.im[e]));
    }
  };
  for (std::int64_t j = 0; j < d; ++j) put(j, static_cast<double>(signs[j]) * std::sqrt(params.gamma));
  Hashing<T> made{.re = Matrix<T>(ctx.memory(), d, m, re), .im = Matrix<T>(ctx.memory(), d, m, im)};
  if (params.coef0 == 0) return made;
  re.clear(), im.clear();
  put(d, static_cast<double>(signs[d]) * std::sqrt(params.coef0));
  made.re_bias = Array<T>(ctx.memory(), std::span<const T>(re));
  made.im_bias = Array<T>(ctx.memory(), std::span<const T>(im));
  return made;
}

// Real sequences from spectra: R re + I im, with each frequency counted for its conjugate, too.
template <class T>
Spectra<T> inverse_transform(const Context& ctx, const Circle& circle, std::int64_t k) {
  const std::int64_t m = n_frequencies(k);
  std::vector<T> re, im;
  for (std::int64_t f = 0; f < m; ++f) {
    const double times = (f == 0 || 2 * f == k ? 1.0 : 2.0) / static_cast<double>(k);
    for (std::int64_t h = 0; h < k; ++h) {
      const auto e = static_cast<std::size_t>(f * h % k);
      re.push_back(static_cast<T>(times * circle.re[e])), im.push_back(static_cast<T>(times * circle.im[e]));
    }
  }
  Spectra<T> made(ctx.memory(), 0, 0);
  made.re = Matrix<T>(ctx.memory(), m, k, re), made.im = Matrix<T>(ctx.memory(), m, k, im);
  return made;
}

// The rows of one block, and what they become.
template <class T>
class Sketch {
 public:
  Sketch(const Context& ctx, std::int64_t rows, std::int64_t m)
      : ops_(ctx.ops<T>()),
        all_(ctx.memory(), rows, m),
        next_(ctx.memory(), rows, m),
        product_(ctx.memory(), rows, m) {}

  // The spectrum of the first sketch, or the product with that of another one.
  void take(MatrixView<const T> X, const Hashing<T>& hashing, bool is_first) {
    Spectra<T>& to = is_first ? all_ : next_;
    transform(X, hashing.re, hashing.re_bias, to.re), transform(X, hashing.im, hashing.im_bias, to.im);
    if (!is_first) multiply(X.rows);
  }

  void finish(const Spectra<T>& inverse, MatrixView<T> out) {
    const auto rows = [&](const Matrix<T>& of) { return of.view().row_range(0, out.rows); };
    ops_.linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, rows(all_.re), inverse.re.view(), T{0}, out);
    ops_.linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, rows(all_.im), inverse.im.view(), T{1}, out);
  }

 private:
  void transform(MatrixView<const T> X, const Matrix<T>& by, const Array<T>& bias, Matrix<T>& to) {
    const MatrixView<T> rows = to.view().row_range(0, X.rows);
    ops_.linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, X, by.view(), T{0}, rows);
    if (bias.size() > 0) ops_.rows->add_to_rows(bias.view(), rows);
  }

  // all = all * next, complex.
  void multiply(std::int64_t count) {
    const auto rows = [&](const Matrix<T>& of) { return of.view().row_range(0, count); };
    const auto to = [&](Matrix<T>& of) { return of.view().row_range(0, count); };
    MapOps<T>& maps = *ops_.maps;
    maps.combine(Binary::kMultiply, rows(all_.re), rows(next_.re), to(product_.re));
    maps.combine(Binary::kMultiply, rows(all_.im), rows(next_.im), to(product_.im));
    maps.combine(Binary::kSubtract, rows(product_.re), rows(product_.im), to(product_.re));
    maps.combine(Binary::kMultiply, rows(all_.re), rows(next_.im), to(next_.im));
    maps.combine(Binary::kMultiply, rows(all_.im), rows(next_.re), to(next_.re));
    maps.combine(Binary::kAdd, rows(next_.im), rows(next_.re), to(all_.im));
    std::swap(all_.re, product_.re);
  }

  Backend<T>& ops_;
  Spectra<T> all_, next_, product_;
};

}   // namespace

template <class T>
PolynomialCountSketch<T>::PolynomialCountSketch(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo PolynomialCountSketch<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "kernel_approximation",
          .doc = "Approximate feature map of the polynomial kernel, by hashed columns.",
          .params = param_set().infos(),
          .attributes = {"indexHash_", "bitHash_"},
          .deviations = {"coef0 below 0 is refused, whose root scikit-learn takes as NaN."}};
}

template <class T>
MemoryNeed PolynomialCountSketch<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t k = memory::integer(step, "n_components"), m = n_frequencies(k),
                     degree = memory::integer(step, "degree");
  const std::int64_t rows = std::min(X.rows, std::max(kBlockRows, X.on_host ? 0 : kGpuBlockBytes / (8 * k)));
  return memory::makes(X, k, (2 * m * (degree * X.cols + k) * 2 + 6 * rows * m) * X.value_bytes + memory::block(X));
}

template <class T>
void PolynomialCountSketch<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  ctx.check_stop();
  n_features_ = X.n_cols();
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  places_.resize(static_cast<std::size_t>(params_.degree * n_hashed())), signs_.resize(places_.size());
  for (std::int64_t& place : places_)
    place = static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(params_.n_components - 1)));
  for (std::int64_t& sign : signs_) sign = random.interval(1) == 0 ? -1 : 1;
}

template <class T>
Samples<T> PolynomialCountSketch<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const std::int64_t n = X.n_rows(), k = params_.n_components, m = n_frequencies(k);
  const Circle circle(k);
  std::vector<Hashing<T>> sketches;
  for (std::int64_t t = 0; t < params_.degree; ++t)
    sketches.push_back(
        hashing<T>(ctx, params_, circle, n_features_, places_.data() + t * n_hashed(), signs_.data() + t * n_hashed()));
  const Spectra<T> inverse = inverse_transform<T>(ctx, circle, k);
  const std::int64_t step = std::min(n, block_rows(ctx, kBlockRows, k));
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, n, k);
  Sketch<T> sketch(ctx, step, m);
  for (std::int64_t first = 0; first < n; first += step) {
    ctx.check_stop();
    const std::int64_t count = std::min(step, n - first);
    const MatrixView<const T> rows = X.values(ctx, first, count, scratch);
    for (std::size_t t = 0; t < sketches.size(); ++t) sketch.take(rows, sketches[t], t == 0);
    sketch.finish(inverse, out.view().row_range(first, count));
  }
  return samples_of(std::move(out));
}

template <class T>
schema::ValueMap PolynomialCountSketch<T>::attributes() const {
  const auto rows = [&](const std::vector<std::int64_t>& values) {
    return rows_value({values.begin(), values.end()}, n_hashed());
  };
  return {{"indexHash_", rows(places_)}, {"bitHash_", rows(signs_)}};
}

template <class T>
void PolynomialCountSketch<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  const std::int64_t size = params_.degree * n_hashed();
  archive.indices("places", places_, size, 0, params_.n_components - 1);
  archive.indices("signs", signs_, size, -1, 1);
}

template class PolynomialCountSketch<float>;
template class PolynomialCountSketch<double>;

}   // namespace kedge::engine
