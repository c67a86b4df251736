// LogisticRegressionCV: chains of fits in folds, their scores, and the choice.
#include "engine/estimators/linear/logistic_regression_cv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {
namespace {

using P = LogisticRegressionCVParams;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;
constexpr const char* kName = "LogisticRegressionCV";
constexpr std::int64_t kDefaultFolds = 5;
constexpr std::int64_t kMediumPass = std::int64_t{1}
                                     << 27;   // multiply-adds of a pass up to which fits run side by side

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("Cs", &P::Cs, {integer_form(at_least(1)), array_form({number_form(above(0))})},
               "Inverse strengths of the penalty to choose from; a number: so many between 1e-4 and 1e4.")
          .any("l1_ratios", &P::l1_ratios,
               {array_form({number_form(between(0, 1))}), null_form(), string_form({"warn"})},
               "Shares of the L1 penalty to choose from; null and warn: none.")
          .add("fit_intercept", &P::fit_intercept, "Add an intercept, which only solver liblinear penalises.")
          .add("cv", &P::cv, at_least(2), "Number of folds; null for 5.")
          .add("dual", &P::dual, "Solver liblinear with L2 only, where the minimum is the same.")
          .add("penalty", &P::penalty, {"l1", "l2", "elasticnet", "deprecated"},
               "l1, l2 or elasticnet; deprecated leaves it to l1_ratios.")
          .any("scoring", &P::scoring,
               {string_form({"accuracy", "balanced_accuracy", "neg_log_loss", "warn"}), null_form()},
               "What folds are compared by; null and warn take accuracy.")
          .add("solver", &P::solver, {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"},
               "How a minimum is found.")
          .add("tol", &P::tol, at_least(0), "Stop when no element of the gradient is larger.")
          .add("max_iter", &P::max_iter, at_least(0), "Largest number of iterations of a fit.")
          .any("class_weight", &P::class_weight, class_weight_forms(),
               "Weight of each class: an object by class name, balanced, or null for 1 each.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
          .add("refit", &P::refit, "Fit all rows with what is best; false: the mean of each fold's best line.")
          .add("intercept_scaling", &P::intercept_scaling, above(0),
               "Solver liblinear penalises the intercept divided by this.")
          .ignore("random_state", nullptr, {integer_form(between(0, 4294967295.0)), null_form()})
          .any("use_legacy_attributes", &P::use_legacy_attributes, {boolean_form(), string_form({"warn"})},
               "Attributes by class, as before scikit-learn 1.10; false: arrays by fold, share and C.");
  return set;
}

// The solver with the penalty that it would have: what scikit-learn's own check reads.
std::string penalty_of(const P& params, const std::vector<double>& ratios) {
  if (params.penalty != "deprecated") return params.penalty;
  if (std::ranges::all_of(ratios, [](double r) { return r == 0; })) return "l2";
  return std::ranges::all_of(ratios, [](double r) { return r == 1; }) ? "l1" : "elasticnet";
}

void check_solver(const P& params, const std::string& penalty) {
  if (penalty != "l2" && params.solver != "saga" && (params.solver != "liblinear" || penalty == "elasticnet"))
    refuse_param(
        kName, "solver", params.solver,
        penalty == "l1" ? "must be saga or liblinear for the penalty l1" : "must be saga for the penalty elasticnet");
  if (params.dual && (params.solver != "liblinear" || penalty != "l2"))
    refuse_param(kName, "dual", true, "must be false for solver " + params.solver + " with the penalty " + penalty);
}

// numpy.logspace(-4, 4, count).
std::vector<double> powers(std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(
        std::pow(10.0, count == 1 ? -4.0 : -4.0 + 8.0 * static_cast<double>(i) / static_cast<double>(count - 1)));
  return values;
}

// Some rows as a table of their own, so that each fit reads it in place.
template <class T>
Samples<T> own_rows(const Context& ctx, const Samples<T>& X, std::span<const std::int32_t> positions) {
  const Samples<T> some = rows_at(ctx, X, positions);
  if (X.is_sparse()) return some;
  Matrix<T> copy(ctx.memory(), some.n_rows(), some.n_cols()), scratch;
  const MatrixView<const T> values = some.values(ctx, scratch);
  if (scratch.rows() == values.rows && scratch.data() == values.data) return samples_of(std::move(scratch));
  ctx.ops<T>().tables->gather(values, {}, {}, {}, copy.view());
  return samples_of(std::move(copy));
}

}   // namespace

template <class T>
LogisticRegressionCV<T>::LogisticRegressionCV(const ValueMap& params)
    : params_(param_set().parse(params)), model_(ValueMap{}) {
  check_class_weight(kName, params_.class_weight);
  const auto* count = std::get_if<std::int64_t>(&params_.Cs.data);
  Cs_ = count ? powers(*count) : numbers_of(params_.Cs).value_or(std::vector<double>{});
  if (Cs_.empty()) refuse_param(kName, "Cs", params_.Cs, "must have at least one number");
  const bool is_list = !params_.l1_ratios.is_null() && !std::holds_alternative<std::string>(params_.l1_ratios.data);
  const std::vector<double> given =
      is_list ? numbers_of(params_.l1_ratios).value_or(std::vector<double>{}) : std::vector<double>{};
  if (is_list && given.empty()) refuse_param(kName, "l1_ratios", params_.l1_ratios, "must have at least one number");
  has_ratios_ = is_list;
  const std::string penalty = penalty_of(params_, given);
  if (penalty == "elasticnet" && !is_list)
    refuse_param(kName, "l1_ratios", params_.l1_ratios, "must be a list of numbers for the penalty elasticnet");
  check_solver(params_, penalty);
  const double fixed = penalty == "l1" ? 1.0 : 0.0;   // with a penalty of its own name, shares do not count
  ratios_ = is_list ? given : std::vector<double>{fixed};
  if (params_.penalty == "l1" || params_.penalty == "l2") std::ranges::fill(ratios_, fixed);
}

template <class T>
schema::EstimatorInfo LogisticRegressionCV<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "linear_model",
          .doc = "Logistic regression with its penalty chosen by cross-validation.",
          .params = param_set().infos(),
          .attributes = {"classes_", "coef_", "intercept_", "Cs_", "l1_ratios_", "coefs_paths_", "scores_", "C_",
                         "l1_ratio_", "n_iter_"},
          .deviations = {
              "cv is a number of folds (StratifiedKFold without shuffling), not a splitter.",
              "scoring is null, accuracy, balanced_accuracy or neg_log_loss.",
              "Minima are found as LogisticRegression's; n_iter_ counts its iterations.",
              "With solver liblinear the penalised intercept and two classes are as LogisticRegression's.",
              "A class that the training rows of a fold lack has coefficients of 0 in that fold's lines, and is never "
              "predicted there."}};
}

