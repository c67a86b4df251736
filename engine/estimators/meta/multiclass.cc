// Divides a problem of many classes into problems of two.
#include "engine/estimators/meta/multiclass.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/inner_folds.h"

namespace kedge::engine {
namespace {

using schema::Value;

constexpr const char* kRest = "OneVsRestClassifier";
constexpr const char* kOne = "OneVsOneClassifier";
constexpr double kLowest = -std::numeric_limits<double>::infinity();

ParamSet<MulticlassParams> make_params(const char* owner) {
  using P = MulticlassParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  return ParamSet<P>(owner)
      .any("estimator", &P::estimator, std::move(forms), "Tells two classes apart; null takes LogisticRegression.")
      .ignore("n_jobs", nullptr, {integer_form(), null_form()});
}

const ParamSet<MulticlassParams>& rest_params() {
  static const ParamSet<MulticlassParams> set = make_params(kRest).ignore("verbose", 0, {integer_form(at_least(0))});
  return set;
}

const ParamSet<MulticlassParams>& one_params() {
  static const ParamSet<MulticlassParams> set = make_params(kOne);
  return set;
}

Value or_default(const Value& estimator) {
  return estimator.is_null() ? Value(schema::ValueMap{{"estimator", "LogisticRegression"}}) : estimator;
}

// The same rows with 1 for one class and 0 for the others.
Target against_rest(const Target& y, std::int32_t code) {
  Target two{.classes = {"rest", y.classes[static_cast<std::size_t>(code)]}, .weights = y.weights};
  for (const std::int32_t c : y.codes) two.codes.push_back(c == code);
  return two;
}

// Of a classifier of two classes: its decision, or else how likely the second is.
template <class T>
std::vector<double> confidence(const Context& ctx, const char* owner, const NestedPredictor<T>& predictor,
                               const Samples<T>& X, bool wants_proba) {
  if (!wants_proba) return predictor.decision(ctx, owner, X);
  const std::vector<double> proba = predictor.proba(ctx, owner, X);
  std::vector<double> second;
  for (std::size_t i = 1; i < proba.size(); i += 2) second.push_back(proba[i]);
  return second;
}

void upload(const Context& ctx, const std::vector<double>& host, MatrixView<double> out) {
  if (!host.empty()) ctx.memory().to_device(out.data, host.data(), host.size() * sizeof(double));
}

std::vector<std::int32_t> largest(const std::vector<double>& rows, std::size_t n_classes, std::size_t n_rows) {
  std::vector<std::int32_t> codes(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) {
    const auto row = rows.begin() + static_cast<std::ptrdiff_t>(i * n_classes);
    codes[i] = static_cast<std::int32_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(n_classes)) - row);
  }
  return codes;
}

template <class Members>
schema::ValueList attributes_of(const Members& members) {
  schema::ValueList all;
  for (const auto& member : members) all.push_back(member.predictor.attributes());
  return all;
}

}   // namespace

template <class T>
OneVsRestClassifier<T>::OneVsRestClassifier(const schema::ValueMap& params)
    : estimator_(or_default(rest_params().parse(params).estimator)),
      like_(estimator_, "params.estimator", NestedPredictor<T>::Kind::kClassifier) {}

template <class T>
schema::EstimatorInfo OneVsRestClassifier<T>::info() {
  return {.name = kRest,
          .kind = "classifier",
          .family = "multiclass",
          .doc = "Fit a classifier for each class against all others.",
          .params = rest_params().infos(),
          .attributes = {"classes_", "n_classes_", "multilabel_", "estimators_"},
          .deviations = {"Targets of several labels a row are not there.",
                         "The estimator is a classifier, never a regressor."}};
}

template <class T>
void OneVsRestClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRest, X);
  classes_ = y.classes;
  members_.clear();
  std::vector<std::int32_t> codes = PresentClasses(y).codes;
  first_ = codes.front();
  if (codes.size() <= 2) codes.erase(codes.begin());   // of two classes the first is the rest
  for (const std::int32_t code : codes) members_.push_back({code, like_.again()});
  InnerFits fits = fits_of<T>(ctx, [&](std::size_t i) -> NestedPredictor<T>& { return members_[i].predictor; });
  fits.things = "classes";
  fits.planned.assign(codes.size(), like_.planned(X.n_rows(), X.n_cols()));
  fits.fit = [&](const Context& inner, std::size_t i) {
    const std::string& name = y.classes[static_cast<std::size_t>(codes[i])];
    members_[i].predictor.fit(inner, fmt::format("{}: class {}", kRest, name), X, against_rest(y, codes[i]));
  };
  deal_fits(ctx, fits);
}

