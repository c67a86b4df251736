// Naive Bayes on counts: encodes blocks of rows, sums them by class, smooths, and scores by a matrix product.
#include "engine/estimators/bayes/discrete_bayes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/comm/dealt_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/class_moments.h"
#include "engine/estimators/sparse_rows.h"

namespace kedge::engine {
namespace {

using P = DiscreteBayesParams;
using enum BayesKind;
constexpr std::int64_t kBlockRows = 4096;  // gathered and encoded rows stay in the cache
constexpr double kLeastAlpha = 1e-10;
constexpr double kImpossible = -1e30;  // stands for log 0 in scores: finite, so that 0 times it is 0
constexpr double kImpossibleBit =
    -1e4;                        // the same for columns of 0 and 1: small enough to leave a float the digits of the others
constexpr double kStep = 1e300;  // (x - threshold) times this, clipped to [0, 1], is 1 above the threshold and 0 elsewhere

const char* name_of(BayesKind kind) {
  switch (kind) {
    case kMultinomial:
      return "MultinomialNB";
    case kComplement:
      return "ComplementNB";
    case kBernoulli:
      return "BernoulliNB";
    case kCategorical:
      return "CategoricalNB";
  }
  return "";
}

ParamSet<P> declare(BayesKind kind) {
  ParamSet<P> set(name_of(kind));
  std::vector<schema::ParamForm> alphas{number_form(at_least(0))};
  if (kind != kCategorical) alphas.push_back(array_form());
  set.any("alpha", &P::alpha, alphas,
          kind == kCategorical ? "Added to every count." : "Added to every count; a list has one for each column.")
      .add("force_alpha", &P::force_alpha, "Take alpha as it is; else it is raised to 1e-10.");
  if (kind == kBernoulli)
    set.add("binarize", &P::binarize, at_least(0), "Values above count as 1, others as 0; null: they are 0 and 1 already.");
  set.add("fit_prior", &P::fit_prior, "Learn the classes' probabilities; else they are equal.")
      .any("class_prior", &P::class_prior, {array_form(), null_form()}, "Prior probabilities of the classes, in order.");
  if (kind == kComplement) set.add("norm", &P::norm, "Divide each class's weights by their sum.");
  if (kind == kCategorical)
    set.any("min_categories", &P::min_categories, {integer_form(at_least(1)), array_form(), null_form()},
            "Least number of categories of each column; a list has one for each column.");
  return set;
}

template <BayesKind K>
const ParamSet<P>& param_set() {
  static const ParamSet<P> set = declare(K);
  return set;
}

std::vector<double> logs(const std::vector<double>& numbers) {
  std::vector<double> result(numbers.size());
  std::transform(numbers.begin(), numbers.end(), result.begin(), [](double v) { return std::log(v); });
  return result;
}

const char* doc_of(BayesKind kind) {
  switch (kind) {
    case kMultinomial:
      return "Naive Bayes for counts, such as words of a text.";
    case kComplement:
      return "Naive Bayes for counts that learns each class from all others; for classes of unequal size.";
    case kBernoulli:
      return "Naive Bayes for columns of 0 and 1.";
    case kCategorical:
      return "Naive Bayes for columns of categories 0, 1, 2 ...";
  }
  return "";
}

}  // namespace

template <class T, BayesKind K>
DiscreteNB<T, K>::DiscreteNB(const schema::ValueMap& params) : params_(param_set<K>().parse(params)) {
  if (const auto alphas = numbers_of(params_.alpha))
    for (const double alpha : *alphas)
      if (!(alpha >= 0)) refuse_param(name_of(K), "alpha", params_.alpha, "must not have negative numbers");
  if (const auto least = numbers_of(params_.min_categories))
    for (const double n : *least)
      if (!(n >= 1) || n != std::floor(n))
        refuse_param(name_of(K), "min_categories", params_.min_categories, "must have integers of at least 1");
}

template <class T, BayesKind K>
schema::EstimatorInfo DiscreteNB<T, K>::info() {
  schema::EstimatorInfo info{
      .name = name_of(K),
      .kind = "classifier",
      .family = "naive_bayes",
      .doc = doc_of(K),
      .params = param_set<K>().infos(),
      .attributes = {"classes_", "class_count_", "class_log_prior_", "feature_log_prob_"},
      .deviations = {"With alpha = 0, a column that a class never had is impossible only where it is not 0; scikit-learn then "
                     "gives NaN."}};
  if (K == kCategorical) {
    info.attributes.insert(info.attributes.end(), {"category_count_", "n_categories_"});
    info.deviations.push_back(
        "A nominal column has the categories that the data set declares, not those of the fitted rows alone.");
  } else {
    info.attributes.push_back("feature_count_");
  }
  if (K == kComplement) info.attributes.push_back("feature_all_");
  if (K == kBernoulli) info.deviations.push_back("alpha may be a list; scikit-learn's sums do not allow it.");
  return info;
}

// What the table needs on the way into the encoding.
template <class T, BayesKind K>
Samples<T> DiscreteNB<T, K>::prepared(const Samples<T>& X) const {
  const auto d = static_cast<std::size_t>(n_features_);
  if (K == kBernoulli && params_.binarize)
    return X.then(std::vector<double>(d, *params_.binarize), std::vector<double>(d, kStep));
  if (K != kCategorical) return X;
  std::vector<double> shift(offsets_.begin(), offsets_.end() - 1);
  for (double& s : shift) s = -s;
  return X.then(shift, std::vector<double>(d, 1.0));
}

template <class T, BayesKind K>
MatrixView<const T> DiscreteNB<T, K>::encoded(const Context& ctx, const Samples<T>& prepared, std::int64_t first,
                                              std::int64_t count, Matrix<T>& values, Matrix<T>& encoding) const {
  const MatrixView<const T> block = prepared.values(ctx, first, count, values);
  if (K == kBernoulli && params_.binarize) ctx.ops<T>().tables->clip(values.view().row_range(0, count), T{0}, T{1});
  if (K != kCategorical) return block;
  if (encoding.rows() < count) encoding = Matrix<T>(ctx.memory(), count, width_);
  const MatrixView<T> out = encoding.view().row_range(0, count);
  ctx.ops<T>().categories->one_hot(block, out);
  return out;
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::check_values(const Context& ctx, const Samples<T>& X, bool is_fit) const {
  if (K == kBernoulli || (K != kCategorical && !is_fit)) return;
  const Ranges ranges = column_ranges(ctx, X);
  for (std::int64_t j = 0; j < n_features_; ++j) {
    const auto column = static_cast<std::size_t>(j);
    require(ranges.minimum[column] >= 0, schema::ErrorCode::kBadData, "{}: column {} has {}, must have no negative value",
            name_of(K), X.table->column_label(j), ranges.minimum[column]);
    if (K != kCategorical || is_fit) continue;
    const double known = static_cast<double>(offsets_[column + 1] - offsets_[column]);
    require(ranges.maximum[column] < known, schema::ErrorCode::kBadData,
            "{}: column {} has the category {}, was fitted with 0 to {}", name_of(K), X.table->column_label(j),
            std::floor(ranges.maximum[column]), known - 1);
  }
}

// Of each column: one more than its largest value, what min_categories says, and what the data set declares.
template <class T, BayesKind K>
void DiscreteNB<T, K>::set_categories(const Context& ctx, const Samples<T>& X) {
  constexpr double kMostCategories = 1 << 22;
  const Ranges ranges = column_ranges(ctx, X);
  const auto each = numbers_of(params_.min_categories);
  const auto* all = std::get_if<std::int64_t>(&params_.min_categories.data);
  if (each && static_cast<std::int64_t>(each->size()) != n_features_)
    refuse_param(name_of(K), "min_categories", params_.min_categories,
                 "must have one number for each of the " + std::to_string(n_features_) + " columns");
  offsets_.assign(1, 0);
  for (std::size_t j = 0; j < static_cast<std::size_t>(n_features_); ++j) {
    double n = std::floor(ranges.maximum[j]) + 1;
    if (each) n = std::max(n, (*each)[j]);
    if (all) n = std::max(n, static_cast<double>(*all));
    if (!X.is_affine() && !X.table->features.empty() && X.table->features[j].is_nominal)
      n = std::max(n, static_cast<double>(X.table->features[j].categories.size()));
    require(static_cast<double>(offsets_.back()) + n <= kMostCategories, schema::ErrorCode::kBadData,
            "{}: column {} has the category {}, all columns together may have {}", name_of(K),
            X.table->column_label(static_cast<std::int64_t>(j)), n - 1, kMostCategories);
    offsets_.push_back(offsets_.back() + static_cast<std::int64_t>(n));
  }
  width_ = offsets_.back();
}

// What is counted of sparse samples, without zeros: they encode as 0.
template <class T, BayesKind K>
CsrMatrix<T> DiscreteNB<T, K>::encoded_sparse(const Context& ctx, const Samples<T>& X) const {
  CsrMatrix<T> rows = copied_rows(ctx, X);
  if (K != kBernoulli || !params_.binarize) return rows;
  const MatrixView<T> entries(rows.view().values.data, rows.n_entries(), 1);
  const Array<double> threshold(ctx.memory(), std::vector<double>{*params_.binarize});
  ctx.ops<T>().maps->map_columns(ColumnMap::kAbove, threshold.view(), {}, entries, entries);
  return rows;
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::count_sparse(const Context& ctx, const Samples<T>& X, const Target& y) {
  const auto k = static_cast<std::size_t>(present_.size()), n = y.codes.size();
  std::vector<double> members(n * k, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    members[i * k + static_cast<std::size_t>(present_.positions[static_cast<std::size_t>(y.codes[i])])] = y.weights.empty() ? 1.0 : y.weights[i];
  const CsrMatrix<T> rows = encoded_sparse(ctx, X), columns = transposed(ctx, rows.view());
  const std::vector<double> counts = product(ctx, columns.view(), members, present_.size()).to_host();
  feature_count_.assign(counts.size(), 0.0);
  for (std::size_t e = 0; e < counts.size(); ++e) feature_count_[e % k * (counts.size() / k) + e / k] = counts[e];
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::predict_sparse(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const auto k = static_cast<std::size_t>(present_.size()), d = static_cast<std::size_t>(width_);
  std::vector<double> by_column(weights_.size());
  for (std::size_t e = 0; e < weights_.size(); ++e) by_column[e % d * k + e / d] = weights_[e];
  const CsrMatrix<T> rows = encoded_sparse(ctx, X);
  Matrix<double> scores = product(ctx, rows.view(), by_column, present_.size());
  const Array<double> biases(ctx.memory(), std::span<const double>(biases_));
  ctx.ops<double>().rows->add_to_rows(biases.view(), scores.view());
  spread_scores(ctx, present_, std::as_const(scores).view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::count(const Context& ctx, const Samples<T>& X, const Target& y) {
  if (X.is_sparse()) return count_sparse(ctx, X, y);
  const std::int64_t k = present_.size(), n = X.n_rows();
  const DevicePositions positions(ctx, present_, y);
  const VectorView<const double> weights = y.device_weights(ctx);
  feature_count_.assign(static_cast<std::size_t>(k * width_), 0.0);
  // What the rows of a block count.
  const auto counted = [&](MatrixView<const T> block, VectorView<const std::int32_t> rows, std::int64_t first,
                           std::int64_t size) {
    ClassMoments found = fetch_class_moments(ctx, block, rows, positions.view().slice(first, size),
                                             weights.empty() ? weights : weights.slice(first, size), k);
    for (std::size_t e = 0; e < found.mean.size(); ++e) {
      const double of_class = found.count[e / static_cast<std::size_t>(width_)];
      found.mean[e] = of_class > 0 ? of_class * found.mean[e] : 0.0;
    }
    return std::move(found.mean);
  };
  const auto add = [&](const std::vector<double>& counts) {
    for (std::size_t e = 0; e < counts.size(); ++e) feature_count_[e] += counts[e];
  };
  const Samples<T> rows = prepared(X);
  if ((K == kMultinomial || K == kComplement) && !X.is_affine())
    return add(counted(std::as_const(X.table->X).view(), X.row_view(), 0, n));
  Matrix<T> values, encoding;
  const auto each_block = [&](Part blocks, const auto& take) {
    for (std::int64_t first = blocks.begin * kBlockRows; first < std::min(n, blocks.end * kBlockRows);
         first += kBlockRows) {
      ctx.check_stop();
      const std::int64_t size = std::min(kBlockRows, n - first);
      take(counted(encoded(ctx, rows, first, size, values, encoding), {}, first, size));
    }
  };
  add_in_order(n >= kLeastDealtRows ? ranks_of_row_sums() : nullptr, (n + kBlockRows - 1) / kBlockRows, each_block,
               add);
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::set_prior(const Target& y) {
  class_count_ = class_totals(present_, y);
  const auto k = static_cast<std::size_t>(present_.size());
  if (const auto prior = numbers_of(params_.class_prior)) {
    if (prior->size() != y.classes.size())
      refuse_param(name_of(K), "class_prior", params_.class_prior,
                   "must have one number for each of the " + std::to_string(y.classes.size()) + " classes of the data");
    std::vector<double> of_present;
    for (const std::int32_t code : present_.codes) of_present.push_back((*prior)[static_cast<std::size_t>(code)]);
    class_log_prior_ = logs(of_present);
  } else if (params_.fit_prior) {
    class_log_prior_ = logs(class_count_);
    const double total = std::log(std::accumulate(class_count_.begin(), class_count_.end(), 0.0));
    for (double& p : class_log_prior_) p -= total;
  } else {
    class_log_prior_.assign(k, -std::log(static_cast<double>(k)));
  }
}

// One for each column of the encoding.
template <class T, BayesKind K>
std::vector<double> DiscreteNB<T, K>::smoothing(const Context& ctx) const {
  const auto list = numbers_of(params_.alpha);
  if (list && static_cast<std::int64_t>(list->size()) != n_features_)
    refuse_param(name_of(K), "alpha", params_.alpha,
                 "must have one number for each of the " + std::to_string(n_features_) + " columns");
  std::vector<double> alpha =
      list ? *list : std::vector<double>(static_cast<std::size_t>(width_), std::get<double>(params_.alpha.data));
  if (params_.force_alpha || *std::min_element(alpha.begin(), alpha.end()) >= kLeastAlpha) return alpha;
  ctx.warn(fmt::format("{}: alpha below {} is taken as that; force_alpha = true keeps it", name_of(K), kLeastAlpha));
  for (double& a : alpha) a = std::max(a, kLeastAlpha);
  return alpha;
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::set_probabilities(const std::vector<double>& alpha) {
  const auto k = static_cast<std::size_t>(present_.size()), q = static_cast<std::size_t>(width_);
  std::vector<double> all(q);
  for (std::size_t e = 0; e < k * q; ++e) all[e % q] += feature_count_[e];
  feature_log_prob_.assign(k * q, 0.0);
  for (std::size_t c = 0; c < k; ++c) {
    const double* const counts = feature_count_.data() + c * q;
    double* const out = feature_log_prob_.data() + c * q;
    const auto fill = [&](std::size_t begin, std::size_t end, auto&& smoothed) {  // the shares of a group that sums to 1
      double sum = 0;
      for (std::size_t j = begin; j < end; ++j) sum += smoothed(j);
      for (std::size_t j = begin; j < end; ++j) out[j] = std::log(smoothed(j)) - std::log(sum);
    };
    const auto plain = [&](std::size_t j) { return counts[j] + alpha[j]; };
    if (K == kMultinomial) fill(0, q, plain);
    if (K == kCategorical)
      for (std::size_t j = 0; j + 1 < offsets_.size(); ++j)
        fill(static_cast<std::size_t>(offsets_[j]), static_cast<std::size_t>(offsets_[j + 1]), plain);
    if (K == kBernoulli)
      for (std::size_t j = 0; j < q; ++j) out[j] = std::log(plain(j)) - std::log(class_count_[c] + 2 * alpha[j]);
    if (K == kComplement) {
      fill(0, q, [&](std::size_t j) { return all[j] + alpha[j] - counts[j]; });
      const double scale = params_.norm ? std::accumulate(out, out + q, 0.0) : -1.0;
      for (std::size_t j = 0; j < q; ++j) out[j] /= scale;
    }
  }
}

// What every class's score has in common is left out: it changes no probability, and in float it would take the digits.
template <class T, BayesKind K>
void DiscreteNB<T, K>::set_scores() {
  const auto k = static_cast<std::size_t>(present_.size()), q = static_cast<std::size_t>(width_);
  weights_ = feature_log_prob_, biases_.assign(k, 0.0);
  if (K != kComplement || k == 1) biases_ = class_log_prior_;
  for (std::size_t e = 0; K == kBernoulli && e < k * q; ++e) {
    const double absent = std::max(std::log(1 - std::exp(feature_log_prob_[e])), kImpossibleBit);
    weights_[e] = std::max(weights_[e], kImpossibleBit) - absent;
    biases_[e / q] += absent;
  }
  for (double& w : weights_) w = std::isinf(w) ? std::copysign(-kImpossible, w) : w;
  for (std::size_t j = 0; j < q; ++j) {
    double sum = 0, n = 0;
    for (std::size_t c = 0; c < k; ++c)
      if (std::abs(weights_[c * q + j]) < -kImpossible / 2) sum += weights_[c * q + j], ++n;
    for (std::size_t c = 0; n > 0 && c < k; ++c) weights_[c * q + j] -= sum / n;
  }
  const double top = *std::max_element(biases_.begin(), biases_.end());
  for (double& b : biases_) b = std::isfinite(top) ? std::max(b - top, kImpossible) : b;
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_of(K), X);
  ctx.check_stop();
  present_ = PresentClasses(ctx, y);
  n_features_ = width_ = X.n_cols();
  check_values(ctx, X, true);
  if (K == kCategorical) set_categories(ctx, X);
  count(ctx, X, y);
  set_prior(y);
  set_probabilities(smoothing(ctx));
  set_scores();
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  if (present_.size() > 0) require_fitted_columns(name_of(K), X, static_cast<std::size_t>(n_features_));
  check_values(ctx, X, false);
  if (X.is_sparse()) return predict_sparse(ctx, X, proba);
  const std::int64_t k = present_.size();
  const std::vector<T> host_weights(weights_.begin(), weights_.end()), host_biases(biases_.begin(), biases_.end());
  const Matrix<T> weights(ctx.memory(), k, width_, host_weights);
  const Array<T> biases(ctx.memory(), std::span<const T>(host_biases));
  Matrix<T> values, encoding, scores(ctx.memory(), X.n_rows(), k);
  const Samples<T> rows = prepared(X);
  for (std::int64_t first = 0; first < X.n_rows(); first += kBlockRows) {
    ctx.check_stop();
    const std::int64_t size = std::min(kBlockRows, X.n_rows() - first);
    ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, encoded(ctx, rows, first, size, values, encoding),
                              weights.view(), T{0}, scores.view().row_range(first, size));
  }
  ctx.ops<T>().rows->add_to_rows(biases.view(), scores.view());
  spread_scores(ctx, present_, std::as_const(scores).view(), -std::numeric_limits<double>::infinity(), proba);
  ctx.ops<double>().rows->softmax_rows(proba);
}

// classes x width_: for categorical input a list with a matrix for each column.
template <class T, BayesKind K>
schema::Value DiscreteNB<T, K>::by_column(const std::vector<double>& numbers) const {
  if (K != kCategorical) return rows_value(numbers, width_);
  schema::ValueList columns;
  for (std::size_t j = 0; j + 1 < offsets_.size(); ++j) {
    std::vector<double> cells;
    for (std::int64_t c = 0; c < present_.size(); ++c)
      cells.insert(cells.end(), numbers.begin() + c * width_ + offsets_[j], numbers.begin() + c * width_ + offsets_[j + 1]);
    columns.push_back(rows_value(cells, offsets_[j + 1] - offsets_[j]));
  }
  return columns;
}

template <class T, BayesKind K>
schema::ValueMap DiscreteNB<T, K>::attributes() const {
  schema::ValueMap attributes{{"classes_", present_.names_value()},
                              {"class_count_", class_count_},
                              {"class_log_prior_", class_log_prior_},
                              {"feature_log_prob_", by_column(feature_log_prob_)},
                              {K == kCategorical ? "category_count_" : "feature_count_", by_column(feature_count_)}};
  if (K == kCategorical) {
    std::vector<double> sizes;
    for (std::size_t j = 0; j + 1 < offsets_.size(); ++j) sizes.push_back(static_cast<double>(offsets_[j + 1] - offsets_[j]));
    attributes.emplace_back("n_categories_", sizes);
  }
  if (K == kComplement) {
    std::vector<double> all(static_cast<std::size_t>(width_));
    for (std::size_t e = 0; e < feature_count_.size(); ++e) all[e % all.size()] += feature_count_[e];
    attributes.emplace_back("feature_all_", all);
  }
  return attributes;
}

template <class T, BayesKind K>
void DiscreteNB<T, K>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  const std::int64_t k = present_.size();
  if (K == kCategorical) {
    archive.indices("offsets", offsets_, n_features_ + 1, 0, kMaxSize);
    archive.expect(offsets_[0] == 0 && std::is_sorted(offsets_.begin(), offsets_.end()), "offsets", "is not in order");
  }
  if (archive.is_loading()) width_ = K == kCategorical ? offsets_.back() : n_features_;
  archive.field("class_count", class_count_, k);
  archive.field("class_log_prior", class_log_prior_, k);
  archive.field("feature_count", feature_count_, k, width_);
  archive.field("feature_log_prob", feature_log_prob_, k, width_);
  archive.field("weights", weights_, k, width_);
  archive.field("biases", biases_, k);
}

template class DiscreteNB<float, kMultinomial>;
template class DiscreteNB<double, kMultinomial>;
template class DiscreteNB<float, kComplement>;
template class DiscreteNB<double, kComplement>;
template class DiscreteNB<float, kBernoulli>;
template class DiscreteNB<double, kBernoulli>;
template class DiscreteNB<float, kCategorical>;
template class DiscreteNB<double, kCategorical>;

}  // namespace kedge::engine
