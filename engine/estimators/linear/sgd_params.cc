// Five sets of parameters that share most of their members.
#include "engine/estimators/linear/sgd_params.h"

#include <limits>

namespace kedge::engine {
namespace {

struct OfClassifier : SgdParams {};
struct OfPerceptron : SgdParams {
  OfPerceptron() { loss = "perceptron", learning_rate = "constant", penalty.reset(), eta0 = 1, random_state = 0; }
};
struct OfPassiveClassifier : SgdParams {
  OfPassiveClassifier() { penalty.reset(), alpha = 1; }
};
struct OfRegressor : SgdParams {
  OfRegressor() { loss = "squared_error", learning_rate = "invscaling", power_t = 0.25; }
};
struct OfPassiveRegressor : SgdParams {
  OfPassiveRegressor() { loss = "epsilon_insensitive", penalty.reset(), alpha = 1; }
};

template <class P, class M>
M P::* own(M SgdParams::* member) {
  return static_cast<M P::*>(member);
}

template <class P>
void add_penalty(ParamSet<P>& set) {
  set.any("penalty", own<P>(&SgdParams::penalty), {string_form({"l2", "l1", "elasticnet"}), null_form()}, "Null: none.")
      .add("alpha", own<P>(&SgdParams::alpha), at_least(0),
           "Strength of the penalty; the rate optimal depends on it as well.")
      .add("l1_ratio", own<P>(&SgdParams::l1_ratio), between(0, 1), "Share of the L1 penalty in elasticnet.");
}

template <class P>
void add_epochs(ParamSet<P>& set) {
  set.add("fit_intercept", own<P>(&SgdParams::fit_intercept), "Fit an intercept.")
      .add("max_iter", own<P>(&SgdParams::max_iter), at_least(1), "Largest number of epochs.")
      .add("tol", own<P>(&SgdParams::tol), at_least(0),
           "Stop after n_iter_no_change epochs that do not lower the mean objective by this; null: never.")
      .add("shuffle", own<P>(&SgdParams::shuffle), "Shuffle the rows before each epoch.")
      .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
      .random_state(own<P>(&SgdParams::random_state))
      .add("early_stopping", own<P>(&SgdParams::early_stopping), "Only false: there is no set of rows for validation.")
      .ignore("validation_fraction", 0.1, {number_form(inside(0, 1))})
      .add("n_iter_no_change", own<P>(&SgdParams::n_iter_no_change), at_least(1),
           "Epochs without improvement before the end.")
      .ignore("warm_start", false, {boolean_form()});
}

template <class P>
void add_average(ParamSet<P>& set) {
  set.any("average", own<P>(&SgdParams::average), {boolean_form(), integer_form(at_least(1))},
          "Give the average of the coefficients over all steps, or over those from this row on.");
}

template <class P>
void add_rate(ParamSet<P>& set, std::vector<std::string> losses) {
  set.add("loss", own<P>(&SgdParams::loss), std::move(losses), "Of a row.")
      .add("epsilon", own<P>(&SgdParams::epsilon), at_least(0),
           "Width of the losses huber, epsilon_insensitive and squared_epsilon_insensitive.")
      .add("learning_rate", own<P>(&SgdParams::learning_rate),
           {"constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"},
           "How long a step is; pa1 and pa2: passive-aggressive.")
      .add("eta0", own<P>(&SgdParams::eta0), above(0), "The first length, or the most aggressive.")
      .add("power_t", own<P>(&SgdParams::power_t), {}, "Exponent of invscaling.");
}

template <class P>
void add_classes(ParamSet<P>& set) {
  set.any("class_weight", own<P>(&SgdParams::class_weight), class_weight_forms(),
          "Weight of each class: an object by class name, balanced, or null for 1 each.")
      .ignore("n_jobs", nullptr, {integer_form(), null_form()});
}

template <class P>
void add_passive(ParamSet<P>& set, std::vector<std::string> losses) {
  set.add("C", own<P>(&SgdParams::C), above(0), "Longest step.")
      .add("loss", own<P>(&SgdParams::loss), std::move(losses),
           "The first: steps bounded by C; the second: steps made smaller by it.");
}

template <class P, class Add>
ParamSet<P> made(SgdKind kind, bool is_classifier, Add add) {
  ParamSet<P> set(sgd_name(kind, is_classifier));
  add(set);
  add_epochs(set);
  if (is_classifier) add_classes(set);
  return set;
}

const ParamSet<OfClassifier>& classifier_set() {
  static const auto set = made<OfClassifier>(SgdKind::kGradient, true, [](auto& s) {
    add_rate(s, {"hinge", "squared_hinge", "perceptron", "log_loss", "modified_huber", "squared_error", "huber",
                 "epsilon_insensitive", "squared_epsilon_insensitive"});
    add_penalty(s), add_average(s);
  });
  return set;
}
const ParamSet<OfPerceptron>& perceptron_set() {
  static const auto set = made<OfPerceptron>(SgdKind::kPerceptron, true, [](auto& s) {
    add_penalty(s);
    s.add("eta0", own<OfPerceptron>(&SgdParams::eta0), above(0), "Length of a step.");
  });
  return set;
}
const ParamSet<OfPassiveClassifier>& passive_classifier_set() {
  static const auto set = made<OfPassiveClassifier>(
      SgdKind::kPassive, true, [](auto& s) { add_passive(s, {"hinge", "squared_hinge"}), add_average(s); });
  return set;
}
const ParamSet<OfRegressor>& regressor_set() {
  static const auto set = made<OfRegressor>(SgdKind::kGradient, false, [](auto& s) {
    add_rate(s, {"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"});
    add_penalty(s), add_average(s);
  });
  return set;
}
const ParamSet<OfPassiveRegressor>& passive_regressor_set() {
  static const auto set = made<OfPassiveRegressor>(SgdKind::kPassive, false, [](auto& s) {
    add_passive(s, {"epsilon_insensitive", "squared_epsilon_insensitive"}), add_average(s);
    s.add("epsilon", own<OfPassiveRegressor>(&SgdParams::epsilon), at_least(0),
          "Half the width of the tube in which rows have no loss.");
  });
  return set;
}

// visit(set) of one estimator.
template <class Visit>
auto with_set(SgdKind kind, bool is_classifier, Visit visit) {
  if (!is_classifier) return kind == SgdKind::kPassive ? visit(passive_regressor_set()) : visit(regressor_set());
  if (kind == SgdKind::kPerceptron) return visit(perceptron_set());
  return kind == SgdKind::kPassive ? visit(passive_classifier_set()) : visit(classifier_set());
}

SgdLoss loss_of(const std::string& name) {
  if (name == "squared_hinge") return SgdLoss::kSquaredHinge;
  if (name == "log_loss") return SgdLoss::kLog;
  if (name == "modified_huber") return SgdLoss::kModifiedHuber;
  if (name == "squared_error") return SgdLoss::kSquared;
  if (name == "huber") return SgdLoss::kHuber;
  if (name == "epsilon_insensitive") return SgdLoss::kTube;
  if (name == "squared_epsilon_insensitive") return SgdLoss::kSquaredTube;
  return SgdLoss::kHinge;   // and the perceptron's
}

SgdRate rate_of(const std::string& name) {
  if (name == "constant") return SgdRate::kConstant;
  if (name == "invscaling") return SgdRate::kInverse;
  if (name == "adaptive") return SgdRate::kAdaptive;
  if (name == "pa1") return SgdRate::kPassive;
  return name == "pa2" ? SgdRate::kPassiveSquared : SgdRate::kOptimal;
}

void check_pairs(const char* owner, const SgdParams& p, bool is_classifier) {
  if (p.early_stopping) refuse_param(owner, "early_stopping", true, "must be false");
  if (p.learning_rate == "optimal" && p.alpha == 0)
    refuse_param(owner, "alpha", 0.0, "must be above 0 for the learning_rate optimal");
  const std::string passive = is_classifier ? "hinge" : "epsilon_insensitive";
  if ((p.learning_rate == "pa1" || p.learning_rate == "pa2") && p.loss != passive)
    refuse_param(owner, "loss", p.loss, "must be " + passive + " for the learning_rate " + p.learning_rate);
  if (p.penalty == "elasticnet" && !p.l1_ratio)
    refuse_param(owner, "l1_ratio", nullptr, "must be a number for the penalty elasticnet");
}

}   // namespace

const char* sgd_name(SgdKind kind, bool is_classifier) {
  if (kind == SgdKind::kPerceptron) return "Perceptron";
  if (kind == SgdKind::kPassive) return is_classifier ? "PassiveAggressiveClassifier" : "PassiveAggressiveRegressor";
  return is_classifier ? "SGDClassifier" : "SGDRegressor";
}

std::vector<schema::ParamInfo> sgd_param_infos(SgdKind kind, bool is_classifier) {
  return with_set(kind, is_classifier, [](const auto& set) { return set.infos(); });
}

SgdParams parse_sgd(SgdKind kind, bool is_classifier, const schema::ValueMap& values) {
  return with_set(kind, is_classifier, [&](const auto& set) { return SgdParams(set.parse(values)); });
}

SgdOptions sgd_options(const SgdParams& p, SgdKind kind, bool is_classifier) {
  const char* const owner = sgd_name(kind, is_classifier);
  if (is_classifier) check_class_weight(owner, p.class_weight);
  SgdOptions options{
      .loss = loss_of(p.loss), .threshold = p.loss == "perceptron" ? 0.0 : 1.0, .epsilon = p.epsilon, .alpha = p.alpha};
  if (kind == SgdKind::kPassive) {
    if (p.early_stopping) refuse_param(owner, "early_stopping", true, "must be false");
    const bool is_squared = p.loss.starts_with("squared_");
    options.loss = is_classifier ? SgdLoss::kHinge : SgdLoss::kTube, options.eta0 = p.C;
    options.rate = is_squared ? SgdRate::kPassiveSquared : SgdRate::kPassive;
  } else {
    check_pairs(owner, p, is_classifier);
    options.rate = rate_of(p.learning_rate), options.eta0 = p.eta0, options.power_t = p.power_t;
  }
  options.has_penalty = p.penalty.has_value();
  if (options.has_penalty) options.l1_ratio = *p.penalty == "l1" ? 1 : *p.penalty == "l2" ? 0 : p.l1_ratio.value_or(0);
  options.fit_intercept = p.fit_intercept, options.shuffle = p.shuffle, options.max_iter = p.max_iter;
  options.n_iter_no_change = p.n_iter_no_change;
  options.tol = p.tol.value_or(-std::numeric_limits<double>::infinity());
  const bool* const flag = std::get_if<bool>(&p.average.data);
  const auto* const from = std::get_if<std::int64_t>(&p.average.data);
  options.average = from ? *from : flag && *flag ? 1 : 0;
  return options;
}

std::vector<std::string> sgd_deviations(SgdKind kind) {
  std::vector<std::string> all{"early_stopping must be false.", "float32 input is solved in double.",
                               "random_state null takes the seed of the job."};
  if (kind == SgdKind::kPassive)
    all.emplace_back("scikit-learn 1.10 will drop the estimator; learning_rate pa1 and pa2 of SGD are the same.");
  return all;
}

}   // namespace kedge::engine
