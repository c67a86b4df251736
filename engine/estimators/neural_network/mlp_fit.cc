// Training of networks: scikit-learn's rules for steps, stops and random numbers, around passes that stay on the
// device.
#include "engine/estimators/neural_network/mlp_fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "engine/core/legacy_random.h"
#include "engine/core/require.h"
#include "engine/core/row_parts.h"
#include "engine/estimators/neural_network/epoch_batches.h"
#include "engine/estimators/neural_network/network_start.h"
#include "engine/estimators/neural_network/validation_score.h"
#include "engine/estimators/optimizers/lbfgs.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
constexpr std::int64_t kBlockRows = 8192;   // rows that pass through the network together, beyond batches
constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void fail_divergence(const char* owner, const std::string& when) {
  throw schema::Error(ErrorCode::kBadData, std::string(owner) + ": the loss or a weight is not finite " + when +
                                               "; scale the columns, or lower learning_rate_init");
}

template <class V>
void require_finite_parameters(const char* owner, const std::vector<V>& parameters) {
  if (!std::ranges::all_of(parameters, [](V p) { return std::isfinite(p); }))
    fail_divergence(owner, "after the last step");
}

std::uint64_t seed_of(const Context& ctx, const MlpParams& params) {
  return params.random_state ? static_cast<std::uint64_t>(*params.random_state) : ctx.seed;
}

template <class T>
class Epochs {
 public:
  Epochs(const Context& ctx, const MlpParams& params, MatrixView<const T> X, const MlpTarget& target,
         LegacyRandom& random)
      : ctx_(ctx),
        params_(params),
        X_(X),
        target_(target),
        goals_(ctx, target),
        random_(random),
        shape_(shape_of(params, X.cols, target.n_outputs)),
        start_(first_parameters<T>(shape_, random)),   // drawn before the rows that are set aside
        parts_(part_rows()),
        batch_rows_(std::min(params.batch().value_or(200), n_train())),
        network_(ctx, shape_, start_, most_rows(), true),
        first_(ctx.memory(), network_.parameters().size()),
        second_(ctx.memory(), params.is_adam() || params.solver == "rmsprop" ? network_.parameters().size() : 0),
        order_(ctx.memory(), n_train()),
        validated_(ctx.memory(), std::span<const std::int32_t>(parts_.test)),
        batches_(ctx, n_train(), batch_rows_, target.weights.empty() && params.max_iter > 1),
        batch_(ctx.memory(), gathers() || !batches_.empty() ? most_rows() : 0, X.cols),
        sums_(ctx),
        score_(ctx, params, target, goals_, parts_.test),
        places_(ctx.memory(), params.max_grad_norm ? kLossSums : 0),
        rate_(params.learning_rate_init) {}

  MlpFit<T> run();

 private:
  RowParts part_rows();
  std::int64_t n_train() const { return static_cast<std::int64_t>(parts_.train.size()); }
  std::int64_t n_validated() const { return static_cast<std::int64_t>(parts_.test.size()); }
  std::int64_t most_rows() const { return std::max(batch_rows_, std::min(n_validated(), kBlockRows)); }
  bool gathers() const { return params_.shuffle || params_.early_stopping; }
  MatrixView<const T> rows_at(VectorView<const std::int32_t> rows, std::int64_t first);
  void shuffle();
  double epoch();
  BatchNumbers next_numbers(std::int64_t first);
  void step_at(std::int64_t first, std::int64_t count);
  void step_in_queue(std::int64_t count);
  void step(MatrixView<const T> X, VectorView<const std::int32_t> rows, double weight, const BatchNumbers& numbers,
            const BatchQueue* queue);
  double score();
  bool improves(MlpFit<T>& fit);
  void keep_best();
  void tell(const MlpFit<T>& fit) const;
  bool is_last();

  const Context& ctx_;
  const MlpParams& params_;
  MatrixView<const T> X_;
  const MlpTarget& target_;
  DeviceGoals<T> goals_;
  LegacyRandom& random_;
  NetworkShape shape_;
  std::vector<T> start_;
  RowParts parts_;   // train: in the order of the epoch
  std::int64_t batch_rows_;
  Network<T> network_;
  Array<T> first_, second_, best_;
  Array<double> best_moving_;
  Array<std::int32_t> order_, validated_;
  EpochBatches batches_;
  Matrix<T> batch_;
  LossSum sums_;
  ValidationScore<T> score_;
  Array<double> places_;   // of clipping
  double rate_;
  std::int64_t steps_ = 0, idle_ = 0;
};

