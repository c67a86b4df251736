// Fits classifiers fold by fold, and curves from their scores to probabilities.
#include "engine/estimators/meta/calibrated_classifier.h"

#include <algorithm>
#include <cmath>

#include "engine/core/require.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"

namespace kedge::engine {
namespace {

using schema::Value;

constexpr const char* kOwner = "CalibratedClassifierCV";
constexpr std::int64_t kDefaultFolds = 5;

const ParamSet<CalibratedParams>& param_set() {
  using P = CalibratedParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("estimator", &P::estimator, std::move(forms), "Gives the scores; null takes LogisticRegression.")
          .add("method", &P::method, {"sigmoid", "isotonic", "temperature"},
               "Platt's sigmoid, a curve that never falls, or one temperature of all classes.")
          .any("cv", &P::cv, {integer_form(at_least(2)), null_form()}, "How many folds; null takes 5.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .any("ensemble", &P::ensemble, {boolean_form(), string_form({"auto"})},
               "Average over the folds' classifiers (auto does), or fit one on all rows.");
  return set;
}

Value or_default(const Value& estimator) {
  return estimator.is_null() ? Value(schema::ValueMap{{"estimator", "LogisticRegression"}}) : estimator;
}

// A class that has too few rows is missing where a fold is fitted, or where it is calibrated. As in scikit-learn, a cv
// that was given asks for a row of each class in each fold.
void require_calibrated(const Target& y, bool is_given, std::int64_t n_folds) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(y.n_classes()));
  for (const std::int32_t code : y.codes) ++count[static_cast<std::size_t>(code)];
  const auto n_there = std::ranges::count_if(count, [](std::int64_t n) { return n > 0; });
  for (std::size_t c = 0; c < count.size(); ++c) {
    require(count[c] == 0 || count[c] >= n_folds || !is_given, schema::ErrorCode::kBadData,
            "{}: cv is {}, but class \"{}\" has fewer rows ({}): every fold needs one of each class", kOwner, n_folds,
            y.classes[c], count[c]);
    require(count[c] != 1 || n_there > 2, schema::ErrorCode::kBadData,
            "{}: class \"{}\" has only one row: it cannot be fitted and calibrated", kOwner, y.classes[c]);
  }
}

}   // namespace

template <class T>
CalibratedClassifierCV<T>::CalibratedClassifierCV(const schema::ValueMap& params)
    : params_(param_set().parse(params)),
      estimator_(or_default(params_.estimator)),
      like_(estimator_, "params.estimator", NestedPredictor<T>::Kind::kClassifier) {
  if (!like_.has_decision() && !like_.has_proba())
    refuse_param(kOwner, "estimator", estimator_, "gives neither decisions nor probabilities");
}

template <class T>
schema::EstimatorInfo CalibratedClassifierCV<T>::info() {
  return {.name = kOwner,
          .kind = "classifier",
          .family = "calibration",
          .doc = "Make a classifier's scores probabilities, by rows that it was not fitted on.",
          .params = param_set().infos(),
          .attributes = {"classes_", "calibrated_classifiers_"},
          .deviations = {"Without an estimator LogisticRegression is calibrated, in scikit-learn LinearSVC.",
                         "cv is a number of folds.",
                         "Where the rows of a fold are told apart without error, the temperature is the lowest; "
                         "scikit-learn's search ends anywhere in the flat loss."}};
}

template <class T>
std::vector<double> CalibratedClassifierCV<T>::scores(const Context& ctx, const NestedPredictor<T>& predictor,
                                                      const Samples<T>& X) const {
  if (predictor.has_decision()) return predictor.decision(ctx, kOwner, X);
  const std::vector<double> proba = predictor.proba(ctx, kOwner, X);
  if (width() > 1) return proba;
  std::vector<double> second;
  for (std::size_t i = classes_.size() - 1; i < proba.size(); i += classes_.size()) second.push_back(proba[i]);
  return second;
}

template <class T>
std::vector<typename CalibratedClassifierCV<T>::Curve> CalibratedClassifierCV<T>::curves_of(
    const std::vector<double>& scores, const Target& y) const {
  std::vector<Curve> curves(width());
  const std::size_t n_rows = y.codes.size();
  for (std::size_t c = 0; c < width(); ++c) {
    std::vector<double> column(n_rows), values(n_rows);
    std::vector<bool> is_class(n_rows);
    bool is_finite = true;
    for (std::size_t i = 0; i < n_rows; ++i) {
      column[i] = scores[i * width() + c];
      is_class[i] = y.codes[i] == static_cast<std::int32_t>(classes_.size() == 2 ? 1 : c);
      values[i] = is_class[i];
      is_finite = is_finite && std::isfinite(column[i]);
    }
    const bool has_weight = y.weights.empty() || std::ranges::any_of(y.weights, [](double w) { return w > 0; });
    if (!is_finite || n_rows == 0 || !has_weight) continue;   // a class that the fitted rows lack
    curves[c].is_there = true;
    if (params_.method == "sigmoid") curves[c].sigmoid = SigmoidCurve::fitted(column, is_class, y.weights);
    else curves[c].isotonic = IsotonicCurve::fitted(column, values, y.weights);
  }
  return curves;
}

