// Random projections: the matrix is drawn on the host as numpy draws it, rows are multiplied on the device.
#include "engine/estimators/decomposition/random_projection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/backend/linked_tables.h"
#include "engine/core/legacy_distributions.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

using Numbers = std::vector<double>;   // a matrix, row-major
constexpr const char* kGaussian = "GaussianRandomProjection";
constexpr const char* kSparse = "SparseRandomProjection";
constexpr std::int64_t kBlockRows = 8192;

template <class P>
ParamSet<P>& add_shared(ParamSet<P>& set) {
  return set
      .any("n_components", static_cast<schema::Value P::*>(&P::n_components),
           {integer_form(at_least(1)), string_form({"auto"})},
           "Components to make; auto: as many as keep all distances within eps, by the Johnson-Lindenstrauss lemma.")
      .add("eps", &P::eps, above(0), "Distortion of squared distances that \"auto\" allows.")
      .add("compute_inverse_components", &P::compute_inverse_components, "Whether fit computes inverse_components_.")
      .random_state(&P::random_state);
}

const ParamSet<RandomProjectionParams>& gaussian_set() {
  using P = RandomProjectionParams;
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kGaussian);
    return add_shared(made);
  }();
  return set;
}

const ParamSet<SparseRandomProjectionParams>& sparse_set() {
  using P = SparseRandomProjectionParams;
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kSparse);
    return add_shared(made)
        .any("density", &P::density, {number_form(above_up_to(0, 1)), string_form({"auto"})},
             "Share of entries that are not 0; auto: 1 / sqrt(n_features).")
        .ignore("dense_output", false, {boolean_form()});
  }();
  return set;
}

// Components that keep the squared distances of n rows within a factor of 1 +- eps, as scikit-learn counts them.
std::int64_t safe_components(std::int64_t n, double eps) {
  const double wanted = 4 * std::log(static_cast<double>(n)) / (eps * eps / 2 - eps * eps * eps / 3);
  return static_cast<std::int64_t>(std::min(wanted, 0x1p52));
}

bool is_auto(const schema::Value& value) {
  return std::holds_alternative<std::string>(value.data);
}

// The pseudo-inverse of A (rows x cols), cols x rows.
Numbers pseudo_inverse(const Context& ctx, const Numbers& A, std::int64_t rows, std::int64_t cols) {
  const std::int64_t r = std::min(rows, cols);
  Backend<double>& ops = ctx.ops<double>();
  Matrix<double> left(ctx.memory(), rows, cols, A), U(ctx.memory(), rows, r), Vt(ctx.memory(), r, cols),
      inverse(ctx.memory(), cols, rows);
  Array<double> s(ctx.memory(), r);
  ops.factorise->svd(left.view(), U.view(), s.view(), Vt.view());
  Numbers factors = s.to_host();
  const double least =
      factors.front() * static_cast<double>(std::max(rows, cols)) * std::numeric_limits<double>::epsilon();
  for (double& factor : factors) factor = factor > least ? 1 / factor : 0;
  const Matrix<double> scale(ctx.memory(), r, 1, factors);
  ops.maps->combine(Binary::kMultiply, std::as_const(Vt).view(), scale.view(), Vt.view());
  ops.linear->gemm(Transpose::kYes, Transpose::kYes, 1.0, std::as_const(Vt).view(), std::as_const(U).view(), 0.0,
                   inverse.view());
  return inverse.to_host();
}

template <class T>
std::vector<std::string> shared_deviations() {
  return {"Results are dense, of sparse data, too; inverse_transform is not offered."};
}

}   // namespace

template <class T>
RandomProjection<T>::RandomProjection(const char* name, const RandomProjectionParams& params)
    : name_(name), shared_(params) {
  if (is_auto(params.n_components) && params.eps >= 1)
    refuse_param(name, "eps", params.eps, "must be below 1 where n_components is \"auto\"");
}

