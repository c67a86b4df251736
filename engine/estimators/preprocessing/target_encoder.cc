// TargetEncoder: codes of the cells, sums of the target, and encodings in folds.
#include "engine/estimators/preprocessing/target_encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = TargetEncoderParams;
using schema::ErrorCode;

constexpr const char* kOwner = "TargetEncoder";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("categories", &P::categories, categories_forms(),
               "\"auto\": what the fitted rows hold; or a list of categories for each column, ascending where it is "
               "numeric.")
          .add("target_type", &P::target_type, {"auto", "continuous", "binary", "multiclass"},
               "What the target is; auto takes that of the pipeline's last step.")
          .any("smooth", &P::smooth, {string_form({"auto"}), number_form(at_least(0))},
               "As how many rows the mean of all counts in a category; auto: as the variances say.")
          .add("cv", &P::cv, at_least(2), "Folds in which the fitted rows are encoded, each by the others.")
          .add("shuffle", &P::shuffle, "Shuffle the rows before they are dealt to folds.")
          .random_state(&P::random_state);
  return set;
}

EncodedTarget encoded(const Target& y, bool is_classes, std::int64_t n_outputs) {
  if (is_classes) return {.codes = y.codes, .values = {}, .n_outputs = n_outputs};
  return {.codes = {}, .values = y.values, .n_outputs = 1};
}

// The group of each row: its category, or, with folds, category * n_folds + fold; -1 for what is no category.
template <class T>
std::vector<std::int64_t> groups_of(const std::vector<T>& places, std::size_t width, std::size_t column,
                                    std::span<const std::int32_t> fold_of, std::int64_t n_folds) {
  std::vector<std::int64_t> groups;
  groups.reserve(fold_of.empty() ? places.size() / width : fold_of.size());
  for (std::size_t at = column, i = 0; at < places.size(); at += width, ++i) {
    const T place = places[at];
    groups.push_back(
        std::isnan(place) ? -1 : static_cast<std::int64_t>(place) * n_folds + (fold_of.empty() ? 0 : fold_of[i]));
  }
  return groups;
}

TargetMoments sum_of(std::span<const TargetMoments> parts) {
  TargetMoments all;
  for (const TargetMoments& part : parts) all = all.with(part);
  return all;
}

// Of `parts` all but one.
TargetMoments sum_without(std::span<const TargetMoments> parts, std::size_t left_out) {
  return sum_of(parts.subspan(0, left_out)).with(sum_of(parts.subspan(left_out + 1)));
}

}   // namespace

template <class T>
struct TargetEncoder<T>::Fitted {
  std::vector<T> places;   // of each cell among its column's categories, row-major; NaN: none of them
  EncodedTarget y;
};

template <class T>
TargetEncoder<T>::TargetEncoder(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo TargetEncoder<T>::info() {
  return {
      .name = kOwner,
      .kind = "transformer",
      .family = "preprocessing",
      .doc = "Encode each category by the mean of the target in its rows, the fitted rows by those of other folds.",
      .params = param_set().infos(),
      .attributes = {"categories_", "encodings_", "target_mean_", "target_type_", "classes_", "feature_names_in_"},
      .deviations = {
          "The result has the precision of the job. cv is a number of folds.",
          "With target_type \"auto\" the kind of target is that of the pipeline's last step; alone, it has to be "
          "named. scikit-learn takes a regressor's target for classes where it has whole numbers only.",
          "All classes of the data set are encoded, also those that the fitted rows lack.",
          "Fitted rows with a category that the given `categories` lack count in none; scikit-learn counts "
          "them in the first.",
          "A missing category in `categories` is null, in a numeric column also \"NaN\"; None and NaN are one category."}};
}

template <class T>
MemoryNeed TargetEncoder<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t n_outputs = X.n_outputs > 2 && memory::text(step, "target_type") != "continuous" ? X.n_outputs : 1;
  MemoryNeed need = memory::makes(X, X.cols * n_outputs, 0);
  const std::int64_t groups = bytes_of(X.rows, 6 + n_outputs, memory::kDouble);   // of some columns at a time
  need.work = X.copy() + 3 * X.value_size() + 2 * need.made + groups;
  return need;
}

template <class T>
TargetKind TargetEncoder<T>::target_kind() const {
  if (params_.target_type == "auto") return TargetKind::kNone;
  return params_.target_type == "continuous" ? TargetKind::kValues : TargetKind::kClasses;
}

template <class T>
void TargetEncoder<T>::choose_target(const Target& y) {
  const bool is_auto = params_.target_type == "auto";
  const bool is_classes = is_auto ? !y.codes.empty() : params_.target_type != "continuous";
  require(is_classes ? !y.codes.empty() : !y.values.empty(), ErrorCode::kBadData, "{}: got no target{}", kOwner,
          is_auto ? "; target_type \"auto\" takes that of the last step of the pipeline, where none reads one, name it"
                  : "");
  classes_ = is_classes ? y.classes : std::vector<std::string>();
  const bool is_binary = params_.target_type == "binary" || (is_auto && classes_.size() <= 2);
  require(!is_classes || !is_binary || classes_.size() <= 2, ErrorCode::kBadData,
          "{}: target_type is \"binary\", but the target has {} classes", kOwner, classes_.size());
  target_type_ = !is_classes ? "continuous" : is_binary ? "binary" : "multiclass";
}

