// SimpleImputer: finds the statistic of each column and fills it in.
#include "engine/estimators/preprocessing/simple_imputer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "engine/backend/category_functors.h"
#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/own_values.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = SimpleImputerParams;
using schema::ErrorCode;
using schema::Value;

constexpr const char* kOwner = "SimpleImputer";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("missing_values", &P::missing_values, missing_values_forms(),
               "What stands for a missing value: \"NaN\", a number or a category.")
          .add("strategy", &P::strategy, {"mean", "median", "most_frequent", "constant"}, "What a missing value is replaced by.")
          .any("fill_value", &P::fill_value, {number_form(), string_form(), null_form()},
               "The constant; null: 0 in numeric columns, \"missing_value\" in nominal ones.")
          .ignore("copy", true, {boolean_form()})
          .add("add_indicator", &P::add_indicator, "Add a column of zeros and ones for each column that lacked values.")
          .add("keep_empty_features", &P::keep_empty_features, "Keep columns without any value, filled with 0 or the constant.");
  return set;
}

// The most frequent category but the missing one, of several the first by name; NaN where there is none.
template <class T>
double mode_by_name(const NumberCounts<T>& found, T missing, const Feature& feature) {
  const auto name = [&](double code) -> const std::string& { return feature.categories[static_cast<std::size_t>(code)]; };
  double best = kNan;
  std::int64_t most = 0;
  for (std::size_t c = 0; c < found.numbers.size(); ++c) {
    if (found.numbers[c] == missing) continue;
    const auto code = static_cast<double>(found.numbers[c]);
    if (found.counts[c] > most || (found.counts[c] == most && name(code) < name(best)))
      best = code, most = found.counts[c];
  }
  return best;
}

// A row of what transform() makes: its kept cells, filled, then the marks.
template <class T>
MakeRow<T> row_maker(const std::vector<T>& missing, const std::vector<T>& fill, const std::vector<std::int64_t>& kept,
                     const std::vector<std::int32_t>& marked) {
  return [missing, fill, kept, marked](const T* cells, T* out) {
    const auto lacks = [&](std::size_t j) { return is_missing_cell(cells[j], missing[j]); };
    for (const std::int64_t column : kept) {
      const auto j = static_cast<std::size_t>(column);
      *out++ = lacks(j) ? fill[j] : cells[j];
    }
    for (const std::int32_t column : marked) *out++ = lacks(static_cast<std::size_t>(column)) ? T{1} : T{0};
  };
}

// The centre of each column that this strategy asks for; that of a nominal column is a code.
template <class T>
ColumnCentres centres_of(const Context& ctx, const Samples<T>& X, const std::string& strategy,
                         const std::vector<T>& missing, const std::vector<Feature>& features) {
  const bool wants_mode = strategy == "most_frequent";
  std::vector<std::int32_t> nominal;
  for (std::size_t j = 0; j < features.size() && wants_mode; ++j)
    if (features[j].is_nominal) nominal.push_back(static_cast<std::int32_t>(j));
  ColumnCentre kind =
      strategy == "mean" ? ColumnCentre::kMean : (strategy == "median" ? ColumnCentre::kMedian : ColumnCentre::kNone);
  if (wants_mode && nominal.size() < features.size()) kind = ColumnCentre::kMode;
  ColumnCentres centres = column_centres(ctx, X, kind, missing);
  if (nominal.empty()) return centres;
  const std::vector<NumberCounts<T>> found = column_counts(ctx, X, nominal);
  for (std::size_t c = 0; c < nominal.size(); ++c) {
    const auto j = static_cast<std::size_t>(nominal[c]);
    centres.centre[j] = mode_by_name(found[c], missing[j], features[j]);
  }
  return centres;
}

// The code of a category, which is added if the column has it not.
std::size_t code_of(Feature& feature, const std::string& name) {
  const auto found = std::find(feature.categories.begin(), feature.categories.end(), name);
  const auto code = static_cast<std::size_t>(found - feature.categories.begin());
  if (found == feature.categories.end()) feature.categories.push_back(name);
  return code;
}

}  // namespace