template <class T>
std::int64_t RandomProjection<T>::count_components(const Context& ctx, std::int64_t n, std::int64_t d) const {
  if (const auto* const given = std::get_if<std::int64_t>(&shared_.n_components.data)) {
    if (*given > d)
      ctx.warn(fmt::format("{}: n_components is {}, more than the {} columns: nothing is reduced", name_, *given, d));
    return *given;
  }
  const std::int64_t wanted = safe_components(n, shared_.eps);
  require(wanted >= 1 && wanted <= d, schema::ErrorCode::kBadData,
          "{}: n_components = \"auto\" with eps = {} asks for {} components of {} rows, and there are {} columns; set "
          "n_components or change eps",
          name_, shared_.eps, wanted, n, d);
  return wanted;
}

template <class T>
void RandomProjection<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(name_, X);
  ctx.check_stop();
  n_features_ = X.n_cols(), n_components_ = count_components(ctx, X.n_rows(), X.n_cols());
  LegacyRandom random(static_cast<std::uint32_t>(shared_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  const Numbers drawn = draw(random, n_components_, n_features_);
  components_.assign(drawn.begin(), drawn.end());
  inverse_components_.clear();
  if (!shared_.compute_inverse_components) return;
  ctx.check_stop();
  inverse_components_ = pseudo_inverse(ctx, drawn, n_components_, n_features_);
}

template <class T>
Samples<T> RandomProjection<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(name_, X, static_cast<std::size_t>(n_features_));
  const std::int64_t n = X.n_rows(), k = n_components_;
  if (X.is_sparse()) {
    Numbers columns(components_.size());
    for (std::size_t e = 0; e < columns.size(); ++e)
      columns[e % static_cast<std::size_t>(n_features_) * static_cast<std::size_t>(k) +
              e / static_cast<std::size_t>(n_features_)] = static_cast<double>(components_[e]);
    const SparseRows<T> rows(ctx, X);
    Matrix<double> made = product(ctx, rows.view(), columns, k);
    if constexpr (std::is_same_v<T, double>) {
      return samples_of(std::move(made));
    } else {
      const Numbers host = made.to_host();
      return samples_of(Matrix<T>(ctx.memory(), n, k, std::vector<T>(host.begin(), host.end())));
    }
  }
  const Matrix<T> W(ctx.memory(), k, n_features_, components_);
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, n, k);
  const std::int64_t step = block_rows(ctx, kBlockRows, n_features_);
  for (std::int64_t first = 0; first < n; first += step) {
    ctx.check_stop();
    const std::int64_t count = std::min(step, n - first);
    ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, X.values(ctx, first, count, scratch), W.view(),
                              T{0}, out.view().row_range(first, count));
  }
  return samples_of(std::move(out));
}

template <class T>
schema::ValueMap RandomProjection<T>::attributes() const {
  schema::ValueMap all{{"n_components_", n_components_},
                       {"components_", rows_value(Numbers(components_.begin(), components_.end()), n_features_)}};
  if (shared_.compute_inverse_components)
    all.emplace_back("inverse_components_", rows_value(inverse_components_, n_components_));
  return all;
}

template <class T>
void RandomProjection<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_components", n_components_, 1, kMaxSize);
  archive.field("components", components_, n_components_, n_features_);
  if (shared_.compute_inverse_components)
    archive.field("inverse_components", inverse_components_, n_features_, n_components_);
}

template <class T>
MemoryNeed RandomProjection<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t k = memory::integer(step, "n_components", X.cols);   // "auto" makes no more than the columns
  const std::int64_t matrix = bytes_of(k, X.cols, memory::kDouble);
  const std::int64_t copies = memory::flag(step, "compute_inverse_components") ? 7 : 3;
  const std::int64_t sparse = X.is_sparse() ? 2 * bytes_of(X.rows, k, memory::kDouble) : 0;
  MemoryNeed need = memory::makes(X, k, copies * matrix + memory::block(X) + sparse);
  const schema::Value* const wanted = find_value(step.params, "n_components");
  need.is_exact = wanted && std::holds_alternative<std::int64_t>(wanted->data);
  return need;
}

