// Fits, transforms, predicts and scores with a row of estimators.
#include "engine/model_selection/chain.h"

#include <algorithm>

#include "engine/backend/factorisation_failed.h"
#include "engine/comm/ranks.h"
#include "engine/core/lane.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/dealt_sums.h"
#include "engine/estimators/magnitudes.h"
#include "engine/estimators/resampler.h"
#include "engine/model_selection/chain_predictions.h"
#include "engine/model_selection/stopwatch.h"
#include "schemas/value.h"

namespace kedge::engine {
namespace {

template <class T>
std::unique_ptr<Estimator<T>> make(const schema::Step& step) {
  const CatalogueEntry& entry = *find_estimator(step.estimator);
  if constexpr (std::is_same_v<T, float>) return entry.make_f32(step.params);
  else return entry.make_f64(step.params);
}

bool any(const std::vector<const Scorer*>& scorers, bool Scorer::*need) {
  return std::any_of(scorers.begin(), scorers.end(), [need](const Scorer* s) { return s->*need; });
}

// The scores of several target columns; of each column alone into the rows, where they want them.
std::vector<double> output_scores(const Context& ctx, const std::vector<TargetOutput>& outputs, const Predicted& of,
                                  const std::vector<const Scorer*>& scorers, ScoredRows* rows) {
  const std::vector<std::vector<double>> none(outputs.size());
  const auto& said = of.outputs.empty() ? none : of.outputs;
  const auto& proba = of.output_proba.empty() ? none : of.output_proba;
  std::vector<std::vector<std::int32_t>> codes(outputs.size());
  std::vector<Predictions> predictions;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].n_classes() > 0) codes[k].assign(said[k].begin(), said[k].end());
    predictions.push_back({.y_true = outputs[k].codes,
                           .y_pred = codes[k],
                           .proba = proba[k],
                           .true_values = outputs[k].values,
                           .pred_values = said[k],
                           .n_classes = outputs[k].n_classes()});
  }
  std::vector<double> scores;
  for (const Scorer* scorer : scorers) {
    scores.push_back(score_of_outputs(*scorer, predictions));
    const std::string warning = scorer->warning_of_columns ? scorer->warning_of_columns(predictions) : "";
    if (!warning.empty()) ctx.warn(fmt::format("{}: {}", scorer->name, warning));
    for (std::size_t k = 0; k < outputs.size() && rows && rows->wants_outputs; ++k)
      rows->output_scores.push_back(score_of_outputs(*scorer, std::span(predictions).subspan(k, 1)));
  }
  return scores;
}

// The scorers, and those whose predictions the rows are to hold.
std::vector<const Scorer*> with_rows(std::vector<const Scorer*> scorers, const ScoredRows* rows) {
  if (rows && rows->wants_labels) scorers.push_back(find_scorer("accuracy"));
  if (rows && rows->wants_scores) scorers.push_back(find_scorer("roc_auc"));
  return scorers;
}

void keep(const Predicted& predicted, const Target& y, ScoredRows& rows) {
  rows.y_true.insert(rows.y_true.end(), y.codes.begin(), y.codes.end());
  if (rows.wants_labels) rows.y_pred.insert(rows.y_pred.end(), predicted.labels.begin(), predicted.labels.end());
  const std::vector<double>& scores = predicted.decision.empty() ? predicted.proba : predicted.decision;
  if (rows.wants_scores) rows.scores.insert(rows.scores.end(), scores.begin(), scores.end());
}

// What fails in a step of a job's pipeline says in which, unless it says more.
template <class Work>
void in_step(std::size_t step, Work&& work) {
  try {
    work();
  } catch (schema::Error& error) {
    if (error.where.empty() && error.code != schema::ErrorCode::kCancelled) error.where = fmt::format("pipeline[{}]", step);
    throw;
  }
}

template <class T>
struct FittedStep {
  std::shared_ptr<Estimator<T>> estimator;
  FittedRows<T> made;
};

// Names of a step that is fitted on a content, and of a content that such a step transforms.
std::string fitted_name(WorkCache& work, const std::string& content, const std::string& step) { return work.name(content + " | " + step); }
std::string made_name(WorkCache& work, const std::string& fitted, const std::string& content) { return work.name(fitted + " of " + content); }
// Of what the rows of the fit become, which may be another content than transform() makes of them.
template <class T>
std::string made_by_fit(WorkCache& work, Estimator<T>& estimator, const std::string& fitted,
                        const std::string& content) {
  const bool is_other = own_fit_transform(estimator) || resampler_of(estimator);
  return is_other ? work.name(fitted + " as fitted") : made_name(work, fitted, content);
}

}  // namespace