template <class T>
ValueMap LogisticRegressionCV<T>::step_params(double C, double ratio, const Value& class_weight) const {
  return {{"C", C},
          {"l1_ratio", ratio},
          {"dual", params_.dual},
          {"tol", params_.tol},
          {"fit_intercept", params_.fit_intercept},
          {"intercept_scaling", params_.intercept_scaling},
          {"class_weight", class_weight},
          {"solver", params_.solver},
          {"max_iter", params_.max_iter}};
}

template <class T>
double LogisticRegressionCV<T>::score(const Context& ctx, const LogisticRegression<T>& model, const Samples<T>& X,
                                      const Target& y) const {
  const auto* scoring = std::get_if<std::string>(&params_.scoring.data);
  const auto weight = [&](std::size_t i) { return y.weights.empty() ? 1.0 : y.weights[i]; };
  const auto classes = static_cast<std::size_t>(y.n_classes());
  std::vector<double> total(classes, 0.0), right(classes, 0.0);
  if (scoring && *scoring == "neg_log_loss") {
    Matrix<double> proba(ctx.memory(), X.n_rows(), y.n_classes());
    model.predict_proba(ctx, X, proba.view());
    const std::vector<double> shares = proba.to_host();
    constexpr double kEps = std::numeric_limits<double>::epsilon();
    double loss = 0;
    for (std::size_t i = 0; i < y.codes.size(); ++i) {
      const double share = shares[i * classes + static_cast<std::size_t>(y.codes[i])];
      loss -= weight(i) * std::log(std::clamp(share, kEps, 1 - kEps)), total[0] += weight(i);
    }
    return -loss / total[0];
  }
  const std::vector<std::int32_t> codes = model.predict(ctx, X);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto c = static_cast<std::size_t>(y.codes[i]);
    total[c] += weight(i), right[c] += codes[i] == y.codes[i] ? weight(i) : 0.0;
  }
  if (!scoring || *scoring != "balanced_accuracy")
    return std::accumulate(right.begin(), right.end(), 0.0) / std::accumulate(total.begin(), total.end(), 0.0);
  double recall = 0, present = 0;
  for (std::size_t c = 0; c < classes; ++c)
    if (total[c] > 0) recall += right[c] / total[c], ++present;
  return recall / present;
}

