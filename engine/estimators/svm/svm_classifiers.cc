// SVC and NuSVC: rows by class, a problem for each pair, votes.
#include "engine/estimators/svm/svm_classifiers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"
#include "engine/estimators/svm/smo_device.h"

namespace kedge::engine {
namespace {

using P = SvmClassifierParams;
constexpr std::int64_t kFolds = 5;   // of the decisions that probabilities are fitted to
constexpr std::int64_t kMostTogether = 512;

ParamSet<P>& add_classifier_params(ParamSet<P>& set) {
  add_svm_params(set)
      .any("probability", &P::probability, {boolean_form(), string_form({"deprecated"})},
           "Whether predict_proba is there: five more fits for each pair of classes; deprecated means false.")
      .any("class_weight", &P::class_weight, class_weight_forms(),
           "Factor of C of each class: an object by class name, balanced, or null for 1 each. NuSVC does not read it.")
      .add("decision_function_shape", &P::decision_function_shape, {"ovr", "ovo"},
           "ovo is accepted for predictions; decision values have a column for each class in any case.")
      .add("break_ties", &P::break_ties,
           "Whether predict takes the largest decision value where classes have equal votes.")
      .random_state(&P::random_state);
  return set;
}

const ParamSet<P>& svc_params() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made("SVC");
    made.add("C", &P::C, above(0), "Upper bound of a multiplier: the larger, the fewer errors are accepted.");
    return add_classifier_params(made);
  }();
  return set;
}

const ParamSet<P>& nu_svc_params() {
  static const ParamSet<P> set = [] {
    ParamSet<P> made("NuSVC");
    made.add("nu", &P::nu, above_up_to(0, 1),
             "Share of errors of the margin at most, and of support vectors at least.");
    return add_classifier_params(made);
  }();
  return set;
}

void check(const char* owner, const P& params) {
  check_class_weight(owner, params.class_weight);
  if (params.break_ties && params.decision_function_shape == "ovo")
    refuse_param(owner, "break_ties", true, "which needs decision_function_shape \"ovr\"");
}

// What divides multipliers and decisions of NuSVC, and the threshold, both from the thresholds of the signs.
struct Scale {
  double divisor = 1, intercept = 0;
};
Scale scale_of(const SmoResult& result, bool is_nu) {
  const double middle = (result.threshold[0] + result.threshold[1]) / 2;
  if (!is_nu) return {1, middle};
  const double r = (result.threshold[1] - result.threshold[0]) / 2;
  return {r, middle / r};
}

// Where NuSVC's multipliers start: as large as they may be, until each sign has half of nu times the bounds.
void start_nu(SmoProblem& problem, double nu) {
  double total = 0;
  for (const double C : problem.C) total += nu * C;
  double left[2] = {total / 2, total / 2};
  for (std::size_t t = 0; t < problem.size(); ++t) {
    double& of_sign = left[problem.y[t] > 0 ? 0 : 1];
    problem.alpha[t] = std::min(problem.C[t], of_sign);
    of_sign -= problem.alpha[t];
  }
}

}   // namespace

template <class T>
SvmClassifier<T>::SvmClassifier(const char* name, bool is_nu, SvmClassifierParams params)
    : name_(name), is_nu_(is_nu), params_(std::move(params)) {
  check(name_, params_);
}

template <class T>
typename SvmClassifier<T>::Sorted SvmClassifier<T>::sorted(const Target& y) const {
  Sorted rows;
  for (std::size_t c = 0; c < present_.codes.size(); ++c) {
    rows.first.push_back(static_cast<std::int64_t>(rows.order.size()));
    const double of_class = is_nu_ ? 1.0 : params_.C * (class_weight_.empty() ? 1.0 : class_weight_[c]);
    for (std::size_t i = 0; i < y.codes.size(); ++i) {
      const double weight = y.weights.empty() ? 1.0 : y.weights[i];
      if (y.codes[i] != present_.codes[c] || weight == 0) continue;
      rows.order.push_back(static_cast<std::int64_t>(i)), rows.C.push_back(weight * of_class);
    }
    require(rows.first.back() < static_cast<std::int64_t>(rows.order.size()), schema::ErrorCode::kBadData,
            "{}: all rows of class \"{}\" weigh 0", name_, present_.names[c]);
  }
  rows.first.push_back(static_cast<std::int64_t>(rows.order.size()));
  return rows;
}