template <class T>
SimpleImputer<T>::SimpleImputer(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo SimpleImputer<T>::info() {
  return {.name = kOwner,
          .kind = "transformer",
          .family = "impute",
          .doc = "Replace missing values by the mean, median or most frequent value of their column, or by a constant.",
          .params = param_set().infos(),
          .attributes = {"statistics_", "indicator_"},
          .deviations = {"Of a table with both, numeric and nominal columns are treated by themselves: with strategy "
                         "\"constant\" and no fill_value, numbers "
                         "become 0 and categories \"missing_value\"."}};
}

template <class T>
Value SimpleImputer<T>::constant_for(const Feature& feature) const {
  const bool is_text = std::holds_alternative<std::string>(params_.fill_value.data);
  if (params_.fill_value.is_null()) return feature.is_nominal ? Value("missing_value") : Value(0.0);
  require(is_text == feature.is_nominal, ErrorCode::kBadData, "{}: fill_value {} is not fit for the {} column '{}'", kOwner,
          schema::to_string(params_.fill_value), feature.is_nominal ? "nominal" : "numeric", feature.name);
  return params_.fill_value;
}

template <class T>
Value SimpleImputer<T>::statistic_of(double centre, std::int64_t present, const Feature& feature) const {
  if (present == 0 && !params_.keep_empty_features) return nullptr;
  if (params_.strategy == "constant") return constant_for(feature);
  if (present == 0) return feature.is_nominal ? Value("0") : Value(0.0);
  return feature.is_nominal ? Value(feature.categories[static_cast<std::size_t>(centre)]) : Value(centre);
}

template <class T>
void SimpleImputer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  const std::vector<Feature> features = features_of(*X.table);
  const std::vector<T> missing = missing_cells(ctx, kOwner, params_.missing_values, X);
  columns_.clear();
  const bool is_number = params_.strategy == "mean" || params_.strategy == "median";
  for (const Feature& feature : features)
    require(!(is_number && feature.is_nominal), ErrorCode::kBadData,
            "{}: column '{}' is nominal, strategy \"{}\" needs numbers; most_frequent and "
            "constant take categories",
            kOwner, feature.name, params_.strategy);
  const ColumnCentres found = centres_of(ctx, X, params_.strategy, missing, features);
  for (std::size_t j = 0; j < features.size(); ++j) {
    ctx.check_stop();
    columns_.push_back({statistic_of(found.centre[j], found.present[j], features[j]), features[j].is_nominal,
                        found.present[j] < X.n_rows()});
    if (columns_.back().statistic.is_null())
      ctx.warn(
          fmt::format("{}: column '{}' has no value at all and is left out; see keep_empty_features", kOwner, features[j].name));
  }
  const bool keeps =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.statistic.is_null() || c.lacks; });
  require(keeps, ErrorCode::kBadData, "{}: no column has any value", kOwner);
}

// Features of the result, which columns they come from, and the cell that fills each column of X.
template <class T>
std::vector<Feature> SimpleImputer<T>::kept_features(const std::vector<Feature>& features, std::vector<T>& fill,
                                                     std::vector<std::int64_t>& kept) const {
  std::vector<Feature> result;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const Value& statistic = columns_[j].statistic;
    Feature feature = features[j];
    require(feature.is_nominal == columns_[j].is_nominal, ErrorCode::kBadData,
            "{}: column '{}' was {} when it was fitted, now it is not", kOwner, feature.name,
            columns_[j].is_nominal ? "nominal" : "numeric");
    if (statistic.is_null())
      fill.push_back(T{0});
    else if (const auto* name = std::get_if<std::string>(&statistic.data))
      fill.push_back(static_cast<T>(code_of(feature, *name)));
    else
      fill.push_back(static_cast<T>(std::get<double>(statistic.data)));
    if (statistic.is_null()) continue;
    kept.push_back(static_cast<std::int64_t>(j));
    result.push_back(std::move(feature));
  }
  return result;
}

