// The final table of a job.
#include "client/cli/table.h"

#include <fmt/format.h>   // not core.h alone: clang does not find libfmt's format_to() by the name that gcc gave it

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace kedge::cli {
namespace {

using Out = std::back_insert_iterator<std::string>;

void print_scores(Out out, const schema::Result& result) {
  if (result.scores.empty()) return;
  fmt::format_to(out, "{:<26}", "fold");
  const std::size_t folds = result.scores.front().second.perFold.size();
  for (std::size_t i = 0; i < folds; ++i) fmt::format_to(out, "{:>9}", i + 1);
  fmt::format_to(out, "{:>10}{:>10}\n", "mean", "std");
  for (const auto& [name, score] : result.scores) {
    fmt::format_to(out, "{:<26}", name);
    for (const double value : score.perFold) fmt::format_to(out, "{:>9.4f}", value);
    fmt::format_to(out, "{:>10.4f}{:>10.4f}\n", score.mean, score.std);
  }
  if (result.timings.folds.empty()) return;
  fmt::format_to(out, "{:<26}", "seconds");
  for (const schema::FoldTimings& f : result.timings.folds)
    fmt::format_to(out, "{:>9.3f}", f.fit + f.transform + f.predict + f.score);
  *out++ = '\n';
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

// The best candidates of a search, best first.
void print_search(Out out, const schema::SearchResult& search) {
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
  fmt::format_to(out, "best of {} candidates: {}, score {:.4f}\n\n      mean       std  parameters\n", means.size(),
                 schema::to_string(search.bestParams), search.bestScore);
  for (std::size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    fmt::format_to(out, "{:>10.4f}{:>10.4f}  {}\n", means[order[i]], deviations[order[i]],
                   schema::to_string((*candidates)[order[i]]));
  }
  *out++ = '\n';
}

void print_times(Out out, const schema::Timings& t) {
  const std::pair<const char*, double> rows[] = {
      {"queued", t.queued}, {"download", t.download},   {"parse", t.parse},
      {"load", t.load},     {"to device", t.toDevice},  {"prepare (shared)", t.prepare},
      {"fit", t.fit},       {"transform", t.transform}, {"predict", t.predict},
      {"score", t.score}};
  fmt::format_to(out, "\nwhere the time went{}\n", t.cold ? "" : " (data was already there)");
  for (const auto& [name, seconds] : rows) {
    if (seconds < 0.0005) continue;
    fmt::format_to(out, "  {:<18}{:>9.3f} s {:>5.1f} %\n", name, seconds, t.total > 0 ? 100 * seconds / t.total : 0);
  }
  fmt::format_to(out, "  {:<18}{:>9.3f} s\n", "total", t.total);
}

std::string in_mib(std::int64_t bytes) {
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// One line, by which a machine can be sized.
void print_memory(Out out, const schema::MemoryReport& memory) {
  fmt::format_to(out, "\nmemory: ");
  if (memory.peakBytes > 0) fmt::format_to(out, "{} at the peak, ", in_mib(memory.peakBytes));
  fmt::format_to(out, "{} predicted, {} needed at least\n", in_mib(memory.predictedBytes), in_mib(memory.neededBytes));
}

}   // namespace

std::string result_table(const schema::Result& result) {
  std::string text;
  Out out(text);
  fmt::format_to(out, "\n{} rows x {} features, {}, on {}\n\n", result.nSamples, result.nFeatures, result.dtype,
                 result.device.name.empty() ? result.device.kind : result.device.name);
  if (result.search) print_search(out, *result.search);
  print_scores(out, result);
  print_times(out, result.timings);
  if (result.memory) print_memory(out, *result.memory);
  for (const std::string& warning : result.warnings) fmt::format_to(out, "warning: {}\n", warning);
  return text;
}

}   // namespace kedge::cli