// As scikit-learn: the classes in equal shares only where there are two.
template <class T>
RowParts Epochs<T>::part_rows() {
  RowParts parts;
  if (!params_.early_stopping) {
    parts.train.resize(static_cast<std::size_t>(X_.rows));
    std::iota(parts.train.begin(), parts.train.end(), 0);
    return parts;
  }
  const auto test = static_cast<std::int64_t>(std::ceil(params_.validation_fraction * static_cast<double>(X_.rows)));
  require(test >= 2 && test < X_.rows, ErrorCode::kBadData,
          "{}: validation_fraction = {} sets {} of {} rows aside, must be at least 2 and leave at least 1",
          target_.owner, params_.validation_fraction, test, X_.rows);
  if (target_.loss != OutputLoss::kBinary) return draw_parts(X_.rows, X_.rows - test, test, random_);
  return draw_stratified_parts(class_members(target_.codes, 2), X_.rows - test, test, random_);
}

template <class T>
MatrixView<const T> Epochs<T>::rows_at(VectorView<const std::int32_t> rows, std::int64_t first) {
  if (!gathers()) return X_.row_range(first, rows.size);
  const MatrixView<T> to = batch_.view().row_range(0, rows.size);
  ctx_.ops<T>().tables->gather(X_, rows, {}, {}, to);
  return to;
}

template <class T>
void Epochs<T>::shuffle() {
  if (params_.shuffle) {
    const std::vector<std::int64_t> draws = random_.permutation(n_train());
    std::vector<std::int32_t> next(draws.size());
    std::ranges::transform(draws, next.begin(),
                           [&](std::int64_t i) { return parts_.train[static_cast<std::size_t>(i)]; });
    parts_.train = std::move(next);
  }
  if (params_.shuffle || steps_ == 0)
    ctx_.memory().to_device(order_.data(), parts_.train.data(), parts_.train.size() * sizeof(std::int32_t));
}

// Of the next step, which counts from now on.
template <class T>
BatchNumbers Epochs<T>::next_numbers(std::int64_t first) {
  BatchNumbers numbers{.first = first, .step = steps_++, .rate = rate_, .shrinkage = rate_ * params_.decay()};
  if (!params_.is_adam()) return numbers;
  const auto t = static_cast<double>(steps_);
  numbers.rate *= std::sqrt(1 - std::pow(params_.beta_2, t)) / (1 - std::pow(params_.beta_1, t));
  return numbers;
}

