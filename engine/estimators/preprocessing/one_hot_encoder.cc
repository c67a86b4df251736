// OneHotEncoder: finds categories, groups the rare ones, drops what is to be dropped, and writes zeros and ones.
#include "engine/estimators/preprocessing/one_hot_encoder.h"

#include <algorithm>
#include <limits>

#include "engine/backend/linked_tables.h"
#include "engine/core/host_view.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/part_states.h"
#include "engine/estimators/sparse_choice.h"

namespace kedge::engine {
namespace {

using P = OneHotEncoderParams;
using schema::ErrorCode;

constexpr const char* kOwner = "OneHotEncoder";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("categories", &P::categories, categories_forms(),
               "\"auto\": what the fitted rows hold; or a list of categories for each column, ascending where it is numeric.")
          .any("drop", &P::drop, {string_form({"first", "if_binary"}), array_form(category_forms()), null_form()},
               "Leave out the first category of each column, or of columns with two, or a given one for each column.")
          .ignore("sparse_output", true, {boolean_form()})
          .ignore("dtype", "float64", {string_form({"float64", "float32"})})
          .add("handle_unknown", &P::handle_unknown, {"error", "ignore", "infrequent_if_exist", "warn"},
               "What a category is that no fitted row had: an error, all zeros, or the group of infrequent ones (\"warn\": with "
               "a warning).")
          .any("min_frequency", &P::min_frequency, min_frequency_forms(),
               "Categories with fewer rows, or a smaller share of them, are infrequent.")
          .add("max_categories", &P::max_categories, at_least(1),
               "Largest number of output columns per column; the rest is infrequent.")
          .add("feature_name_combiner", &P::feature_name_combiner, {"concat"}, "How output columns are named: COLUMN_CATEGORY.");
  return set;
}

}  // namespace

template <class T>
OneHotEncoder<T>::OneHotEncoder(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo OneHotEncoder<T>::info() {
  return {
      .name = kOwner,
      .kind = "transformer",
      .family = "preprocessing",
      .doc = "Encode categories as columns of zeros and ones, one for each category.",
      .params = param_set().infos(),
      .attributes = {"categories_", "drop_idx_", "infrequent_categories_", "feature_names_in_", "feature_names_out_"},
      .deviations = {
          "For any value of sparse_output, the result is dense, or on the CPU sparse where it would have 64 MiB and sparse takes less "
          "than half of that; in the precision of the job.",
          "A missing category in `categories` or `drop` is null, in a numeric column also \"NaN\"; None and NaN "
          "are one category."}};
}

template <class T>
std::int64_t OneHotEncoder<T>::Coded::place(std::int64_t of_group) const {
  if (dropped && of_group == *dropped) return -1;
  return first + of_group - (dropped && of_group > *dropped);
}

template <class T>
void OneHotEncoder<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  categories_ = found_categories(ctx, X);
  if (std::holds_alternative<schema::ValueList>(params_.categories.data)) {
    const std::vector<ColumnCategories> found = std::move(categories_);
    categories_ = given_categories(kOwner, params_.categories, X, found);
    if (params_.handle_unknown == "error") require_known_categories(kOwner, X, categories_, found);
  }
  const RarityRule rule{params_.min_frequency, params_.max_categories};
  coded_.assign(categories_.size(), {});
  for (std::size_t j = 0; j < coded_.size(); ++j) {
    const std::int64_t n = categories_[j].size();
    if (rule.is_set()) coded_[j].rare = rare_categories(rule, categories_[j], n, X.n_rows());
    coded_[j].group = grouped_places(coded_[j].rare, n);
    coded_[j].n_groups = n - static_cast<std::int64_t>(coded_[j].rare.size()) + !coded_[j].rare.empty();
  }
  choose_dropped(X);
  name_outputs(*X.table);
}

template <class T>
std::optional<std::int64_t> OneHotEncoder<T>::named_drop(const schema::Value& category, std::size_t j,
                                                         const std::string& label) const {
  const std::optional<std::int64_t> place = categories_[j].find(category);
  require(place.has_value(), ErrorCode::kBadData, "{}: drop names the category {} of column {}, which the data do not have",
          kOwner, schema::to_string(category), label);
  require(!std::binary_search(coded_[j].rare.begin(), coded_[j].rare.end(), *place), ErrorCode::kBadData,
          "{}: drop names the category {} of column {}, which is infrequent", kOwner, schema::to_string(category), label);
  return coded_[j].group[static_cast<std::size_t>(*place)];
}

