// ColumnTransformer: selects columns, runs a transformer on each part, and puts the results together.
#include "engine/estimators/composition/column_transformer.h"

#include <algorithm>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/categories.h"

namespace kedge::engine {
namespace {

using P = ColumnTransformerParams;
using schema::ErrorCode;
using schema::Value;

constexpr const char* kOwner = "ColumnTransformer";
constexpr const char* kRemainder = "remainder";

std::vector<schema::ParamForm> part_forms() {
  return {object_form({{"name", "Its name: unique, without \"__\".", nullptr, {string_form()}},
                       {"transformer", "A step, a list of steps that run one after the other, \"passthrough\" or \"drop\".",
                        nullptr, transformer_forms()},
                       {"columns", "Names, places, marks, or a choice by type and name.", nullptr, ColumnChoice::forms()}}),
          array_form({string_form(), object_form(), array_form({string_form(), object_form(), integer_form(), boolean_form()})})};
}

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("transformers", &P::transformers, {array_form(part_forms())},
               "The transformers with their columns, {\"name\", \"transformer\", \"columns\"} each, or [name, transformer, "
               "columns].")
          .any("remainder", &P::remainder, transformer_forms(), "What happens to columns that no transformer names.")
          .ignore("sparse_threshold", 0.3, {number_form(between(0, 1))})
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .any("transformer_weights", &P::transformer_weights, {object_form(), null_form()},
               "What the results of transformers are multiplied by, by name.")
          .ignore("verbose", false, {boolean_form(), integer_form()})
          .any(
              "verbose_feature_names_out", &P::verbose_feature_names_out, {boolean_form(), string_form()},
              "Name output columns TRANSFORMER__COLUMN, as they are, or by a format with {transformer_name} and {feature_name}.");
  return set;
}

}  // namespace

template <class T>
ColumnTransformer<T>::ColumnTransformer(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  std::vector<std::string> names;
  for (const NamedValue& part : named_values(kOwner, "transformers", "transformer", params_.transformers, true)) {
    names.push_back(part.name);
    parts_.push_back(
        {part.name, fmt::format("{}: '{}'", kOwner, part.name), NestedTransformer<T>(part.value, part.path)});
    choices_.emplace_back(part.columns, part.columns_path);
  }
  weights_ = transformer_weights(kOwner, params_.transformer_weights, names);
  parts_.push_back(
      {kRemainder, fmt::format("{}: '{}'", kOwner, kRemainder), NestedTransformer<T>(params_.remainder, "params.remainder")});
}

template <class T>
schema::EstimatorInfo ColumnTransformer<T>::info() {
  return {
      .name = kOwner,
      .kind = "transformer",
      .family = "compose",
      .doc = "Apply transformers to columns of their own and put the results side by side.",
      .params = param_set().infos(),
      .attributes = {"transformers_", "named_transformers_", "output_indices_", "sparse_output_", "feature_names_in_", "feature_names_out_"},
      .deviations = {"transformers is a list of objects, or of lists in place of tuples; columns are lists, slices and functions "
                     "do not exist.",
                     "Patterns of columns are RE2's regular expressions, of at most 1000 characters: no lookahead, no lookbehind, no backreferences.",
                     "The result is dense, or on the CPU sparse where a part is and it takes less than half of the space. Nominal columns that pass through stay categories; a step that needs numbers "
                     "refuses them."}};
}

template <class T>
TargetKind ColumnTransformer<T>::target_kind() const {
  for (const Part& part : parts_)
    if (part.transformer.target_kind() != TargetKind::kNone) return part.transformer.target_kind();
  return TargetKind::kNone;
}

template <class T>
void ColumnTransformer<T>::choose_columns(const Table<T>& table) {
  const std::vector<Feature> features = features_of(table);
  std::vector<char> is_taken(features.size(), 0);
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    parts_[i].columns = choices_[i].resolve(parts_[i].owner, features);
    for (const std::int64_t j : parts_[i].columns) is_taken[static_cast<std::size_t>(j)] = 1;
  }
  parts_.back().columns.clear();
  features_in_.clear();
  for (std::size_t j = 0; j < features.size(); ++j) {
    if (!is_taken[j]) parts_.back().columns.push_back(static_cast<std::int64_t>(j));
    features_in_.push_back(features[j].name);
  }
  has_names_ = !table.features.empty();
}

template <class T>
void ColumnTransformer<T>::prepare(const Context& ctx, const Samples<T>& X) {
  require_rows(kOwner, X);
  ctx.check_stop();
  choose_columns(*X.table);
  const bool has_output = std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.is_used(); });
  require(has_output, ErrorCode::kBadData, "{}: no transformer gets any column", kOwner);
}

template <class T>
void ColumnTransformer<T>::keep_names(const Output& output) {
  ends_ = output.ends;
  features_out_.clear();
  for (const Feature& feature : output.features) features_out_.push_back(feature.name);
}

template <class T>
void ColumnTransformer<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  prepare(ctx, X);
  for (Part& part : parts_)
    if (part.is_used()) part.transformer.fit(ctx, part.owner, column_part(ctx, X, part.columns), y);
  keep_names(run(ctx, first_row(ctx, X)));
}