template <class T>
void Epochs<T>::step_at(std::int64_t first, std::int64_t count) {
  const VectorView<const std::int32_t> rows = std::as_const(order_).view().slice(first, count);
  const double weight = target_.weight_of(
      std::span(parts_.train).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
  require(weight > 0, ErrorCode::kBadData, "{}: the weights of a batch of {} rows sum to 0, must be more",
          target_.owner, count);
  step(rows_at(rows, first), rows, weight, next_numbers(first), nullptr);
}

// The host knows no more of the batch than its size: this may be recorded.
template <class T>
void Epochs<T>::step_in_queue(std::int64_t count) {
  const VectorView<std::int32_t> rows = batches_.rows().slice(0, count);
  const MatrixView<T> X = batch_.view().row_range(0, count);
  batch_ops(*ctx_.ops<T>().network)->take_batch(batches_.queue(), X_, std::as_const(order_).view(), rows, X);
  step(X, rows, static_cast<double>(count), {}, &batches_.queue());
}

template <class T>
void Epochs<T>::step(MatrixView<const T> X, VectorView<const std::int32_t> rows, double weight,
                     const BatchNumbers& numbers, const BatchQueue* queue) {
  NetworkOps<T>& ops = *ctx_.ops<T>().network;
  const auto count = static_cast<double>(rows.size);
  const typename Network<T>::Step own{seed_of(ctx_, params_), numbers.step, queue};
  network_.forward(X, &own);
  network_.backward(X, target_.loss, goals_.of(rows), count / weight, 1 / weight, sums_.view(), &own);
  if (params_.max_grad_norm) ops.clip_norm(*params_.max_grad_norm, network_.gradient().view(), places_.view());
  DescentStep descent{.is_adam = params_.is_adam(),
                      .is_nesterov = params_.nesterovs_momentum,
                      .rate = numbers.rate,
                      .first_decay = params_.momentum,
                      .n_weights = shape_.n_weights(),
                      .penalty = params_.alpha / weight,
                      .loss_scale = count,
                      .is_rmsprop = params_.solver == "rmsprop",
                      .shrinkage = numbers.shrinkage};
  if (descent.is_rmsprop) descent.second_decay = params_.beta_2, descent.epsilon = params_.epsilon;
  if (descent.is_adam)
    descent.first_decay = params_.beta_1, descent.second_decay = params_.beta_2, descent.epsilon = params_.epsilon;
  const auto gradient = network_.gradient().view(), parameters = network_.parameters().view();
  if (queue)
    batch_ops(ops)->descend_in_batch(*queue, descent, gradient, parameters, first_.view(), second_.view(),
                                     sums_.view());
  else ops.descend(descent, gradient, parameters, first_.view(), second_.view(), sums_.view());
}

// All rows once; the mean loss on the way.
template <class T>
double Epochs<T>::epoch() {
  shuffle();
  if (batches_.empty()) {
    for (std::int64_t first = 0; first < n_train(); first += batch_rows_) {
      ctx_.check_stop();
      step_at(first, std::min(batch_rows_, n_train() - first));
    }
  } else {
    std::vector<BatchNumbers> numbers;
    for (std::int64_t first = 0; first < n_train(); first += batch_rows_) numbers.push_back(next_numbers(first));
    batches_.run(numbers, [&](std::int64_t count) { step_in_queue(count); });
  }
  return sums_.take() / static_cast<double>(n_train());
}

// Of the rows that were set aside.
template <class T>
double Epochs<T>::score() {
  for (std::int64_t first = 0; first < n_validated(); first += kBlockRows) {
    const VectorView<const std::int32_t> rows =
        std::as_const(validated_).view().slice(first, std::min(kBlockRows, n_validated() - first));
    score_.add(rows, network_.bias(shape_.n_layers() - 1), network_.forward(rows_at(rows, first)));
  }
  return score_.take();
}

template <class T>
void Epochs<T>::keep_best() {
  ctx_.memory().copy(best_.data(), network_.parameters().data(), static_cast<std::size_t>(best_.size()) * sizeof(T));
  if (best_moving_.size() > 0)
    ctx_.memory().copy(best_moving_.data(), network_.moving().data(),
                       static_cast<std::size_t>(best_moving_.size()) * sizeof(double));
}

// What the epoch gave, as an event.
template <class T>
void Epochs<T>::tell(const MlpFit<T>& fit) const {
  if (!ctx_.emit || !params_.tells_epochs()) return;
  std::string said =
      std::string(target_.owner) + ": epoch " + std::to_string(fit.n_iter) + ": loss " + std::to_string(fit.loss);
  if (!fit.validation_scores.empty())
    said += ", validation " + (params_.has_scorer() ? params_.scoring : "score") + " " +
            std::to_string(fit.validation_scores.back());
  ctx_.emit(schema::LogEvent{"info", std::move(said)});
}

// Keeps what is the best so far, and whether it is better by tol.
template <class T>
bool Epochs<T>::improves(MlpFit<T>& fit) {
  if (!params_.early_stopping) {
    const bool better = !(fit.loss > *fit.best_loss - params_.tol);
    if (fit.loss < *fit.best_loss) fit.best_loss = fit.loss, fit.best_epoch = fit.n_iter;
    return better;
  }
  const double score = this->score();
  fit.validation_scores.push_back(score);
  const bool better = score >= *fit.best_validation_score + params_.tol;   // NaN is not
  if (score > *fit.best_validation_score) {
    fit.best_validation_score = score, fit.best_epoch = fit.n_iter;
    keep_best();
  }
  return better;
}

// Whether there was no improvement for too long, and no smaller rate is left to try.
template <class T>
bool Epochs<T>::is_last() {
  constexpr double kSmallestRate = 1e-6, kFall = 5;
  if (!(static_cast<double>(idle_) > params_.idle_epochs())) return false;
  if (params_.solver != "sgd" || params_.learning_rate != "adaptive" || rate_ <= kSmallestRate) return true;
  rate_ /= kFall, idle_ = 0;
  return false;
}

template <class T>
MlpFit<T> Epochs<T>::run() {
  MlpFit<T> fit{.shape = shape_};
  network_.require_codes(target_.owner, X_);
  first_.zero(), second_.zero();
  network_.set_moving(first_moving(shape_));
  if (params_.early_stopping) {
    fit.best_validation_score = -kInfinity;
    best_ = Array<T>(ctx_.memory(), network_.parameters().size());
    best_moving_ = Array<double>(ctx_.memory(), shape_.n_moving());
    keep_best();
  } else {
    fit.best_loss = kInfinity;
  }
  bool is_done = false;
  while (fit.n_iter < params_.max_iter && !is_done) {
    if (params_.lr_schedule) rate_ = params_.learning_rate_init * params_.schedule.factor_in(fit.n_iter);
    fit.rates.push_back(rate_);
    fit.loss = epoch();
    ++fit.n_iter, fit.n_seen += n_train();
    if (!std::isfinite(fit.loss)) {
      const std::string last =
          fit.loss_curve.empty() ? "" : fmt::format(" (the loss was {:.6g} before)", fit.loss_curve.back());
      fail_divergence(target_.owner, fmt::format("in epoch {}{}", fit.n_iter, last));
    }
    fit.loss_curve.push_back(fit.loss);
    idle_ = improves(fit) ? 0 : idle_ + 1;
    if (params_.learning_rate == "invscaling" && params_.solver == "sgd")
      rate_ = params_.learning_rate_init / std::pow(static_cast<double>(fit.n_seen + 1), params_.power_t);
    is_done = is_last();
    ctx_.progress("epochs", fit.n_iter, params_.max_iter, "epochs");
    tell(fit);
  }
  if (fit.loss > fit.loss_curve.front())
    ctx_.warn(
        fmt::format("{}: the loss rose from {:.6g} in epoch 1 to {:.6g} in epoch {}; scale the columns, or lower "
                    "learning_rate_init",
                    target_.owner, fit.loss_curve.front(), fit.loss, fit.n_iter));
  if (!is_done)
    ctx_.warn(std::string(target_.owner) + ": no convergence within max_iter = " + std::to_string(params_.max_iter) +
              " epochs; raise it, tol or learning_rate_init");
  require(!params_.early_stopping || fit.best_epoch > 0, ErrorCode::kBadData,
          "{}: scoring {} was not a number in any of {} epochs: the {} rows set aside lack what it needs, such as rows "
          "of each class; raise validation_fraction",
          target_.owner, params_.scoring, fit.n_iter, n_validated());
  fit.parameters = (params_.early_stopping ? best_ : network_.parameters()).to_host();
  fit.moving = (params_.early_stopping ? best_moving_ : network_.moving()).to_host();
  return fit;
}

// Loss and gradient of all rows, for L-BFGS: in double, by blocks of rows.
class FullLoss {
 public:
  FullLoss(const Context& ctx, const MlpParams& params, MatrixView<const double> X, const MlpTarget& target,
           const NetworkShape& shape)
      : ctx_(ctx),
        X_(X),
        target_(target),
        goals_(ctx, target),
        order_(ctx.memory(), std::span<const std::int32_t>(all_rows())),
        block_(std::min(X.rows, block_rows(ctx, kBlockRows, *std::ranges::max_element(shape.units)))),
        network_(ctx, shape, std::vector<double>(static_cast<std::size_t>(shape.n_parameters())), block_, true),
        total_(ctx.memory(), 1, X.rows > block_ ? shape.n_parameters() : 0),
        sums_(ctx),
        weight_(target.weight_of(all_rows())),
        penalty_(params.alpha / weight_) {
    require(weight_ > 0, ErrorCode::kBadData, "{}: the weights of the rows sum to 0, must be more", target.owner);
  }

  double operator()(std::span<const double> x, std::span<double> gradient) {
    ctx_.memory().to_device(network_.parameters().data(), x.data(), x.size_bytes());
    if (total_.cols() > 0) total_.zero();
    for (std::int64_t first = 0; first < X_.rows; first += block_) {
      ctx_.check_stop();
      add_block(first, std::min(block_, X_.rows - first));
    }
    const void* const found = total_.cols() > 0 ? total_.data() : network_.gradient().data();
    ctx_.memory().to_host(gradient.data(), found, gradient.size_bytes());
    double squares = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(network_.shape().n_weights()); ++i)
      squares += x[i] * x[i], gradient[i] += penalty_ * x[i];
    return sums_.take() + penalty_ / 2 * squares;
  }

 private:
  std::vector<std::int32_t> all_rows() const {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(X_.rows));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  void add_block(std::int64_t first, std::int64_t count) {
    const MatrixView<const double> X = X_.row_range(first, count);
    network_.forward(X);
    network_.backward(X, target_.loss, goals_.of(std::as_const(order_).view().slice(first, count)), 1 / weight_,
                      1 / weight_, sums_.view());
    if (total_.cols() == 0) return;
    const MatrixView<const double> own(network_.gradient().data(), 1, total_.cols());
    ctx_.ops<double>().maps->combine(Binary::kAdd, std::as_const(total_).view(), own, total_.view());
  }

  const Context& ctx_;
  MatrixView<const double> X_;
  const MlpTarget& target_;
  DeviceGoals<double> goals_;
  Array<std::int32_t> order_;
  std::int64_t block_;
  Network<double> network_;
  Matrix<double> total_;
  LossSum sums_;
  double weight_, penalty_;
};