template <class T>
Chain<T>::Chain(const SharedSteps& steps) : fitted_content_(steps.size()) {
  for (const auto& step : steps)
    steps_.push_back({step->estimator, step_key(*step), make<T>(*step), find_estimator(step->estimator)});
  timings_.steps.resize(steps_.size());
}

template <class T>
template <class Work>
auto Chain<T>::timed(const Context& ctx, std::size_t step, double ChainTimings::*total, Work&& work) {
  ctx.check_stop();
  Stopwatch watch(ctx);
  try {
    auto result = work();
    const double seconds = watch.lap();
    timings_.*total += seconds, timings_.steps[step] += seconds;
    return result;
  } catch (FactorisationFailed& failed) {
    failed.message = fmt::format("{}: {}", steps_[step].name, failed.message);
    throw;
  }
}

template <class T>
Samples<T> Chain<T>::readable(const Context& ctx, const Samples<T>& X, std::size_t step) const {
  return accepted(ctx, steps_[step].name, *steps_[step].estimator, X);
}

template <class T>
Samples<T> Chain<T>::transform(const Context& ctx, const Samples<T>& given, std::size_t step) {
  const Samples<T> X = readable(ctx, given, step);
  const auto work = [&] {
    const auto& transformer = dynamic_cast<const Transformer<T>&>(*steps_[step].estimator);
    return timed(ctx, step, &ChainTimings::transform, [&] { return transformer.transform(ctx, X); });
  };
  if (!ctx.work || X.content.empty() || fitted_content_[step].empty()) return work();
  const std::string name = made_name(*ctx.work, fitted_content_[step], X.content);
  Samples<T> made = *ctx.work->get<Samples<T>>("transform", name, work);
  made.content = name;
  return made;
}

template <class T>
void Chain<T>::fit_one(const Context& ctx, const Samples<T>& X, const Target& y, std::size_t step) {
  timed(ctx, step, &ChainTimings::fit, [&] {
    const DealtSumsScope sums(ctx.device, deals_row_sums(*steps_[step].entry, ctx.device));
    return steps_[step].estimator->fit(ctx, X, y), 0;
  });
}

template <class T>
Samples<T> Chain<T>::fit_transform(const Context& ctx, const Samples<T>& X, FitTarget& y, std::size_t step) {
  const auto work = [&]() -> FittedStep<T> {
    Estimator<T>& estimator = *steps_[step].estimator;
    if (own_fit_transform(estimator) || resampler_of(estimator)) {
      FittedRows<T> made = timed(ctx, step, &ChainTimings::fit, [&] {
        const DealtSumsScope sums(ctx.device, deals_row_sums(*steps_[step].entry, ctx.device));
        return fitted_rows(ctx, estimator, X, y);
      });
      if (ctx.work && !X.content.empty())
        made.X.content = made_by_fit(*ctx.work, estimator, fitted_content_[step], X.content);
      return {steps_[step].estimator, std::move(made)};
    }
    fit_one(ctx, X, y.unweighted(), step);
    const RowSumsScope sums(deals_row_sums(steps_[step].entry->dealt));
    return {steps_[step].estimator, {transform(ctx, X, step)}};
  };
  FittedRows<T> made;
  if (!ctx.work || X.content.empty()) {
    made = work().made;
  } else {
    fitted_content_[step] = fitted_name(*ctx.work, X.content, steps_[step].key);
    const auto fitted = ctx.work->get<FittedStep<T>>("fit", fitted_content_[step], work);
    steps_[step].estimator = fitted->estimator;
    made = fitted->made;
  }
  y.become(std::move(made.y));
  return std::move(made.X);
}

template <class T>
void Chain<T>::announce(WorkCache& plan, std::string content) const {
  for (const Step& step : steps_) {
    step.estimator->announce(plan, content);
    content = made_by_fit(plan, *step.estimator, fitted_name(plan, content, step.key), content);
  }
}

