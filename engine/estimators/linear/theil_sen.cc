// TheilSenRegressor: subsets, their lines, and the point in the middle of these.
#include "engine/estimators/linear/theil_sen.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = TheilSenParams;
using Vector = std::vector<double>;
constexpr const char* kName = "TheilSenRegressor";
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kIllConditioned = 1e-8;   // smallest by largest pivot: singular values decide what is 0
constexpr std::int64_t kFetched = std::int64_t{1} << 20;   // cells of subsets on the host at a time: 8 MB
constexpr std::int64_t kTogether = 64;                     // subsets that one thread takes

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept.")
          .add("max_subpopulation", &P::max_subpopulation, between(1, 1e8), "Largest number of subsets.")
          .add("n_subsamples", &P::n_subsamples, at_least(1), "Rows of a subset; null: as many as coefficients.")
          .add("max_iter", &P::max_iter, at_least(0), "Largest number of iterations for the median.")
          .add("tol", &P::tol, at_least(0), "Stop when the median moves by less.")
          .random_state(&P::random_state)
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .ignore("verbose", false, {boolean_form(), integer_form()});
  return set;
}

// n over k, as far as double goes.
double combinations(std::int64_t n, std::int64_t k) {
  double count = 1;
  for (std::int64_t i = 0; i < std::min(k, n - k) && std::isfinite(count); ++i)
    count = count * static_cast<double>(n - i) / static_cast<double>(i + 1);
  return std::max(1.0, std::nearbyint(count));
}

// Rows of a subset, and behind them those of zeros where coefficients are more, reduced to a triangle R (p x p) and to
// z.
struct Triangle {
  Vector R, z;
  bool is_good = false;
};
Triangle reduced(Vector A, Vector b, std::size_t p) {
  const std::size_t rows = b.size();
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t k = 0; k < p; ++k) {
    double norm = 0;
    for (std::size_t i = k; i < rows; ++i) norm += A[i * p + k] * A[i * p + k];
    norm = std::sqrt(norm);
    least = std::min(least, norm), most = std::max(most, norm);
    if (norm == 0) continue;
    const double pivot = A[k * p + k] > 0 ? -norm : norm;
    Vector v(rows - k);
    for (std::size_t i = k; i < rows; ++i) v[i - k] = A[i * p + k];
    v[0] -= pivot;
    const double length = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    Vector along(p - k, 0.0);
    double along_b = 0;
    for (std::size_t i = k; i < rows; ++i) {
      for (std::size_t j = k; j < p; ++j) along[j - k] += v[i - k] * A[i * p + j];
      along_b += v[i - k] * b[i];
    }
    for (std::size_t i = k; i < rows; ++i) {
      const double factor = 2 * v[i - k] / length;
      for (std::size_t j = k; j < p; ++j) A[i * p + j] -= factor * along[j - k];
      b[i] -= factor * along_b;
    }
    A[k * p + k] = pivot;
    for (std::size_t i = k + 1; i < rows; ++i) A[i * p + k] = 0;
  }
  A.resize(p * p), b.resize(p);
  return {std::move(A), std::move(b), least > kIllConditioned * most};
}

// Lines of these subsets of rows (n_subsets x size), subsets x p with the intercept first.
template <class T>
Vector lines_of(const Context& ctx, const Samples<T>& X, const Target& y, std::span<const std::int32_t> subsets,
                std::int64_t size, bool fit_intercept) {
  const std::size_t d = static_cast<std::size_t>(X.n_cols()), s = static_cast<std::size_t>(size),
                    ones = fit_intercept ? 1 : 0;
  const std::size_t p = d + ones, count = subsets.size() / s, rows = std::max(s, p);
  const Vector values = host_values(ctx, rows_at(ctx, X, subsets));
  Vector lines(count * p);
  std::vector<Triangle> bad(count);
  const auto solve = [&](std::size_t i) {
    Vector A(rows * p, 0.0), b(rows, 0.0);
    for (std::size_t r = 0; r < s; ++r) {
      if (fit_intercept) A[r * p] = 1;
      const double* const row = values.data() + (i * s + r) * d;
      for (std::size_t j = 0; j < d; ++j) A[r * p + ones + j] = row[j];
      b[r] = y.values[static_cast<std::size_t>(subsets[i * s + r])];
    }
    Triangle triangle = reduced(std::move(A), std::move(b), p);
    if (!triangle.is_good) return void(bad[i] = std::move(triangle));
    const Vector line = back_substitute(triangle.R, triangle.z);
    std::ranges::copy(line, lines.begin() + static_cast<std::ptrdiff_t>(i * p));
  };
  side_by_side((static_cast<std::int64_t>(count) + kTogether - 1) / kTogether, [&](std::int64_t part) {
    const auto first = static_cast<std::size_t>(part * kTogether);
    for (std::size_t i = first; i < std::min(count, first + kTogether); ++i) solve(i);
  });
  const Vector one(p, 1.0);
  for (std::size_t i = 0; i < count; ++i) {
    if (bad[i].R.empty()) continue;
    ctx.check_stop();
    std::int64_t rank = 0;
    const Vector line = shortest_solution(ctx, bad[i].R, bad[i].z, one, kEps, rank);
    std::ranges::copy(line, lines.begin() + static_cast<std::ptrdiff_t>(i * p));
  }
  return lines;
}