template <class T>
std::vector<double> OneVsRestClassifier<T>::columns(const Context& ctx, const Samples<T>& X, bool wants_proba,
                                                    double absent) const {
  const std::size_t n_rows = static_cast<std::size_t>(X.n_rows()), width = classes_.size();
  std::vector<double> all(n_rows * width, absent);
  std::vector<double> said;
  for (const Member& member : members_) {
    said = confidence(ctx, kRest, member.predictor, X, wants_proba);
    for (std::size_t i = 0; i < n_rows; ++i) all[i * width + static_cast<std::size_t>(member.code)] = said[i];
  }
  for (std::size_t i = 0; members_.size() <= 1 && i < n_rows; ++i) {
    const double rest = members_.empty() ? 1 : wants_proba ? 1 - said[i] : -said[i];
    all[i * width + static_cast<std::size_t>(first_)] = rest;
  }
  return all;
}

template <class T>
void OneVsRestClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  std::vector<double> rows = columns(ctx, X, true, 0.0);
  const std::size_t width = classes_.size();
  for (std::size_t i = 0; i < rows.size(); i += width) {
    double sum = 0;
    for (std::size_t c = 0; c < width; ++c) sum += rows[i + c];
    for (std::size_t c = 0; c < width; ++c) rows[i + c] = sum > 0 ? rows[i + c] / sum : 1 / static_cast<double>(width);
  }
  upload(ctx, rows, proba);
}

template <class T>
void OneVsRestClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                               MatrixView<double> decision) const {
  const std::vector<double> rows = columns(ctx, X, false, kLowest);
  if (classes_.size() != 2) return upload(ctx, rows, decision);
  std::vector<double> second;
  for (std::size_t i = 0; i < rows.size(); i += 2)
    second.push_back(members_.empty() ? (first_ == 1 ? 1.0 : -1.0) : rows[i + 1]);
  upload(ctx, second, decision);
}

template <class T>
std::vector<std::int32_t> OneVsRestClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return largest(columns(ctx, X, !has_decision(), kLowest), classes_.size(), static_cast<std::size_t>(X.n_rows()));
}

template <class T>
schema::ValueMap OneVsRestClassifier<T>::attributes() const {
  return {{"classes_", schema::ValueList(classes_.begin(), classes_.end())},
          {"n_classes_", std::int64_t{n_classes()}},
          {"multilabel_", false},
          {"estimators_", attributes_of(members_)}};
}

template <class T>
void OneVsRestClassifier<T>::state(StateArchive& archive) {
  archive.field("classes", classes_, archive.n_classes());
  archive.number("first", first_, 0, archive.n_classes() - 1);
  const std::size_t count = archive.count("members", members_.size());
  archive.expect(count <= static_cast<std::size_t>(archive.n_classes()), "members", "are more than there are classes");
  for (std::size_t i = 0; i < count; ++i) {
    if (archive.is_loading()) members_.push_back({0, like_.again()});
    archive.number("code", members_[i].code, 0, archive.n_classes() - 1);
    const StateArchive::Scope scope(archive, "class", archive.n_features(), 2);
    members_[i].predictor.state(archive);
  }
}

template <class T>
OneVsOneClassifier<T>::OneVsOneClassifier(const schema::ValueMap& params)
    : estimator_(or_default(one_params().parse(params).estimator)),
      like_(estimator_, "params.estimator", NestedPredictor<T>::Kind::kClassifier) {}

template <class T>
schema::EstimatorInfo OneVsOneClassifier<T>::info() {
  return {.name = kOne,
          .kind = "classifier",
          .family = "multiclass",
          .doc = "Fit a classifier for each pair of classes, and let them vote.",
          .params = one_params().infos(),
          .attributes = {"classes_", "n_classes_", "pairwise_indices_", "estimators_"},
          .deviations = {"The estimator is a classifier, never a regressor."}};
}

template <class T>
void OneVsOneClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kOne, X);
  classes_ = y.classes;
  present_ = PresentClasses(y).codes;
  members_.clear();
  std::vector<std::int64_t> class_rows(classes_.size());
  for (const std::int32_t code : y.codes) ++class_rows[static_cast<std::size_t>(code)];
  InnerFits fits = fits_of<T>(ctx, [&](std::size_t i) -> NestedPredictor<T>& { return members_[i].predictor; });
  fits.things = "pairs";
  for (std::size_t a = 0; a < present_.size(); ++a)
    for (std::size_t b = a + 1; b < present_.size(); ++b) {
      const std::int32_t first = present_[a], second = present_[b];
      members_.push_back({first, second, like_.again()});
      const std::int64_t rows =
          class_rows[static_cast<std::size_t>(first)] + class_rows[static_cast<std::size_t>(second)];
      fits.planned.push_back(like_.planned(rows, X.n_cols()));
    }
  fits.fit = [&](const Context& inner, std::size_t i) { fit_pair(inner, X, y, members_[i]); };
  deal_fits(ctx, fits);
}

