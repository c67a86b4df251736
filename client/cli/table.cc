// The final table of a job.
#include "client/cli/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <ranges>

#include "client/cli/evaluation_table.h"
#include "client/cli/live_area.h"
#include "client/cli/text_table.h"
#include "client/cli/warnings.h"

namespace kedge::cli {
namespace {

// Four digits after the point, fewer for numbers so large that they mean nothing.
std::string score_text(double value) { return std::abs(value) < 1e9 ? fmt::format("{:.4f}", value) : fmt::format("{:.6g}", value); }

void print_scores(std::string& out, const schema::Result& result, const Page& page) {
  if (result.scores.empty()) return;
  using enum TextTable::Align;
  std::vector<TextTable::Column> columns{{.title = "score", .fit = TextTable::Fit::kCut}, {"mean", kRight}, {"std", kRight}};
  const std::size_t folds = result.scores.front().second.perFold.size();
  for (std::size_t i = 0; i < folds; ++i) columns.push_back({fmt::format("fold {}", i + 1), kRight});
  TextTable table(std::move(columns));
  for (const auto& [name, score] : result.scores) {
    std::vector<std::string> cells{name, score_text(score.mean), score_text(score.std)};
    for (const double value : score.perFold) cells.push_back(score_text(value));
    table.row(std::move(cells));
  }
  if (!result.timings.folds.empty()) {
    std::vector<std::string> cells{"seconds", "", ""};
    for (const schema::FoldTimings& f : result.timings.folds) cells.push_back(fmt::format("{:.3f}", f.fit + f.transform + f.predict + f.score));
    table.row(std::move(cells));
  }
  out += table.text(page);
}

const schema::Value* find(const schema::ValueMap& map, std::string_view key) {
  for (const auto& [name, value] : map)
    if (name == key) return &value;
  return nullptr;
}

// The list under `key`, or the first one whose name starts with it.
std::vector<double> numbers(const schema::ValueMap& map, std::string_view key) {
  for (const auto& [name, value] : map) {
    if (!name.starts_with(key)) continue;
    std::vector<double> result;
    if (const auto* flat = std::get_if<std::vector<double>>(&value.data)) result = *flat;
    if (const auto* list = std::get_if<schema::ValueList>(&value.data)) {
      for (const schema::Value& item : *list) {
        const auto* real = std::get_if<double>(&item.data);
        const auto* whole = std::get_if<std::int64_t>(&item.data);
        result.push_back(real ? *real : whole ? static_cast<double>(*whole) : std::nan(""));
      }
    }
    return result;
  }
  return {};
}

// "n_neighbors=5, weights=uniform": what a page can break between words.
std::string params_text(const schema::Value& params) {
  const auto* map = std::get_if<schema::ValueMap>(&params.data);
  if (!map) return schema::to_string(params);
  std::string text;
  for (const auto& [name, value] : *map) {
    const auto* word = std::get_if<std::string>(&value.data);
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, word ? *word : schema::to_string(value));
  }
  return text.empty() ? "none" : text;
}

// The best candidates of a search, best first.
void print_search(std::string& out, const schema::SearchResult& search, const Page& page) {
  constexpr std::size_t kShown = 10;
  const schema::Value* params = find(search.cvResults, "params");
  const auto* candidates = params ? std::get_if<schema::ValueList>(&params->data) : nullptr;
  const std::vector<double> means = numbers(search.cvResults, "mean_test_"), deviations = numbers(search.cvResults, "std_test_");
  if (!candidates || means.size() != candidates->size() || deviations.size() != means.size()) return;
  std::vector<std::size_t> order(means.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return means[a] > means[b] || (!std::isnan(means[a]) && std::isnan(means[b]));
  });
  const std::string best = fmt::format("best of {} candidates: {}, score {}", means.size(), printable(params_text(search.bestParams)),
                                       score_text(search.bestScore));
  out += paragraph(page, line_of(best, Style::kBold), 2);
  out += '\n';
  TextTable table({{"mean", TextTable::Align::kRight}, {"std", TextTable::Align::kRight}, {.title = "parameters", .fit = TextTable::Fit::kWrap}});
  const std::size_t shown = std::min(kShown, order.size());
  for (std::size_t i = 0; i < shown; ++i)
    table.row({score_text(means[order[i]]), score_text(deviations[order[i]]), params_text((*candidates)[order[i]])});
  out += table.text(page);
  if (shown < order.size()) out += fmt::format("{} of {} shown\n", shown, order.size());
  out += '\n';
}