// Decisions as they are, of two classes against each other; logarithms of probabilities.
template <class T>
std::vector<double> CalibratedClassifierCV<T>::logits_of(const std::vector<double>& scores) const {
  constexpr double kLeast = 1e-12;   // of a probability, as scikit-learn has it
  std::vector<double> logits;
  for (const double score : scores) {
    if (width() == 1) logits.push_back(like_.has_decision() ? -score : std::log(1 - score + kLeast));
    logits.push_back(like_.has_decision() ? score : std::log(score + kLeast));
  }
  return logits;
}

template <class T>
void CalibratedClassifierCV<T>::calibrate(Member& member, const std::vector<double>& scores, const Target& y) const {
  if (has_temperature()) member.temperature = Temperature::fitted(logits_of(scores), y.codes, y.weights, n_classes());
  else member.curves = curves_of(scores, y);
}

template <class T>
void CalibratedClassifierCV<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kOwner, X, 2);
  classes_ = y.classes;
  members_.clear();
  const auto* folds = std::get_if<std::int64_t>(&params_.cv.data);
  const std::int64_t n_folds = folds ? *folds : kDefaultFolds;
  const std::vector<std::int32_t> fold_of = fold_numbers(kOwner, y, n_folds);
  require_calibrated(y, folds != nullptr, n_folds);
  for (std::int64_t k = 0; k < (is_ensemble() ? n_folds : 1); ++k) members_.push_back({like_.again()});
  const std::vector<double> all = fit_members(ctx, X, y, fold_of, n_folds);
  if (!is_ensemble()) calibrate(members_.back(), all, y);
}

// The fits of the folds, and without an ensemble one on all rows, all by the one member. Scores of the rows, each by
// the fit that did not have it; an ensemble is calibrated by them.
template <class T>
std::vector<double> CalibratedClassifierCV<T>::fit_members(const Context& ctx, const Samples<T>& X, const Target& y,
                                                           const std::vector<std::int32_t>& fold_of,
                                                           std::int64_t n_folds) {
  const auto n = static_cast<std::size_t>(n_folds);
  const auto member = [&](std::size_t i) -> Member& { return members_[is_ensemble() ? i : 0]; };
  std::vector<std::vector<double>> said(n);
  InnerFits fits = fits_of<T>(ctx, [&](std::size_t i) -> NestedPredictor<T>& { return member(i).predictor; });
  fits.things = "fits";
  PlannedFit of_fold = like_.planned(X.n_rows() - X.n_rows() / n_folds, X.n_cols());
  of_fold.is_large = false;   // it answers as well
  fits.planned.assign(n, of_fold);
  if (!is_ensemble()) fits.planned.push_back(like_.planned(X.n_rows(), X.n_cols()));
  fits.fit = [&](const Context& inner, std::size_t i) {
    if (i == n) return member(i).predictor.fit(inner, kOwner, X, y);
    const auto k = static_cast<std::int32_t>(i);
    const std::vector<std::int32_t> fitted = rows_in_fold(fold_of, k, false);
    member(i).predictor.fit(inner, kOwner, rows_at(ctx, X, fitted), rows_at(y, fitted));
    said[i] = scores(inner, member(i).predictor, rows_at(ctx, X, rows_in_fold(fold_of, k, true)));
  };
  fits.write = [&, write = fits.write](std::size_t i, ByteWriter& out) {
    if (is_ensemble() || i == n) write(i, out);
    if (i < n) out.numbers(said[i]);
  };
  fits.read = [&, read = fits.read](std::size_t i, ByteReader& in) {
    if (is_ensemble() || i == n) read(i, in);
    if (i < n) said[i] = in.numbers<double>();
  };
  std::vector<double> all(fold_of.size() * width());
  fits.done = [&](std::size_t i) {
    if (i == n) return;
    const std::vector<std::int32_t> asked = rows_in_fold(fold_of, static_cast<std::int32_t>(i), true);
    if (is_ensemble()) calibrate(member(i), said[i], rows_at(y, asked));
    for (std::size_t k = 0; k < asked.size(); ++k)
      std::copy_n(said[i].begin() + static_cast<std::ptrdiff_t>(k * width()), width(),
                  all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(asked[k]) * width()));
    said[i] = {};
  };
  deal_fits(ctx, fits);
  return all;
}