template <class T>
Matrix<T> SimpleImputer<T>::filled(const Context& ctx, MatrixView<const T> values, const std::vector<T>& missing,
                                   const std::vector<T>& fill) const {
  Matrix<T> out = table_matrix<T>(ctx.device, values.rows, values.cols);
  ctx.ops<T>().tables->gather(values, {}, {}, {}, out.view());
  const Array<T> holes(ctx.memory(), std::span<const T>(missing)), plugs(ctx.memory(), std::span<const T>(fill));
  ctx.ops<T>().categories->fill_missing(holes.view(), plugs.view(), out.view());
  return out;
}

template <class T>
Samples<T> SimpleImputer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, columns_.size());
  ctx.check_stop();
  const std::vector<T> missing = missing_cells(ctx, kOwner, params_.missing_values, X);
  std::vector<T> fill;
  std::vector<std::int64_t> kept;
  const std::vector<Feature> before = features_of(*X.table);
  std::vector<Feature> features = kept_features(before, fill, kept);
  std::vector<std::int32_t> marked;
  for (std::size_t j = 0; params_.add_indicator && j < columns_.size(); ++j) {
    if (!columns_[j].lacks) continue;
    marked.push_back(static_cast<std::int32_t>(j));
    features.push_back({.name = "missingindicator_" + before[j].name});
  }
  if (has_own_rows(ctx, X)) return made_rows<T>(ctx, X, std::move(features), row_maker(missing, fill, kept, marked));
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  Matrix<T> all = filled(ctx, values, missing, fill);
  if (features.size() == columns_.size() && marked.empty()) return samples_of(std::move(all), std::move(features));
  const std::vector<std::int32_t> columns(kept.begin(), kept.end());
  const Array<std::int32_t> chosen(ctx.memory(), std::span<const std::int32_t>(columns));
  Matrix<T> out = table_matrix<T>(ctx.device, values.rows, static_cast<std::int64_t>(features.size()));
  const auto width = static_cast<std::int64_t>(columns.size());
  ctx.ops<T>().categories->take_columns(std::as_const(all).view(), {}, chosen.view(),
                                        {out.data(), values.rows, width, out.cols()});
  if (!marked.empty()) {
    const Matrix<T> marks = missing_marks(ctx, values, missing, marked);
    ctx.ops<T>().tables->gather(marks.view(), {}, {}, {}, {out.data() + width, values.rows, marks.cols(), out.cols()});
  }
  return samples_of(std::move(out), std::move(features));
}

template <class T>
schema::ValueMap SimpleImputer<T>::attributes() const {
  schema::ValueList statistics;
  std::vector<double> marked;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    statistics.push_back(columns_[j].statistic.is_null() ? Value(kNan) : columns_[j].statistic);
    if (columns_[j].lacks) marked.push_back(static_cast<double>(j));
  }
  return {{"statistics_", std::move(statistics)},
          {"indicator_", params_.add_indicator ? Value(schema::ValueMap{{"features_", marked}}) : Value()}};
}

template <class T>
void SimpleImputer<T>::state(StateArchive& archive) {
  archive.list("columns", columns_, [&](Column& column) {
    archive.field("statistic", column.statistic);
    archive.field("is_nominal", column.is_nominal);
    archive.field("lacks", column.lacks);
    const bool is_text = std::holds_alternative<std::string>(column.statistic.data);
    const bool is_number = std::holds_alternative<double>(column.statistic.data);
    archive.expect(column.statistic.is_null() || (column.is_nominal ? is_text : is_number), "statistic", "has another type than its column");
  });
  archive.expect(static_cast<std::int64_t>(columns_.size()) == archive.n_features(), "columns", "is not one for each column");
}

template class SimpleImputer<float>;
template class SimpleImputer<double>;

}  // namespace kedge::engine
