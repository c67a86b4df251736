// FunctionTransformer: its parameters, and the blocks of rows.
#include "engine/estimators/preprocessing/function_transformer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/preprocessing/categories.h"
#include "engine/estimators/preprocessing/formula_run.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using P = FunctionTransformerParams;
using schema::ErrorCode;
using schema::Value;

constexpr const char* kOwner = "FunctionTransformer";
constexpr std::size_t kMostFormulas = 1000;
constexpr std::int64_t kBlockRows = 8192;
constexpr std::int64_t kCompared = 100;   // rows whose way there and back is compared

std::vector<schema::ParamForm> function_forms() {
  return {null_form(), string_form(), array_form({string_form()})};
}

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any(
              "func", &P::func, function_forms(),
              "The name of a function (\"log1p\"), a formula of each cell x (\"log(x + 1) / 2\"), or a list of formulas over the columns, "
              "each with the name of what it gives (\"bmi = weight / height ** 2\"); null: the cells as they are.")
          .any("inverse_func", &P::inverse_func, function_forms(),
               "What brings the cells back, in the same forms; for check_inverse.")
          .add("check_inverse", &P::check_inverse,
               "Warn where inverse_func does not bring 100 of the fitted rows back.")
          .ignore("validate", false, {boolean_form()})
          .ignore("accept_sparse", false, {boolean_form()})
          .ignore("feature_names_out", nullptr, {string_form({"one-to-one"}), null_form()})
          .ignore("kw_args", nullptr, {null_form()})
          .ignore("inv_kw_args", nullptr, {null_form()});
  return set;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

Formula parsed(const char* param, const Value& value, const std::string& text) {
  try {
    return Formula::parsed(text);
  } catch (const schema::Error& error) {
    refuse_param(kOwner, param, value,
                 value == Value(text) ? error.message
                                      : fmt::format("whose formula \"{}\": {}", text.substr(0, 200), error.message));
  }
}

// One formula of a cell, whose only name is x; or a function's name.
Formula formula_of_cells(const char* param, const Value& value, const std::string& text) {
  const std::vector<std::string> known = formula_functions();
  const std::string word = trimmed(text);
  if (std::ranges::find(known, word) != known.end()) return Formula::parsed(word + "(x)");
  Formula formula = parsed(param, value, text);
  for (const std::string& name : formula.columns)
    if (name != "x") {
      const std::string_view nearest = schema::nearest_name(name, known);
      refuse_param(kOwner, param, value,
                   fmt::format("must be the name of a function or a formula of x alone, not of '{}'{}", name,
                               nearest.empty() ? "; a list of \"name = formula\" reads columns"
                                               : fmt::format("; did you mean \"{}\"?", nearest)));
    }
  return formula;
}

Function function_of(const char* param, const Value& value) {
  Function function;
  if (const auto* text = std::get_if<std::string>(&value.data))
    function.formulas.push_back(formula_of_cells(param, value, *text));
  const auto* list = std::get_if<schema::ValueList>(&value.data);
  if (!list) return function;
  if (list->empty() || list->size() > kMostFormulas)
    refuse_param(kOwner, param, value, fmt::format("must have 1 to {} formulas", kMostFormulas));
  std::set<std::string> names;
  for (const Value& item : *list) {
    const auto& text = std::get<std::string>(item.data);
    const std::size_t sign = text.find('=');
    const bool is_comparison =
        sign != std::string::npos && (sign == 0 || text[sign - 1] == '<' || text[sign - 1] == '>');
    std::string name = sign == std::string::npos || is_comparison ? "" : trimmed(text.substr(0, sign));
    if (name.size() > 2 && name.front() == '`' && name.back() == '`') name = name.substr(1, name.size() - 2);
    if (name.empty()) refuse_param(kOwner, param, item, "must be \"name = formula\"");
    if (!names.insert(name).second) refuse_param(kOwner, param, value, fmt::format("names '{}' twice", name));
    function.formulas.push_back(parsed(param, value, text.substr(sign + 1)));
    function.names.push_back(name);
  }
  return function;
}

bool is_close(double found, double expected) {   // as scikit-learn's comparison of the two
  return std::abs(found - expected) <= 1e-9 + 1e-7 * std::abs(expected) || (std::isnan(found) && std::isnan(expected));
}

}   // namespace

template <class T>
FunctionTransformer<T>::FunctionTransformer(const schema::ValueMap& params)
    : params_(param_set().parse(params)),
      func_(function_of("func", params_.func)),
      inverse_(function_of("inverse_func", params_.inverse_func)) {}

template <class T>
schema::EstimatorInfo FunctionTransformer<T>::info() {
  std::string names;
  for (const std::string& name : formula_functions()) names += (names.empty() ? "" : ", ") + name;
  return {.name = kOwner,
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "A named function of each cell, or formulas over the columns.",
          .params = param_set().infos(),
          .attributes = {"feature_names_in_"},
          .deviations = {
              "func and inverse_func are names and formulas, not Python: + - * / **, < <= > >= (1 or 0), parentheses, "
              "numbers, columns by name (`in these quotes` where it is no word), min, max, clip(x, low, high), and " +
                  names + ".",
              "Functions round to the job's precision at each operation; a power that is no whole number up to 64 or "
              "one half is exp(b log(a)).",
              "kw_args and inv_kw_args are refused: write the numbers into the formula."}};
}

