// Saves, loads and asks fitted pipelines.
#include "engine/model/stored_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "engine/core/require.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/catalogue.h"
#include "engine/estimators/contributions.h"
#include "engine/estimators/row_scores.h"
#include "engine/estimators/text/documents.h"
#include "engine/job/step_traits.h"
#include "engine/memory/memory_plan.h"
#include "engine/model/contributions_answer.h"
#include "engine/model/ensemble_model.h"
#include "engine/model/graph_model.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

std::vector<StepTraits> traits_of_all(const std::vector<schema::Step>& steps) {
  std::vector<StepTraits> traits;
  for (std::size_t i = 0; i < steps.size(); ++i) traits.push_back(traits_of(steps[i], fmt::format("pipeline[{}]", i)));
  return traits;
}

constexpr const char* kColumnMeans = "column_means";

void add_contributions(std::vector<std::string>& outputs) {
  outputs.insert(outputs.end(), {std::string(kContributions), std::string(kInteractions)});
}

void require_model(bool ok, const char* problem) { require(ok, ErrorCode::kModelCorrupt, "model: {}", problem); }

// What the description says must fit itself, before any of it is used.
void check_description(const schema::ModelInfo& info) {
  require_model(!info.pipeline.empty(), "its pipeline has no step");
  require_model(!info.columns.empty() && info.columns.size() <= static_cast<std::size_t>(kMaxSize), "it has no columns");
  require_model(info.classes.size() <= static_cast<std::size_t>(kMaxSize), "it has too many classes");
  require_model(info.dtype == "float32" || info.dtype == "float64", "its dtype is neither float32 nor float64");
  for (const schema::ModelColumn& column : info.columns) {
    require_model(column.kind == "number" || column.kind == "category" || column.kind == "text",
                  "a column is neither number nor category nor text");
  }
}

void check_steps(const schema::ModelInfo& info) {
  try {
    const std::vector<StepTraits> traits = traits_of_all(info.pipeline);
    check_order(info.pipeline, traits, "pipeline");
    const bool has_classes = target_kind_of(traits) == TargetKind::kClasses, fits_targets = traits.back().fits_targets;
    require_model(!has_classes || fits_targets || !info.classes.empty(), "it has a classifier and no classes");
    require_model(fits_targets == !info.targets.empty(), "its targets are not those of its last step");
  } catch (const Error& error) {
    throw Error(ErrorCode::kModelCorrupt, "model: " + error.message);
  }
}

std::int32_t class_count(const schema::ModelInfo& info) { return static_cast<std::int32_t>(info.classes.size()); }

template <class T>
class TypedModel final : public StoredModel {
 public:
  TypedModel(const Context& ctx, const ModelFile& file) : info_(file.info()), chain_(info_.pipeline) {
    StateArchive archive(ctx, file, class_count(info_));
    chain_.state(archive);
    require_targets();
    const bool keeps_means = known_estimator(info_.pipeline.back().estimator, "pipeline").is_line &&
                             std::ranges::count(info_.outputs, kContributions) > 0;
    if (keeps_means) archive.field(kColumnMeans, column_means_, kAnySize);
    archive.expect_finite(kColumnMeans, column_means_);
    if (archive.has_more()) profile_.emplace().state(archive, info_);
    archive.finish();
    require_model(chain_.n_features() == static_cast<std::int64_t>(info_.columns.size()),
                  "its first step was fitted with another number of columns than it names");
  }
  const schema::ModelInfo& info() const override { return info_; }
  const std::optional<TrainingProfile>& profile() const override { return profile_; }

