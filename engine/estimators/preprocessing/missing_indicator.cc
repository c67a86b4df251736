// MissingIndicator: marks missing cells.
#include "engine/estimators/preprocessing/missing_indicator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/part_states.h"

namespace kedge::engine {
namespace {

using P = MissingIndicatorParams;
using schema::ErrorCode;

constexpr const char* kOwner = "MissingIndicator";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("missing_values", &P::missing_values, missing_values_forms(),
               "What stands for a missing value: \"NaN\", a number or a category.")
          .add("features", &P::features, {"missing-only", "all"}, "Mark the columns that lack values in the fitted rows, or all.")
          .ignore("sparse", "auto", {boolean_form(), string_form({"auto"})})
          .add("error_on_new", &P::error_on_new, "Refuse new rows that lack values where the fitted ones did not.");
  return set;
}

template <class T>
std::vector<double> counts_of(const Context& ctx, const Matrix<T>& marks) {
  Array<double> sums(ctx.memory(), marks.cols());
  ctx.ops<T>().rows->column_sums(marks.view(), sums.view());
  return sums.to_host();
}

bool means_nan(const schema::Value& missing_values) {
  return missing_values.is_null() || missing_values == schema::Value("NaN");
}

}  // namespace

std::vector<schema::ParamForm> missing_values_forms() {
  return {nan_form(), string_form(), number_form(), null_form()};
}

template <class T>
std::vector<T> missing_cells(const Context& ctx, std::string_view owner, const schema::Value& missing_values,
                             const Samples<T>& X) {
  if (means_nan(missing_values)) return std::vector<T>(static_cast<std::size_t>(X.n_cols()), std::numeric_limits<T>::quiet_NaN());
  require_finite(ctx, owner, X);
  const auto* number = std::get_if<double>(&missing_values.data);
  const std::string name = number ? fmt::format("{}", *number) : std::get<std::string>(missing_values.data);
  std::vector<T> cells;
  for (const Feature& feature : features_of(*X.table)) {
    const auto found = std::find(feature.categories.begin(), feature.categories.end(), name);
    if (!feature.is_nominal)
      cells.push_back(number ? static_cast<T>(*number) : std::numeric_limits<T>::infinity());
    else
      cells.push_back(found == feature.categories.end() ? std::numeric_limits<T>::infinity()
                                                        : static_cast<T>(found - feature.categories.begin()));
  }
  return cells;
}

template <class T>
Matrix<T> missing_marks(const Context& ctx, MatrixView<const T> X, const std::vector<T>& missing,
                        const std::vector<std::int32_t>& columns) {
  const Array<T> cells(ctx.memory(), std::span<const T>(missing));
  const Array<std::int32_t> chosen(ctx.memory(), std::span<const std::int32_t>(columns));
  Matrix<T> marks = table_matrix<T>(ctx.device, X.rows, static_cast<std::int64_t>(columns.size()));
  ctx.ops<T>().categories->mark_missing(X, cells.view(), chosen.view(), marks.view());
  return marks;
}

template <class T>
MissingIndicator<T>::MissingIndicator(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo MissingIndicator<T>::info() {
  return {.name = kOwner,
          .kind = "transformer",
          .family = "impute",
          .doc = "Mark missing values by ones.",
          .params = param_set().infos(),
          .attributes = {"features_"},
          .deviations = {"The result is dense for any value of sparse."}};
}

template <class T>
void MissingIndicator<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  std::vector<std::int32_t> all(static_cast<std::size_t>(X.n_cols()));
  std::iota(all.begin(), all.end(), 0);
  Matrix<T> scratch;
  const std::vector<double> counts =
      counts_of(ctx, missing_marks(ctx, X.values(ctx, scratch), missing_cells(ctx, kOwner, params_.missing_values, X), all));
  const std::vector<Feature> features = features_of(*X.table);
  n_features_in_ = all.size();
  columns_.clear(), complete_.clear(), features_out_.clear();
  for (const std::int32_t j : all) {
    const bool lacks = counts[static_cast<std::size_t>(j)] > 0;
    if (!lacks) complete_.push_back(j);
    if (!lacks && params_.features != "all") continue;
    columns_.push_back(j);
    features_out_.push_back({.name = "missingindicator_" + features[static_cast<std::size_t>(j)].name});
  }
}

template <class T>
Samples<T> MissingIndicator<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, n_features_in_);
  ctx.check_stop();
  const std::vector<T> missing = missing_cells(ctx, kOwner, params_.missing_values, X);
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  if (params_.error_on_new && params_.features == "missing-only" && !complete_.empty()) {
    const std::vector<double> counts = counts_of(ctx, missing_marks(ctx, values, missing, complete_));
    for (std::size_t c = 0; c < counts.size(); ++c)
      require(counts[c] == 0, ErrorCode::kBadData,
              "{}: column {} has {} missing values, but had none when it was fitted; see error_on_new", kOwner,
              X.table->column_label(complete_[c]), counts[c]);
  }
  return samples_of(missing_marks(ctx, values, missing, columns_), features_out_);
}

template <class T>
schema::ValueMap MissingIndicator<T>::attributes() const {
  return {{"features_", std::vector<double>(columns_.begin(), columns_.end())}};
}

template std::vector<float> missing_cells(const Context&, std::string_view, const schema::Value&, const Samples<float>&);
template std::vector<double> missing_cells(const Context&, std::string_view, const schema::Value&, const Samples<double>&);
template Matrix<float> missing_marks(const Context&, MatrixView<const float>, const std::vector<float>&,
                                     const std::vector<std::int32_t>&);
template Matrix<double> missing_marks(const Context&, MatrixView<const double>, const std::vector<double>&,
                                      const std::vector<std::int32_t>&);
template <class T>
void MissingIndicator<T>::state(StateArchive& archive) {
  if (archive.is_loading()) n_features_in_ = static_cast<std::size_t>(archive.n_features());
  archive.indices("columns", columns_, kAnySize, 0, archive.n_features() - 1);
  archive.indices("complete", complete_, kAnySize, 0, archive.n_features() - 1);
  state_of(archive, "features_out", features_out_);
  archive.expect(features_out_.size() == columns_.size(), "features_out", "is not one for each marked column");
}

template class MissingIndicator<float>;
template class MissingIndicator<double>;

}  // namespace kedge::engine