// A step towards the point with the least sum of distances. Source: Vardi and Zhang, "The multivariate L1-median and
// associated data depth", PNAS 97(4), 2000.
Vector weiszfeld(const Vector& points, const Vector& at) {
  const std::size_t p = at.size();
  Vector pull(p, 0.0), sum(p, 0.0), off(p);
  double weights = 0;
  bool is_point = false;
  for (std::size_t first = 0; first < points.size(); first += p) {
    double square = 0;
    for (std::size_t j = 0; j < p; ++j) off[j] = points[first + j] - at[j], square += off[j] * off[j];
    const double distance = std::sqrt(square);
    if (!(distance >= kEps)) {
      is_point = true;
      continue;
    }
    weights += 1 / distance;
    for (std::size_t j = 0; j < p; ++j) pull[j] += off[j] / distance, sum[j] += points[first + j] / distance;
  }
  const double force = std::sqrt(std::inner_product(pull.begin(), pull.end(), pull.begin(), 0.0));
  const bool is_pulled = force > kEps;
  const double stay = is_point ? 1 / (is_pulled ? force : 1.0) : 0.0;
  Vector next(p);
  for (std::size_t j = 0; j < p; ++j)
    next[j] = std::max(0.0, 1 - stay) * (is_pulled ? sum[j] / weights : 1.0) + std::min(1.0, stay) * at[j];
  return next;
}

double median(Vector values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return values.size() % 2 == 1 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}   // namespace

template <class T>
TheilSenRegressor<T>::TheilSenRegressor(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo TheilSenRegressor<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "linear_model",
          .doc = "Robust linear regression: the spatial median of fits to small subsets of the rows.",
          .params = param_set().infos(),
          .attributes = {"breakdown_", "coef_", "intercept_", "n_iter_", "n_subpopulation_"},
          .deviations = {"max_subpopulation is at most 1e8.", "float32 input is solved in double."}};
}

template <class T>
MemoryNeed TheilSenRegressor<T>::memory(const SampleShape& X, const schema::Step& step) {
  const schema::Value* const most = find_value(step.params, "max_subpopulation");
  const double* number = most ? std::get_if<double>(&most->data) : nullptr;
  const auto count = static_cast<std::int64_t>(std::clamp(number ? *number : 1e4, 1.0, 1e8));
  const std::int64_t p = X.cols + 1, size = std::max<std::int64_t>(memory::integer(step, "n_subsamples", p), 1);
  return {.work = memory::answers(X) + X.copy() + bytes_of(count, p + size, memory::kDouble) +
                  3 * (kFetched + size * p) * memory::kDouble + bytes_of(X.rows, 3, memory::kDouble)};
}

template <class T>
std::int64_t TheilSenRegressor<T>::subset_size(std::int64_t n_rows, std::int64_t n_cols) const {
  const std::int64_t p = n_cols + (params_.fit_intercept ? 1 : 0);
  if (!params_.n_subsamples) return std::min(p, n_rows);
  const std::int64_t size = *params_.n_subsamples;
  using enum schema::ErrorCode;
  require(size <= n_rows, kBadData, "{}: n_subsamples is {}, must be at most the {} rows", kName, size, n_rows);
  require(n_rows < n_cols || size >= p, kBadData, "{}: n_subsamples is {}, must be at least the {} coefficients", kName,
          size, p);
  require(n_rows >= n_cols || size == n_rows, kBadData,
          "{}: n_subsamples is {}, must be the {} rows where columns are more than these", kName, size, n_rows);
  return size;
}