// "KMeans: 8 groups of 170 to 310 rows"; labels below 0 are rows in no group, as in DBSCAN.
void print_groups(std::string& out, const schema::Result& result, const Page& page) {
  for (const auto& [estimator, attributes] : result.fitted) {
    if (!find(attributes, "labels_")) continue;
    std::map<double, std::size_t> sizes;
    std::size_t in_none = 0;
    for (const double label : numbers(attributes, "labels_"))
      if (label >= 0) ++sizes[label];
      else ++in_none;
    std::string text =
        fmt::format("{}: {} {}", printable(estimator), sizes.size(), sizes.size() == 1 ? "group" : "groups");
    if (!sizes.empty()) {
      const auto [least, most] = std::ranges::minmax(sizes | std::views::values);
      text += least == most ? fmt::format(" of {} rows", least) : fmt::format(" of {} to {} rows", least, most);
    }
    if (in_none > 0) text += fmt::format(", {} {} in none", in_none, in_none == 1 ? "row" : "rows");
    out += paragraph(page, line_of(text), 2);
  }
}

void print_times(std::string& out, const schema::Timings& t, const Page& page) {
  const std::pair<const char*, double> rows[] = {
      {"queued", t.queued}, {"download", t.download},   {"parse", t.parse},
      {"load", t.load},     {"to device", t.toDevice},  {"prepare (shared)", t.prepare},
      {"fit", t.fit},       {"transform", t.transform}, {"predict", t.predict},
      {"score", t.score}};
  out += '\n' + paragraph(page, line_of(fmt::format("where the time went{}", t.cold ? "" : " (data was already there)"), Style::kBold));
  for (const auto& [name, seconds] : rows) {
    if (seconds < 0.0005) continue;
    out += fmt::format("  {:<18}{:>9.3f} s {:>5.1f} %\n", name, seconds, t.total > 0 ? 100 * seconds / t.total : 0);
  }
  out += fmt::format("  {:<18}{:>9.3f} s\n", "total", t.total);
}

std::string in_mib(std::int64_t bytes) {
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// One line, by which a machine can be sized.
void print_memory(std::string& out, const schema::MemoryReport& memory, const Page& page) {
  const std::string peak = memory.peakBytes > 0 ? in_mib(memory.peakBytes) + " at the peak, " : "";
  const std::string text = fmt::format("memory: {}{} predicted, {} needed at least", peak, in_mib(memory.predictedBytes), in_mib(memory.neededBytes));
  out += '\n' + paragraph(page, line_of(text), 2);
}

}   // namespace

std::string result_table(const schema::Result& result, const Page& page) {
  std::string out = "\n";
  const std::string device = printable(result.device.name.empty() ? result.device.kind : result.device.name);
  out += paragraph(page, line_of(fmt::format("{} rows x {} features, {}, on {}", result.nSamples, result.nFeatures, result.dtype, device)), 2) + '\n';
  if (result.search) print_search(out, *result.search, page);
  out += evaluation_table(result.evaluation, page);
  print_scores(out, result, page);
  print_groups(out, result, page);
  print_times(out, result.timings, page);
  if (result.memory) print_memory(out, *result.memory, page);
  for (const std::string& warning : collapsed(result.warnings)) out += paragraph(page, line_of("warning: " + printable(warning), Style::kWarning), 2);
  return out;
}

}   // namespace kedge::cli
