// FixedThresholdClassifier and TunedThresholdClassifierCV: from which score on a row is of the positive class. No other
// code makes them, so they need no header.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/meta/memory.h"
#include "engine/estimators/meta/nested_predictor.h"

namespace kedge::engine {
namespace {

using schema::Value;
using Numbers = std::vector<double>;

constexpr std::int64_t kDefaultFolds = 5;
constexpr const char* kMoreClasses =
    "More than two classes are allowed: the positive class is found where its score reaches the threshold, and the "
    "best of the others elsewhere. Without pos_label it is the last class.";

struct ThresholdParams {
  Value estimator;
  std::string response_method = "auto";
};

template <class P>
ParamSet<P>& add_threshold_params(ParamSet<P>& set) {
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  return set
      .any("estimator", static_cast<Value P::*>(&P::estimator), std::move(forms),
           "Gives the scores; null takes LogisticRegression.")
      .add("response_method", static_cast<std::string P::*>(&P::response_method),
           {"auto", "predict_proba", "decision_function"},
           "Which scores; auto takes probabilities where there are any.");
}

// A classifier whose scores of one class are compared with a threshold.
template <class T>
class ThresholdClassifier : public Classifier<T> {
 public:
  ThresholdClassifier(const char* owner, const ThresholdParams& params)
      : owner_(owner),
        like_(params.estimator.is_null() ? Value(schema::ValueMap{{"estimator", "LogisticRegression"}})
                                         : params.estimator,
              "params.estimator", NestedPredictor<T>::Kind::kClassifier),
        predictor_(like_.again()) {
    const std::string& method = params.response_method;
    reads_proba_ = method == "predict_proba" || (method == "auto" && like_.has_proba());
    if (reads_proba_ ? !like_.has_proba() : !like_.has_decision())
      refuse_param(owner, method == "auto" ? "estimator" : "response_method",
                   method == "auto" ? params.estimator : Value(method),
                   method == "auto" ? "gives neither probabilities nor decisions" : "is not what the estimator gives");
  }

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  std::int32_t n_classes() const override { return static_cast<std::int32_t>(classes_.size()); }
  bool has_proba() const override { return like_.has_proba(); }
  bool has_decision() const override { return like_.has_decision(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override {
    put(ctx, predictor_.proba(ctx, owner_, X), proba);
  }
  void decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const override {
    put(ctx, predictor_.decision(ctx, owner_, X), decision);
  }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override {
    const Numbers all = answers(ctx, predictor_, X), scores = scores_of(all);
    const std::size_t width = n_answers();
    std::vector<std::int32_t> codes(scores.size());
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<std::int32_t>(scores[i] >= threshold_ ? positive_ : best_other(all.data() + i * width));
    return codes;
  }
  void state(StateArchive& archive) override {
    archive.field("classes", classes_, archive.n_classes());
    std::vector<std::int64_t> positive{positive_};
    archive.indices("positive", positive, 1, 0, n_classes() - 1);
    positive_ = positive.front();
    archive.field("threshold", threshold_);
    predictor_.state(archive);
  }

 protected:
  void begin(const Context& ctx, const Samples<T>& X, const Target& y, const Value& pos_label) {
    require_rows(owner_, X);
    ctx.check_stop();
    classes_ = y.classes;
    positive_ = n_classes() - 1;
    if (pos_label.is_null()) return;
    const auto* const word = std::get_if<std::string>(&pos_label.data);
    const auto found =
        std::ranges::find(classes_, word ? *word : std::to_string(std::get<std::int64_t>(pos_label.data)));
    if (found == classes_.end()) refuse_param(owner_, "pos_label", pos_label, "is not a class of the target");
    positive_ = found - classes_.begin();
  }
  void fit_on_all(const Context& ctx, const Samples<T>& X, const Target& y) {
    predictor_ = like_.again();
    predictor_.fit(ctx, owner_, X, y);
  }
  // The scores of the positive class.
  Numbers scores(const Context& ctx, const NestedPredictor<T>& predictor, const Samples<T>& X) const {
    return scores_of(answers(ctx, predictor, X));
  }
  schema::ValueMap own_attributes() const {
    return {{"classes_", schema::ValueList(classes_.begin(), classes_.end())}, {"estimator_", predictor_.attributes()}};
  }

  const char* owner_;
  NestedPredictor<T> like_;   // not fitted
  bool reads_proba_ = true;
  double threshold_ = 0;
  std::int64_t positive_ = 1;   // its number
  NestedPredictor<T> predictor_;

 private:
  std::size_t n_answers() const { return !reads_proba_ && n_classes() == 2 ? 1 : classes_.size(); }   // of a row
  Numbers answers(const Context& ctx, const NestedPredictor<T>& predictor, const Samples<T>& X) const {
    return reads_proba_ ? predictor.proba(ctx, owner_, X) : predictor.decision(ctx, owner_, X);
  }
  Numbers scores_of(const Numbers& all) const {
    const std::size_t width = n_answers();
    Numbers scores;
    for (std::size_t i = 0; i < all.size(); i += width)
      scores.push_back(width > 1 ? all[i + static_cast<std::size_t>(positive_)] : positive_ == 1 ? all[i] : -all[i]);
    return scores;
  }
  std::int64_t best_other(const double* row) const {
    if (n_classes() <= 2) return n_classes() - 1 - positive_;
    std::int64_t best = positive_ == 0 ? 1 : 0;
    for (std::int64_t c = best + 1; c < n_classes(); ++c)
      if (c != positive_ && row[c] > row[best]) best = c;
    return best;
  }
  static void put(const Context& ctx, const Numbers& from, MatrixView<double> to) {
    if (!from.empty()) ctx.memory().to_device(to.data, from.data(), from.size() * sizeof(double));
  }

  std::vector<std::string> classes_;
};

struct FixedParams : ThresholdParams {
  Value threshold = std::string("auto"), pos_label;
};

// Predicts the positive class where its score is at least a given number.
template <class T>
class FixedThresholdClassifier final : public ThresholdClassifier<T> {
 public:
  explicit FixedThresholdClassifier(const schema::ValueMap& params)
      : FixedThresholdClassifier(param_set().parse(params)) {}
  static schema::EstimatorInfo info() {
    return {.name = kName,
            .kind = "classifier",
            .family = "model_selection",
            .doc = "A classifier with a given threshold of its scores.",
            .params = param_set().infos(),
            .attributes = {"classes_", "estimator_"},
            .deviations = {kMoreClasses}};
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override {
    this->begin(ctx, X, y, params_.pos_label);
    const auto* const number = std::get_if<double>(&params_.threshold.data);
    this->threshold_ = number ? *number : this->reads_proba_ ? 0.5 : 0.0;
    this->fit_on_all(ctx, X, y);
  }
  schema::ValueMap attributes() const override { return this->own_attributes(); }

 private:
  static constexpr const char* kName = "FixedThresholdClassifier";
  explicit FixedThresholdClassifier(FixedParams params)
      : ThresholdClassifier<T>(kName, params), params_(std::move(params)) {}
  static const ParamSet<FixedParams>& param_set() {
    static const ParamSet<FixedParams> set = [] {
      ParamSet<FixedParams> made(kName);
      add_threshold_params(made);
      return made
          .any("threshold", &FixedParams::threshold, {string_form({"auto"}), number_form()},
               "The least score of the positive class; auto: 0.5 of probabilities, 0 of decisions.")
          .any("pos_label", &FixedParams::pos_label, {string_form(), integer_form(), null_form()},
               "The positive class; null takes the last.");
    }();
    return set;
  }

  FixedParams params_;
};

// Rows by what they are and what is said of them.
struct Confusion {
  double true_positive = 0, false_positive = 0, false_negative = 0, true_negative = 0;
};

struct Scoring {
  const char* name;
  double (*of)(const Confusion& c);
};

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

double recall(const Confusion& c) {
  return ratio(c.true_positive, c.true_positive + c.false_negative);
}

double precision(const Confusion& c) {
  return ratio(c.true_positive, c.true_positive + c.false_positive);
}

double accuracy(const Confusion& c) {
  return ratio(c.true_positive + c.true_negative,
               c.true_positive + c.true_negative + c.false_positive + c.false_negative);
}

double balanced_accuracy(const Confusion& c) {
  const double positives = c.true_positive + c.false_negative, negatives = c.true_negative + c.false_positive;
  if (positives == 0) return ratio(c.true_negative, negatives);
  return negatives == 0 ? recall(c) : (recall(c) + c.true_negative / negatives) / 2;
}

double f1(const Confusion& c) {
  return ratio(2 * c.true_positive, 2 * c.true_positive + c.false_positive + c.false_negative);
}

double jaccard(const Confusion& c) {
  return ratio(c.true_positive, c.true_positive + c.false_positive + c.false_negative);
}

double matthews(const Confusion& c) {
  const double spread = (c.true_positive + c.false_positive) * (c.true_positive + c.false_negative) *
                        (c.true_negative + c.false_positive) * (c.true_negative + c.false_negative);
  return ratio(c.true_positive * c.true_negative - c.false_positive * c.false_negative, std::sqrt(spread));
}

constexpr Scoring kScorings[] = {{"balanced_accuracy", balanced_accuracy},
                                 {"accuracy", accuracy},
                                 {"f1", f1},
                                 {"precision", precision},
                                 {"recall", recall},
                                 {"jaccard", jaccard},
                                 {"matthews_corrcoef", matthews}};

// numpy's linspace(first, last, n).
Numbers spread_between(double first, double last, std::int64_t n) {
  Numbers all;
  const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(first + static_cast<double>(i) * step);
  if (n > 1) all.back() = last;
  return all;
}

// numpy's interp(at, x, y) of an x that does not fall.
double interpolated(double at, const Numbers& x, const Numbers& y) {
  if (at >= x.back()) return y.back();
  if (at < x.front()) return y.front();
  const auto next = static_cast<std::size_t>(std::ranges::upper_bound(x, at) - x.begin());
  const double slope = (y[next] - y[next - 1]) / (x[next] - x[next - 1]);
  return slope * (at - x[next - 1]) + y[next - 1];
}

// The score at each threshold: by one sort, and one search each.
Numbers scores_over(const Numbers& thresholds, const Numbers& scores, const std::vector<bool>& is_positive,
                    double (*scoring)(const Confusion&)) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  Numbers sorted, positives_below{0.0};
  for (const std::size_t i : order) {
    sorted.push_back(scores[i]);
    positives_below.push_back(positives_below.back() + (is_positive[i] ? 1.0 : 0.0));
  }
  Numbers all;
  for (const double threshold : thresholds) {
    const auto below = static_cast<std::size_t>(std::ranges::lower_bound(sorted, threshold) - sorted.begin());
    const auto n_below = static_cast<double>(below), n = static_cast<double>(sorted.size());
    Confusion c{.false_negative = positives_below[below]};
    c.true_negative = n_below - c.false_negative;
    c.true_positive = positives_below.back() - c.false_negative;
    c.false_positive = n - n_below - c.true_positive;
    all.push_back(scoring(c));
  }
  return all;
}

struct TunedParams : ThresholdParams {
  std::string scoring = "balanced_accuracy";
  Value thresholds = std::int64_t{100}, cv;
  bool store_cv_results = false;
};

// Chooses the threshold whose score, averaged over the folds (StratifiedKFold without shuffling), is best: the first of
// them. Between a fold's own thresholds scores are interpolated. Cost beside the fits: a sort of each fold's scores,
// and a binary search for each threshold.
template <class T>
class TunedThresholdClassifierCV final : public ThresholdClassifier<T> {
 public:
  explicit TunedThresholdClassifierCV(const schema::ValueMap& params)
      : TunedThresholdClassifierCV(param_set().parse(params)) {}
  static schema::EstimatorInfo info() {
    return {.name = kName,
            .kind = "classifier",
            .family = "model_selection",
            .doc = "A classifier whose threshold is chosen by a score of rows that it was not fitted on.",
            .params = param_set().infos(),
            .attributes = {"classes_", "estimator_", "best_threshold_", "best_score_", "cv_results_"},
            .deviations = {kMoreClasses, "Scores are of the positive class beside all others.",
                           "cv is a number of folds, and the classifier is fitted on all rows again.",
                           "A classifier that says the same of all rows gets their score as its threshold and a "
                           "warning, in scikit-learn an error."}};
  }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override {
    this->begin(ctx, X, y, Value());
    const auto* const given = std::get_if<std::int64_t>(&params_.cv.data);
    choose(ctx, fit_folds(ctx, X, y, given ? *given : kDefaultFolds));
  }
  schema::ValueMap attributes() const override {
    schema::ValueMap all = this->own_attributes();
    all.emplace_back("best_threshold_", this->threshold_);
    all.emplace_back("best_score_", best_score_);
    if (params_.store_cv_results)
      all.emplace_back("cv_results_", schema::ValueMap{{"thresholds", thresholds_}, {"scores", scores_}});
    return all;
  }
  void state(StateArchive& archive) override {
    ThresholdClassifier<T>::state(archive);
    archive.field("best_score", best_score_);
    archive.field("thresholds", thresholds_, kAnySize);
    archive.field("scores", scores_, static_cast<std::int64_t>(thresholds_.size()));
  }

 private:
  static constexpr const char* kName = "TunedThresholdClassifierCV";
  struct Curve {
    Numbers thresholds, scores;
  };
  explicit TunedThresholdClassifierCV(TunedParams params)
      : ThresholdClassifier<T>(kName, params), params_(std::move(params)) {
    if (std::holds_alternative<std::int64_t>(params_.thresholds.data)) return;
    given_ = numbers_of(params_.thresholds).value_or(Numbers{});
    if (given_.empty()) refuse_param(kName, "thresholds", params_.thresholds, "has no numbers");
    if (!std::ranges::is_sorted(given_)) refuse_param(kName, "thresholds", params_.thresholds, "does not ascend");
  }
  static const ParamSet<TunedParams>& param_set() {
    static const ParamSet<TunedParams> set = [] {
      ParamSet<TunedParams> made(kName);
      add_threshold_params(made);
      std::vector<std::string> names;
      for (const Scoring& scoring : kScorings) names.emplace_back(scoring.name);
      return made.any("scoring", &TunedParams::scoring, {string_form(names)}, "What is to be largest.")
          .any("thresholds", &TunedParams::thresholds, {integer_form(between(1, 1 << 20)), array_form()},
               "How many thresholds, between the least and the largest score; or these, ascending.")
          .any("cv", &TunedParams::cv, {integer_form(at_least(2)), null_form()}, "How many folds; null takes 5.")
          .add("store_cv_results", &TunedParams::store_cv_results, "Keep the score of each threshold.")
          .ignore("refit", true, {boolean_form()})
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .ignore("random_state", nullptr, {integer_form(), null_form()});
    }();
    return set;
  }

  Numbers thresholds_between(double least, double most) const {
    const auto* const count = std::get_if<std::int64_t>(&params_.thresholds.data);
    return count ? spread_between(least, most, *count) : given_;
  }
  // The fit on all rows, then those of the folds, of which the curves are left.
  std::vector<Curve> fit_folds(const Context& ctx, const Samples<T>& X, const Target& y, std::int64_t n_folds) {
    const std::vector<std::int32_t> fold_of = fold_numbers(kName, y, n_folds);
    std::vector<Curve> curves(static_cast<std::size_t>(n_folds));
    InnerFits fits = fits_of<T>(ctx, [this](std::size_t) -> NestedPredictor<T>& { return this->predictor_; });
    fits.things = "fits";
    PlannedFit of_fold = this->like_.planned(X.n_rows() - X.n_rows() / n_folds, X.n_cols());
    of_fold.is_large = false;
    fits.planned.assign(curves.size() + 1, of_fold);
    fits.planned.front() = this->like_.planned(X.n_rows(), X.n_cols());
    fits.fit = [&](const Context& inner, std::size_t i) {
      if (i == 0) return this->fit_on_all(inner, X, y);
      const auto k = static_cast<std::int32_t>(i - 1);
      curves[i - 1] = curve_of(inner, X, y, rows_in_fold(fold_of, k, false), rows_in_fold(fold_of, k, true));
    };
    fits.write = [&, write = fits.write](std::size_t i, ByteWriter& out) {
      if (i == 0) return write(i, out);
      out.numbers(curves[i - 1].thresholds), out.numbers(curves[i - 1].scores);
    };
    fits.read = [&, read = fits.read](std::size_t i, ByteReader& in) {
      if (i == 0) return read(i, in);
      curves[i - 1].thresholds = in.numbers<double>(), curves[i - 1].scores = in.numbers<double>();
    };
    deal_fits(ctx, fits);
    return curves;
  }
  Curve curve_of(const Context& ctx, const Samples<T>& X, const Target& y, const std::vector<std::int32_t>& fitted,
                 const std::vector<std::int32_t>& asked) const {
    NestedPredictor<T> predictor = this->like_.again();
    predictor.fit(ctx, kName, rows_at(ctx, X, fitted), rows_at(y, fitted));
    const Numbers scores = this->scores(ctx, predictor, rows_at(ctx, X, asked));
    std::vector<bool> is_positive;
    for (const std::int32_t row : asked)
      is_positive.push_back(y.codes[static_cast<std::size_t>(row)] == this->positive_);
    const auto [least, most] = std::ranges::minmax(scores);
    const auto* const scoring = std::ranges::find(kScorings, params_.scoring, &Scoring::name);
    Curve curve{.thresholds = thresholds_between(least, most)};
    curve.scores = scores_over(curve.thresholds, scores, is_positive, scoring->of);
    return curve;
  }
  void choose(const Context& ctx, const std::vector<Curve>& curves) {
    double least = curves.front().thresholds.front(), most = curves.front().thresholds.back();
    bool is_constant = false;
    for (const Curve& curve : curves) {
      const double first = curve.thresholds.front(), last = curve.thresholds.back();
      least = std::min(least, first), most = std::max(most, last);
      is_constant = is_constant || std::abs(first - last) <= 1e-8 + 1e-5 * std::abs(last);
    }
    if (is_constant)
      ctx.warn(std::string(kName) +
               ": in one of the folds the classifier says nearly the same of all rows, so the "
               "choice of the threshold means little");
    thresholds_ = thresholds_between(least, most);
    scores_.clear();
    for (const double threshold : thresholds_) {
      double sum = 0;
      for (const Curve& curve : curves) sum += interpolated(threshold, curve.thresholds, curve.scores);
      scores_.push_back(sum / static_cast<double>(curves.size()));
    }
    const auto best = std::ranges::max_element(scores_);
    best_score_ = *best;
    this->threshold_ = thresholds_[static_cast<std::size_t>(best - scores_.begin())];
  }

  TunedParams params_;
  Numbers given_;   // thresholds of the user; empty: a number of them
  double best_score_ = 0;
  Numbers thresholds_, scores_;   // of all folds
};

MemoryNeed of_one_fit(const SampleShape& X, const schema::Step& step) {
  schema::Step once = step;
  once.params.emplace_back("cv", std::int64_t{1});
  return memory::calibrated(X, once);
}

}   // namespace

void add_threshold_classifiers(Rows& rows) {
  constexpr RowTraits kTraits{.host_part = "what its estimator answers for each row", .is_composed = true};
  RowTraits one = kTraits, folds = kTraits;
  one.dealt = DealtFit::kInside, one.inside = "LogisticRegression";
  folds.dealt = DealtFit::kFits;
  add<FixedThresholdClassifier>(rows, of_one_fit, {60, 6, 9}, one);
  add<TunedThresholdClassifierCV>(rows, memory::calibrated, {360, 6, 60}, folds);
}

}   // namespace kedge::engine