template <class T>
void CalibratedClassifierCV<T>::add_softmax(const Member& member, const std::vector<double>& scores,
                                            std::vector<double>& shares) const {
  const std::vector<double> logits = logits_of(scores);
  std::vector<double> row(classes_.size());
  for (std::size_t i = 0; i < logits.size(); i += row.size()) {
    member.temperature.shares({logits.data() + i, row.size()}, row);
    for (std::size_t c = 0; c < row.size(); ++c) shares[i + c] += row[c];
  }
}

// Adds what a member says of each row: shares of the classes that sum to 1.
template <class T>
void CalibratedClassifierCV<T>::add_shares(const Member& member, const std::vector<double>& scores,
                                           std::vector<double>& shares) const {
  if (has_temperature()) return add_softmax(member, scores, shares);
  const std::size_t n_classes = classes_.size(), n_rows = scores.size() / width();
  std::vector<double> row(n_classes);
  for (std::size_t i = 0; i < n_rows; ++i) {
    double sum = 0;
    std::ranges::fill(row, 0.0);
    for (std::size_t c = 0; c < width(); ++c) {
      const Curve& curve = member.curves[c];
      const double score = scores[i * width() + c];
      if (!curve.is_there || !std::isfinite(score)) continue;
      const double share = params_.method == "sigmoid" ? curve.sigmoid.at(score) : curve.isotonic.at(score);
      row[n_classes == 2 ? 1 : c] = share;
      sum += share;
    }
    if (n_classes == 2) row[0] = 1 - row[1];
    for (std::size_t c = 0; c < n_classes; ++c)
      shares[i * n_classes + c] += n_classes == 2 ? row[c]
                                   : sum > 0      ? row[c] / sum
                                                  : 1 / static_cast<double>(n_classes);
  }
}

template <class T>
void CalibratedClassifierCV<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  std::vector<double> shares(static_cast<std::size_t>(X.n_rows()) * classes_.size());
  for (const Member& member : members_) add_shares(member, scores(ctx, member.predictor, X), shares);
  for (double& share : shares) share /= static_cast<double>(members_.size());
  if (!shares.empty()) ctx.memory().to_device(proba.data, shares.data(), shares.size() * sizeof(double));
}

template <class T>
schema::ValueMap CalibratedClassifierCV<T>::attributes() const {
  schema::ValueList all;
  for (const Member& member : members_) {
    schema::ValueList curves;
    if (has_temperature()) curves.push_back(schema::ValueMap{{"beta_", member.temperature.beta}});
    for (const Curve& curve : member.curves) {
      if (!curve.is_there) curves.emplace_back();
      else if (params_.method == "sigmoid")
        curves.push_back(schema::ValueMap{{"a_", curve.sigmoid.a}, {"b_", curve.sigmoid.b}});
      else curves.push_back(schema::ValueMap{{"X_thresholds_", curve.isotonic.x}, {"y_thresholds_", curve.isotonic.y}});
    }
    all.push_back(schema::ValueMap{{"estimator", member.predictor.attributes()}, {"calibrators", std::move(curves)}});
  }
  return {{"classes_", schema::ValueList(classes_.begin(), classes_.end())},
          {"calibrated_classifiers_", std::move(all)}};
}

template <class T>
void CalibratedClassifierCV<T>::state(StateArchive& archive) {
  archive.field("classes", classes_, archive.n_classes());
  const std::size_t count = archive.count("members", members_.size());
  archive.expect(count >= 1 && count <= 0xffff, "members", "are none or too many");
  for (std::size_t i = 0; i < count; ++i) {
    if (archive.is_loading()) members_.push_back({like_.again(), std::vector<Curve>(has_temperature() ? 0 : width())});
    members_[i].predictor.state(archive);
    if (has_temperature()) {
      archive.field("beta", members_[i].temperature.beta);
      archive.expect(members_[i].temperature.beta > 0, "beta", "is not above 0");
    }
    for (Curve& curve : members_[i].curves) {
      archive.field("is_there", curve.is_there);
      archive.field("a", curve.sigmoid.a), archive.field("b", curve.sigmoid.b);
      archive.field("x", curve.isotonic.x, kAnySize);
      archive.field("y", curve.isotonic.y, static_cast<std::int64_t>(curve.isotonic.x.size()));
      archive.expect_finite("x", curve.isotonic.x), archive.expect_finite("y", curve.isotonic.y);
      archive.expect(std::ranges::adjacent_find(curve.isotonic.x, std::greater_equal<>()) == curve.isotonic.x.end(),
                     "x", "does not ascend");
      archive.expect(!curve.is_there || params_.method == "sigmoid" || !curve.isotonic.x.empty(), "x", "has no points");
    }
  }
}

template class CalibratedClassifierCV<float>;
template class CalibratedClassifierCV<double>;

}   // namespace kedge::engine
