// Fits, transforms, predicts and scores with a row of estimators.
#include "engine/model_selection/chain.h"

#include <algorithm>

#include "engine/model_selection/stopwatch.h"

namespace kedge::engine {

template <class T>
Chain<T>::Chain(std::vector<std::unique_ptr<Estimator<T>>> steps) : steps_(std::move(steps)) {
  timings_.steps.resize(steps_.size());
}

template <class T>
Samples<T> Chain<T>::transformed(const Context& ctx, Samples<T> X, std::size_t step) {
  ctx.check_stop();
  Stopwatch watch(ctx);
  Samples<T> result = dynamic_cast<const Transformer<T>&>(*steps_[step]).transform(ctx, X);
  const double seconds = watch.lap();
  timings_.transform += seconds, timings_.steps[step] += seconds;
  return result;
}

template <class T>
void Chain<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  Samples<T> current = X;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    ctx.check_stop();
    Stopwatch watch(ctx);
    if (steps_[i]->reads_bins() && !current.table->binned) {
      binned_table(ctx, *current.table);
      timings_.prepare += watch.lap();
    }
    steps_[i]->fit(ctx, current, y);
    const double seconds = watch.lap();
    timings_.fit += seconds, timings_.steps[i] += seconds;
    if (i + 1 < steps_.size()) current = transformed(ctx, std::move(current), i);
  }
}

template <class T>
std::vector<double> Chain<T>::score(const Context& ctx, const Samples<T>& X, const Target& y,
                                    const std::vector<const Scorer*>& scorers) {
  Samples<T> current = X;
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) current = transformed(ctx, std::move(current), i);
  ctx.check_stop();
  Stopwatch watch(ctx);
  const auto& classifier = dynamic_cast<const Classifier<T>&>(*steps_.back());
  std::vector<std::int32_t> labels;
  std::vector<double> proba;
  if (std::any_of(scorers.begin(), scorers.end(), [](const Scorer* s) { return s->needs_labels; })) {
    labels = classifier.predict(ctx, current);
  }
  if (std::any_of(scorers.begin(), scorers.end(), [](const Scorer* s) { return s->needs_proba || s->needs_decision; })) {
    Matrix<double> shares(ctx.memory(), current.n_rows(), y.n_classes());
    classifier.predict_proba(ctx, current, shares.view());
    proba = shares.to_host();
  }
  timings_.predict += watch.lap();
  std::vector<double> values;
  const Predictions predictions{.y_true = y.codes, .y_pred = labels, .proba = proba, .n_classes = y.n_classes()};
  for (const Scorer* scorer : scorers) values.push_back(scorer->score(predictions));
  timings_.score += watch.lap();
  return values;
}

template class Chain<float>;
template class Chain<double>;

}  // namespace kedge::engine