// Ends L-BFGS after max_fun evaluations, at the end of an iteration.
struct EnoughEvaluations {};

template <class T>
MlpFit<T> run_lbfgs(const Context& ctx, const MlpParams& params, MatrixView<const double> X, const MlpTarget& target,
                    LegacyRandom& random) {
  constexpr double kValueTolerance = 2.220446049250313e-09;   // SciPy's
  MlpFit<T> fit{.shape = shape_of(params, X.cols, target.n_outputs)};
  const std::vector<T> start = first_parameters<T>(fit.shape, random);
  FullLoss loss(ctx, params, X, target, fit.shape);
  LbfgsResult last;   // where the iteration ended
  std::int64_t evaluations = 0;
  const Objective objective = [&](std::span<const double> x, std::span<double> gradient) {
    ++evaluations;
    last.x.assign(x.begin(), x.end());
    return last.value = loss(x, gradient);
  };
  const auto on_iteration = [&](std::int64_t done) {
    last.iterations = done;
    ctx.progress("iterations", done, params.max_iter, "iterations");
    if (evaluations > params.max_fun) throw EnoughEvaluations();
  };
  try {
    last = minimize_lbfgs(objective, {start.begin(), start.end()},
                          {.max_iter = params.max_iter,
                           .gradient_tolerance = params.tol,
                           .value_tolerance = kValueTolerance,
                           .max_line_steps = 20},
                          on_iteration);
  } catch (const EnoughEvaluations&) {
  }
  if (last.stop == LbfgsResult::Stop::kMaxIter)
    ctx.warn(std::string(target.owner) + ": no convergence within max_iter = " + std::to_string(params.max_iter) +
             " iterations and max_fun = " + std::to_string(params.max_fun) + " evaluations; raise them or tol");
  if (!std::isfinite(last.value)) fail_divergence(target.owner, "after the last step");
  fit.n_iter = last.iterations, fit.loss = last.value;
  fit.parameters.assign(last.x.begin(), last.x.end());
  return fit;
}

