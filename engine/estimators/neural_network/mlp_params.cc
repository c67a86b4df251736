// Declares the parameters of multi-layer perceptrons and reads those of several forms.
#include "engine/estimators/neural_network/mlp_params.h"

#include <limits>

#include "engine/metrics/scorers.h"

namespace kedge::engine {
namespace {

using P = MlpParams;

std::vector<std::string> scorings(ScorerKind kind) {
  std::vector<std::string> names{"score", "loss"};
  for (const Scorer& scorer : scorers())
    if (scorer.kind == kind && scorer.score) names.emplace_back(scorer.name);
  return names;
}

ParamSet<P> param_set(const char* name, bool is_classifier) {
  ParamSet<P> set(name);
  if (!is_classifier)
    set.add("loss", &P::loss, {"squared_error", "poisson"}, "What is minimised; poisson predicts exponentials.");
  set.any("hidden_layer_sizes", &P::hidden_layer_sizes,
          {array_form({integer_form(at_least(1))}), integer_form(at_least(1))}, "Neurons of each hidden layer.")
      .add("activation", &P::activation, {"identity", "logistic", "tanh", "relu"}, "Of the hidden layers.")
      .add("solver", &P::solver, {"lbfgs", "sgd", "adam", "adamw", "rmsprop"},
           "lbfgs takes all rows in each step, the others take batches; adamw and rmsprop are beyond scikit-learn.")
      .add("alpha", &P::alpha, at_least(0), "Strength of the L2 penalty.")
      .any("batch_size", &P::batch_size, {string_form({"auto"}), integer_form(at_least(1))},
           "Rows of a batch; auto takes 200, or all if they are fewer.")
      .add("learning_rate", &P::learning_rate, {"constant", "invscaling", "adaptive"}, "How the rate of sgd changes.")
      .add("learning_rate_init", &P::learning_rate_init, above(0), "Size of the first steps of all but lbfgs.")
      .add("power_t", &P::power_t, at_least(0), "Exponent of invscaling.")
      .add("max_iter", &P::max_iter, at_least(1), "Largest number of epochs, or of iterations of lbfgs.")
      .add("shuffle", &P::shuffle, "Draw the order of the rows anew in each epoch.")
      .random_state(&P::random_state)
      .add("tol", &P::tol, at_least(0), "Least improvement that counts; lbfgs stops at a gradient this small.")
      .any("verbose", &P::verbose, {boolean_form(), integer_form(at_least(0))},
           "Send the loss and the score of each epoch as an event.")
      .ignore("warm_start", false, {boolean_form()})
      .add("momentum", &P::momentum, between(0, 1), "Of sgd.")
      .add("nesterovs_momentum", &P::nesterovs_momentum, "Take Nesterov's momentum.")
      .add("early_stopping", &P::early_stopping, "Stop, and keep the best epoch, by the score of rows set aside.")
      .add("validation_fraction", &P::validation_fraction, {.minimum = 0, .maximum = 1, .exclusive_maximum = true},
           "Share of the rows that early_stopping sets aside.")
      .add("beta_1", &P::beta_1, {.minimum = 0, .maximum = 1, .exclusive_maximum = true},
           "Decay of adam's mean of gradients.")
      .add("beta_2", &P::beta_2, {.minimum = 0, .maximum = 1, .exclusive_maximum = true},
           "Decay of the mean of squared gradients of adam and rmsprop.")
      .add("epsilon", &P::epsilon, above(0), "Added to the divisor of adam and rmsprop.")
      .any("n_iter_no_change", &P::n_iter_no_change, {integer_form(at_least(1)), string_form({"inf"})},
           "Epochs without improvement before the end.")
      .add("max_fun", &P::max_fun, at_least(1), "Largest number of evaluations of lbfgs.")
      .any("layers", &P::layers, {array_form({string_form(), embedding_form()}), null_form()},
           "Beyond scikit-learn, in place of hidden_layer_sizes and activation: the hidden layers, such as dense(128, "
           "relu), dropout(0.2), batch_norm, layer_norm, gelu; before them embeddings of columns of codes.")
      .any("lr_schedule", &P::lr_schedule, {string_form(), null_form()},
           "Beyond scikit-learn: the rate by epoch, step(epochs, factor), exponential(factor), cosine(epochs), "
           "warm_restarts(epochs) or warmup(epochs).")
      .add("weight_decay", &P::weight_decay, {.minimum = 0, .maximum = 1},
           "Beyond scikit-learn: times the rate, the share of itself that a weight loses in each step; null is 0.01 "
           "with adamw, otherwise 0.")
      .add("max_grad_norm", &P::max_grad_norm, above(0), "Beyond scikit-learn: longer gradients are cut to this norm.")
      .add("scoring", &P::scoring, scorings(is_classifier ? ScorerKind::kClassification : ScorerKind::kRegression),
           "Beyond scikit-learn: what early_stopping goes by: score (accuracy or R^2), the loss, or a scorer.");
  return set;
}

}   // namespace

const ParamSet<P>& mlp_classifier_params() {
  static const ParamSet<P> set = param_set("MLPClassifier", true);
  return set;
}

const ParamSet<P>& mlp_regressor_params() {
  static const ParamSet<P> set = param_set("MLPRegressor", false);
  return set;
}

std::vector<std::int64_t> P::hidden_units() const {
  if (const auto* one = std::get_if<std::int64_t>(&hidden_layer_sizes.data)) return {*one};
  std::vector<std::int64_t> units;
  if (const auto all = numbers_of(hidden_layer_sizes))
    for (const double size : *all) units.push_back(static_cast<std::int64_t>(size));
  return units;
}

Activation P::hidden_activation() const {
  if (activation == "identity") return Activation::kIdentity;
  if (activation == "logistic") return Activation::kLogistic;
  return activation == "tanh" ? Activation::kTanh : Activation::kRelu;
}

bool P::tells_epochs() const {
  const auto* const flag = std::get_if<bool>(&verbose.data);
  const auto* const level = std::get_if<std::int64_t>(&verbose.data);
  return (flag && *flag) || (level && *level > 0);
}

bool P::is_extended() const {
  return !layers.is_null() || lr_schedule || weight_decay || max_grad_norm || scoring != "score" || solver == "adamw" ||
         solver == "rmsprop";
}

MlpParams read_mlp_params(const ParamSet<P>& set, const schema::ValueMap& values) {
  MlpParams params = set.parse(values);
  params.layer_list = read_layers(set.owner(), params.layers);
  params.schedule = read_schedule(set.owner(), params.lr_schedule);
  if (params.solver == "lbfgs" && params.is_extended())
    refuse_param(set.owner(), "solver", params.solver,
                 "must be another where layers, lr_schedule, weight_decay, max_grad_norm or scoring is set");
  if (params.lr_schedule && params.learning_rate != "constant")
    refuse_param(set.owner(), "learning_rate", params.learning_rate, "must be constant where lr_schedule is set");
  if (params.scoring != "score" && !params.early_stopping)
    refuse_param(set.owner(), "scoring", params.scoring, "needs early_stopping");
  return params;
}

std::optional<std::int64_t> P::batch() const {
  const auto* size = std::get_if<std::int64_t>(&batch_size.data);
  return size ? std::optional(*size) : std::nullopt;
}

double P::idle_epochs() const {
  const auto* epochs = std::get_if<std::int64_t>(&n_iter_no_change.data);
  return epochs ? static_cast<double>(*epochs) : std::numeric_limits<double>::infinity();
}

}   // namespace kedge::engine