template <class T>
bool ColumnTransformer<T>::has_own_fit_transform() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.transformer.has_own_fit_transform(); });
}

template <class T>
Samples<T> ColumnTransformer<T>::fit_transform(const Context& ctx, const Samples<T>& X, const Target& y) {
  prepare(ctx, X);
  Output output = run(ctx, parts_, X, [&](Part& part, const Samples<T>& input) {
    return part.transformer.fit_transform(ctx, part.owner, input, y);
  });
  keep_names(output);
  return side_by_side(ctx, output.made, output.weights, std::move(output.features));
}

template <class T>
typename ColumnTransformer<T>::Output ColumnTransformer<T>::run(const Context& ctx, const Samples<T>& X) const {
  return run(ctx, parts_, X, [&](const Part& part, const Samples<T>& input) {
    return part.transformer.transform(ctx, part.owner, input);
  });
}

template <class T>
template <class Parts, class Made>
typename ColumnTransformer<T>::Output ColumnTransformer<T>::run(const Context& ctx, Parts& parts, const Samples<T>& X,
                                                                Made made) const {
  Output output;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto& part = parts[i];
    if (!part.is_used()) continue;
    const Samples<T> input = column_part(ctx, X, part.columns);
    output.made.push_back(made(part, input));
    output.weights.push_back(i < weights_.size() ? weights_[i] : 1.0);
    for (Feature feature : part.transformer.features_out(input, output.made.back())) {
      feature.name = verbose_name(params_.verbose_feature_names_out, part.name, feature.name);
      output.features.push_back(std::move(feature));
    }
    output.ends.emplace_back(part.name, static_cast<std::int64_t>(output.features.size()));
  }
  if (params_.verbose_feature_names_out == Value(false)) require_unique_names(kOwner, output.features);
  return output;
}

template <class T>
Samples<T> ColumnTransformer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, features_in_.size());
  Output output = run(ctx, X);
  return side_by_side(ctx, output.made, output.weights, std::move(output.features));
}

template <class T>
schema::ValueMap ColumnTransformer<T>::attributes() const {
  schema::ValueList transformers, names_in, names_out;
  schema::ValueMap named, indices;
  std::int64_t first = 0;
  for (const auto& [name, end] : ends_) indices.emplace_back(name, schema::ValueList{std::exchange(first, end), end});
  for (const Part& part : parts_) {
    if (part.name == kRemainder && part.columns.empty()) continue;  // scikit-learn leaves an empty remainder out as well
    schema::ValueList columns;
    for (const std::int64_t j : part.columns)
      columns.push_back(has_names_ ? Value(features_in_[static_cast<std::size_t>(j)]) : Value(j));
    transformers.push_back(schema::ValueMap{{"name", part.name}, {"columns", std::move(columns)}});
    named.emplace_back(part.name,
                       part.is_used() || part.transformer.is_drop() ? part.transformer.attributes() : Value(schema::ValueMap{}));
  }
  for (const std::string& name : features_in_) names_in.emplace_back(name);
  for (const std::string& name : features_out_) names_out.emplace_back(name);
  schema::ValueMap map{{"transformers_", std::move(transformers)},
                       {"named_transformers_", std::move(named)},
                       {"output_indices_", std::move(indices)},
                       {"sparse_output_", false}};
  if (has_names_) map.emplace_back("feature_names_in_", std::move(names_in));
  map.emplace_back("feature_names_out_", std::move(names_out));
  return map;
}

template <class T>
void ColumnTransformer<T>::state(StateArchive& archive) {
  archive.field("features_in", features_in_, archive.n_features());
  archive.field("features_out", features_out_);
  archive.field("has_names", has_names_);
  for (Part& part : parts_) {
    archive.indices("columns", part.columns, kAnySize, 0, archive.n_features() - 1);
    if (!part.is_used()) continue;
    const StateArchive::Scope scope(archive, part.name, static_cast<std::int64_t>(part.columns.size()));
    part.transformer.state(archive);
  }
  archive.list("ends", ends_, [&](std::pair<std::string, std::int64_t>& end) {
    archive.field("name", end.first);
    archive.number("end", end.second, 0, kMaxSize);
  });
}

template <class T>
std::vector<std::int64_t> ColumnTransformer<T>::text_columns() const {
  std::vector<std::int64_t> texts, others;
  for (const Part& part : parts_) {
    if (!part.is_used()) continue;
    std::vector<std::int64_t>& kind = part.transformer.reads_texts() ? texts : others;
    kind.insert(kind.end(), part.columns.begin(), part.columns.end());
  }
  std::ranges::sort(texts);
  texts.erase(std::ranges::unique(texts).begin(), texts.end());
  std::erase_if(texts, [&](std::int64_t column) { return std::ranges::find(others, column) != others.end(); });
  return texts;
}

template class ColumnTransformer<float>;
template class ColumnTransformer<double>;

}  // namespace kedge::engine