  ModelAnswer answer(const Context& ctx, const ModelRows& rows, std::string_view output) override {
    std::vector<std::string> outputs = outputs_of(info_.pipeline);
    if (!column_means_.empty()) add_contributions(outputs);
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) {
      throw Error(ErrorCode::kInvalidValue,
                  fmt::format("output is '{}', this model has {}", output, outputs.empty() ? "none" : fmt::format("{}", fmt::join(outputs, ", "))),
                  "output");
    }
    const bool is_transform = output == "transform";
    const Samples<T> last = transformed(ctx, rows, chain_.size() - (is_transform ? 0 : 1));
    ModelAnswer answer = is_transform               ? values_of(ctx, last)
                         : output == "predict"      ? predicted(ctx, last)
                         : output == kContributions ? contributed(ctx, last, rows.background.get(), false)
                         : output == kInteractions  ? contributed(ctx, last, nullptr, true)
                                                    : scored(ctx, last, output);
    answer.n_rows = rows.n_rows;
    return answer;
  }

 private:
  const Estimator<T>& last_step() const { return chain_.step(chain_.size() - 1); }

  // By the first n_steps steps.
  Samples<T> transformed(const Context& ctx, const ModelRows& rows, std::size_t n_steps) {
    const std::vector<T> host(rows.values.begin(), rows.values.end());
    Matrix<T> X(ctx.memory(), rows.n_rows, static_cast<std::int64_t>(rows.features.size()), host);
    return chain_.transformed(ctx, samples_of(std::move(X), rows.features), n_steps);
  }

  ModelAnswer values_of(const Context& ctx, const Samples<T>& made) const {
    ModelAnswer answer{.n_cols = made.n_cols(), .is_vector = false, .is_float32 = sizeof(T) == sizeof(float), .numbers = host_values(ctx, made)};
    const auto* names = made.table->features.empty() ? dynamic_cast<const NamesOutputs*>(&last_step()) : nullptr;
    if (names) answer.columns = names->output_names();
    else
      for (const Feature& feature : features_of(*made.table)) answer.columns.push_back(feature.name);
    return answer;
  }

  // Of several target columns, each has the classes that the model names.
  void require_targets() const {
    const auto* several = dynamic_cast<const MultiOutput<T>*>(&last_step());
    if (!several) return;
    std::vector<std::int32_t> named;
    for (const schema::TargetColumn& target : info_.targets)
      named.push_back(static_cast<std::int32_t>(target.classes.size()));
    require_model(several->class_counts() == named, "its targets are not those that it was fitted with");
  }

  // Values, or names of classes, which are numbers where those of all columns are.
  ModelAnswer predicted(const Context& ctx, const MultiOutput<T>& several, const Samples<T>& X) const {
    const std::vector<std::vector<double>> said = several.predict(ctx, X);
    const bool has_classes = several.target_kind() == TargetKind::kClasses;
    ModelAnswer answer{.n_cols = std::ssize(info_.targets), .is_vector = false, .is_whole = has_classes};
    for (const schema::TargetColumn& target : info_.targets) {
      answer.columns.push_back(target.name);
      answer.is_whole = answer.is_whole && std::ranges::all_of(target.classes, is_whole_number);
    }
    for (std::int64_t i = 0; i < X.n_rows(); ++i)
      for (std::size_t k = 0; k < said.size(); ++k) {
        const double one = said[k][static_cast<std::size_t>(i)];
        const std::string* name = has_classes ? &info_.targets[k].classes.at(static_cast<std::size_t>(one)) : nullptr;
        if (!name || answer.is_whole) answer.numbers.push_back(name ? std::stod(*name) : one);
        else answer.texts.push_back(*name);
      }
    return answer;
  }

  // Of the classes of all target columns, "churned:yes".
  ModelAnswer shares(const Context& ctx, const MultiOutput<T>& several, const Samples<T>& X) const {
    const std::vector<std::vector<double>> said = several.predict_proba(ctx, X);
    ModelAnswer answer{.is_vector = false};
    for (const schema::TargetColumn& target : info_.targets)
      for (const std::string& name : target.classes) answer.columns.push_back(target.name + ':' + name);
    answer.n_cols = std::ssize(answer.columns);
    for (std::int64_t i = 0; i < X.n_rows(); ++i)
      for (std::size_t k = 0; k < said.size(); ++k) {
        const auto width = std::ssize(info_.targets[k].classes);
        answer.numbers.insert(answer.numbers.end(), said[k].begin() + i * width, said[k].begin() + (i + 1) * width);
      }
    return answer;
  }

  ModelAnswer predicted(const Context& ctx, const Samples<T>& X) const {
    if (const auto* several = dynamic_cast<const MultiOutput<T>*>(&last_step())) return predicted(ctx, *several, X);
    if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&last_step())) return {.numbers = regressor->predict(ctx, X)};
    if (const auto* clusterer = dynamic_cast<const Clusterer<T>*>(&last_step())) {
      const std::vector<std::int32_t> labels = clusterer->predict(ctx, X);
      return {.is_whole = true, .numbers = {labels.begin(), labels.end()}};
    }
    if (const auto* detector = dynamic_cast<const OutlierDetector<T>*>(&last_step())) {
      const std::vector<std::int32_t> labels = detector->predict(ctx, X);
      return {.is_whole = true, .numbers = {labels.begin(), labels.end()}};
    }
    const std::vector<std::int32_t> codes = dynamic_cast<const Classifier<T>&>(last_step()).predict(ctx, X);
    ModelAnswer answer{.is_whole = std::all_of(info_.classes.begin(), info_.classes.end(), is_whole_number)};
    for (const std::int32_t code : codes) {
      const std::string& name = info_.classes.at(static_cast<std::size_t>(code));
      if (answer.is_whole) answer.numbers.push_back(std::stod(name));
      else answer.texts.push_back(name);
    }
    return answer;
  }

  // Of the columns that the last step reads.
  ModelAnswer contributed(const Context& ctx, const Samples<T>& X, const ModelRows* background, bool among_pairs) {
    std::optional<Samples<T>> against;
    if (background) of_background([&] { against = transformed(ctx, *background, chain_.size() - 1); });
    const Division<T> division{.background = against ? &*against : nullptr, .among_pairs = among_pairs};
    const auto* contributor = dynamic_cast<const Contributor<T>*>(&last_step());
    Contributions found =
        contributor ? contributor->contributions(ctx, X, division)
                    : line_contributions(last_step().attributes(), column_means_, asked_cells(ctx, X, division));
    require(found.n_outputs == 1 || found.n_outputs == std::ssize(info_.classes), ErrorCode::kModelCorrupt,
            "model: it has {} outputs for {} classes", found.n_outputs, info_.classes.size());
    std::vector<std::string> columns, outputs{""};
    for (const Feature& feature : features_of(*X.table)) columns.push_back(feature.name);
    if (found.n_outputs > 1) outputs = info_.classes;
    return contributions_answer(std::move(found.values), columns, outputs, among_pairs);
  }

  ModelAnswer scored(const Context& ctx, const Samples<T>& X, std::string_view output) const {
    if (const auto* scorer = dynamic_cast<const RowScorer<T>*>(&last_step())) {
      const Matrix<double> scores = scorer->row_scores(ctx, X, output);
      ModelAnswer answer{.n_cols = scores.cols(), .is_vector = output != kPredictProba, .numbers = scores.to_host()};
      for (std::int64_t c = 0; c < scores.cols() && !answer.is_vector; ++c) answer.columns.push_back(std::to_string(c));
      return answer;
    }
    if (const auto* several = dynamic_cast<const MultiOutput<T>*>(&last_step())) return shares(ctx, *several, X);
    const auto& classifier = dynamic_cast<const Classifier<T>&>(last_step());
    const bool is_decision = output == "decision_function";
    const std::int64_t cols = is_decision && classifier.n_classes() == 2 ? 1 : classifier.n_classes();
    Matrix<double> scores(ctx.memory(), X.n_rows(), cols);
    if (is_decision) classifier.decision_function(ctx, X, scores.view());
    else classifier.predict_proba(ctx, X, scores.view());
    ModelAnswer answer{.n_cols = cols, .is_vector = cols == 1, .numbers = scores.to_host()};
    if (!answer.is_vector) answer.columns = info_.classes;
    return answer;
  }

  schema::ModelInfo info_;
  Chain<T> chain_;
  std::vector<double> column_means_;
  std::optional<TrainingProfile> profile_;
};

}  // namespace