template <class T>
std::vector<typename SvmClassifier<T>::Pair> SvmClassifier<T>::pairs(const Sorted& rows) const {
  std::vector<Pair> all;
  for (std::size_t a = 0; a + 1 < rows.first.size(); ++a)
    for (std::size_t b = a + 1; b + 1 < rows.first.size(); ++b)
      all.push_back(
          {a, b, rows.first[a], rows.first[a + 1] - rows.first[a], rows.first[b], rows.first[b + 1] - rows.first[b]});
  return all;
}

template <class T>
void SvmClassifier<T>::check_nu(const Target& y, const Sorted& rows) const {
  if (!is_nu_) return;
  for (const Pair& pair : pairs(rows)) {
    const auto sum = [&](std::int64_t first, std::int64_t count) {
      return std::accumulate(rows.C.begin() + first, rows.C.begin() + first + count, 0.0);
    };
    const double a = sum(pair.first_a, pair.n_a), b = sum(pair.first_b, pair.n_b), most = 2 * std::min(a, b) / (a + b);
    require(params_.nu <= most, schema::ErrorCode::kBadData,
            "{}: nu is {}, must be at most {:.6g} for the rows of the classes \"{}\" and \"{}\"", name_, params_.nu,
            most, y.classes[static_cast<std::size_t>(present_.codes[pair.a])],
            y.classes[static_cast<std::size_t>(present_.codes[pair.b])]);
  }
}

// The pair's rows are at first_a and first_b of the kernel's.
template <class T>
SmoProblem SvmClassifier<T>::problem(const Sorted& rows, const Pair& pair, std::int64_t first_a,
                                     std::int64_t first_b) const {
  SmoProblem made{.ranges = {{first_a, pair.n_a}, {first_b, pair.n_b}}, .by_sign = is_nu_};
  for (std::int64_t i = 0; i < pair.size(); ++i) {
    const bool is_first = i < pair.n_a;
    made.row.push_back(static_cast<std::int32_t>(i)), made.y.push_back(is_first ? 1 : -1);
    made.C.push_back(rows.C[static_cast<std::size_t>(is_first ? pair.first_a + i : pair.first_b + i - pair.n_a)]);
    made.offset.push_back(is_nu_ ? 0 : made.y.back());
  }
  made.alpha.resize(made.size());
  return made;
}

template <class T>
template <class Kernel>
SmoResult SvmClassifier<T>::solved(Kernel& kernel, SmoProblem& problem) const {
  if (is_nu_) start_nu(problem, params_.nu);
  return solve_smo(kernel, problem, smo_options(params_));
}

// Decisions of each row by a fit without its fold: the fold's rows have no room for a multiplier, and so they only get
// a value.
template <class T>
template <class Kernel>
Sigmoid SvmClassifier<T>::calibrated(Kernel& kernel, const SmoProblem& problem, std::uint32_t seed) const {
  const auto n = static_cast<std::int64_t>(problem.size());
  const std::vector<std::int64_t> order = fold_order(seed, n);
  std::vector<double> decisions(problem.size());
  for (std::int64_t fold = 0; fold < kFolds; ++fold) {
    SmoProblem rest = problem;
    const std::int64_t begin = fold * n / kFolds, end = (fold + 1) * n / kFolds;
    for (std::int64_t i = begin; i < end; ++i) rest.C[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = 0;
    std::int64_t count[2] = {0, 0};   // of the first class and of the second
    for (std::size_t t = 0; t < rest.size(); ++t)
      if (rest.C[t] > 0) ++count[rest.y[t] > 0 ? 0 : 1];
    SmoResult result;
    Scale scale;
    if (count[0] > 0 && count[1] > 0) result = solved(kernel, rest), scale = scale_of(result, is_nu_);
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
      if (count[0] > 0 && count[1] > 0) decisions[at] = result.values[at] / scale.divisor + scale.intercept;
      else decisions[at] = count[0] > 0 ? 1 : (count[1] > 0 ? -1 : 0);
    }
  }
  return fit_sigmoid(decisions, problem.y);
}

