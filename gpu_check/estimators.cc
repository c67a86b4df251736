// The jobs as items: each runs through the engine's pipeline on the CPU and on the device; results, and what the model
// then says, are compared.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "engine/estimators/contributions.h"
#include "engine/model/stored_model.h"
#include "engine/pipeline.h"
#include "gpu_check/compare.h"
#include "gpu_check/jobs.h"
#include "gpu_check/section.h"

namespace kedge::gpu_check {
namespace {

using engine::Context;
using engine::Device;
using engine::ModelAnswer;

struct Size {
  std::int64_t rows, cols;
};
constexpr Size kSmall{90, 6}, kLarge{6000, 24};

struct Outcome {
  schema::Result result;
  std::vector<std::pair<std::string, ModelAnswer>> answers;   // by output
};

Outcome run_job(Device& device, const schema::JobSpec& spec, const engine::DatasetFile& data,
                const std::filesystem::path& model_file) {
  const Context ctx{.device = device};
  engine::RunFiles files{.model_file = model_file};
  Outcome outcome{engine::Pipeline::build(spec).run(ctx, data, {}, &files), {}};
  if (!files.model) return outcome;   // the task leaves none
  const auto model = engine::StoredModel::load(ctx, model_file);
  constexpr std::int64_t kMostOfPairs = 200;   // rows whose pairs of columns are asked for: each has many numbers
  const std::int64_t n = data.meta().n_rows;
  const engine::DatasetRows all(model->info(), data, n);
  for (const std::string& output : model->info().outputs) {
    const bool is_of_pairs = output == engine::kInteractions;
    outcome.answers.emplace_back(output,
                                 model->answer(ctx, all.rows(0, is_of_pairs ? std::min(n, kMostOfPairs) : n), output));
  }
  return outcome;
}

schema::Value scores_of(const schema::Result& result) {
  schema::ValueMap scores;
  for (const auto& [name, score] : result.scores) scores.emplace_back(name, score.perFold);
  return scores;
}

// Without what the clock says.
schema::Value search_of(const schema::Result& result) {
  if (!result.search) return {};
  schema::ValueMap found{{"bestIndex", result.search->bestIndex}, {"bestParams", result.search->bestParams}};
  for (const auto& [name, values] : result.search->cvResults)
    if (!name.ends_with("_time")) found.emplace_back(name, values);
  return found;
}

void compare_fitted(Comparison& comparison, const schema::Result& cpu, const schema::Result& device) {
  if (cpu.fitted.size() != device.fitted.size()) return comparison.add("steps that were fitted");
  for (std::size_t i = 0; i < cpu.fitted.size(); ++i) {
    const schema::ValueMap &a = cpu.fitted[i].second, &b = device.fitted[i].second;
    if (a.size() != b.size()) return comparison.add("fitted attributes of " + cpu.fitted[i].first);
    for (std::size_t k = 0; k < a.size(); ++k)
      // Rounding decides at which iteration it stops, and how far below the tolerance.
      if (a[k].first != "n_iter_" && a[k].first != "duality_gap_") comparison.add(a[k].first, a[k].second, b[k].second);
  }
}

Finding compare(const Outcome& cpu, const Outcome& device, const CheckedJob& job, bool is_double) {
  Comparison comparison(is_double ? job.bound64 : job.bound32, job.free_signs);
  compare_fitted(comparison, cpu.result, device.result);
  comparison.add("scores", scores_of(cpu.result), scores_of(device.result));
  comparison.add("evaluation", cpu.result.evaluation, device.result.evaluation);
  comparison.add("search", search_of(cpu.result), search_of(device.result));
  if (cpu.answers.size() != device.answers.size()) comparison.add("outputs of the model");
  else
    for (std::size_t i = 0; i < cpu.answers.size(); ++i)
      comparison.add(cpu.answers[i].first, cpu.answers[i].second, device.answers[i].second);
  return comparison.take();
}

Finding check(Bench& bench, const CheckedJob& job, Size size, bool is_double) {
  const engine::DatasetFile data(write_data(bench.folder(), job.data, size.rows, size.cols));
  schema::JobSpec spec{.dataset = {schema::StoredRef{"made here"}}, .pipeline = job.pipeline, .task = job.task};
  spec.select.dtype = is_double ? "float64" : "float32";
  spec.select.targets = job.targets;
  const Outcome cpu = run_job(bench.cpu(), spec, data, bench.folder() / "cpu.kedge");
  const Outcome device = run_job(bench.device(), spec, data, bench.folder() / "device.kedge");
  return compare(cpu, device, job, is_double);
}

std::vector<Item> items_of(Bench& bench, Size size) {
  std::vector<Item> items;
  for (const bool is_double : {false, true})
    for (const CheckedJob& job : checked_jobs())
      items.push_back({fmt::format("{} {}", is_double ? "float64" : "float32", job.name),
                       [&bench, job, size, is_double] { return check(bench, job, size, is_double); }});
  return items;
}

}   // namespace

std::vector<Item> estimator_items(Bench& bench) {
  return items_of(bench, kSmall);
}
std::vector<Item> large_estimator_items(Bench& bench) {
  return items_of(bench, kLarge);
}

}   // namespace kedge::gpu_check