// All subsets in lexicographic order where they are few, otherwise numpy's choices without replacement.
template <class T>
std::vector<std::int32_t> TheilSenRegressor<T>::subsets(const Context& ctx, std::int64_t n_rows, std::int64_t size) {
  std::vector<std::int32_t> all;
  const double count = combinations(n_rows, size);
  n_subpopulation_ = static_cast<std::int64_t>(std::min(params_.max_subpopulation, count));
  all.reserve(static_cast<std::size_t>(n_subpopulation_ * size));
  if (count <= params_.max_subpopulation) {
    std::vector<std::int32_t> one(static_cast<std::size_t>(size));
    std::iota(one.begin(), one.end(), 0);
    while (true) {
      all.insert(all.end(), one.begin(), one.end());
      std::size_t i = one.size();
      while (i > 0 && one[i - 1] == static_cast<std::int32_t>(n_rows) - static_cast<std::int32_t>(one.size() - i) - 1)
        --i;
      if (i == 0) return all;
      std::iota(one.begin() + static_cast<std::ptrdiff_t>(i - 1), one.end(), one[i - 1] + 1);
    }
  }
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n_rows));
  for (std::int64_t i = 0; i < n_subpopulation_; ++i) {
    if (i % 64 == 0) ctx.check_stop();
    std::iota(rows.begin(), rows.end(), 0);
    random.shuffle(std::span<std::int32_t>(rows));
    all.insert(all.end(), rows.begin(), rows.begin() + size);
  }
  return all;
}

template <class T>
void TheilSenRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  const std::int64_t n = X.n_rows(), size = subset_size(n, X.n_cols());
  const std::vector<std::int32_t> all = subsets(ctx, n, size);
  const auto rows = static_cast<double>(n), s = static_cast<double>(size);
  breakdown_ = 1 - (std::pow(0.5, 1 / s) * (rows - s + 1) + s - 1) / rows;
  const std::size_t p = static_cast<std::size_t>(X.n_cols()) + (params_.fit_intercept ? 1 : 0);
  const std::int64_t step = std::max<std::int64_t>(1, kFetched / (size * static_cast<std::int64_t>(p)));
  Vector lines;
  lines.reserve(all.size() / static_cast<std::size_t>(size) * p);
  for (std::int64_t first = 0; first < n_subpopulation_; first += step) {
    ctx.check_stop();
    const auto own = std::span(all).subspan(static_cast<std::size_t>(first * size),
                                            static_cast<std::size_t>(std::min(step, n_subpopulation_ - first) * size));
    const Vector found = lines_of(ctx, X, y, own, size, params_.fit_intercept);
    lines.insert(lines.end(), found.begin(), found.end());
    ctx.progress("subsets", std::min(first + step, n_subpopulation_), n_subpopulation_, "subsets");
  }
  Vector middle(p, 0.0);
  if (p == 1) {
    middle[0] = median(lines), n_iter_ = 1;
  } else {
    for (std::size_t e = 0; e < lines.size(); ++e)
      middle[e % p] += lines[e] * static_cast<double>(p) / static_cast<double>(lines.size());
    bool is_still = false;
    for (n_iter_ = 0; n_iter_ < params_.max_iter; ++n_iter_) {
      ctx.check_stop();
      Vector next = weiszfeld(lines, middle);
      double moved = 0;
      for (std::size_t j = 0; j < p; ++j) moved += (next[j] - middle[j]) * (next[j] - middle[j]);
      middle = std::move(next);
      if ((is_still = moved < params_.tol * params_.tol)) break;
    }
    n_iter_ = is_still ? n_iter_ : std::max<std::int64_t>(0, params_.max_iter - 1);
    if (!is_still)
      ctx.warn(
          fmt::format("{}: the median did not come to rest within max_iter = {} iterations", kName, params_.max_iter));
  }
  intercept_ = params_.fit_intercept ? middle[0] : 0.0;
  coef_.assign(middle.begin() + (params_.fit_intercept ? 1 : 0), middle.end());
}

template <class T>
std::vector<double> TheilSenRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
schema::ValueMap TheilSenRegressor<T>::attributes() const {
  return {{"breakdown_", breakdown_},
          {"coef_", coef_},
          {"intercept_", intercept_},
          {"n_iter_", n_iter_},
          {"n_subpopulation_", n_subpopulation_}};
}

template <class T>
void TheilSenRegressor<T>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.field("breakdown", breakdown_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.number("n_subpopulation", n_subpopulation_, 0, kMaxSize);
}

template class TheilSenRegressor<float>;
template class TheilSenRegressor<double>;

}   // namespace kedge::engine
