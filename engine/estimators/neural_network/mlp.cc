// The estimators of multi-layer perceptrons: their targets, and what they make of the last layer.
#include "engine/estimators/neural_network/mlp.h"

#include <algorithm>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/neural_network/network_start.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr const char *kClassifier = "MLPClassifier", *kRegressor = "MLPRegressor";
constexpr std::int64_t kBlockRows = 8192;                    // rows that are predicted together
constexpr std::int64_t kMostUnits = std::int64_t{1} << 24;   // of a layer in a stored model: sizes do not overflow

std::vector<std::string> attribute_names(bool classes) {
  std::vector<std::string> names{
      "coefs_",    "intercepts_", "loss_",  "best_loss_",      "loss_curve_",        "n_iter_",
      "n_layers_", "n_outputs_",  "t_",     "out_activation_", "validation_scores_", "best_validation_score_",
      "history_",  "best_epoch_", "norms_", "embeddings_"};
  if (classes) names.emplace_back("classes_");
  return names;
}

std::vector<std::string> deviations() {
  return {
      "A loss or a weight that is not finite ends the fit with an error in the epoch where it comes up.",
      "solver lbfgs works in float64 for float32 data, too; its coefficients are rounded at the end.",
      "warm_start is ignored; verbose sends an event for each epoch.",
      "Beyond scikit-learn: layers, solvers adamw and rmsprop, lr_schedule, weight_decay, max_grad_norm, scoring. "
      "weight_decay acts on the weights alone, decoupled from the gradient, with each solver; norms have epsilon "
      "1e-5 and momentum 0.1, as torch's; coefs_ and intercepts_ are of the dense layers, norms_ and embeddings_ have "
      "the others'. alpha and weight_decay leave embeddings alone.",
      "history_, best_epoch_, norms_ and embeddings_ are there where one of those is set."};
}

// Row-major parts of `packed`, one for each layer.
schema::Value layers_value(const NetworkShape& shape, const std::vector<double>& packed, bool weights) {
  schema::ValueList layers;
  for (std::int64_t l = 0; l < shape.n_layers(); ++l) {
    const auto first = packed.begin() + (weights ? shape.weights_at(l) : shape.intercepts_at(l));
    const auto count = shape.neurons(l) * (weights ? shape.inputs(l) : 1);
    const std::vector<double> part(first, first + count);
    layers.push_back(weights ? rows_value(part, shape.neurons(l)) : schema::Value(part));
  }
  return layers;
}

template <class N>
schema::Value or_null(const std::optional<N>& value) {
  return value ? schema::Value(*value) : schema::Value();
}

}   // namespace

template <class T>
void MlpModel<T>::fit(const Context& ctx, const MlpParams& params, const std::string& key, const Samples<T>& X,
                      const MlpTarget& target) {
  is_by_epochs_ = params.solver != "lbfgs", is_extended_ = params.is_extended();
  fit_ = fit_of_search(ctx, params, key, X, target);
}

template <class T>
Matrix<T> MlpModel<T>::outputs(const Context& ctx, const char* owner, const Samples<T>& X, Activation last) const {
  require_fitted_columns(owner, X, static_cast<std::size_t>(fit_.shape.n_columns));
  const std::int64_t n = X.n_rows(), n_layers = fit_.shape.n_layers();
  Matrix<T> out(ctx.memory(), n, fit_.shape.units.back());
  Network<T> network(ctx, fit_.shape, fit_.parameters, std::min(n, kBlockRows), false);
  network.set_moving(fit_.moving);
  for (std::int64_t first = 0; first < n; first += kBlockRows) {
    ctx.check_stop();
    const std::int64_t count = std::min(kBlockRows, n - first);
    Matrix<T> scratch;
    const MatrixView<const T> rows = X.values(ctx, first, count, scratch);
    network.require_codes(owner, rows);
    const MatrixView<T> Z = network.forward(rows);
    ctx.ops<T>().network->activate(last, network.bias(n_layers - 1), Z);
    ctx.memory().copy(out.data() + first * out.cols(), Z.data, static_cast<std::size_t>(Z.size()) * sizeof(T));
  }
  return out;
}