template <class T>
std::optional<double> TargetEncoder<T>::smooth() const {
  const auto* number = std::get_if<double>(&params_.smooth.data);
  return number ? std::optional<double>(*number) : std::nullopt;
}

// The place of each cell among its column's categories; NaN for a cell that is none.
template <class T>
Matrix<T> TargetEncoder<T>::place_numbers(const Context& ctx, const Samples<T>& X) const {
  std::vector<ColumnAnswers<T>> answers;
  for (std::size_t j = 0; j < categories_.size(); ++j) {
    const ColumnCategories& column = categories_[j];
    require(static_cast<double>(column.size()) <= std::pow(2.0, std::numeric_limits<T>::digits), ErrorCode::kBadData,
            "{}: column {} has {} categories, more than the job's precision can number", kOwner,
            X.table->column_label(static_cast<std::int64_t>(j)), column.size());
    ColumnAnswers<T> own{.answers = {},
                         .missing = static_cast<T>(column.has_missing ? static_cast<double>(column.n_known()) : kNan),
                         .unknown = static_cast<T>(kNan)};
    for (std::int64_t c = 0; c < column.n_known(); ++c) own.answers.push_back(static_cast<T>(c));
    answers.push_back(std::move(own));
  }
  return translated_cells(ctx, kOwner, X, categories_, answers);
}

template <class T>
typename TargetEncoder<T>::Fitted TargetEncoder<T>::learn(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kOwner, X);
  ctx.check_stop();
  choose_target(y);
  categories_ = found_categories(ctx, X);
  if (std::holds_alternative<schema::ValueList>(params_.categories.data)) {
    const std::vector<ColumnCategories> found = std::move(categories_);
    categories_ = given_categories(kOwner, params_.categories, X, found);
  }
  feature_names_in_ = names_in(*X.table);
  const std::int64_t n_outputs = target_type_ == "multiclass" ? static_cast<std::int64_t>(classes_.size()) : 1;
  Fitted fitted{.places = place_numbers(ctx, X).to_host(), .y = encoded(y, !classes_.empty(), n_outputs)};
  const std::vector<TargetMoments> all =
      moments_by_group(fitted.y, std::vector<std::int64_t>(static_cast<std::size_t>(X.n_rows())), 1);
  target_mean_.clear();
  for (const TargetMoments& moments : all) target_mean_.push_back(moments.mean());
  const auto outputs = static_cast<std::size_t>(n_outputs), width = categories_.size();
  encodings_.assign(width * outputs, {});
  side_by_side(X.n_cols(), [&](std::int64_t column) {
    const auto j = static_cast<std::size_t>(column);
    const auto n = static_cast<std::size_t>(categories_[j].size());
    const auto moments = moments_by_group(fitted.y, groups_of(fitted.places, width, j, {}, 1), categories_[j].size());
    for (std::size_t k = 0; k < outputs; ++k)
      for (std::size_t c = 0; c < n; ++c)
        encodings_[j * outputs + k].push_back(encoding(moments[k * n + c], all[k], smooth()));
  });
  return fitted;
}

template <class T>
void TargetEncoder<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  learn(ctx, X, y);
}

template <class T>
std::vector<std::int32_t> TargetEncoder<T>::folds_of(const Context& ctx, const Target& y) const {
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  const Target own{.codes = classes_.empty() ? std::vector<std::int32_t>() : y.codes,
                   .classes = classes_,
                   .values = classes_.empty() ? y.values : std::vector<double>(),
                   .weights = {}};
  return fold_numbers(kOwner, own, params_.cv, params_.shuffle ? &random : nullptr);
}

