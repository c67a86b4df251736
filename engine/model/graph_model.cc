// Programs on columns as stored models: see graph_model.h.
#include "engine/model/graph_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "engine/core/require.h"
#include "engine/imported/imported_model.h"
#include "engine/model/ensemble_sums.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

// Names of outputs, and whether their columns are the classes.
void check_outputs(const schema::ModelInfo& info, const CellProgram& program) {
  const auto corrupt = [](bool ok, const char* problem) {
    require(ok, ErrorCode::kModelCorrupt, "model: {}", problem);
  };
  for (const CellOutput& output : program.outputs) {
    const bool is_scores = output.name == "predict_proba" || output.name == "decision_function";
    corrupt(is_scores || output.name == "predict" || output.name == "transform", "an output has another name");
    corrupt(!output.is_classes || (output.name == "predict" && !info.classes.empty()), "it has no classes to predict");
    corrupt(!is_scores || output.columns.size() == info.classes.size(), "an output does not fit its classes");
  }
}

class GraphModel final : public StoredModel {
 public:
  GraphModel(const Context& ctx, const ModelFile& file)
      : info_(file.info()), program_(loaded(ctx, file)), walk_(program_, device_tree_sums(ctx, program_)) {
    check_outputs(info_, program_);
    info_.outputs.clear();
    for (const CellOutput& output : program_.outputs) info_.outputs.push_back(output.name);
  }
  const schema::ModelInfo& info() const override { return info_; }

  ModelAnswer answer(const Context&, const ModelRows& rows, std::string_view output) override {
    const auto found = std::ranges::find(program_.outputs, output, &CellOutput::name);
    if (found == program_.outputs.end())
      throw schema::Error(ErrorCode::kInvalidValue,
                          fmt::format("output is '{}', this model has {}", output, fmt::join(info_.outputs, ", ")),
                          "output");
    const auto n_cells = static_cast<std::size_t>(rows.n_rows) * info_.columns.size();
    require(rows.features.size() == info_.columns.size() && rows.values.size() == n_cells, ErrorCode::kInternal,
            "rows of {} columns for a model of {}", rows.features.size(), info_.columns.size());
    std::vector<double> numbers = walk_.output(*found, rows.values, rows.n_rows);
    ModelAnswer answer = found->is_classes ? classes_of(numbers) : columns_of(*found, std::move(numbers));
    answer.n_rows = rows.n_rows;
    return answer;
  }

 private:
  CellProgram loaded(const Context& ctx, const ModelFile& file) const {
    CellProgram program;
    StateArchive archive(ctx, file, static_cast<std::int32_t>(info_.classes.size()));
    archive_program(archive, info_, program);
    archive.finish();
    return program;
  }

  ModelAnswer columns_of(const CellOutput& output, std::vector<double> numbers) const {
    ModelAnswer answer{.n_cols = static_cast<std::int64_t>(output.columns.size()),
                       .is_vector = output.columns.size() == 1 && output.name == "predict",
                       .is_float32 = output.is_float32,
                       .numbers = std::move(numbers)};
    const bool are_classes = output.name == "predict_proba" || output.name == "decision_function";
    for (std::size_t k = 0; k < output.columns.size() && !answer.is_vector; ++k)
      answer.columns.push_back(are_classes ? info_.classes[k] : std::to_string(k));
    return answer;
  }
  ModelAnswer classes_of(const std::vector<double>& codes) const {
    ModelAnswer answer{.is_whole = std::ranges::all_of(info_.classes, is_whole_number)};
    for (const double code : codes) {
      require(code >= 0 && code < static_cast<double>(info_.classes.size()), ErrorCode::kModelCorrupt,
              "model: it predicts a class that it does not name");
      const std::string& name = info_.classes[static_cast<std::size_t>(code)];
      if (answer.is_whole) answer.numbers.push_back(std::stod(name));
      else answer.texts.push_back(name);
    }
    return answer;
  }

  schema::ModelInfo info_;
  CellProgram program_;
  CellWalk walk_;   // of program_
};

}   // namespace

bool is_program(const schema::ModelInfo& info) {
  if (info.pipeline.size() != 1) return false;
  const std::string& step = info.pipeline.front().estimator;
  return step == kOnnxGraph || step == kCatBoostTrees;
}

void archive_program(StateArchive& archive, const schema::ModelInfo& info, CellProgram& program) {
  const StateArchive::Scope scope(archive, info.pipeline.front().estimator,
                                  static_cast<std::int64_t>(info.columns.size()));
  program.state(archive);
}

std::unique_ptr<StoredModel> load_program(const Context& ctx, const ModelFile& file) {
  return std::make_unique<GraphModel>(ctx, file);
}

}   // namespace kedge::engine