template <class T>
auto LogisticRegressionCV<T>::fit_chain(const Context& ctx, const Samples<T>& X, const Target& y,
                                        std::span<const std::int32_t> folds, std::size_t chain,
                                        const Value& class_weight) const -> Chain {
  const auto fold = static_cast<std::int32_t>(chain / ratios_.size());
  const std::vector<std::int32_t> train = rows_in_fold(folds, fold, false), test = rows_in_fold(folds, fold, true);
  const Samples<T> fitted = own_rows(ctx, X, train), scored = own_rows(ctx, X, test);
  const Target fitted_y = rows_at(y, train), scored_y = rows_at(y, test);
  const auto d = static_cast<std::size_t>(X.n_cols()), lines = n_lines();
  Chain own;
  std::vector<double> start;
  for (const double C : Cs_) {
    LogisticRegression<T> model(step_params(C, ratios_[chain % ratios_.size()], class_weight));
    model.start_at(start);
    model.fit(ctx, fitted, fitted_y);
    start = model.coef();
    if (params_.fit_intercept) start.insert(start.end(), model.intercept().begin(), model.intercept().end());
    std::vector<double> line(lines * (d + 1), 0.0);   // of all classes, where the fold may lack some
    const bool has_all = model.present().size() == present_.size();
    for (std::size_t r = 0; r < model.intercept().size(); ++r) {
      const std::size_t row =
          has_all ? r
                  : static_cast<std::size_t>(present_.positions[static_cast<std::size_t>(model.present().codes[r])]);
      std::copy_n(model.coef().begin() + static_cast<std::ptrdiff_t>(r * d), d,
                  line.begin() + static_cast<std::ptrdiff_t>(row * d));
      line[lines * d + row] = model.intercept()[r];
    }
    own.lines.push_back(std::move(line));
    own.scores.push_back(score(ctx, model, scored, scored_y));
    own.n_iter.push_back(static_cast<double>(model.n_iter()));
  }
  return own;
}

template <class T>
void LogisticRegressionCV<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  present_ = PresentClasses(ctx, y);
  require(present_.size() >= 2, schema::ErrorCode::kBadData,
          "{}: the target has only the class \"{}\", needs at least 2", kName,
          present_.names.empty() ? "" : present_.names[0]);
  n_folds_ = params_.cv.value_or(kDefaultFolds);
  const std::vector<std::int32_t> folds = fold_numbers(kName, y, n_folds_);
  Value weights = params_.class_weight;
  if (std::holds_alternative<std::string>(weights.data)) {   // balanced: by all rows, not by those of a fold
    const std::vector<double> by_class = class_weights(kName, params_.class_weight, present_, y);
    ValueMap map;
    for (std::size_t c = 0; c < by_class.size(); ++c) map.emplace_back(present_.names[c], by_class[c]);
    weights = std::move(map);
  }
  const std::size_t n_chains = static_cast<std::size_t>(n_folds_) * ratios_.size();
  std::vector<Chain> chains(n_chains);
  const auto run = [&](std::int64_t i) {
    Chain& own = chains[static_cast<std::size_t>(i)];
    Context alone = ctx;
    alone.work = nullptr;
    std::vector<std::string> warnings;
    alone.emit = [&](const schema::EventBody& event) {
      if (const auto* log = std::get_if<schema::LogEvent>(&event)) warnings.push_back(log->message);
    };
    own = fit_chain(alone, X, y, folds, static_cast<std::size_t>(i), weights);
    own.warnings = std::move(warnings);
  };
  const bool is_small = X.n_rows() * X.n_cols() * present_.size() <= kMediumPass;
  if (is_small && ctx.device.traits().concurrent_fits > 1 && !X.is_sparse()) {
    side_by_side(static_cast<std::int64_t>(n_chains), run);
  } else {
    for (std::size_t i = 0; i < n_chains; ++i) {
      run(static_cast<std::int64_t>(i));
      ctx.progress("folds", static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(n_chains), "paths");
    }
  }
  for (const Chain& chain : chains)
    if (!chain.warnings.empty()) {
      ctx.warn(chain.warnings.front());   // one speaks for all folds
      break;
    }
  choose(ctx, X, y, chains, weights);
}

