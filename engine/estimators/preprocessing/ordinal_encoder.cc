// OrdinalEncoder: finds categories and numbers them.
#include "engine/estimators/preprocessing/ordinal_encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/part_states.h"

namespace kedge::engine {
namespace {

using P = OrdinalEncoderParams;
using schema::ErrorCode;

constexpr const char* kOwner = "OrdinalEncoder";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("categories", &P::categories, categories_forms(),
               "\"auto\": what the fitted rows hold; or a list of categories for each column, ascending where it is numeric.")
          .ignore("dtype", "float64", {string_form({"float64", "float32"})})
          .add("handle_unknown", &P::handle_unknown, {"error", "use_encoded_value"},
               "What to do with a category that no fitted row had.")
          .any("unknown_value", &P::unknown_value, {integer_form(), nan_form(), null_form()},
               "Code of unknown categories with handle_unknown = \"use_encoded_value\".")
          .any("encoded_missing_value", &P::encoded_missing_value, {integer_form(), nan_form()}, "Code of missing values.")
          .any("min_frequency", &P::min_frequency, min_frequency_forms(),
               "Categories with fewer rows, or a smaller share of them, get one code, the last.")
          .add("max_categories", &P::max_categories, at_least(1),
               "Largest number of codes per column; the rest shares the last.");
  return set;
}

// An integer, or NaN under its name.
double code_of(const schema::Value& value) {
  const auto* integer = std::get_if<std::int64_t>(&value.data);
  return integer ? static_cast<double>(*integer) : kNan;
}

}  // namespace

template <class T>
OrdinalEncoder<T>::OrdinalEncoder(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const bool uses = params_.handle_unknown == "use_encoded_value";
  if (uses && params_.unknown_value.is_null())
    refuse_param(kOwner, "unknown_value", params_.unknown_value,
                 "must be an integer or \"NaN\" with handle_unknown = \"use_encoded_value\"");
  if (!uses && !params_.unknown_value.is_null())
    refuse_param(kOwner, "unknown_value", params_.unknown_value,
                 "must be left out unless handle_unknown is \"use_encoded_value\"");
}

template <class T>
schema::EstimatorInfo OrdinalEncoder<T>::info() {
  return {
      .name = kOwner,
      .kind = "transformer",
      .family = "preprocessing",
      .doc = "Encode the categories of each column as whole numbers.",
      .params = param_set().infos(),
      .attributes = {"categories_", "infrequent_categories_", "feature_names_in_"},
      .deviations = {
          "The result has the precision of the job, for any dtype.",
          "A missing category in `categories` is null, in a numeric column also \"NaN\"; None and NaN are one category."}};
}

template <class T>
void OrdinalEncoder<T>::require_free_codes(const Samples<T>& X) const {
  const double unknown = params_.unknown_value.is_null() ? kNan : code_of(params_.unknown_value),
               missing = code_of(params_.encoded_missing_value);
  for (std::size_t j = 0; j < categories_.size(); ++j) {
    const auto used = static_cast<double>(categories_[j].n_known() - static_cast<std::int64_t>(rare_[j].size()));
    const std::string label = X.table->column_label(static_cast<std::int64_t>(j));
    require(!(unknown >= 0 && unknown < used), ErrorCode::kBadData, "{}: unknown_value {} is the code of a category of column {}",
            kOwner, unknown, label);
    require(!(categories_[j].has_missing && missing >= 0 && missing < used), ErrorCode::kBadData,
            "{}: encoded_missing_value {} is the code of a category of column {}", kOwner, missing, label);
  }
}

template <class T>
void OrdinalEncoder<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  categories_ = found_categories(ctx, X);
  if (std::holds_alternative<schema::ValueList>(params_.categories.data)) {
    const std::vector<ColumnCategories> found = std::move(categories_);
    categories_ = given_categories(kOwner, params_.categories, X, found);
    if (params_.handle_unknown == "error") require_known_categories(kOwner, X, categories_, found);
  }
  const RarityRule rule{params_.min_frequency, params_.max_categories};
  rare_.assign(categories_.size(), {}), codes_.assign(categories_.size(), {});
  for (std::size_t j = 0; j < categories_.size(); ++j) {
    const std::int64_t n = categories_[j].n_known();  // the missing one is never rare
    if (rule.is_set()) rare_[j] = rare_categories(rule, categories_[j], n, X.n_rows());
    codes_[j] = grouped_places(rare_[j], n);
  }
  require_free_codes(X);
  features_out_ = features_of(*X.table);
  for (Feature& feature : features_out_) feature = {.name = feature.name};
  feature_names_in_ = names_in(*X.table);
}

template <class T>
std::vector<ColumnAnswers<T>> OrdinalEncoder<T>::answers(T missing, T unknown) const {
  std::vector<ColumnAnswers<T>> all;
  for (std::size_t j = 0; j < categories_.size(); ++j) {
    ColumnAnswers<T> column{{codes_[j].begin(), codes_[j].end()}, categories_[j].has_missing ? missing : unknown, unknown};
    all.push_back(std::move(column));
  }
  return all;
}

template <class T>
Samples<T> OrdinalEncoder<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, categories_.size());
  ctx.check_stop();
  const bool refuses = params_.handle_unknown == "error";
  const T missing = static_cast<T>(code_of(params_.encoded_missing_value));
  const T unknown = static_cast<T>(refuses ? kNan : code_of(params_.unknown_value));
  Matrix<T> codes;
  if (refuses) {  // unknown cells are looked for where nothing else is NaN
    codes = translated_cells(ctx, kOwner, X, categories_, answers(std::isnan(missing) ? T{0} : missing, unknown));
    refuse_unknown_cells(ctx, kOwner, X, codes);
    const bool is_done =
        !std::isnan(missing) || std::none_of(categories_.begin(), categories_.end(), [](const auto& c) { return c.has_missing; });
    if (is_done) return samples_of(std::move(codes), features_out_);
  }
  return samples_of(translated_cells(ctx, kOwner, X, categories_, answers(missing, unknown)), features_out_);
}

template <class T>
schema::ValueMap OrdinalEncoder<T>::attributes() const {
  schema::ValueList categories, rare;
  for (std::size_t j = 0; j < categories_.size(); ++j) {
    categories.push_back(categories_[j].all_values());
    rare.push_back(rare_[j].empty() ? schema::Value() : categories_[j].values(rare_[j]));
  }
  schema::ValueMap map{{"categories_", std::move(categories)}};
  if (RarityRule{params_.min_frequency, params_.max_categories}.is_set())
    map.emplace_back("infrequent_categories_", std::move(rare));
  if (!feature_names_in_.is_null()) map.emplace_back("feature_names_in_", feature_names_in_);
  return map;
}

template <class T>
void OrdinalEncoder<T>::state(StateArchive& archive) {
  archive.list("categories", categories_, [&](ColumnCategories& column) { column.state(archive); });
  archive.expect(static_cast<std::int64_t>(categories_.size()) == archive.n_features(), "categories", "is not one for each column");
  rare_.resize(categories_.size()), codes_.resize(categories_.size());
  for (std::size_t j = 0; j < categories_.size(); ++j) {
    archive.indices("rare", rare_[j], kAnySize, 0, categories_[j].size() - 1);
    archive.indices("codes", codes_[j], categories_[j].n_known(), 0, kMaxSize);
  }
  state_of(archive, "features_out", features_out_);
  archive.expect(features_out_.size() == categories_.size(), "features_out", "is not one for each column");
  archive.field("feature_names_in", feature_names_in_);
}

template class OrdinalEncoder<float>;
template class OrdinalEncoder<double>;

}  // namespace kedge::engine
