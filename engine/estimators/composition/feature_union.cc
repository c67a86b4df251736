// FeatureUnion: runs each transformer on all columns and puts the results together.
#include "engine/estimators/composition/feature_union.h"

#include <algorithm>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/part_states.h"
#include "engine/estimators/preprocessing/categories.h"

namespace kedge::engine {
namespace {

using P = FeatureUnionParams;
using schema::Value;

constexpr const char* kOwner = "FeatureUnion";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("transformer_list", &P::transformer_list,
               {array_form({object_form({{"name", "Its name: unique, without \"__\".", nullptr, {string_form()}},
                                         {"transformer",
                                          "A step, a list of steps that run one after the other, \"passthrough\" or \"drop\".",
                                          nullptr, transformer_forms()}}),
                            array_form({string_form(), object_form(), array_form({object_form()})})})},
               "The transformers, {\"name\", \"transformer\"} each, or [name, transformer].")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .any("transformer_weights", &P::transformer_weights, {object_form(), null_form()},
               "What the results of transformers are multiplied by, by name.")
          .ignore("verbose", false, {boolean_form(), integer_form()})
          .any("verbose_feature_names_out", &P::verbose_feature_names_out, {boolean_form()},
               "Name output columns TRANSFORMER__COLUMN, or as they are.");
  return set;
}

}  // namespace

template <class T>
FeatureUnion<T>::FeatureUnion(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  std::vector<std::string> names;
  const std::vector<NamedValue> named =
      named_values(kOwner, "transformer_list", "transformer", params_.transformer_list);
  for (const NamedValue& part : named) names.push_back(part.name);
  const std::vector<double> weights = transformer_weights(kOwner, params_.transformer_weights, names);
  for (std::size_t i = 0; i < named.size(); ++i) {
    NestedTransformer<T> transformer(named[i].value, named[i].path);
    if (!transformer.is_drop())
      parts_.push_back({names[i], fmt::format("{}: '{}'", kOwner, names[i]), weights[i], std::move(transformer)});
  }
}

template <class T>
schema::EstimatorInfo FeatureUnion<T>::info() {
  return {
      .name = kOwner,
      .kind = "transformer",
      .family = "pipeline",
      .doc = "Apply several transformers to the same columns and put the results side by side.",
      .params = param_set().infos(),
      .attributes = {"named_transformers", "feature_names_in_", "feature_names_out_"},
      .deviations = {"transformer_list is a list of objects, or of lists in place of tuples.", "The result is dense, or on the CPU sparse where a part is and it takes less than half of the space."}};
}

template <class T>
TargetKind FeatureUnion<T>::target_kind() const {
  for (const Part& part : parts_)
    if (part.transformer.target_kind() != TargetKind::kNone) return part.transformer.target_kind();
  return TargetKind::kNone;
}

template <class T>
void FeatureUnion<T>::prepare(const Context& ctx, const Samples<T>& X) {
  require_rows(kOwner, X);
  ctx.check_stop();
  require(!parts_.empty(), schema::ErrorCode::kBadData, "{}: has no transformer", kOwner);
  n_features_in_ = X.n_cols(), feature_names_in_ = names_in(*X.table);
}

template <class T>
void FeatureUnion<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  prepare(ctx, X);
  for (Part& part : parts_) part.transformer.fit(ctx, part.owner, X, y);
  features_out_ = combined(ctx, first_row(ctx, X)).table->features;
}

template <class T>
bool FeatureUnion<T>::has_own_fit_transform() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.transformer.has_own_fit_transform(); });
}

template <class T>
Samples<T> FeatureUnion<T>::fit_transform(const Context& ctx, const Samples<T>& X, const Target& y) {
  prepare(ctx, X);
  Samples<T> made =
      combined(ctx, parts_, X, [&](Part& part) { return part.transformer.fit_transform(ctx, part.owner, X, y); });
  features_out_ = made.table->features;
  return made;
}

template <class T>
Samples<T> FeatureUnion<T>::combined(const Context& ctx, const Samples<T>& X) const {
  return combined(ctx, parts_, X, [&](const Part& part) { return part.transformer.transform(ctx, part.owner, X); });
}

template <class T>
template <class Parts, class Made>
Samples<T> FeatureUnion<T>::combined(const Context& ctx, Parts& parts, const Samples<T>& X, Made make) const {
  std::vector<Samples<T>> made;
  std::vector<double> weights;
  std::vector<Feature> features;
  for (auto& part : parts) {
    made.push_back(make(part));
    weights.push_back(part.weight);
    for (Feature feature : part.transformer.features_out(X, made.back())) {
      feature.name = verbose_name(params_.verbose_feature_names_out, part.name, feature.name);
      features.push_back(std::move(feature));
    }
  }
  if (params_.verbose_feature_names_out == Value(false)) require_unique_names(kOwner, features);
  return side_by_side(ctx, made, weights, std::move(features));
}

template <class T>
Samples<T> FeatureUnion<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, static_cast<std::size_t>(n_features_in_));
  return combined(ctx, X);
}

template <class T>
schema::ValueMap FeatureUnion<T>::attributes() const {
  schema::ValueMap named;
  schema::ValueList names;
  for (const Part& part : parts_) named.emplace_back(part.name, part.transformer.attributes());
  for (const Feature& feature : features_out_) names.emplace_back(feature.name);
  schema::ValueMap map{{"named_transformers", std::move(named)}};
  if (!feature_names_in_.is_null()) map.emplace_back("feature_names_in_", feature_names_in_);
  map.emplace_back("feature_names_out_", std::move(names));
  return map;
}

template <class T>
void FeatureUnion<T>::state(StateArchive& archive) {
  archive.features(n_features_in_);
  for (Part& part : parts_) {
    const StateArchive::Scope scope(archive, part.name, n_features_in_);
    part.transformer.state(archive);
  }
  state_of(archive, "features_out", features_out_);
  archive.field("feature_names_in", feature_names_in_);
}

template <class T>
std::vector<std::int64_t> FeatureUnion<T>::text_columns() const {
  const bool all_read = std::ranges::all_of(parts_, [](const Part& part) { return part.transformer.reads_texts(); });
  return all_read && !parts_.empty() ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{};
}

template class FeatureUnion<float>;
template class FeatureUnion<double>;

}  // namespace kedge::engine