template <class T>
void OneVsOneClassifier<T>::fit_pair(const Context& ctx, const Samples<T>& X, const Target& y, Member& member) const {
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < y.codes.size(); ++i)
    if (y.codes[i] == member.first || y.codes[i] == member.second) rows.push_back(static_cast<std::int32_t>(i));
  Target two = rows_at(y, rows);
  two.classes = {y.classes[static_cast<std::size_t>(member.first)], y.classes[static_cast<std::size_t>(member.second)]};
  for (std::int32_t& code : two.codes) code = code == member.second;
  member.predictor.fit(ctx, fmt::format("{}: classes {} and {}", kOne, two.classes[0], two.classes[1]),
                       rows_at(ctx, X, rows), two);
}

template <class T>
std::vector<double> OneVsOneClassifier<T>::votes(const Context& ctx, const Samples<T>& X) const {
  const std::size_t n_rows = static_cast<std::size_t>(X.n_rows()), width = classes_.size();
  std::vector<double> votes(n_rows * width), sums(n_rows * width);
  for (const Member& member : members_) {
    const std::vector<double> said = confidence(ctx, kOne, member.predictor, X, !like_.has_decision());
    const std::vector<std::int32_t> chosen = member.predictor.codes(ctx, kOne, X);
    const auto first = static_cast<std::size_t>(member.first), second = static_cast<std::size_t>(member.second);
    for (std::size_t i = 0; i < n_rows; ++i) {
      sums[i * width + first] -= said[i], sums[i * width + second] += said[i];
      votes[i * width + (chosen[i] ? second : first)] += 1;
    }
  }
  for (std::size_t i = 0; i < votes.size(); ++i)
    votes[i] += sums[i] / (3 * (std::abs(sums[i]) + 1));   // below half a vote
  for (std::int32_t c = 0; c < n_classes(); ++c) {
    if (std::ranges::binary_search(present_, c)) continue;
    for (std::size_t i = 0; i < n_rows; ++i) votes[i * width + static_cast<std::size_t>(c)] = kLowest;
  }
  return votes;
}

template <class T>
void OneVsOneClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                              MatrixView<double> decision) const {
  const std::vector<double> rows = votes(ctx, X);
  if (classes_.size() != 2) return upload(ctx, rows, decision);
  std::vector<double> second;
  for (std::size_t i = 0; i < rows.size(); i += 2)
    second.push_back(present_.size() == 2 ? rows[i + 1] : present_[0] == 1 ? 1.0 : -1.0);
  upload(ctx, second, decision);
}

template <class T>
std::vector<std::int32_t> OneVsOneClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return largest(votes(ctx, X), classes_.size(), static_cast<std::size_t>(X.n_rows()));
}

template <class T>
schema::ValueMap OneVsOneClassifier<T>::attributes() const {
  return {{"classes_", schema::ValueList(classes_.begin(), classes_.end())},
          {"n_classes_", std::int64_t{n_classes()}},
          {"pairwise_indices_", Value()},
          {"estimators_", attributes_of(members_)}};
}

template <class T>
void OneVsOneClassifier<T>::state(StateArchive& archive) {
  archive.field("classes", classes_, archive.n_classes());
  archive.indices("present", present_, kAnySize, 0, archive.n_classes() - 1);
  archive.expect(!present_.empty() && std::ranges::adjacent_find(present_, std::greater_equal<>()) == present_.end(),
                 "present", "is not in order");
  const std::int64_t n = static_cast<std::int64_t>(present_.size());
  if (archive.is_loading())
    for (std::int64_t pair = 0; pair < n * (n - 1) / 2; ++pair) members_.push_back({0, 0, like_.again()});
  std::size_t pair = 0;
  for (std::size_t a = 0; a < present_.size(); ++a)
    for (std::size_t b = a + 1; b < present_.size(); ++b, ++pair) {
      members_[pair].first = present_[a], members_[pair].second = present_[b];
      const StateArchive::Scope scope(archive, "pair", archive.n_features(), 2);
      members_[pair].predictor.state(archive);
    }
}

template class OneVsRestClassifier<float>;
template class OneVsRestClassifier<double>;
template class OneVsOneClassifier<float>;
template class OneVsOneClassifier<double>;

}   // namespace kedge::engine