template <class T>
void SvmClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_, X);
  ctx.check_stop();
  present_ = PresentClasses(y);
  require(present_.size() >= 2, schema::ErrorCode::kBadData, "{}: got {} class, needs at least 2", name_,
          present_.size());
  if (params_.decision_function_shape == "ovo" && present_.size() > 2)
    ctx.warn(std::string(name_) +
             ": decision values have a column for each class, though decision_function_shape is ovo");
  class_weight_ = class_weights(name_, params_.class_weight, present_, {.codes = y.codes, .classes = y.classes});
  const Sorted rows = sorted(y);
  check_nu(y, rows);
  const std::vector<Pair> all = pairs(rows);
  const auto n = static_cast<std::int64_t>(rows.order.size());
  const KernelChoice choice = svm_kernel(ctx, params_, X);
  const auto drawn = static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed)));
  const auto seed =
      static_cast<std::uint32_t>(LegacyRandom(drawn).interval(std::numeric_limits<std::int32_t>::max() - 1));
  std::vector<SmoResult> results(all.size());
  probA_.clear(), probB_.clear();
  std::vector<Sigmoid> sigmoids(params_.has_proba() ? all.size() : 0);
  const auto solve = [&](std::size_t p, auto& kernel, std::int64_t first_a, std::int64_t first_b) {
    SmoProblem pair = problem(rows, all[p], first_a, first_b);
    results[p] = solved(kernel, pair);
    if (params_.has_proba()) sigmoids[p] = calibrated(kernel, pair, seed);
  };
  bool in_double = false;
  SupportVectorOps* const ops = support_vector_ops(ctx.device);
  const auto is_solved_there = [&](const Pair& pair) { return ops && pair.size() > kWholeProblem; };
  if (std::ranges::none_of(all, is_solved_there) && (all.size() > 1 || n <= kWholeProblem) &&
      n * n * static_cast<std::int64_t>(sizeof(float)) <= cache_bytes(params_)) {
    const auto kernel = shared_kernel(ctx, X.content, name_, params_, [&] {
      Matrix<T> scratch;
      auto made = std::make_shared<KernelRows>(ctx, choice, selected_rows(ctx, X, rows.order).values(ctx, scratch),
                                               params_.tol, cache_bytes(params_), n);
      made->load_all();
      return made;
    });
    in_double = kernel->is_double();
    side_by_side(static_cast<std::int64_t>(all.size()), [&](std::int64_t p) {
      const Pair& pair = all[static_cast<std::size_t>(p)];
      solve(static_cast<std::size_t>(p), *kernel, pair.first_a, pair.first_b);
    });
  } else {
    for (std::size_t p = 0; p < all.size(); ++p) {
      const Pair& pair = all[p];
      std::vector<std::int64_t> some(rows.order.begin() + pair.first_a, rows.order.begin() + pair.first_a + pair.n_a);
      some.insert(some.end(), rows.order.begin() + pair.first_b, rows.order.begin() + pair.first_b + pair.n_b);
      const Samples<T> of_pair = selected_rows(ctx, X, some);
      Matrix<T> scratch;
      if (is_solved_there(pair)) {
        DeviceRows kernel(ctx, *ops, choice, of_pair.values(ctx, scratch), params_.tol, cache_bytes(params_));
        in_double = in_double || kernel.is_double();
        solve(p, kernel, 0, pair.n_a);
        ctx.progress("pairs", static_cast<std::int64_t>(p) + 1, static_cast<std::int64_t>(all.size()), "pairs");
        continue;
      }
      const auto make = [&] {
        return std::make_shared<KernelRows>(ctx, choice, of_pair.values(ctx, scratch), params_.tol,
                                            cache_bytes(params_),
                                            pair.size() <= kWholeProblem ? pair.size() : kMostTogether);
      };
      const auto kernel = all.size() == 1 ? shared_kernel(ctx, X.content, name_, params_, make) : make();
      in_double = in_double || kernel->is_double();
      solve(p, *kernel, 0, pair.n_a);
      ctx.progress("pairs", static_cast<std::int64_t>(p) + 1, static_cast<std::int64_t>(all.size()), "pairs");
    }
  }
  for (const Sigmoid& s : sigmoids) probA_.push_back(s.A), probB_.push_back(s.B);
  model_.begin(name_, choice, in_double, X.n_rows(), X.n_cols());
  keep(ctx, X, rows, all, results);
}

