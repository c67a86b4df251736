// Follows the columns through the steps by the memory rules, which know the columns that each step makes.
#include "engine/memory/column_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <variant>
#include <vector>

#include "engine/core/require.h"
#include "engine/core/stop.h"
#include "engine/estimators/memory_need.h"
#include "engine/job/param_path.h"
#include "engine/model_selection/shared_steps.h"
#include "engine/table/column_advice.h"
#include "engine/table/typed_columns.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::size_t kNamed = 5;          // columns that one message explains
constexpr std::int64_t kManyColumns = 1000;   // that a step makes from categories
constexpr std::size_t kManyCategories = 100;  // of a column that is named for it
constexpr std::int64_t kRareRows = 2;          // a category in so few rows is likely to be missing from those of a fold
constexpr std::int64_t kCountedCells = 20'000'000;   // looked at for that
constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();

SampleShape shape_of(const Selection& selection) {
  return {.rows = selection.n_rows,
          .cols = selection.n_cols(),
          .value_bytes = selection.is_float32 ? 4 : 8,
          .table_rows = selection.n_rows,
          .features = selection.features};
}

// Which steps read nominal columns. A step that refuses its samples says so itself when it is fitted.
std::vector<NominalUse> uses_of(const SharedSteps& steps, SampleShape X) {
  std::vector<NominalUse> uses;
  try {
    for (const auto& step : steps) {
      X.uses = &uses;
      X = memory_need(X, *step).out;
    }
  } catch (const Error&) {
  }
  return uses;
}

bool is_refused(const NominalUse& use) { return use.is_refused; }

// The pipeline of a candidate; of a job without candidates its own.
SharedSteps pipeline_of(const CheckedJob& job, std::size_t candidate) {
  const SharedSteps own = shared_steps(job.spec.pipeline);
  return job.candidates.empty() ? own : with_params(own, job.candidates[candidate], "task");
}

// The columns that every candidate refuses, as the first does: with one that takes them the search continues.
std::vector<NominalUse> refused_uses(const CheckedJob& job, const SampleShape& X) {
  std::vector<NominalUse> first;
  for (std::size_t i = 0; i == 0 || i < job.candidates.size(); ++i) {
    check_job_stop();
    std::vector<NominalUse> uses = uses_of(pipeline_of(job, i), X);
    std::erase_if(uses, std::not_fn(is_refused));
    if (uses.empty()) return {};
    if (i == 0) first = std::move(uses);
  }
  return first;
}

const ColumnInfo* nominal_in_file(const std::string& name, const DatasetMeta& meta) {
  const ColumnInfo* column = file_column(name, meta);
  return column && column->type == ColumnInfo::Type::kNominal ? column : nullptr;
}

using Names = std::set<std::string>;

// What the steps say that need numbers of nominal columns: each column once, by the first step that refuses it. Puts their names into `named`.
std::string refusal_of_texts(const CheckedJob& job, const SampleShape& X, const DatasetFile& data, Names& named) {
  std::string message;
  for (const NominalUse& use : refused_uses(job, X)) {
    for (const auto& [name, categories] : use.columns) {
      if (!named.insert(name).second || named.size() > kNamed) continue;
      const ColumnInfo* column = nominal_in_file(name, data.meta());
      message += fmt::format("{}{} needs numbers, but column '{}' is nominal: {}", message.empty() ? "" : ". ", use.step, name,
                             column ? nominal_advice(*column, data) : fmt::format("it has {} categories", categories));
    }
  }
  if (named.size() > kNamed) message += fmt::format(". {} more columns are nominal, too", named.size() - kNamed);
  return message;
}

// Messages about nominal columns that look like numbers or dates, except those in `named`. Adds their names to `named`.
std::vector<std::string> accidents(const Selection& selection, const DatasetFile& data, Names& named) {
  std::vector<std::string> found;
  if (!data.meta().types_are_guessed) return found;
  std::size_t n = 0;
  for (const Feature& feature : selection.features) {
    const ColumnInfo* column = feature.is_nominal && !named.contains(feature.name) ? nominal_in_file(feature.name, data.meta()) : nullptr;
    if (!column || !is_nominal_by_accident(*column)) continue;
    named.insert(feature.name);
    if (++n > kNamed) continue;
    found.push_back(fmt::format("column '{}' is read as categories, {} of them: {}", feature.name,
                                feature.categories.size(), nominal_advice(*column, data)));
  }
  if (n > kNamed)
    found.push_back(fmt::format("{} more columns look like numbers or dates, but are read as categories", n - kNamed));
  return found;
}

