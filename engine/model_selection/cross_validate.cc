// Runs the folds one after the other; the device is busy with one fold at a time, and the folds share the table on it.
#include "engine/model_selection/cross_validate.h"

#include <cmath>

namespace kedge::engine {
namespace {

std::vector<std::int32_t> at(const std::vector<std::int32_t>& values, const std::vector<std::int32_t>& rows) {
  std::vector<std::int32_t> chosen;
  chosen.reserve(rows.size());
  for (std::int32_t row : rows) chosen.push_back(values[static_cast<std::size_t>(row)]);
  return chosen;
}

void emit_fold(const Context& ctx, const std::vector<const Scorer*>& scorers, const std::vector<double>& test,
               const std::vector<double>& train, const schema::FoldTimings& timings) {
  if (!ctx.emit) return;
  for (std::size_t s = 0; s < scorers.size(); ++s) {
    ctx.emit(schema::MetricEvent{std::string(scorers[s]->name), test[s], ctx.fold});
    if (!train.empty()) ctx.emit(schema::MetricEvent{"train_" + std::string(scorers[s]->name), train[s], ctx.fold});
  }
  ctx.emit(schema::TimingEvent{"fit", timings.fit, ctx.fold});
  ctx.emit(schema::TimingEvent{"transform", timings.transform, ctx.fold});
  ctx.emit(schema::TimingEvent{"predict", timings.predict, ctx.fold});
  ctx.emit(schema::TimingEvent{"score", timings.score, ctx.fold});
}

}  // namespace

template <class T>
Samples<T> LabelledTable<T>::samples(const Context& ctx, const std::vector<std::int32_t>& rows) const {
  return {.table = table, .rows = std::make_shared<const Array<std::int32_t>>(ctx.memory(), rows)};
}

template <class T>
Target LabelledTable<T>::target(const std::vector<std::int32_t>& rows) const {
  return {.codes = at(codes, rows), .table_codes = &table_codes, .classes = classes};
}

schema::Score summarize(std::vector<double> per_fold) {
  const auto n = static_cast<double>(per_fold.size());
  double sum = 0, squares = 0;
  for (double value : per_fold) sum += value;
  const double mean = sum / n;
  for (double value : per_fold) squares += (value - mean) * (value - mean);
  return {.perFold = std::move(per_fold), .mean = mean, .std = std::sqrt(squares / n)};
}

template <class T>
CrossValidation cross_validate(const Context& ctx, const std::function<Chain<T>()>& make_chain,
                               const LabelledTable<T>& data, const std::vector<Split>& splits,
                               const std::vector<const Scorer*>& scorers, bool return_train_score) {
  const auto n_folds = static_cast<std::int64_t>(splits.size());
  std::vector<std::vector<double>> test(scorers.size()), train(scorers.size());
  CrossValidation result;
  for (std::int64_t k = 0; k < n_folds; ++k) {
    const Split& split = splits[static_cast<std::size_t>(k)];
    Context fold = ctx;
    fold.fold = k;
    Chain<T> chain = make_chain();
    const Samples<T> train_rows = data.samples(fold, split.train);
    const Target train_target = data.target(split.train);
    chain.fit(fold, train_rows, train_target);
    const std::vector<double> scores = chain.score(fold, data.samples(fold, split.test), data.target(split.test), scorers);
    const ChainTimings& t = chain.timings();
    const schema::FoldTimings timings{.fit = t.fit, .transform = t.transform, .predict = t.predict, .score = t.score};
    std::vector<double> train_scores;   // after the timings are taken: they tell what a fold costs without train scores
    result.folds.push_back(timings);
    result.prepare += t.prepare;
    if (t.prepare > 0 && ctx.emit) ctx.emit(schema::TimingEvent{"prepare", t.prepare, -1});
    result.steps.resize(chain.size());
    for (std::size_t i = 0; i < chain.size(); ++i) result.steps[i] += t.steps[i];
    if (return_train_score) train_scores = chain.score(fold, train_rows, train_target, scorers);
    for (std::size_t s = 0; s < scorers.size(); ++s) {
      test[s].push_back(scores[s]);
      if (return_train_score) train[s].push_back(train_scores[s]);
    }
    emit_fold(fold, scorers, scores, train_scores, timings);
    ctx.progress("fold", k + 1, n_folds, "folds");
  }
  for (std::size_t s = 0; s < scorers.size(); ++s) {
    const std::string name(scorers[s]->name);
    result.scores.emplace_back(name, summarize(std::move(test[s])));
    if (return_train_score) result.scores.emplace_back("train_" + name, summarize(std::move(train[s])));
  }
  return result;
}

template struct LabelledTable<float>;
template struct LabelledTable<double>;
template CrossValidation cross_validate(const Context&, const std::function<Chain<float>()>&, const LabelledTable<float>&,
                                        const std::vector<Split>&, const std::vector<const Scorer*>&, bool);
template CrossValidation cross_validate(const Context&, const std::function<Chain<double>()>&, const LabelledTable<double>&,
                                        const std::vector<Split>&, const std::vector<const Scorer*>&, bool);

}  // namespace kedge::engine