template <class T>
schema::ValueMap MlpModel<T>::attributes(const char* out_activation) const {
  const std::vector<double> packed(fit_.parameters.begin(), fit_.parameters.end());
  schema::ValueMap all{{"coefs_", layers_value(fit_.shape, packed, true)},
                       {"intercepts_", layers_value(fit_.shape, packed, false)},
                       {"loss_", fit_.loss},
                       {"n_iter_", fit_.n_iter},
                       {"n_layers_", static_cast<std::int64_t>(fit_.shape.units.size())},
                       {"n_outputs_", fit_.shape.units.back()},
                       {"out_activation_", out_activation},
                       {"t_", fit_.n_seen}};
  if (!is_by_epochs_) return all;
  const bool has_scores = fit_.best_validation_score.has_value();
  all.insert(all.end(), {{"best_loss_", or_null(fit_.best_loss)},
                         {"best_validation_score_", or_null(fit_.best_validation_score)},
                         {"loss_curve_", fit_.loss_curve},
                         {"validation_scores_", has_scores ? schema::Value(fit_.validation_scores) : schema::Value()}});
  if (!is_extended_) return all;
  schema::ValueMap history{{"loss", fit_.loss_curve}, {"learning_rate", fit_.rates}};
  if (has_scores) history.emplace_back("validation_score", fit_.validation_scores);
  const auto first_norm = packed.begin() + fit_.shape.intercepts_at(fit_.shape.n_layers());
  auto table = packed.begin() + fit_.shape.embeddings_at();
  schema::ValueMap norms{{"scales_and_shifts", std::vector<double>(first_norm, table)},
                         {"means_and_variances", fit_.moving}};
  schema::ValueList embeddings;
  for (const Embedding& embedding : fit_.shape.embeddings) {
    const auto end = table + embedding.n_parameters();
    embeddings.push_back(rows_value(std::vector<double>(table, end), embedding.output_dim));
    table = end;
  }
  all.insert(all.end(), {{"history_", std::move(history)},
                         {"best_epoch_", fit_.best_epoch},
                         {"norms_", std::move(norms)},
                         {"embeddings_", std::move(embeddings)}});
  return all;
}

template <class T>
void MlpModel<T>::state(StateArchive& archive, const MlpParams& params, std::int64_t n_outputs) {
  NetworkShape& shape = fit_.shape;
  std::int64_t n_features = shape.n_columns;
  archive.features(n_features);
  if (archive.is_loading()) {
    for (const std::int64_t units : params.hidden_units())
      archive.expect_in("hidden_layer_sizes", units, 1, kMostUnits);
    shape = shape_of(params, n_features, n_outputs);
    archive.expect(!shape.find_missing_column(), "layers", "has an embedding of a column that the model does not have");
    is_by_epochs_ = params.solver != "lbfgs", is_extended_ = params.is_extended();
  }
  archive.field("parameters", fit_.parameters, shape.n_parameters());
  archive.expect_finite("parameters", fit_.parameters);
  archive.number("n_iter", fit_.n_iter, 0, kMaxSize);
  archive.number("t", fit_.n_seen, 0, std::int64_t{1} << 53);
  archive.field("loss", fit_.loss);
  archive.field("loss_curve", fit_.loss_curve, kAnySize);
  archive.field("validation_scores", fit_.validation_scores, kAnySize);
  double best = fit_.best_loss.value_or(fit_.best_validation_score.value_or(0));
  archive.field("best", best);
  if (is_extended_) {
    archive.field("moving", fit_.moving, shape.n_moving());
    archive.expect_finite("moving", fit_.moving);
    archive.field("rates", fit_.rates, kAnySize);
    archive.number("best_epoch", fit_.best_epoch, 0, kMaxSize);
  }
  if (!archive.is_loading() || !is_by_epochs_) return;
  (params.early_stopping ? fit_.best_validation_score : fit_.best_loss) = best;
}

