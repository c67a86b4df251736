// Counting questions to models: see model_figures.h.
#include "server/models/model_figures.h"

#include <algorithm>
#include <chrono>

namespace kedge::server {
namespace {

constexpr std::size_t kMostModels = 1000;
constexpr std::size_t kMostShown = 20;   // in /metrics

std::int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

observe::Labels labels_of(const ModelFigures& figures) {
  return {{"model", figures.model}};
}

void append_batches(observe::Exposition& out, const ModelFigures& figures) {
  observe::Labels labels = labels_of(figures);
  labels.emplace_back("le", "");
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < figures.batches.size(); ++i) {
    const bool is_bounded = i < ModelFigures::kBatchBounds.size();
    labels.back().second = is_bounded ? std::to_string(ModelFigures::kBatchBounds[i]) : "+Inf";
    out.sample_of("_bucket", labels, static_cast<double>(count += figures.batches[i]));
  }
  out.sample_of("_sum", labels_of(figures), static_cast<double>(figures.batch_rows));
  out.sample_of("_count", labels_of(figures), static_cast<double>(count));
}

}   // namespace

void ModelBook::note(const std::string& model, const std::string& tenant, const ModelCall& call) {
  const std::lock_guard lock(mutex_);
  if (figures_.size() >= kMostModels && !figures_.contains(model))
    figures_.erase(std::ranges::min_element(figures_, {}, [](const auto& entry) { return entry.second.last_ms; }));
  ModelFigures& figures = figures_[model];
  figures.model = model, figures.tenant = tenant;
  figures.last_ms = wall_ms();
  ++figures.requests;
  figures.latency.add(call.took);
  if (call.failed) {
    ++figures.failures;
    figures.failed_seconds += call.took;
    return;
  }
  figures.rows += static_cast<std::uint64_t>(call.rows);
  figures.seconds += call.took;
  const double share = call.together > 0 ? static_cast<double>(call.rows) / static_cast<double>(call.together) : 1;
  figures.executions += share;
  figures.computed += share * call.computed;
  const auto bound = std::ranges::lower_bound(ModelFigures::kBatchBounds, call.together);
  ++figures.batches[static_cast<std::size_t>(bound - ModelFigures::kBatchBounds.begin())];
  figures.batch_rows += call.together;
}

void ModelBook::note_dropped(const std::string& model) {
  const std::lock_guard lock(mutex_);
  if (const auto found = figures_.find(model); found != figures_.end()) ++found->second.dropped;
}

std::optional<ModelFigures> ModelBook::find(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const auto found = figures_.find(model);
  return found == figures_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<ModelFigures> ModelBook::last(std::size_t most, const std::optional<std::string>& tenant) const {
  std::vector<ModelFigures> figures;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [model, entry] : figures_)
      if (!tenant || entry.tenant == *tenant) figures.push_back(entry);
  }
  std::ranges::sort(figures, std::greater{}, &ModelFigures::last_ms);
  if (figures.size() > most) figures.resize(most);
  return figures;
}

std::string model_text(const ModelBook& book, const std::optional<std::string>& tenant,
                       const std::function<std::optional<double>(const std::string& model)>& drift) {
  const std::vector<ModelFigures> all = book.last(kMostShown, tenant);
  observe::Exposition out;
  const auto family = [&](const char* name, const char* help, auto value) {
    out.family(name, "counter", help);
    for (const ModelFigures& figures : all) out.sample(labels_of(figures), static_cast<double>(value(figures)));
  };
  family("kedge_model_requests_total", "Questions to a stored model; of the models that were asked last.",
         [](const ModelFigures& f) { return f.requests; });
  family("kedge_model_errors_total", "Questions that ended with an error.",
         [](const ModelFigures& f) { return f.failures; });
  family("kedge_model_rows_total", "Rows that were answered.", [](const ModelFigures& f) { return f.rows; });
  family("kedge_model_compute_seconds_total", "Time in the model itself.",
         [](const ModelFigures& f) { return f.computed; });
  family("kedge_model_log_dropped_total", "Questions that were to be logged, and were not.",
         [](const ModelFigures& f) { return f.dropped; });
  out.family("kedge_model_drift_psi", "gauge",
             "Largest population stability index of a column, of the rows asked against those fitted on.");
  for (const ModelFigures& figures : all)
    if (const std::optional<double> index = drift ? drift(figures.model) : std::nullopt)
      out.sample(labels_of(figures), *index);
  out.family("kedge_model_request_seconds", "histogram", "From a question to its answer.");
  for (const ModelFigures& figures : all) out.histogram(labels_of(figures), figures.latency);
  out.family("kedge_model_batch_rows", "histogram", "Rows that a model answered in one call, for each question.");
  for (const ModelFigures& figures : all) append_batches(out, figures);
  return out.take();
}

}   // namespace kedge::server