template <class T>
void SvmClassifier<T>::keep(const Context& ctx, const Samples<T>& X, const Sorted& rows, const std::vector<Pair>& pairs,
                            const std::vector<SmoResult>& results) {
  const std::size_t k = present_.codes.size(), width = k - 1, n = rows.order.size();
  std::vector<double> dual(width * n, 0.0);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const Pair& pair = pairs[p];
    const Scale scale = scale_of(results[p], is_nu_);
    require(scale.divisor > 0 && std::isfinite(scale.intercept), schema::ErrorCode::kBadData,
            "{}: the margin of the classes \"{}\" and \"{}\" is not above 0; take another nu or kernel", name_,
            present_.names[pair.a], present_.names[pair.b]);
    for (std::int64_t i = 0; i < pair.size(); ++i) {
      const bool is_first = i < pair.n_a;
      const double alpha = results[p].alpha[static_cast<std::size_t>(i)] / scale.divisor;
      const auto at = static_cast<std::size_t>(is_first ? pair.first_a + i : pair.first_b + i - pair.n_a);
      dual[(is_first ? pair.b - 1 : pair.a) * n + at] = is_first ? alpha : -alpha;
    }
    model_.intercept.push_back(scale.intercept), model_.add_fit(results[p]);
  }
  std::vector<std::int64_t> support, first;
  std::vector<std::size_t> places;
  n_support_.assign(k, 0.0);
  for (std::size_t c = 0; c < k; ++c) {
    if (k > 2 || c == 0) first.push_back(static_cast<std::int64_t>(places.size()));
    for (auto i = static_cast<std::size_t>(rows.first[c]); i < static_cast<std::size_t>(rows.first[c + 1]); ++i) {
      bool is_support = false;
      for (std::size_t w = 0; w < width; ++w) is_support = is_support || dual[w * n + i] != 0;
      if (is_support) places.push_back(i), support.push_back(rows.order[i]), ++n_support_[c];
    }
  }
  std::vector<double> coefs;
  for (std::size_t w = 0; w < width; ++w)
    for (const std::size_t i : places) coefs.push_back(dual[w * n + i]);
  model_.set_support(ctx, X, std::move(support), std::move(coefs), static_cast<std::int64_t>(width), std::move(first));
  warn_of_fits(ctx, name_, params_, results);
}

template <class T>
template <class Take>
void SvmClassifier<T>::visit(const Context& ctx, const Samples<T>& X, const Take& take) const {
  const auto k = static_cast<std::size_t>(present_.size()), width = k - 1;
  std::vector<double> decisions(k * width / 2);
  model_.products(ctx, name_, X, [&](std::int64_t first, std::int64_t rows, const std::vector<double>& sums) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
      if (k == 2) decisions[0] = sums[i] + model_.intercept[0];
      const double* const of_row = sums.data() + i * k * width;
      for (std::size_t a = 0, p = 0; k > 2 && a < k; ++a)
        for (std::size_t b = a + 1; b < k; ++b, ++p)
          decisions[p] = of_row[a * width + b - 1] + of_row[b * width + a] + model_.intercept[p];
      take(static_cast<std::size_t>(first) + i, decisions);
    }
  });
}

// Votes, and within a third of a vote what the decisions add up to.
template <class T>
std::vector<double> SvmClassifier<T>::one_a_class(const std::vector<double>& decisions) const {
  const auto k = static_cast<std::size_t>(present_.size());
  std::vector<double> votes(k, 0.0), sums(k, 0.0);
  for (std::size_t a = 0, p = 0; a < k; ++a)
    for (std::size_t b = a + 1; b < k; ++b, ++p) {
      sums[a] += decisions[p], sums[b] -= decisions[p];
      votes[decisions[p] < 0 ? b : a] += 1;
    }
  for (std::size_t c = 0; c < k; ++c) votes[c] += sums[c] / (3 * (std::abs(sums[c]) + 1));
  return votes;
}

template <class T>
void SvmClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X, MatrixView<double> decision) const {
  const auto k = static_cast<std::size_t>(present_.size()), all = static_cast<std::size_t>(decision.cols);
  std::vector<double> values(static_cast<std::size_t>(X.n_rows()) * all, -std::numeric_limits<double>::infinity());
  visit(ctx, X, [&](std::size_t row, const std::vector<double>& decisions) {
    double* const to = values.data() + row * all;
    if (all == 1) {
      *to = -decisions[0];
      return;
    }
    const std::vector<double> of_class =
        k == 2 ? std::vector<double>{decisions[0], -decisions[0]} : one_a_class(decisions);
    for (std::size_t c = 0; c < k; ++c) to[present_.codes[c]] = of_class[c];
  });
  require(decision.stride == decision.cols, schema::ErrorCode::kInternal, "{}: decisions need a matrix without padding",
          name_);
  if (!values.empty()) ctx.memory().to_device(decision.data, values.data(), values.size() * sizeof(double));
}