template <class T>
void OneHotEncoder<T>::choose_dropped(const Samples<T>& X) {
  const auto* named = std::get_if<schema::ValueList>(&params_.drop.data);
  require(!named || named->size() == categories_.size(), ErrorCode::kBadData,
          "{}: drop has {} categories, but the data have {} columns", kOwner, named ? named->size() : 0, categories_.size());
  std::int64_t first = 0;
  for (std::size_t j = 0; j < coded_.size(); ++j) {
    Coded& coded = coded_[j];
    if (named)
      coded.dropped = named_drop((*named)[j], j, X.table->column_label(static_cast<std::int64_t>(j)));
    else if (!params_.drop.is_null() && (params_.drop == schema::Value("first") || coded.n_groups == 2))
      coded.dropped = 0;
    coded.first = first;
    first += coded.width();
  }
  require(first < (std::int64_t{1} << 24), ErrorCode::kBadData, "{}: {} output columns are too many, at most {}", kOwner, first,
          1 << 24);
  require(first > 0, ErrorCode::kBadData, "{}: every category is dropped, no column is left", kOwner);
}

template <class T>
void OneHotEncoder<T>::name_outputs(const Table<T>& table) {
  const std::vector<Feature> features = features_of(table);
  feature_names_in_ = names_in(table);
  features_out_.clear();
  for (std::size_t j = 0; j < coded_.size(); ++j) {
    const Coded& coded = coded_[j];
    const std::vector<std::string> of_category = categories_[j].labels();
    std::vector<std::string> labels(static_cast<std::size_t>(coded.n_groups));
    for (std::size_t c = 0; c < coded.group.size(); ++c)
      labels[static_cast<std::size_t>(coded.group[c])] = of_category[c];
    if (!coded.rare.empty()) labels.back() = "infrequent_sklearn";
    for (std::int64_t g = 0; g < coded.n_groups; ++g)
      if (coded.dropped != g) features_out_.push_back({.name = features[j].name + "_" + labels[static_cast<std::size_t>(g)]});
  }
}

// Output column of each category; -1, which one_hot() skips, for none.
template <class T>
ColumnAnswers<T> OneHotEncoder<T>::answers(std::size_t j, T unknown) const {
  const Coded& coded = coded_[j];
  ColumnAnswers<T> result{{}, unknown, unknown};
  for (const std::int64_t group : coded.group) result.answers.push_back(static_cast<T>(coded.place(group)));
  if (categories_[j].has_missing) result.missing = result.answers.back();
  return result;
}

template <class T>
Matrix<T> OneHotEncoder<T>::positions(const Context& ctx, const Samples<T>& X) const {
  const bool refuses = params_.handle_unknown == "error", to_rare = params_.handle_unknown != "ignore" && !refuses;
  std::vector<ColumnAnswers<T>> all;
  for (std::size_t j = 0; j < coded_.size(); ++j) {
    const bool has_rare = to_rare && !coded_[j].rare.empty();
    const T elsewhere = has_rare ? static_cast<T>(coded_[j].place(coded_[j].n_groups - 1)) : T{-1};
    all.push_back(answers(j, refuses ? std::numeric_limits<T>::quiet_NaN() : elsewhere));
  }
  Matrix<T> result = translated_cells(ctx, kOwner, X, categories_, all);
  if (refuses) refuse_unknown_cells(ctx, kOwner, X, result);
  return result;
}

// scikit-learn warns if an unknown category looks like the dropped one, and if handle_unknown says that it warns.
template <class T>
void OneHotEncoder<T>::warn_of_unknown(const Context& ctx, const Samples<T>& X) const {
  const bool hides = !params_.drop.is_null() && params_.handle_unknown != "error";
  if (!hides && params_.handle_unknown != "warn") return;
  std::vector<ColumnAnswers<T>> marks;
  for (const ColumnCategories& column : categories_) {
    marks.push_back({std::vector<T>(static_cast<std::size_t>(column.size()), T{0}), column.has_missing ? T{0} : T{1}, T{1}});
  }
  const Matrix<T> unknown = translated_cells(ctx, kOwner, X, categories_, marks);
  Array<double> counts(ctx.memory(), X.n_cols());
  ctx.ops<T>().rows->column_sums(unknown.view(), counts.view());
  std::string columns;
  const std::vector<double> host = counts.to_host();
  for (std::size_t j = 0; j < host.size(); ++j)
    if (host[j] > 0) columns += (columns.empty() ? "" : ", ") + X.table->column_label(static_cast<std::int64_t>(j));
  if (!columns.empty())
    ctx.warn(fmt::format("{}: unknown categories in column {} are encoded as {}", kOwner, columns,
                         params_.handle_unknown == "ignore" ? "all zeros" : "the infrequent category"));
}

