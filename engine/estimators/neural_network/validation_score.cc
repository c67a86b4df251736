// Scores of networks on the rows that early stopping set aside.
#include "engine/estimators/neural_network/validation_score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/backend/functors.h"
#include "engine/core/params.h"

namespace kedge::engine {
namespace {

template <class V>
std::vector<V> chosen(const std::vector<V>& all, const std::vector<std::int32_t>& rows) {
  std::vector<V> values;
  if (all.empty()) return values;
  values.reserve(rows.size());
  for (const std::int32_t row : rows) values.push_back(all[static_cast<std::size_t>(row)]);
  return values;
}

}   // namespace

template <class T>
ValidationScore<T>::ValidationScore(const Context& ctx, const MlpParams& params, const MlpTarget& target,
                                    const DeviceGoals<T>& goals, const std::vector<std::int32_t>& rows)
    : ctx_(ctx),
      params_(params),
      target_(target),
      goals_(goals),
      rows_(rows),
      scorer_(find_scorer(params.scoring)),
      n_classes_(target.loss == OutputLoss::kBinary ? 2 : static_cast<std::int32_t>(target.n_outputs)),
      sum_(ctx) {
  if (scorer_ && scorer_->two_classes_only && n_classes_ != 2)
    refuse_param(target.owner, "scoring", params.scoring,
                 "must be a score of more than two classes: the target has " + std::to_string(n_classes_));
}

template <class T>
void ValidationScore<T>::add(VectorView<const std::int32_t> block, VectorView<const T> intercepts, MatrixView<T> Z) {
  NetworkOps<T>& ops = *ctx_.ops<T>().network;
  if (scorer_) {
    ops.activate(target_.loss == OutputLoss::kPoisson ? Activation::kExp : Activation::kIdentity, intercepts, Z);
    std::vector<T> host(static_cast<std::size_t>(Z.size()));
    ctx_.memory().to_host(host.data(), Z.data, host.size() * sizeof(T));
    outputs_.insert(outputs_.end(), host.begin(), host.end());
    return;
  }
  OutputLoss loss = target_.loss;
  if (params_.scoring == "score") {
    if (loss == OutputLoss::kPoisson) ops.activate(Activation::kExp, std::exchange(intercepts, {}), Z);
    loss = target_.has_classes() ? OutputLoss::kMisses : OutputLoss::kSquared;
  }
  ops.output(loss, intercepts, goals_.of(block), 1, Z, sum_.view());
}

template <class T>
double ValidationScore<T>::take() {
  return scorer_ ? of_scorer() : of_loss(sum_.take());
}

template <class T>
double ValidationScore<T>::of_loss(double loss) const {
  const double weight = target_.weight_of(rows_);
  if (params_.scoring == "loss") return -loss / weight;
  if (target_.has_classes()) return (weight - loss) / weight;
  if (!std::isfinite(loss)) return std::numeric_limits<double>::quiet_NaN();
  double mean = 0, square = 0;
  const auto weight_of = [&](std::int32_t row) {
    return target_.weights.empty() ? 1.0 : target_.weights[static_cast<std::size_t>(row)];
  };
  for (const std::int32_t row : rows_) mean += weight_of(row) * target_.values[static_cast<std::size_t>(row)];
  mean /= weight;
  for (const std::int32_t row : rows_)
    square += weight_of(row) * std::pow(target_.values[static_cast<std::size_t>(row)] - mean, 2);
  return square > 0 ? 1 - 2 * loss / square : (loss > 0 ? 0.0 : 1.0);
}

template <class T>
double ValidationScore<T>::of_scorer() {
  std::vector<double> outputs = std::exchange(outputs_, {});
  const std::vector<double> weights = chosen(target_.weights, rows_), values = chosen(target_.values, rows_);
  if (!target_.has_classes())
    return scorer_->score({.true_values = values, .pred_values = outputs, .weights = weights});
  const std::vector<std::int32_t> codes = chosen(target_.codes, rows_);
  std::vector<double> shares;
  if (target_.n_outputs > 1) shares = std::move(outputs);
  else
    for (const double second : outputs) shares.push_back(0), shares.push_back(second);   // of two classes
  std::vector<std::int32_t> found;
  for (std::size_t at = 0; at < shares.size(); at += static_cast<std::size_t>(n_classes_)) {
    found.push_back(argmax_row(shares.data() + at, n_classes_));
    softmax_row(shares.data() + at, n_classes_);
  }
  return scorer_->score(
      {.y_true = codes, .y_pred = found, .proba = shares, .weights = weights, .n_classes = n_classes_});
}

template class ValidationScore<float>;
template class ValidationScore<double>;

}   // namespace kedge::engine