template <class T>
Samples<T> TargetEncoder<T>::fit_transform(const Context& ctx, const Samples<T>& X, const Target& y) {
  const Fitted fitted = learn(ctx, X, y);
  const std::vector<std::int32_t> fold_of = folds_of(ctx, y);
  const auto n_folds = static_cast<std::size_t>(params_.cv), outputs = target_mean_.size(), width = categories_.size();
  const std::vector<std::int64_t> fold_groups(fold_of.begin(), fold_of.end());
  const std::vector<TargetMoments> of_folds = moments_by_group(fitted.y, fold_groups, params_.cv);
  std::vector<TargetMoments> others(outputs * n_folds);   // of all rows outside of each fold
  for (std::size_t k = 0; k < outputs; ++k)
    for (std::size_t f = 0; f < n_folds; ++f)
      others[k * n_folds + f] = sum_without(std::span(of_folds).subspan(k * n_folds, n_folds), f);
  std::vector<T> cells(fold_of.size() * width * outputs);
  side_by_side(X.n_cols(), [&](std::int64_t column) {
    const auto j = static_cast<std::size_t>(column), n = static_cast<std::size_t>(categories_[j].size());
    const std::vector<std::int64_t> groups = groups_of(fitted.places, width, j, fold_of, params_.cv);
    const auto moments = moments_by_group(fitted.y, groups, categories_[j].size() * params_.cv);
    std::vector<double> said(n * n_folds);
    for (std::size_t k = 0; k < outputs; ++k) {
      for (std::size_t c = 0; c < n; ++c) {
        const auto parts = std::span(moments).subspan((k * n + c) * n_folds, n_folds);
        for (std::size_t f = 0; f < n_folds; ++f)
          said[c * n_folds + f] = encoding(sum_without(parts, f), others[k * n_folds + f], smooth());
      }
      for (std::size_t i = 0; i < groups.size(); ++i)
        cells[(i * width + j) * outputs + k] =
            static_cast<T>(groups[i] < 0 ? others[k * n_folds + static_cast<std::size_t>(fold_of[i])].mean()
                                         : said[static_cast<std::size_t>(groups[i])]);
    }
  });
  Matrix<T> made(ctx.memory(), X.n_rows(), static_cast<std::int64_t>(width * outputs), cells);
  return samples_of(std::move(made), features_out(*X.table));
}

template <class T>
std::vector<Feature> TargetEncoder<T>::features_out(const Table<T>& table) const {
  std::vector<Feature> features;
  for (const Feature& feature : features_of(table)) {
    if (target_type_ != "multiclass") features.push_back({.name = feature.name});
    else
      for (const std::string& name : classes_) features.push_back({.name = feature.name + "_" + name});
  }
  return features;
}

template <class T>
Samples<T> TargetEncoder<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, categories_.size());
  ctx.check_stop();
  const std::size_t outputs = target_mean_.size();
  std::vector<std::int32_t> columns;
  std::vector<ColumnCategories> categories;
  std::vector<ColumnAnswers<T>> answers;
  for (std::size_t e = 0; e < encodings_.size(); ++e) {
    const ColumnCategories& column = categories_[e / outputs];
    const std::vector<double>& all = encodings_[e];
    columns.push_back(static_cast<std::int32_t>(e / outputs)), categories.push_back(column);
    const T unknown = static_cast<T>(target_mean_[e % outputs]);
    answers.push_back({.answers = {all.begin(), all.begin() + column.n_known()},
                       .missing = column.has_missing ? static_cast<T>(all.back()) : unknown,
                       .unknown = unknown});
  }
  const Samples<T> wide = outputs == 1 ? X : selected_columns(ctx, X, columns);   // each column once an output
  return samples_of(translated_cells(ctx, kOwner, wide, categories, answers), features_out(*X.table));
}

template <class T>
schema::ValueMap TargetEncoder<T>::attributes() const {
  schema::ValueList categories, encodings;
  for (const ColumnCategories& column : categories_) categories.push_back(column.all_values());
  for (const std::vector<double>& encoding : encodings_) encodings.emplace_back(encoding);
  schema::Value classes;
  if (!classes_.empty()) classes = schema::ValueList(classes_.begin(), classes_.end());
  schema::ValueMap map{
      {"categories_", std::move(categories)},
      {"encodings_", std::move(encodings)},
      {"target_mean_", target_mean_.size() == 1 ? schema::Value(target_mean_[0]) : schema::Value(target_mean_)},
      {"target_type_", target_type_},
      {"classes_", std::move(classes)}};
  if (!feature_names_in_.is_null()) map.emplace_back("feature_names_in_", feature_names_in_);
  return map;
}

template <class T>
void TargetEncoder<T>::state(StateArchive& archive) {
  archive.list("categories", categories_, [&](ColumnCategories& column) { column.state(archive); });
  archive.expect(static_cast<std::int64_t>(categories_.size()) == archive.n_features(), "categories",
                 "is not one for each column");
  archive.field("target_type", target_type_);
  archive.field("classes", classes_);
  archive.field("target_mean", target_mean_, kAnySize);
  const bool is_multiclass = target_type_ == "multiclass";
  archive.expect(is_multiclass ? target_mean_.size() == classes_.size() && !classes_.empty() : target_mean_.size() == 1,
                 "target_mean", "is not one for each output");
  if (archive.is_loading()) encodings_.resize(categories_.size() * target_mean_.size());
  for (std::size_t e = 0; e < encodings_.size(); ++e)
    archive.field("encoding", encodings_[e], categories_[e / target_mean_.size()].size());
  archive.field("feature_names_in", feature_names_in_);
}

template class TargetEncoder<float>;
template class TargetEncoder<double>;

}   // namespace kedge::engine