// Parameters: themselves, their gradient, two means and the best of them (three of these no fit can do without); on the
// host those of L-BFGS. Rows: a batch and its layers, or with L-BFGS all rows in double and the layers of a block.
template <class T>
MemoryNeed MlpModel<T>::memory(const SampleShape& X, const schema::Step& step) {
  constexpr std::int64_t kVectors = 5, kLeastVectors = 3, kLbfgsVectors = 30, kAtOnce = 16;
  const schema::Value* const sizes = find_value(step.params, "hidden_layer_sizes");
  const schema::Value* const texts = find_value(step.params, "layers");
  MlpParams read{.hidden_layer_sizes = sizes ? *sizes : MlpParams().hidden_layer_sizes};
  if (texts) read.layers = *texts, read.layer_list = read_layers("layers", *texts);
  NetworkShape shape = shape_of(read, X.cols, X.n_outputs);
  for (std::int64_t& units : shape.units) units = std::clamp<std::int64_t>(units, 1, memory::kMost);
  std::int64_t neurons = X.cols, parameters = 0;
  for (const Embedding& embedding : shape.embeddings) {
    neurons += embedding.width();
    parameters += bytes_of(embedding.input_dim, embedding.output_dim, 1);
  }
  std::int64_t least = parameters;
  for (std::int64_t l = 0; l < shape.n_layers(); ++l) {
    const auto at = static_cast<std::size_t>(l);
    const std::int64_t stages = at < shape.after.size() ? static_cast<std::int64_t>(shape.after[at].size()) : 0;
    neurons += shape.neurons(l) * (1 + stages);   // twice each: what it gives, what it keeps
    parameters += 4 * stages * shape.neurons(l);
    parameters += bytes_of(shape.inputs(l) + 1, shape.neurons(l), 1);
    least += bytes_of(shape.inputs(l) + 1, shape.neurons(l), 1);
  }
  const bool is_lbfgs = memory::text(step, "solver") == "lbfgs";
  const std::int64_t batch = std::max<std::int64_t>(memory::integer(step, "batch_size", 200), kBlockRows);
  const std::int64_t rows = std::min(X.rows, batch), block = std::min(X.rows, kBlockRows);
  const std::int64_t most_block = kGpuBlockBytes / memory::kDouble;   // of values that a block of L-BFGS has
  const std::int64_t use =
      block * neurons * X.value_bytes + parameters * (X.value_bytes + memory::kDouble) + memory::answers(X);
  const std::int64_t targets = X.rows * (3 * memory::kDouble + 8);
  const std::string scoring = memory::text(step, "scoring");
  const bool has_scorer = scoring != "score" && scoring != "loss";   // reads all answers on the host
  const std::int64_t scored = has_scorer ? bytes_of(X.rows, X.n_outputs + 1, 2 * memory::kDouble) : 0;
  const std::int64_t by_epochs = 2 * bytes_of(rows, neurons, X.value_bytes) + parameters * kVectors * X.value_bytes;
  const std::int64_t by_lbfgs = memory::doubles(X) + 2 * bytes_of(block, neurons, memory::kDouble) +
                                2 * static_cast<std::int64_t>(shape.units.size()) * most_block * memory::kDouble +
                                parameters * kLbfgsVectors * memory::kDouble;
  const std::int64_t fit = X.copy() + targets + scored + (is_lbfgs ? by_lbfgs : by_epochs);
  // In a search, networks of which several are fitted at the same time.
  const std::int64_t pass = bytes_of(is_lbfgs ? X.rows : std::min(X.rows, batch), parameters, 1);
  const std::int64_t together =
      kAtOnce * (2 * bytes_of(rows, neurons, memory::kDouble) + bytes_of(parameters, kLbfgsVectors, memory::kDouble) +
                 (is_lbfgs && X.value_bytes < memory::kDouble ? memory::doubles(X) : 0));
  return {.work = std::max(fit, use),
          .minimum = bytes_of(least, kLeastVectors, X.value_bytes),
          .use = use,
          .kept = pass <= kSmallPass ? X.copy() + together : 0};
}