// The places of a row ascend, because its columns' outputs follow each other. The device uses the host's memory.
template <class T>
CsrMatrix<T> OneHotEncoder<T>::sparse_ones(const Context& ctx, const Matrix<T>& places) const {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  offsets.reserve(static_cast<std::size_t>(places.rows() + 1));
  columns.reserve(static_cast<std::size_t>(places.rows() * places.cols()));
  for (std::int64_t i = 0; i < places.rows(); ++i) {
    for (const T place : host_view(places.view()).row(i))
      if (place >= 0) columns.push_back(static_cast<std::int32_t>(place));
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const std::vector<T> ones(columns.size(), T{1});
  return CsrMatrix<T>(ctx.memory(), static_cast<std::int64_t>(features_out_.size()), std::span<const std::int64_t>(offsets),
                      std::span<const std::int32_t>(columns), std::span<const T>(ones));
}

template <class T>
Samples<T> OneHotEncoder<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, categories_.size());
  ctx.check_stop();
  warn_of_unknown(ctx, X);
  const Matrix<T> places = positions(ctx, X);
  const auto width = static_cast<std::int64_t>(features_out_.size());
  if (ctx.device.traits().uses_host_memory &&
      is_better_sparse(X.n_rows(), width, places.rows() * places.cols(), sizeof(T))) {
    Samples<T> result = samples_of(sparse_ones(ctx, places), features_out_);
    result.table->is_finite = true;
    return result;
  }
  Matrix<T> out = table_matrix<T>(ctx.device, X.n_rows(), width);
  ctx.ops<T>().categories->one_hot(places.view(), out.view());
  Samples<T> result = samples_of(std::move(out), features_out_);
  result.table->is_finite = true;
  return result;
}

template <class T>
schema::ValueMap OneHotEncoder<T>::attributes() const {
  schema::ValueList categories, dropped, rare, names;
  for (std::size_t j = 0; j < categories_.size(); ++j) {
    const Coded& coded = coded_[j];
    categories.push_back(categories_[j].all_values());
    const auto at = std::find(coded.group.begin(), coded.group.end(), coded.dropped.value_or(-1));
    dropped.push_back(coded.dropped ? schema::Value(static_cast<std::int64_t>(at - coded.group.begin())) : schema::Value());
    rare.push_back(coded.rare.empty() ? schema::Value() : categories_[j].values(coded.rare));
  }
  for (const Feature& feature : features_out_) names.emplace_back(feature.name);
  schema::ValueMap map{{"categories_", std::move(categories)},
                       {"drop_idx_", params_.drop.is_null() ? schema::Value() : schema::Value(std::move(dropped))}};
  if (RarityRule{params_.min_frequency, params_.max_categories}.is_set())
    map.emplace_back("infrequent_categories_", std::move(rare));
  if (!feature_names_in_.is_null()) map.emplace_back("feature_names_in_", feature_names_in_);
  map.emplace_back("feature_names_out_", std::move(names));
  return map;
}

template <class T>
void OneHotEncoder<T>::state(StateArchive& archive) {
  std::int64_t width = 0;
  archive.list("categories", categories_, [&](ColumnCategories& column) { column.state(archive); });
  archive.expect(static_cast<std::int64_t>(categories_.size()) == archive.n_features(), "categories", "is not one for each column");
  coded_.resize(categories_.size());
  for (std::size_t j = 0; j < coded_.size(); ++j) {
    Coded& coded = coded_[j];
    const std::int64_t size = categories_[j].size();
    archive.number("n_groups", coded.n_groups, 0, kMaxSize);
    archive.indices("group", coded.group, size, 0, coded.n_groups - 1);
    archive.indices("rare", coded.rare, kAnySize, 0, size - 1);
    std::int64_t dropped = coded.dropped.value_or(-1);
    archive.number("dropped", dropped, -1, coded.n_groups - 1);
    if (archive.is_loading()) coded.dropped = dropped < 0 ? std::nullopt : std::optional(dropped), coded.first = width;
    width += coded.width();
  }
  state_of(archive, "features_out", features_out_);
  archive.expect(static_cast<std::int64_t>(features_out_.size()) == width, "features_out", "is not as wide as the categories");
  archive.field("feature_names_in", feature_names_in_);
}

template class OneHotEncoder<float>;
template class OneHotEncoder<double>;

}  // namespace kedge::engine
