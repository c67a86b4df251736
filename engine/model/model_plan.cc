// Adds up the steps of a stored model over a tile of rows, and the answer over all of them.
#include "engine/model/model_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/estimators/contributions.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kTileBytes = std::int64_t{256} << 20;
constexpr std::int64_t kLeastTile = 256;

// Of the target column that has the most.
std::int64_t most_classes(const schema::ModelInfo& model) {
  std::size_t most = model.classes.size();
  for (const schema::TargetColumn& target : model.targets) most = std::max(most, target.classes.size());
  return static_cast<std::int64_t>(most);
}

SampleShape shape_of(const schema::ModelInfo& model, std::int64_t n_rows) {
  SampleShape X{.rows = n_rows,
                .cols = static_cast<std::int64_t>(model.columns.size()),
                .value_bytes = model.dtype == "float32" ? 4 : 8,
                .n_outputs = std::max<std::int64_t>(1, most_classes(model)),
                .n_targets = std::max<std::int64_t>(1, std::ssize(model.targets)),
                .in_place = true};
  for (const schema::ModelColumn& column : model.columns)
    X.features.push_back({.name = column.name, .categories = column.categories, .is_nominal = column.kind != "number"});
  return X;
}

// The cells as they came, as the model's type on the host, and on the device.
std::int64_t of_rows(const SampleShape& X) {
  return bytes_of(X.rows, X.cols, 8 + 2 * X.value_bytes);
}

// The steps at work on some rows.
struct StepsAtWork {
  std::int64_t bytes = 0;   // at the worst moment
  std::int64_t width = 0;   // columns that the last transformer makes
  bool is_exact = true;     // the width
  std::size_t step = 0;     // with the largest share
};

// If a step has no rule for these rows, it reports that itself when it predicts.
StepsAtWork steps_at_work(const schema::ModelInfo& model, SampleShape X, bool is_transform) {
  StepsAtWork all;
  std::int64_t held = 0;
  for (std::size_t i = 0; i < model.pipeline.size(); ++i) {
    MemoryNeed need;
    try {
      need = memory_need(X, model.pipeline[i]);
    } catch (const schema::Error&) {
      break;
    }
    const bool is_last = i + 1 == model.pipeline.size();
    const std::int64_t made = is_last && !is_transform ? 0 : need.made;
    const std::int64_t bytes = held + made + (need.use >= 0 ? need.use : need.work);
    if (bytes > all.bytes) all.bytes = bytes, all.step = i;
    if (is_last && !is_transform) break;
    if (made > 0) held = made;
    all.is_exact = all.is_exact && need.is_exact;
    X = std::move(need.out);
  }
  all.width = X.cols;
  return all;
}

std::int64_t outputs_per_row(const ModelQuestion& question, const StepsAtWork& steps) {
  if (!question.model.targets.empty()) {
    std::int64_t outputs = 0;
    for (const schema::TargetColumn& target : question.model.targets)
      outputs += question.output == "predict_proba" ? std::max<std::int64_t>(1, std::ssize(target.classes)) : 1;
    return outputs;
  }
  const auto n_classes = static_cast<std::int64_t>(question.model.classes.size());
  if (question.output == "transform") return steps.width;
  if (question.output == kContributions) return std::max<std::int64_t>(1, n_classes) * (steps.width + 1);
  if (question.output == kInteractions)   // saturated, for none of so many are answered
    return std::max<std::int64_t>(1, n_classes) *
           (std::min(kMostInteractions, bytes_of(steps.width, steps.width, 1)) + 1);
  if (question.output == "predict_proba")   // of classes, or of the components of a mixture
    return std::max({std::int64_t{1}, n_classes, memory::integer(question.model.pipeline.back(), "n_components")});
  return question.output == "decision_function" && n_classes > 2 ? n_classes : 1;
}

// A class by its name, as a text and in a file of texts of one length, where names are no numbers.
std::int64_t of_class_name(const schema::ModelInfo& model) {
  std::size_t longest = 0;
  for (const std::string& name : model.classes) longest = std::max(longest, name.size());
  for (const schema::TargetColumn& target : model.targets)
    for (const std::string& name : target.classes) longest = std::max(longest, name.size());
  return static_cast<std::int64_t>(sizeof(std::string) + longest + 4 * longest);
}

ModelRows part_of(const ModelRows& rows, std::int64_t first, std::int64_t count) {
  const auto cols = static_cast<std::ptrdiff_t>(rows.features.size());
  const auto begin = rows.values.begin() + first * cols;
  return {.n_rows = count,
          .values = {begin, begin + count * cols},
          .features = rows.features,
          .background = rows.background};
}

}   // namespace

std::int64_t tile_rows(const schema::ModelInfo& model) {
  const SampleShape one = shape_of(model, 1);
  std::int64_t of_row = of_rows(one);
  SampleShape X = one;
  for (const schema::Step& step : model.pipeline) {
    try {
      MemoryNeed need = memory_need(X, step);
      of_row += need.made;
      X = std::move(need.out);
    } catch (const schema::Error&) {
      break;
    }
  }
  return std::max(kLeastTile, kTileBytes / std::max<std::int64_t>(1, of_row));
}

