// Normalizer and Binarizer: one op each.
#include "engine/estimators/preprocessing/element_maps.h"

#include <vector>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

const ParamSet<NormalizerParams>& normalizer_params() {
  using P = NormalizerParams;
  static const ParamSet<P> set = ParamSet<P>("Normalizer")
                                     .add("norm", &P::norm, {"l1", "l2", "max"}, "The norm that becomes 1.")
                                     .ignore("copy", true, {boolean_form()});
  return set;
}

const ParamSet<BinarizerParams>& binarizer_params() {
  using P = BinarizerParams;
  static const ParamSet<P> set = ParamSet<P>("Binarizer")
                                     .add("threshold", &P::threshold, {}, "Values above it become 1.")
                                     .ignore("copy", true, {boolean_form()});
  return set;
}

// The mapped values in a matrix of their own.
template <class T>
Matrix<T> copied(const Context& ctx, const Samples<T>& X) {
  Matrix<T> out = table_matrix<T>(ctx.device, X.n_rows(), X.n_cols());
  const MatrixView<const T> values = X.values(ctx, out);
  if (values.data != out.data()) ctx.ops<T>().tables->gather(values, {}, {}, {}, out.view());
  return out;
}

RowNorm norm_of(const std::string& name) { return name == "l1" ? RowNorm::kL1 : (name == "l2" ? RowNorm::kL2 : RowNorm::kMax); }

}  // namespace

template <class T>
Normalizer<T>::Normalizer(const schema::ValueMap& params) : params_(normalizer_params().parse(params)) {}

template <class T>
schema::EstimatorInfo Normalizer<T>::info() {
  return {.name = "Normalizer",
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Scale each row to unit norm.",
          .params = normalizer_params().infos(),
          .attributes = {},
          .deviations = {}};
}

template <class T>
void Normalizer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows("Normalizer", X);
  ctx.check_stop();
  n_features_ = X.n_cols();
}

template <class T>
Samples<T> Normalizer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns("Normalizer", X, static_cast<std::size_t>(n_features_));
  if (X.is_sparse()) {
    CsrMatrix<T> rows = copied_rows(ctx, X);
    ctx.ops<T>().sparse->normalize(norm_of(params_.norm), rows.view());
    return samples_of(std::move(rows), X.table->features);
  }
  Matrix<T> out = copied(ctx, X);
  ctx.ops<T>().maps->normalize_rows(norm_of(params_.norm), out.view());
  return samples_of(std::move(out));
}

template <class T>
Binarizer<T>::Binarizer(const schema::ValueMap& params) : params_(binarizer_params().parse(params)) {}

template <class T>
schema::EstimatorInfo Binarizer<T>::info() {
  return {.name = "Binarizer",
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Set values above a threshold to 1 and the others to 0.",
          .params = binarizer_params().infos(),
          .attributes = {},
          .deviations = {}};
}

template <class T>
void Binarizer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows("Binarizer", X);
  ctx.check_stop();
  n_features_ = X.n_cols();
}

template <class T>
Samples<T> Binarizer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns("Binarizer", X, static_cast<std::size_t>(n_features_));
  if (X.is_sparse()) {
    CsrMatrix<T> rows = copied_rows(ctx, X);
    const MatrixView<T> entries(rows.view().values.data, rows.n_entries(), 1);
    const Array<double> threshold(ctx.memory(), std::vector<double>{params_.threshold});
    ctx.ops<T>().maps->map_columns(ColumnMap::kAbove, threshold.view(), {}, entries, entries);
    return samples_of(std::move(rows), X.table->features);
  }
  const Array<double> threshold(ctx.memory(), std::vector<double>(static_cast<std::size_t>(n_features_), params_.threshold));
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), n_features_);
  ctx.ops<T>().maps->map_columns(ColumnMap::kAbove, threshold.view(), {}, X.values(ctx, scratch), out.view());
  return samples_of(std::move(out));
}

template <class T>
void Normalizer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
}

template <class T>
void Binarizer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
}

template class Normalizer<float>;
template class Normalizer<double>;
template class Binarizer<float>;
template class Binarizer<double>;

}  // namespace kedge::engine