// How many rows have each category of a selected nominal column.
std::vector<std::int64_t> rows_of_categories(const Selection& selection, std::size_t j, const DatasetFile& data) {
  std::vector<std::int64_t> rows(selection.features[j].categories.size());
  const StoredColumn stored(data, {.values_column = selection.columns[j]}, selection.n_rows);
  for (std::int64_t i = 0; i < selection.n_rows; ++i) {
    const double code = selection.sources[j].cells.of(stored.at(i));
    if (code >= 0 && code < static_cast<double>(rows.size())) ++rows[static_cast<std::size_t>(code)];
  }
  return rows;
}

// "column 'region' has categories in very few rows, such as 'ship' in 1: OneHotEncoder refuses one that the rows it is
// fitted on lack ..." `named`: columns about which another message says what to do.
std::string rare_words(const NominalUse& use, const Selection& selection, const DatasetFile& data, const Names& named) {
  std::string list;
  std::int64_t cells = 0;
  std::size_t n = 0;
  for (const auto& [name, categories] : use.columns) {
    const auto at = std::ranges::find(selection.features, name, &Feature::name);
    if (at == selection.features.end() || categories == 0 || named.contains(name) || (cells += selection.n_rows) > kCountedCells) continue;
    const std::vector<std::int64_t> rows = rows_of_categories(selection, static_cast<std::size_t>(at - selection.features.begin()), data);
    const auto rarest = std::ranges::min_element(rows, {}, [](std::int64_t count) { return count == 0 ? kMany : count; });
    if (*rarest == 0 || *rarest > kRareRows || ++n > kNamed) continue;
    list += fmt::format("{}{} of column '{}' in {}", n > 1 ? ", " : "", shown_text(at->categories[static_cast<std::size_t>(rarest - rows.begin())]),
                        name, *rarest);
  }
  if (n == 0) return {};
  return fmt::format("{} fails at a category that the rows it is fitted on lack, and some are in {} rows or fewer: {}. Set its handle_unknown to "
                     "another value than \"error\"", use.step, kRareRows, list);
}

// "OneHotEncoder makes 61234 columns of categories: 'comment' has 49812, 'signup' 3650; ..." Puts their names into `named`.
std::string wide_words(const NominalUse& use, Names& named) {
  auto columns = use.columns;
  std::ranges::stable_sort(columns, std::greater<>(), &NominalUse::Column::n_categories);
  std::string list;
  std::size_t n = 0;
  for (const auto& [name, categories] : columns) {
    if (categories < static_cast<std::int64_t>(kManyCategories)) continue;
    named.insert(name);
    if (++n <= kNamed) list += fmt::format("{}'{}' has {}", n > 1 ? ", " : "", name, categories);
  }
  if (n == 0) return {};
  return fmt::format("{} makes {} columns of categories: {}. Leave such a column out ({}), set "
                     "max_categories or min_frequency, or encode it by OrdinalEncoder",
                     use.step, use.made_columns, list, types_words(columns.front().name, "drop"));
}

}  // namespace

std::string check_columns(const Context& ctx, const CheckedJob& job, const Selection& selection, const DatasetFile& data) {
  const auto is_nominal = [](const Feature& feature) { return feature.is_nominal; };
  if (std::ranges::none_of(selection.features, is_nominal)) return {};
  const SampleShape X = shape_of(selection);
  const bool has_folds = !std::holds_alternative<schema::Fit>(job.spec.task);
  Names named;
  const std::string refusal = refusal_of_texts(job, X, data, named);
  std::vector<std::string> advice = accidents(selection, data, named);
  std::string wide, rare;
  for (const NominalUse& use : uses_of(pipeline_of(job, 0), X)) {
    if (use.made_columns >= kManyColumns && wide.empty()) wide = wide_words(use, named);
    if (use.refuses_unknown && has_folds && rare.empty()) rare = rare_words(use, selection, data, named);
  }
  for (const std::string& words : {wide, rare})
    if (!words.empty()) advice.push_back(words);
  if (!refusal.empty())
    throw Error(ErrorCode::kBadData, fmt::format("{}: {}{}{}", data.meta().name, refusal, advice.empty() ? "" : ". Beside that, ", fmt::join(advice, ". ")),
                "pipeline");
  for (const std::string& words : advice) ctx.warn(words);
  return wide;
}

}  // namespace kedge::engine