MemoryPlan plan_answer(const ModelQuestion& question) {
  const bool writes = !question.share || question.share->collects;   // the answer as a file
  const std::int64_t own = question.share ? question.share->n_rows : question.n_rows;
  const std::int64_t n = writes ? question.n_rows : own;   // rows whose answer is held
  const std::int64_t at_once = question.tile > 0 ? question.tile : tile_rows(question.model);
  const SampleShape tile = shape_of(question.model, std::clamp<std::int64_t>(own, 1, at_once));
  const StepsAtWork steps = steps_at_work(question.model, tile, question.output == "transform");
  const std::int64_t outputs = outputs_per_row(question, steps), value_bytes = tile.value_bytes;
  constexpr std::int64_t kNumber = 8, kNumberText = 40;   // of a number in the answer, and of its text, which grows in a buffer
  const bool has_names = question.output == "predict" && most_classes(question.model) > 0;
  MemoryPlan plan{.mapped_bytes = question.mapped_bytes};
  const std::int64_t of_file = writes ? std::min<std::int64_t>(value_bytes, 2) : 0;
  plan.needed_bytes = steps.is_exact ? bytes_of(n, outputs, kNumber + of_file) : 0;
  plan.needed_bytes += question.rows_held_bytes;
  plan.peak_bytes = plan.mapped_bytes + question.rows_held_bytes + of_rows(tile) + steps.bytes +
                    (question.is_host ? kOfProcess : 0) + bytes_of(n, outputs, kNumber + (writes ? kNumberText : 0)) +
                    (has_names ? bytes_of(n, outputs, of_class_name(question.model)) : 0);
  if (question.share)   // as they leave a rank and as they come
    plan.peak_bytes += bytes_of(own + n, outputs, kNumber + (has_names ? of_class_name(question.model) : 0));
  // Contributions copy the trees into the order of their walk, and the cells twice.
  if (question.output == kContributions || question.output == kInteractions)
    plan.peak_bytes += 2 * question.mapped_bytes + bytes_of(tile.rows, steps.width, 16);
  plan.step = question.model.pipeline.empty() ? "model" : question.model.pipeline[steps.step].estimator;
  plan.where = "task";
  return plan;
}

void append_answer(ModelAnswer part, std::int64_t n_rows, ModelAnswer& all) {
  if (part.n_rows == 0) return;
  if (all.n_rows == 0) {
    all = std::move(part);
    if (all.n_rows < n_rows) all.numbers.reserve(static_cast<std::size_t>(all.texts.empty() ? n_rows * all.n_cols : 0));
    if (all.n_rows < n_rows) all.texts.reserve(static_cast<std::size_t>(all.texts.empty() ? 0 : n_rows * all.n_cols));
    return;
  }
  all.n_rows += part.n_rows;
  all.numbers.insert(all.numbers.end(), part.numbers.begin(), part.numbers.end());
  all.texts.insert(all.texts.end(), std::make_move_iterator(part.texts.begin()),
                   std::make_move_iterator(part.texts.end()));
}

ModelAnswer answer_in_tiles(const Context& ctx, StoredModel& model, const AskedRows& asked, std::int64_t tile,
                            std::string_view output, const RowsOf& rows) {
  const std::int64_t n_rows = asked.end - asked.begin;
  ModelAnswer all = model.answer(ctx, rows(asked.begin, std::min(tile, n_rows)), output);
  if (all.n_rows < asked.n_rows && output == kInteractions)
    require_few_interactions(asked.n_rows, static_cast<double>(all.n_cols));
  if (all.n_rows == n_rows) return all;
  ModelAnswer answer;
  append_answer(std::move(all), n_rows, answer);
  while (answer.n_rows < n_rows) {
    ctx.check_stop();
    const std::int64_t left = n_rows - answer.n_rows;
    append_answer(model.answer(ctx, rows(asked.end - left, std::min(tile, left)), output), n_rows, answer);
  }
  return answer;
}

ModelAnswer answer_rows(const Context& ctx, StoredModel& model, const ModelRows& rows, std::string_view output) {
  if (rows.background && output != kContributions)
    throw schema::Error(
        schema::ErrorCode::kInvalidValue,
        fmt::format("background is given with the output '{}', must be given with '{}' alone", output, kContributions),
        "background");
  const std::int64_t tile = tile_rows(model.info());
  if (rows.n_rows <= tile && output != "transform") return model.answer(ctx, rows, output);
  const std::int64_t background_rows = rows.background ? rows.background->n_rows : 0;
  const MemoryPlan plan =
      plan_answer({.model = model.info(),
                   .n_rows = rows.n_rows,
                   .output = output,
                   .rows_held_bytes = bytes_of(background_rows, std::ssize(rows.features), memory::kDouble),
                   .is_host = ctx.device.info().kind == DeviceKind::kCpu});
  require_memory(ctx, plan);
  ModelAnswer answer;
  within_memory(ctx, plan, [&] {
    answer = answer_in_tiles(ctx, model, {.n_rows = rows.n_rows, .end = rows.n_rows}, tile, output,
                             [&](std::int64_t first, std::int64_t count) { return part_of(rows, first, count); });
  });
  return answer;
}

}   // namespace kedge::engine