template <class T>
void LogisticRegressionCV<T>::choose(const Context& ctx, const Samples<T>& X, const Target& y,
                                     const std::vector<Chain>& chains, const Value& class_weight) {
  scores_.clear(), n_iter_.clear(), lines_.clear();
  const auto d = static_cast<std::size_t>(X.n_cols()), lines = n_lines();
  for (const Chain& chain : chains) {
    scores_.insert(scores_.end(), chain.scores.begin(), chain.scores.end());
    n_iter_.insert(n_iter_.end(), chain.n_iter.begin(), chain.n_iter.end());
    for (const std::vector<double>& line : chain.lines)
      for (std::size_t r = 0; r < lines; ++r) {
        const auto row = line.begin() + static_cast<std::ptrdiff_t>(r * d);
        lines_.insert(lines_.end(), row, row + static_cast<std::ptrdiff_t>(d));
        if (params_.fit_intercept) lines_.push_back(line[lines * d + r]);
      }
  }
  if (!params_.refit) return average(chains, X.n_cols());
  double best = -std::numeric_limits<double>::infinity();
  std::size_t best_C = 0, best_ratio = 0;
  for (std::size_t c = 0; c < Cs_.size(); ++c)
    for (std::size_t r = 0; r < ratios_.size(); ++r) {
      double sum = 0;
      for (std::size_t f = 0; f < chains.size() / ratios_.size(); ++f) sum += chains[f * ratios_.size() + r].scores[c];
      if (sum > best) best = sum, best_C = c, best_ratio = r;
    }
  std::vector<double> start(lines * (d + (params_.fit_intercept ? 1 : 0)), 0.0);
  for (std::size_t f = 0; f < chains.size() / ratios_.size(); ++f)
    for (std::size_t e = 0; e < start.size(); ++e)
      start[e] += chains[f * ratios_.size() + best_ratio].lines[best_C][e] / static_cast<double>(n_folds_);
  C_ = Cs_[best_C], l1_ratio_ = ratios_[best_ratio];
  model_ = LogisticRegression<T>(step_params(C_, l1_ratio_, class_weight));
  model_.start_at(std::move(start));
  Context alone = ctx;
  alone.work = nullptr;
  model_.fit(alone, X, y);
}

// The mean of each fold's best line.
template <class T>
void LogisticRegressionCV<T>::average(const std::vector<Chain>& chains, std::int64_t n_features) {
  const auto d = static_cast<std::size_t>(n_features), lines = n_lines();
  std::vector<double> mean(lines * (d + 1), 0.0);
  C_ = l1_ratio_ = 0;
  const auto n = static_cast<double>(n_folds_);
  for (std::size_t f = 0; f < chains.size() / ratios_.size(); ++f) {
    std::size_t best_C = 0, best_ratio = 0;
    const auto own = [&](std::size_t r) -> const Chain& { return chains[f * ratios_.size() + r]; };
    for (std::size_t c = 0; c < Cs_.size(); ++c)
      for (std::size_t r = 0; r < ratios_.size(); ++r)
        if (own(r).scores[c] > own(best_ratio).scores[best_C]) best_C = c, best_ratio = r;
    C_ += Cs_[best_C] / n, l1_ratio_ += ratios_[best_ratio] / n;
    for (std::size_t e = 0; e < mean.size(); ++e) mean[e] += own(best_ratio).lines[best_C][e] / n;
  }
  const auto end = mean.begin() + static_cast<std::ptrdiff_t>(lines * d);
  model_ = LogisticRegression<T>(ValueMap{});
  model_.set_line(present_, n_features, {mean.begin(), end}, {end, mean.end()});
}