// The values in double: X itself where it is.
template <class T>
MatrixView<const double> doubles_of(const Context& ctx, MatrixView<const T> X, Matrix<double>& scratch) {
  if constexpr (std::is_same_v<T, double>) return X;
  scratch = Matrix<double>(ctx.memory(), X.rows, X.cols);
  ctx.ops<T>().design->gather({.X = X}, 0, scratch.view());
  return std::as_const(scratch).view();
}

}   // namespace

template <class T>
MlpFit<T> fit_mlp(const Context& ctx, const MlpParams& params, const Samples<T>& X, const MlpTarget& target) {
  if (const auto missing = shape_of(params, X.n_cols(), target.n_outputs).find_missing_column())
    throw schema::Error(ErrorCode::kInvalidValue,
                        fmt::format("{}: layers has an embedding of column {}, the last of the table is {}",
                                    target.owner, *missing, X.n_cols() - 1));
  LegacyRandom random(static_cast<std::uint32_t>(seed_of(ctx, params)));
  if (params.batch().value_or(1) > X.n_rows() && params.solver != "lbfgs")
    ctx.warn(std::string(target.owner) + ": batch_size is " + std::to_string(*params.batch()) + "; all " +
             std::to_string(X.n_rows()) + " rows are taken");
  Matrix<T> rows;
  const MatrixView<const T> values = X.values(ctx, rows);
  Matrix<double> scratch;
  MlpFit<T> fit = params.solver == "lbfgs" ? run_lbfgs<T>(ctx, params, doubles_of(ctx, values, scratch), target, random)
                                           : Epochs<T>(ctx, params, values, target, random).run();
  require_finite_parameters(target.owner, fit.parameters);
  return fit;
}

template MlpFit<float> fit_mlp(const Context&, const MlpParams&, const Samples<float>&, const MlpTarget&);
template MlpFit<double> fit_mlp(const Context&, const MlpParams&, const Samples<double>&, const MlpTarget&);

}   // namespace kedge::engine