template <class T>
MemoryNeed FunctionTransformer<T>::memory(const SampleShape& X, const schema::Step& step) {
  const Value* const func = find_value(step.params, "func");
  const auto* const list = func ? std::get_if<schema::ValueList>(&func->data) : nullptr;
  constexpr std::int64_t kTogether = 6;   // intermediate results
  MemoryNeed need = memory::makes(X, list ? static_cast<std::int64_t>(list->size()) : X.cols,
                                  X.copy() + kTogether * memory::block(X));
  if (!list) need.out.features = X.features;
  return need;
}

template <class T>
typename FunctionTransformer<T>::Places FunctionTransformer<T>::places_of(const char* param, const Function& function,
                                                                          const std::vector<Feature>& features) const {
  Places places;
  if (function.is_of_cells()) return places;
  std::vector<std::string_view> names;
  for (const Feature& feature : features) names.push_back(feature.name);
  for (std::size_t i = 0; i < function.formulas.size(); ++i) {
    places.emplace_back();
    for (const std::string& name : function.formulas[i].columns) {
      const auto at = std::ranges::find(names, name);
      const std::string_view nearest = at == names.end() ? schema::nearest_name(name, names) : std::string_view();
      require(at != names.end(), ErrorCode::kBadData, "{}: {}[{}], '{}', names '{}', which is no column{}", kOwner,
              param, i, function.names[i], name, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
      places.back().push_back(static_cast<std::int32_t>(at - names.begin()));
    }
  }
  return places;
}

template <class T>
void FunctionTransformer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  n_features_ = X.n_cols(), feature_names_in_ = names_in(*X.table);
  places_ = places_of("func", func_, features_of(*X.table));
  if (params_.check_inverse && !func_.is_identity() && !inverse_.is_identity()) compare_inverse(ctx, X);
}

template <class T>
void FunctionTransformer<T>::compare_inverse(const Context& ctx, const Samples<T>& X) const {
  std::vector<std::int32_t> positions;
  const std::int64_t step = std::max<std::int64_t>(1, X.n_rows() / kCompared);
  for (std::int64_t i = 0; i < X.n_rows(); i += step) positions.push_back(static_cast<std::int32_t>(i));
  const Samples<T> some = rows_at(ctx, X, positions);
  const Samples<T> there = applied(ctx, func_, places_, some);
  const Samples<T> back = applied(ctx, inverse_, places_of("inverse_func", inverse_, features_of(*there.table)), there);
  const std::vector<double> expected = host_values(ctx, some), found = host_values(ctx, back);
  if (found.size() != expected.size() || !std::ranges::equal(found, expected, is_close))
    ctx.warn(fmt::format("{}: inverse_func is not the inverse of func for the fitted rows", kOwner));
}

template <class T>
Samples<T> FunctionTransformer<T>::applied(const Context& ctx, const Function& function, const Places& places,
                                           const Samples<T>& X) const {
  std::vector<Feature> features = function.is_of_cells() ? features_of(*X.table) : std::vector<Feature>();
  for (const std::string& name : function.names) features.push_back({.name = name});
  Matrix<T> out = table_matrix<T>(ctx.device, X.n_rows(), static_cast<std::int64_t>(features.size())), scratch;
  const std::int64_t step = block_rows(ctx, kBlockRows, X.n_cols());
  TableOps<T>& tables = *ctx.ops<T>().tables;
  for (std::int64_t first = 0; first < X.n_rows(); first += step) {
    ctx.check_stop();
    const std::int64_t count = std::min(step, X.n_rows() - first);
    const MatrixView<const T> rows = X.values(ctx, first, count, scratch);
    const MatrixView<T> block = out.view().row_range(first, count);
    if (function.is_identity()) tables.gather(rows, {}, {}, {}, block);
    for (std::size_t k = 0; k < function.formulas.size(); ++k) {
      FormulaRun<T> run(ctx, function.formulas[k]);
      const std::int64_t cols = function.is_of_cells() ? block.cols : 1;
      Cells<T> cells = function.is_of_cells() ? run.of_each_cell(rows) : run.of_columns(rows, places[k]);
      MatrixView<T> place = block.last_columns(block.cols - static_cast<std::int64_t>(k));
      place.cols = cols;
      tables.gather(cells.as_rows(cols), {}, {}, {}, place);
    }
  }
  return samples_of(std::move(out), std::move(features));
}

template <class T>
Samples<T> FunctionTransformer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, static_cast<std::size_t>(n_features_));
  return applied(ctx, func_, places_, X);
}

template <class T>
schema::ValueMap FunctionTransformer<T>::attributes() const {
  if (feature_names_in_.is_null()) return {};
  return {{"feature_names_in_", feature_names_in_}};
}

template <class T>
void FunctionTransformer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.field("feature_names_in", feature_names_in_);
  if (archive.is_loading()) places_.resize(func_.is_of_cells() ? 0 : func_.formulas.size());
  for (std::size_t k = 0; k < places_.size(); ++k)
    archive.indices("columns", places_[k], static_cast<std::int64_t>(func_.formulas[k].columns.size()), 0,
                    archive.n_features() - 1);
}

template class FunctionTransformer<float>;
template class FunctionTransformer<double>;

}   // namespace kedge::engine
