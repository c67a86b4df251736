// Declares the parameters of histogram gradient boosting, in scikit-learn's order.
#include "engine/estimators/boosting/hist_params.h"

#include "engine/estimators/classes.h"

namespace kedge::engine {
namespace {

using schema::Value;

template <class P, class M>
constexpr M P::* own(M HistBoostingParams::* member) {
  return member;
}

template <class P>
void add_growth(ParamSet<P>& set) {
  using B = HistBoostingParams;
  set.add("learning_rate", own<P>(&B::learning_rate), above(0), "What the trees' predictions are multiplied by.")
      .add("max_iter", own<P>(&B::max_iter), between(1, 1e6),
           "Most iterations; each grows a tree, with more than two classes one for each.")
      .add("max_leaf_nodes", own<P>(&B::max_leaf_nodes), at_least(2), "Most leaves of a tree; null for no limit.")
      .add("max_depth", own<P>(&B::max_depth), at_least(1), "Deepest a tree may get; null for no limit.")
      .add("min_samples_leaf", own<P>(&B::min_samples_leaf), at_least(1), "Fewest rows of a leaf.")
      .add("l2_regularization", own<P>(&B::l2_regularization), at_least(0),
           "Added to the second derivatives of a leaf: shrinks light leaves.")
      .add("max_features", own<P>(&B::max_features), above_up_to(0, 1),
           "Share of the columns, drawn anew, that each node looks at.")
      .add("max_bins", own<P>(&B::max_bins), between(2, 255), "Most bins of a column; one more is for missing values.");
}

template <class P>
void add_columns(ParamSet<P>& set) {
  using B = HistBoostingParams;
  set.any("categorical_features", own<P>(&B::categorical_features),
          {string_form({"from_dtype"}), array_form({integer_form(at_least(0)), boolean_form(), string_form()}),
           null_form()},
          "Columns of categories: those that are nominal in the data set, or a list of names or positions, or a flag "
          "for each column.")
      .any(
          "monotonic_cst", own<P>(&B::monotonic_cst),
          {array_form({integer_form(between(-1, 1))}), object_form(), null_form()},
          "Columns in which the prediction may only rise (1) or only fall (-1): a number for each column, or an object "
          "by name.")
      .any("interaction_cst", own<P>(&B::interaction_cst),
           {string_form({"pairwise", "no_interactions"}), array_form({array_form({integer_form(at_least(0))})}),
            null_form()},
           "Sets of columns, by position, that may be cut below each other; columns in no set are one more.")
      .add("warm_start", own<P>(&B::warm_start), "Only false: every fit starts anew.");
}

template <class P>
void add_stopping(ParamSet<P>& set) {
  using B = HistBoostingParams;
  set.any("early_stopping", own<P>(&B::early_stopping), {string_form({"auto"}), boolean_form()},
          "Stop when the score does not get better; auto does so with more than 10,000 rows.")
      .add("scoring", own<P>(&B::scoring), {"loss"}, "The score of early stopping: the loss that is fitted.")
      .any("validation_fraction", own<P>(&B::validation_fraction),
           {number_form(inside(0, 1)), integer_form(at_least(1)), null_form()},
           "Rows left out to be scored, as a share or a number; null scores the fitted rows.")
      .add("n_iter_no_change", own<P>(&B::n_iter_no_change), at_least(1),
           "Iterations within which the score must get better.")
      .add("tol", own<P>(&B::tol), at_least(0), "By how much it must get better.")
      .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
      .random_state(own<P>(&B::random_state));
}

}   // namespace

const ParamSet<HistClassifierParams>& hist_classifier_params() {
  static const auto set = [] {
    using P = HistClassifierParams;
    ParamSet<P> made("HistGradientBoostingClassifier");
    made.add("loss", own<P>(&HistBoostingParams::loss), {"log_loss"}, "The loss.");
    add_growth(made), add_columns(made), add_stopping(made);
    made.any("class_weight", own<P>(&HistBoostingParams::class_weight), class_weight_forms(),
             "Weight of each class: an object by class name, balanced, or null for 1 each.");
    return made;
  }();
  return set;
}

const ParamSet<HistRegressorParams>& hist_regressor_params() {
  static const auto set = [] {
    using P = HistRegressorParams;
    ParamSet<P> made("HistGradientBoostingRegressor");
    made.add("loss", own<P>(&HistBoostingParams::loss),
             {"squared_error", "absolute_error", "gamma", "poisson", "quantile"},
             "The loss. poisson and gamma predict by exp() and need a target of at least, or above, 0.")
        .add("quantile", own<P>(&HistBoostingParams::quantile), between(0, 1),
             "Which quantile loss quantile predicts.");
    add_growth(made), add_columns(made), add_stopping(made);
    return made;
  }();
  return set;
}

void check_hist_params(const char* owner, const HistBoostingParams& params) {
  check_class_weight(owner, params.class_weight);
  if (params.warm_start) refuse_param(owner, "warm_start", true, "must be false: a fit cannot continue another");
  if (params.loss == "quantile" && !params.quantile)
    refuse_param(owner, "quantile", nullptr, "must be a number from 0 to 1 for loss quantile");
  const auto* constraints = std::get_if<schema::ValueMap>(&params.monotonic_cst.data);
  if (!constraints) return;
  for (const auto& [name, value] : *constraints) {
    const auto* sign = std::get_if<std::int64_t>(&value.data);
    if (!sign || *sign < -1 || *sign > 1)
      refuse_param(owner, "monotonic_cst", params.monotonic_cst, "must have 1, 0 or -1 for column \"" + name + "\"");
  }
}

}   // namespace kedge::engine