namespace {

// Another lane may be making them.
template <class T>
bool has_bins(const Context& ctx, const Table<T>& table) {
  bool has = false;
  const auto look = [&] {
    has = table.binned != nullptr;
    return true;
  };
  make_once(&table, ctx.memory(), look, [] {});
  return has;
}

}   // namespace

// Ranks divide the look through the table as they do the fit.
template <class T>
void Chain<T>::look_at_magnitudes(const Context& ctx, const Samples<T>& X, const FitTarget& y, std::size_t step) const {
  const DealtSumsScope sums(ctx.device, deals_row_sums(*steps_[step].entry, ctx.device));
  require_magnitudes(ctx, steps_[step].name, *steps_[step].estimator, X, y.weighted());
}

template <class T>
void Chain<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  FitTarget target(y);
  Samples<T> current = X;
  const std::size_t last = steps_.size() - 1;
  const auto fit_step = [&](std::size_t i) {
    ctx.check_stop();
    current = readable(ctx, current, i);
    look_at_magnitudes(ctx, current, target, i);
    steps_[i].n_features = current.n_cols();
    if (steps_[i].estimator->reads_bins() && !has_bins(ctx, *current.table)) {
      Stopwatch watch(ctx);
      binned_table(ctx, *current.table);
      timings_.prepare += watch.lap();
    }
    if (i < last) current = fit_transform(ctx, current, target, i);
    else fit_one(ctx, current, target.weighted(), last);
  };
  for (std::size_t i = 0; i <= last; ++i) in_step(i, [&] { fit_step(i); });
}

template <class T>
Samples<T> Chain<T>::transformed(const Context& ctx, const Samples<T>& X, std::size_t n_steps) {
  Samples<T> current = X;
  for (std::size_t i = 0; i <= n_steps && i < steps_.size(); ++i) {
    require_fitted_columns(steps_[i].name.c_str(), current, static_cast<std::size_t>(steps_[i].n_features));
    current = i < n_steps ? transform(ctx, current, i) : readable(ctx, current, i);
  }
  return current;
}

template <class T>
void Chain<T>::state(StateArchive& archive) {
  for (Step& step : steps_) {
    archive.number("n_features", step.n_features, 1, kMaxSize);
    const StateArchive::Scope scope(archive, step.name, step.n_features);
    step.estimator->state(archive);
    const auto* classifier = dynamic_cast<const Classifier<T>*>(step.estimator.get());
    archive.expect(!classifier || classifier->n_classes() == archive.n_classes(), "classes", "has another size than the model's");
  }
}

template <class T>
std::vector<double> Chain<T>::score(const Context& ctx, const Samples<T>& X, const Target& y,
                                    const std::vector<const Scorer*>& scorers, ScoredRows* rows) {
  Samples<T> current = X;
  const std::size_t last = steps_.size() - 1;
  for (std::size_t i = 0; i < last; ++i) in_step(i, [&] { current = transform(ctx, current, i); });
  ctx.check_stop();
  in_step(last, [&] { current = readable(ctx, current, last); });
  Stopwatch watch(ctx);
  const Predicted predicted = predicted_rows<T>(ctx, *steps_.back().estimator, current, with_rows(scorers, rows));
  timings_.predict += watch.lap();
  if (const Ranks* const ranks = ranks_of_job(); ranks && !ranks->is_first()) return {};
  if (dynamic_cast<const MultiOutput<T>*>(steps_.back().estimator.get())) {
    std::vector<double> scores = output_scores(ctx, y.outputs, predicted, scorers, rows);
    timings_.score += watch.lap();
    return scores;
  }
  if (rows) keep(predicted, y, *rows);
  std::vector<double> read;   // by the last step
  if (any(scorers, &Scorer::needs_X)) read = host_values(ctx, current);
  const Predictions predictions{.y_true = y.codes,
                                .y_pred = predicted.labels,
                                .proba = predicted.proba,
                                .decision = predicted.decision,
                                .true_values = y.values,
                                .pred_values = predicted.values,
                                .n_classes = y.n_classes(),
                                .X = read,
                                .n_features = current.n_cols()};
  std::vector<double> scores;
  for (const Scorer* scorer : scorers) scores.push_back(scorer->score(predictions));
  timings_.score += watch.lap();
  return scores;
}

template class Chain<float>;
template class Chain<double>;

}  // namespace kedge::engine