template <class T>
GaussianRandomProjection<T>::GaussianRandomProjection(const schema::ValueMap& params)
    : RandomProjection<T>(kGaussian, gaussian_set().parse(params)) {}

template <class T>
schema::EstimatorInfo GaussianRandomProjection<T>::info() {
  return {.name = kGaussian,
          .kind = "transformer",
          .family = "random_projection",
          .doc = "Rows times a matrix of normal numbers, which keeps distances.",
          .params = gaussian_set().infos(),
          .attributes = {"n_components_", "components_", "inverse_components_"},
          .deviations = shared_deviations<T>()};
}

template <class T>
std::vector<double> GaussianRandomProjection<T>::draw(LegacyRandom& random, std::int64_t n_components,
                                                      std::int64_t n_features) {
  LegacyNormal normal;
  const double scale = 1 / std::sqrt(static_cast<double>(n_components));
  Numbers drawn(static_cast<std::size_t>(n_components * n_features));
  for (double& value : drawn) value = scale * normal(random);
  return drawn;
}

template <class T>
SparseRandomProjection<T>::SparseRandomProjection(const schema::ValueMap& params)
    : SparseRandomProjection(sparse_set().parse(params)) {}

template <class T>
SparseRandomProjection<T>::SparseRandomProjection(const SparseRandomProjectionParams& params)
    : RandomProjection<T>(kSparse, params), params_(params) {}

template <class T>
schema::EstimatorInfo SparseRandomProjection<T>::info() {
  std::vector<std::string> deviations = shared_deviations<T>();
  deviations.emplace_back("components_ is a dense matrix.");
  return {.name = kSparse,
          .kind = "transformer",
          .family = "random_projection",
          .doc = "Rows times a matrix of few random signs, which keeps distances.",
          .params = sparse_set().infos(),
          .attributes = {"n_components_", "components_", "inverse_components_", "density_"},
          .deviations = std::move(deviations)};
}

template <class T>
std::vector<double> SparseRandomProjection<T>::draw(LegacyRandom& random, std::int64_t n_components,
                                                    std::int64_t n_features) {
  const double k = static_cast<double>(n_components);
  density_ = is_auto(params_.density) ? 1 / std::sqrt(static_cast<double>(n_features))
                                      : std::get<double>(params_.density.data);
  Numbers drawn(static_cast<std::size_t>(n_components * n_features), 0.0);
  if (density_ == 1) {
    for (double& value : drawn) value = 1 / std::sqrt(k) * static_cast<double>(2 * legacy_binomial(random, 1, 0.5) - 1);
    return drawn;
  }
  std::vector<std::size_t> places;
  for (std::int64_t i = 0; i < n_components; ++i)
    for (const std::int64_t j : legacy_sample(random, n_features, legacy_binomial(random, n_features, density_)))
      places.push_back(static_cast<std::size_t>(i * n_features + j));
  const double size = std::sqrt(1 / density_) / std::sqrt(k);
  for (const std::size_t place : places)
    drawn[place] = size * static_cast<double>(2 * legacy_binomial(random, 1, 0.5) - 1);
  return drawn;
}

template <class T>
schema::ValueMap SparseRandomProjection<T>::attributes() const {
  schema::ValueMap all = RandomProjection<T>::attributes();
  all.emplace_back("density_", density_);
  return all;
}

template <class T>
void SparseRandomProjection<T>::state(StateArchive& archive) {
  RandomProjection<T>::state(archive);
  archive.field("density", density_);
}

template class RandomProjection<float>;
template class RandomProjection<double>;
template class GaussianRandomProjection<float>;
template class GaussianRandomProjection<double>;
template class SparseRandomProjection<float>;
template class SparseRandomProjection<double>;

}   // namespace kedge::engine