template <class T>
schema::EstimatorInfo MLPClassifier<T>::info() {
  return {.name = kClassifier,
          .kind = "classifier",
          .family = "neural_network",
          .doc = "A network of dense layers, fitted to the logistic loss by Adam, gradient descent or L-BFGS.",
          .params = mlp_classifier_params().infos(),
          .attributes = attribute_names(true),
          .deviations = deviations()};
}

template <class T>
void MLPClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kClassifier, X);
  present_ = PresentClasses(y);
  MlpTarget target{.owner = kClassifier,
                   .loss = present_.size() > 2 ? OutputLoss::kClasses : OutputLoss::kBinary,
                   .n_outputs = n_outputs(),
                   .weights = y.weights};
  target.codes.reserve(y.codes.size());
  for (const std::int32_t code : y.codes) target.codes.push_back(present_.positions[static_cast<std::size_t>(code)]);
  model_.fit(ctx, params_, key_, X, target);
}

template <class T>
Matrix<T> MLPClassifier<T>::margins(const Context& ctx, const Samples<T>& X) const {
  Matrix<T> Z = model_.outputs(ctx, kClassifier, X, Activation::kIdentity);
  if (present_.size() > 2) return Z;
  Matrix<T> both(ctx.memory(), X.n_rows(), present_.size());
  both.zero();
  if (present_.size() == 2) {
    const MatrixView<T> second = both.view().last_columns(1);
    ctx.ops<T>().maps->combine(Binary::kAdd, second, std::as_const(Z).view(), second);
  }
  return both;
}

template <class T>
void MLPClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const Matrix<T> Z = margins(ctx, X);
  spread_scores(ctx, present_, Z.view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

template <class T>
std::vector<std::int32_t> MLPClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const Matrix<T> Z = margins(ctx, X);
  return best_codes(ctx, present_, Z.view());
}

template <class T>
schema::ValueMap MLPClassifier<T>::attributes() const {
  schema::ValueMap all = model_.attributes(present_.size() > 2 ? "softmax" : "logistic");
  all.emplace_back("classes_", present_.names_value());
  return all;
}

template <class T>
void MLPClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  model_.state(archive, params_, n_outputs());
}

template <class T>
schema::EstimatorInfo MLPRegressor<T>::info() {
  std::vector<std::string> list = deviations();
  list.emplace_back("A negative target is refused with loss \"poisson\".");
  return {.name = kRegressor,
          .kind = "regressor",
          .family = "neural_network",
          .doc =
              "A network of dense layers, fitted to squared errors or Poisson's deviance by Adam, gradient descent or "
              "L-BFGS.",
          .params = mlp_regressor_params().infos(),
          .attributes = attribute_names(false),
          .deviations = std::move(list)};
}

template <class T>
void MLPRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRegressor, X);
  for (const double value : y.values)
    require(!is_poisson() || value >= 0, ErrorCode::kBadData,
            "{}: the target has {}, loss \"poisson\" needs values of at least 0", kRegressor, value);
  model_.fit(ctx, params_, key_, X,
             {.owner = kRegressor,
              .loss = is_poisson() ? OutputLoss::kPoisson : OutputLoss::kSquared,
              .values = y.values,
              .weights = y.weights});
}

template <class T>
std::vector<double> MLPRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const std::vector<T> values =
      model_.outputs(ctx, kRegressor, X, is_poisson() ? Activation::kExp : Activation::kIdentity).to_host();
  return {values.begin(), values.end()};
}

template <class T>
schema::ValueMap MLPRegressor<T>::attributes() const {
  return model_.attributes(is_poisson() ? "exp" : "identity");
}

template <class T>
void MLPRegressor<T>::state(StateArchive& archive) {
  model_.state(archive, params_, 1);
}

template class MlpModel<float>;
template class MlpModel<double>;
template class MLPClassifier<float>;
template class MLPClassifier<double>;
template class MLPRegressor<float>;
template class MLPRegressor<double>;

}   // namespace kedge::engine