bool is_whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && text == std::to_string(value);
}

std::vector<std::string> outputs_of(const std::vector<schema::Step>& pipeline) {
  const StepTraits last = traits_of(pipeline.back(), fmt::format("pipeline[{}]", pipeline.size() - 1));
  std::vector<std::string> outputs;
  if (last.predicts) outputs.emplace_back("predict");
  if (last.has_proba) outputs.emplace_back("predict_proba");
  if (last.has_decision) outputs.emplace_back("decision_function");
  outputs.insert(outputs.end(), last.row_outputs.begin(), last.row_outputs.end());
  const auto made = find_estimator(pipeline.back().estimator)->make_f64(pipeline.back().params);
  if (dynamic_cast<const Contributor<double>*>(made.get())) add_contributions(outputs);
  if (last.transforms) outputs.emplace_back("transform");
  return outputs;
}

std::unique_ptr<StoredModel> StoredModel::load(const Context& ctx, const std::filesystem::path& path) {
  return load(ctx, ModelFile(path));
}

std::unique_ptr<StoredModel> StoredModel::load(const Context& ctx, const ModelFile& file) {
  check_description(file.info());
  const auto bytes = static_cast<std::int64_t>(file.tensors().size());   // they are copied
  require_memory(ctx, {.needed_bytes = bytes, .peak_bytes = bytes, .step = "the stored model", .where = "task.model"});
  if (is_tree_ensemble(file.info())) return load_tree_ensemble(ctx, file);
  if (is_program(file.info())) return load_program(ctx, file);
  check_steps(file.info());
  if (file.info().dtype == "float32") return std::make_unique<TypedModel<float>>(ctx, file);
  return std::make_unique<TypedModel<double>>(ctx, file);
}

const std::optional<TrainingProfile>& StoredModel::profile() const {
  static const std::optional<TrainingProfile> none;
  return none;
}

template <class T>
std::string save_model(const Context& ctx, const std::filesystem::path& path, const std::vector<schema::Step>& pipeline,
                       Chain<T>& chain, ModelExtras extras, schema::ModelInfo& info, std::size_t keep) {
  info.pipeline = pipeline, info.outputs = outputs_of(pipeline);
  std::vector<double>& column_means = extras.column_means;
  if (!column_means.empty()) add_contributions(info.outputs);
  ModelFileWriter writer(path, keep);
  StateArchive archive(ctx, writer, class_count(info));
  chain.state(archive);
  if (!column_means.empty()) archive.field(kColumnMeans, column_means, std::ssize(column_means));
  if (extras.profile) extras.profile->state(archive, info);
  return writer.finish(info);
}

template std::string save_model(const Context&, const std::filesystem::path&, const std::vector<schema::Step>&,
                                Chain<float>&, ModelExtras, schema::ModelInfo&, std::size_t);
template std::string save_model(const Context&, const std::filesystem::path&, const std::vector<schema::Step>&,
                                Chain<double>&, ModelExtras, schema::ModelInfo&, std::size_t);

}  // namespace kedge::engine
