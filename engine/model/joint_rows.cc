// Which models take the rows of several questions: see joint_rows.h.
#include "engine/model/joint_rows.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/model/ensemble_model.h"
#include "engine/model/graph_model.h"

namespace kedge::engine {
namespace {

constexpr std::array<std::string_view, 11> kTrees{"DecisionTreeClassifier",
                                                  "DecisionTreeRegressor",
                                                  "RandomForestClassifier",
                                                  "RandomForestRegressor",
                                                  "ExtraTreesClassifier",
                                                  "ExtraTreesRegressor",
                                                  "GradientBoostingClassifier",
                                                  "GradientBoostingRegressor",
                                                  "HistGradientBoostingClassifier",
                                                  "HistGradientBoostingRegressor",
                                                  "IsolationForest"};
constexpr std::array<std::string_view, 6> kOfCells{"StandardScaler", "MinMaxScaler",  "MaxAbsScaler",
                                                   "RobustScaler",   "SimpleImputer", "Binarizer"};

template <class Names>
bool is_one_of(const Names& names, const schema::Step& step) {
  return std::ranges::find(names, std::string_view(step.estimator)) != names.end();
}

}   // namespace

bool answers_rows_alone(const schema::ModelInfo& model) {
  const bool are_numbers = std::ranges::all_of(
      model.columns, [](const schema::ModelColumn& column) { return column.kind == "number" && column.type.empty(); });
  if (!are_numbers || model.pipeline.empty()) return false;
  if (is_tree_ensemble(model) || is_program(model)) return true;
  return is_one_of(kTrees, model.pipeline.back()) &&
         std::all_of(model.pipeline.begin(), model.pipeline.end() - 1,
                     [](const auto& step) { return is_one_of(kOfCells, step); });
}

ModelAnswer rows_of_answer(const ModelAnswer& answer, std::int64_t first, std::int64_t count) {
  ModelAnswer part{.n_rows = count,
                   .n_cols = answer.n_cols,
                   .is_vector = answer.is_vector,
                   .is_float32 = answer.is_float32,
                   .is_whole = answer.is_whole,
                   .columns = answer.columns};
  const std::int64_t begin = first * answer.n_cols, end = begin + count * answer.n_cols;
  if (!answer.numbers.empty()) part.numbers.assign(answer.numbers.begin() + begin, answer.numbers.begin() + end);
  if (!answer.texts.empty()) part.texts.assign(answer.texts.begin() + begin, answer.texts.begin() + end);
  return part;
}

}   // namespace kedge::engine
