// Fits and applies the weights of terms.
#include "engine/estimators/text/tfidf_transformer.h"

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

using P = text::TfidfParams;
constexpr const char* kOwner = "TfidfTransformer";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made(kOwner);
    text::add_tfidf_params(made);
    return made;
  }();
  return set;
}

// The samples as sparse rows of the host, without their zeros where they are dense.
template <class T>
text::HostRows<T> host_rows(const Context& ctx, const Samples<T>& X) {
  text::HostRows<T> rows{.cols = X.n_cols()};
  if (X.is_sparse()) {
    const SparseRows<T> selected(ctx, X);
    const CsrView<const T> view = selected.view();
    rows.offsets.resize(static_cast<std::size_t>(view.offsets.size));
    rows.columns.resize(static_cast<std::size_t>(view.columns.size)),
        rows.values.resize(static_cast<std::size_t>(view.values.size));
    ctx.memory().to_host(rows.offsets.data(), view.offsets.data, rows.offsets.size() * sizeof(std::int64_t));
    if (rows.columns.empty()) return rows;
    ctx.memory().to_host(rows.columns.data(), view.columns.data, rows.columns.size() * sizeof(std::int32_t));
    ctx.memory().to_host(rows.values.data(), view.values.data, rows.values.size() * sizeof(T));
    return rows;
  }
  const std::vector<double> cells = host_values(ctx, X);
  for (std::size_t i = 0; i < cells.size();) {
    for (std::int32_t j = 0; j < rows.cols; ++j, ++i)
      if (cells[i] != 0) rows.columns.push_back(j), rows.values.push_back(static_cast<T>(cells[i]));
    rows.offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  return rows;
}

}   // namespace

template <class T>
TfidfTransformer<T>::TfidfTransformer(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo TfidfTransformer<T>::info() {
  return {.name = kOwner,
          .kind = "transformer",
          .family = "feature_extraction",
          .doc = "Weight counts of terms by how few rows have the term (tf-idf).",
          .params = param_set().infos(),
          .attributes = {"idf_"},
          .deviations = {"sublinear_tf refuses counts of 0 and below, which have no logarithm; scikit-learn makes them "
                         "infinite or NaN."}};
}

template <class T>
void TfidfTransformer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  n_features_ = X.n_cols();
  idf_.clear();
  if (!params_.use_idf) return;
  std::vector<std::int64_t> n_rows_with(static_cast<std::size_t>(X.n_cols()), 0);
  for (const std::int32_t column : host_rows(ctx, X).columns) ++n_rows_with[static_cast<std::size_t>(column)];
  idf_ = text::inverse_frequencies<T>(params_, X.n_rows(), n_rows_with);
}

template <class T>
Samples<T> TfidfTransformer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, static_cast<std::size_t>(n_features_));
  ctx.check_stop();
  text::HostRows<T> rows = host_rows(ctx, X);
  for (std::size_t e = 0; params_.sublinear_tf && e < rows.values.size(); ++e)
    require(rows.values[e] > 0, schema::ErrorCode::kBadData,
            "{}: column {} has the count {}, sublinear_tf takes counts above 0 alone", kOwner,
            X.table->column_label(rows.columns[e]), rows.values[e]);
  text::weigh(params_, idf_, rows);
  return samples_of(rows.to_device(ctx), X.table->features);
}

template <class T>
schema::ValueMap TfidfTransformer<T>::attributes() const {
  if (!params_.use_idf) return {};
  return {{"idf_", idf_}};
}

template <class T>
void TfidfTransformer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("idf", idf_, params_.use_idf ? n_features_ : 0);
}

template class TfidfTransformer<float>;
template class TfidfTransformer<double>;

}   // namespace kedge::engine