template <class T>
void SvmClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const auto k = static_cast<std::size_t>(present_.size()), all = static_cast<std::size_t>(proba.cols);
  std::vector<double> values(static_cast<std::size_t>(X.n_rows()) * all, 0.0), between(k * k);
  visit(ctx, X, [&](std::size_t row, const std::vector<double>& decisions) {
    for (std::size_t a = 0, p = 0; a < k; ++a)
      for (std::size_t b = a + 1; b < k; ++b, ++p) {
        between[a * k + b] = Sigmoid{probA_[p], probB_[p]}(decisions[p]);
        between[b * k + a] = 1 - between[a * k + b];
      }
    const std::vector<double> shares = couple_pairs(between, k);
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (std::size_t c = 0; c < k; ++c)
      values[row * all + static_cast<std::size_t>(present_.codes[c])] = shares[c] / total;
  });
  require(proba.stride == proba.cols, schema::ErrorCode::kInternal, "{}: probabilities need a matrix without padding",
          name_);
  if (!values.empty()) ctx.memory().to_device(proba.data, values.data(), values.size() * sizeof(double));
}

template <class T>
std::vector<std::int32_t> SvmClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  const auto k = static_cast<std::size_t>(present_.size());
  std::vector<std::int32_t> codes(static_cast<std::size_t>(X.n_rows()));
  std::vector<double> votes(k);
  visit(ctx, X, [&](std::size_t row, const std::vector<double>& decisions) {
    std::ranges::fill(votes, 0.0);
    for (std::size_t a = 0, p = 0; a < k; ++a)
      for (std::size_t b = a + 1; b < k; ++b, ++p) votes[decisions[p] > 0 ? a : b] += 1;
    if (params_.break_ties && k > 2) votes = one_a_class(decisions);
    codes[row] = present_.codes[static_cast<std::size_t>(std::ranges::max_element(votes) - votes.begin())];
  });
  return codes;
}

template <class T>
schema::ValueMap SvmClassifier<T>::attributes() const {
  const bool is_binary = present_.size() == 2;   // scikit-learn shows them with the sign of its decision function
  schema::ValueMap map = model_.attributes(is_binary ? -1 : 1, true);
  map.insert(map.begin(), {"classes_", present_.names_value()});
  map.emplace_back("n_support_", n_support_);
  map.emplace_back("class_weight_",
                   class_weight_.empty() ? std::vector<double>(present_.codes.size(), 1.0) : class_weight_);
  map.emplace_back("probA_", probA_), map.emplace_back("probB_", probB_);
  return map;
}

template <class T>
std::vector<std::string> SvmClassifier<T>::attribute_names() {
  std::vector<std::string> names = SvmModel<T>::attribute_names();
  names.insert(names.begin(), "classes_");
  names.insert(names.end(), {"class_weight_", "probA_", "probB_"});
  return names;
}

template <class T>
void SvmClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  const std::int64_t k = present_.size(), pairs = k * (k - 1) / 2;
  archive.expect(k >= 2, "classes", "has fewer than 2");
  model_.state(archive, k > 2 ? k : 1, k - 1, pairs);
  archive.field("n_support", n_support_, k);
  archive.field("class_weight", class_weight_, kAnySize);
  archive.expect(class_weight_.empty() || static_cast<std::int64_t>(class_weight_.size()) == k, "class_weight",
                 "does not have one number a class");
  archive.field("probA", probA_, params_.has_proba() ? pairs : 0);
  archive.field("probB", probB_, params_.has_proba() ? pairs : 0);
}

template <class T>
SVC<T>::SVC(const schema::ValueMap& params) : SvmClassifier<T>("SVC", false, svc_params().parse(params)) {}

template <class T>
NuSVC<T>::NuSVC(const schema::ValueMap& params) : SvmClassifier<T>("NuSVC", true, nu_svc_params().parse(params)) {}

constexpr const char* kShape =
    "decision_function has a column for each class (decision_function_shape ovr) whatever decision_function_shape is.";

template <class T>
schema::EstimatorInfo SVC<T>::info() {
  return {.name = "SVC",
          .kind = "classifier",
          .family = "svm",
          .doc = "Support vector machine with a kernel, one for each pair of classes.",
          .params = svc_params().infos(),
          .attributes = SVC::attribute_names(),
          .deviations = svm_deviations({kShape})};
}

template <class T>
schema::EstimatorInfo NuSVC<T>::info() {
  return {.name = "NuSVC",
          .kind = "classifier",
          .family = "svm",
          .doc = "Support vector machine whose share of support vectors is set.",
          .params = nu_svc_params().infos(),
          .attributes = NuSVC::attribute_names(),
          .deviations = svm_deviations({kShape})};
}

template class SvmClassifier<float>;
template class SvmClassifier<double>;
template class SVC<float>;
template class SVC<double>;
template class NuSVC<float>;
template class NuSVC<double>;

}   // namespace kedge::engine