// folds x shares x Cs as scikit-learn shows them: with legacy attributes folds x Cs (x shares), else folds x shares x
// Cs, each cell `width` numbers.
template <class T>
Value LogisticRegressionCV<T>::by_fold(const std::vector<double>& cells, std::size_t width, bool is_legacy) const {
  const std::size_t n_ratios = ratios_.size(), n_Cs = Cs_.size();
  const auto cell = [&](std::size_t f, std::size_t r, std::size_t c) -> Value {
    const auto first = cells.begin() + static_cast<std::ptrdiff_t>(((f * n_ratios + r) * n_Cs + c) * width);
    return width == 1 ? Value(*first) : Value(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(width)));
  };
  ValueList folds;
  for (std::size_t f = 0; f < static_cast<std::size_t>(n_folds_); ++f) {
    ValueList outer;
    for (std::size_t o = 0; o < (is_legacy ? n_Cs : n_ratios); ++o) {
      if (is_legacy && !has_ratios_) {
        outer.push_back(cell(f, 0, o));
        continue;
      }
      ValueList inner;
      for (std::size_t i = 0; i < (is_legacy ? n_ratios : n_Cs); ++i)
        inner.push_back(is_legacy ? cell(f, i, o) : cell(f, o, i));
      outer.emplace_back(std::move(inner));
    }
    folds.emplace_back(std::move(outer));
  }
  return folds;
}

template <class T>
ValueMap LogisticRegressionCV<T>::attributes() const {
  ValueMap map = model_.attributes();
  std::erase_if(map, [](const auto& entry) { return entry.first == "n_iter_"; });
  const auto* asked = std::get_if<bool>(&params_.use_legacy_attributes.data);
  const bool is_legacy = !asked || *asked;
  const std::size_t lines = n_lines(), dof = lines_.size() / std::max<std::size_t>(1, scores_.size() * lines);
  const Value ratio = has_ratios_ || !is_legacy ? Value(l1_ratio_) : params_.refit ? Value() : Value(0.0);
  map.emplace_back("Cs_", Cs_);
  map.emplace_back("l1_ratios_", has_ratios_ ? Value(*numbers_of(params_.l1_ratios)) : Value(ValueList{Value()}));
  if (!is_legacy) {
    map.emplace_back("C_", C_), map.emplace_back("l1_ratio_", ratio);
    map.emplace_back("scores_", by_fold(scores_, 1, false));
    map.emplace_back("n_iter_", by_fold(n_iter_, 1, false));
    map.emplace_back("coefs_paths_", by_fold(lines_, lines * dof, false));
    return map;
  }
  map.emplace_back("C_", std::vector<double>(lines, C_));
  map.emplace_back("l1_ratio_", ValueList(lines, ratio));
  map.emplace_back("n_iter_", ValueList{by_fold(n_iter_, 1, true)});
  ValueMap scores, paths;
  for (std::size_t r = 0; r < lines; ++r) {
    const std::string& name = present_.names[lines == 1 ? 1 : r];
    std::vector<double> own;
    for (std::size_t e = r * dof; e < lines_.size(); e += lines * dof)
      own.insert(own.end(), lines_.begin() + static_cast<std::ptrdiff_t>(e),
                 lines_.begin() + static_cast<std::ptrdiff_t>(e + dof));
    scores.emplace_back(name, by_fold(scores_, 1, true)), paths.emplace_back(name, by_fold(own, dof, true));
  }
  map.emplace_back("scores_", std::move(scores));
  map.emplace_back("coefs_paths_", std::move(paths));
  return map;
}

template <class T>
void LogisticRegressionCV<T>::state(StateArchive& archive) {
  model_.state(archive);
  if (archive.is_loading()) present_ = model_.present();
  archive.number("n_folds", n_folds_, 2, kMaxSize);
  archive.field("C", C_);
  archive.field("l1_ratio", l1_ratio_);
  const auto chains = static_cast<std::int64_t>(ratios_.size() * Cs_.size());
  archive.field("scores", scores_, n_folds_, chains);
  archive.field("n_iter", n_iter_, n_folds_, chains);
  const std::int64_t dof = archive.n_features() + (params_.fit_intercept ? 1 : 0);
  archive.field("lines", lines_, n_folds_ * chains, static_cast<std::int64_t>(n_lines()) * dof);
}

template class LogisticRegressionCV<float>;
template class LogisticRegressionCV<double>;

}   // namespace kedge::engine
