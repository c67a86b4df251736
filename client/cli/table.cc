// The final table of a job.
#include "client/cli/table.h"

#include <fmt/core.h>

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

void print_times(Out out, const schema::Timings& t) {
  const std::pair<const char*, double> rows[] = {
      {"queued", t.queued}, {"download", t.download}, {"parse", t.parse}, {"load", t.load}, {"to device", t.toDevice},
      {"prepare (shared)", t.prepare}, {"fit", t.fit}, {"transform", t.transform}, {"predict", t.predict}, {"score", t.score}};
  fmt::format_to(out, "\nwhere the time went{}\n", t.cold ? "" : " (data was already there)");
  for (const auto& [name, seconds] : rows) {
    if (seconds < 0.0005) continue;
    fmt::format_to(out, "  {:<18}{:>9.3f} s {:>5.1f} %\n", name, seconds, t.total > 0 ? 100 * seconds / t.total : 0);
  }
  fmt::format_to(out, "  {:<18}{:>9.3f} s\n", "total", t.total);
}

}  // namespace

std::string result_table(const schema::Result& result) {
  std::string text;
  Out out(text);
  fmt::format_to(out, "\n{} rows x {} features, {}, on {}\n\n", result.nSamples, result.nFeatures, result.dtype,
                 result.device.name.empty() ? result.device.kind : result.device.name);
  print_scores(out, result);
  print_times(out, result.timings);
  for (const std::string& warning : result.warnings) fmt::format_to(out, "warning: {}\n", warning);
  return text;
}

}  // namespace kedge::cli
