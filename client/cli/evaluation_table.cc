// The tables of what jobs other than fits, folds and searches find.
#include "client/cli/evaluation_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "client/cli/live_area.h"

namespace kedge::cli {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

const Value* find(const ValueMap& map, std::string_view key) {
  const auto found = std::ranges::find(map, key, &ValueMap::value_type::first);
  return found == map.end() ? nullptr : &found->second;
}

const ValueMap& map_at(const ValueMap& map, std::string_view key) {
  static const ValueMap none;
  const Value* value = find(map, key);
  const auto* found = value ? std::get_if<ValueMap>(&value->data) : nullptr;
  return found ? *found : none;
}

double number_of(const Value* value) {
  if (!value) return std::nan("");
  if (const auto* whole = std::get_if<std::int64_t>(&value->data)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value->data);
  return real ? *real : std::nan("");
}

ValueList items_at(const ValueMap& map, std::string_view key) {
  const Value* value = find(map, key);
  if (const auto* flat = value ? std::get_if<std::vector<double>>(&value->data) : nullptr)
    return {flat->begin(), flat->end()};
  const auto* list = value ? std::get_if<ValueList>(&value->data) : nullptr;
  return list ? *list : ValueList();
}

std::string text_of(double value) {
  return std::abs(value) < 1e9 ? fmt::format("{:.4f}", value) : fmt::format("{:.6g}", value);
}

std::string text_of(const Value& value) {
  const auto* word = std::get_if<std::string>(&value.data);
  return word ? *word : schema::to_string(value);
}

// The mean of a list of folds.
std::string mean_text(const Value& folds) {
  const ValueList scores = items_at({{"", folds}}, "");
  double sum = 0;
  for (const Value& score : scores) sum += number_of(&score);
  return text_of(sum / static_cast<double>(scores.size()));
}

void print_curve(std::string& out, const ValueMap& curve, const std::string& title, const ValueList& points,
                 const Page& page) {
  using enum TextTable::Align;
  const ValueMap &train = map_at(curve, "train_scores"), &test = map_at(curve, "test_scores");
  if (points.empty() || train.empty()) return;
  std::vector<TextTable::Column> columns{{.title = title, .fit = TextTable::Fit::kCut}};
  for (const auto& [name, scores] : train)
    columns.push_back({"train " + name, kRight}), columns.push_back({"test " + name, kRight});
  TextTable table(std::move(columns));
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<std::string> cells{text_of(points[i])};
    for (const auto& [name, scores] : train) {
      for (const ValueMap* of : {&train, &test}) {
        const ValueList rows = items_at(*of, name);
        cells.push_back(i < rows.size() ? mean_text(rows[i]) : "");
      }
    }
    table.row(std::move(cells));
  }
  out += table.text(page) + '\n';
}

void print_tests(std::string& out, const ValueMap& tests, const Page& page) {
  for (const auto& [name, test] : tests) {
    const auto* values = std::get_if<ValueMap>(&test.data);
    if (!values) continue;
    const ValueList scores = items_at(*values, "permutation_scores");
    double most = -std::numeric_limits<double>::infinity();
    for (const Value& score : scores) most = std::max(most, number_of(&score));
    out += paragraph(page,
                     line_of(fmt::format("{} {}, at most {} with {} permuted targets: p {:.4g}", name,
                                         text_of(number_of(find(*values, "score"))), text_of(most), scores.size(),
                                         number_of(find(*values, "pvalue"))),
                             Style::kBold),
                     2);
  }
  if (!tests.empty()) out += '\n';
}

// The columns that matter most by the first scorer.
void print_importances(std::string& out, const ValueMap& found, const Page& page) {
  using enum TextTable::Align;
  constexpr std::size_t kShown = 20;
  const ValueMap& scorers = map_at(found, "scorers");
  const ValueList names = items_at(found, "features");
  if (scorers.empty() || names.empty()) return;
  std::vector<TextTable::Column> columns{{.title = "column", .fit = TextTable::Fit::kCut}};
  for (const auto& [name, values] : scorers)
    columns.push_back({"loss of " + name, kRight}), columns.push_back({"std", kRight});
  TextTable table(std::move(columns));
  const ValueList means = items_at(map_at(scorers, scorers.front().first), "importances_mean");
  std::vector<std::size_t> order(std::min(names.size(), means.size()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return number_of(&means[a]) > number_of(&means[b]); });
  const std::size_t shown = std::min(kShown, order.size());
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells{text_of(names[order[i]])};
    for (const auto& [name, values] : scorers) {
      for (const char* key : {"importances_mean", "importances_std"}) {
        const ValueList of_scorer = items_at(map_at(scorers, name), key);
        cells.push_back(order[i] < of_scorer.size() ? text_of(number_of(&of_scorer[order[i]])) : "");
      }
    }
    table.row(std::move(cells));
  }
  out += table.text(page);
  if (shown < order.size()) out += fmt::format("{} of {} shown\n", shown, order.size());
  out += '\n';
}

void print_dependences(std::string& out, const ValueList& entries, const Page& page) {
  for (const Value& entry : entries) {
    const auto* found = std::get_if<ValueMap>(&entry.data);
    if (!found) continue;
    std::string names;
    for (const Value& name : items_at(*found, "features")) names += (names.empty() ? "" : " and ") + text_of(name);
    std::string points;
    for (const Value& axis : items_at(*found, "grid_values"))
      points += fmt::format("{}{}", points.empty() ? "" : " x ", items_at({{"", axis}}, "").size());
    out += paragraph(
        page, line_of(fmt::format("partial dependence on {}: {} points, with --json", printable(names), points)), 2);
  }
  if (!entries.empty()) out += '\n';
}

}   // namespace

std::string evaluation_table(const ValueMap& evaluation, const Page& page) {
  std::string out;
  const ValueMap &learning = map_at(evaluation, "learning_curve"), &validation = map_at(evaluation, "validation_curve");
  print_curve(out, learning, "train rows", items_at(learning, "train_sizes"), page);
  const Value* name = find(validation, "param_name");
  print_curve(out, validation, name ? text_of(*name) : "", items_at(validation, "param_range"), page);
  print_tests(out, map_at(evaluation, "permutation_test_score"), page);
  print_importances(out, map_at(evaluation, "permutation_importance"), page);
  print_dependences(out, items_at(evaluation, "partial_dependence"), page);
  return out;
}

}   // namespace kedge::cli
