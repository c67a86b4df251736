// Magnitudes of columns and targets compared with the bounds of a number format.
#include "engine/estimators/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

// Of the largest magnitude: above `most`, the sum of `terms` squares may overflow; below `least`, squares lose digits.
struct SquareBounds {
  double least, most;
};

template <class F>
SquareBounds bounds_of(double terms) {
  using Limits = std::numeric_limits<F>;
  return {16 * std::sqrt(static_cast<double>(Limits::min())),
          std::sqrt(static_cast<double>(Limits::max()) / std::max(terms, 1.0))};
}

bool is_small(const SquareBounds& bounds, double magnitude) {
  return magnitude > 0 && magnitude < bounds.least;
}
bool is_large(const SquareBounds& bounds, double magnitude) {
  return magnitude > bounds.most && std::isfinite(magnitude);
}

// The factor for this magnitude: 1 within the bounds.
double factor_within(const SquareBounds& bounds, double magnitude) {
  return is_small(bounds, magnitude) || is_large(bounds, magnitude) ? near_one(magnitude) : 1.0;
}

// The largest magnitude of each column; 0 where all is missing.
template <class T>
std::vector<double> magnitudes(const Context& ctx, const Samples<T>& X) {
  const Ranges ranges = table_ranges(ctx, X);
  std::vector<double> result;
  for (std::size_t j = 0; j < ranges.minimum.size(); ++j)
    result.push_back(std::fmax(0.0, std::fmax(std::abs(ranges.minimum[j]), std::abs(ranges.maximum[j]))));
  return result;
}

template <class T>
double cells(const Samples<T>& X) {
  return static_cast<double>(X.n_rows()) * static_cast<double>(X.n_cols());
}

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

[[noreturn]] void refuse_values(std::string_view owner, const std::string& what, double magnitude, const char* fault,
                                bool is_float32) {
  throw schema::Error{
      schema::ErrorCode::kBadData,
      fmt::format("{}: {} has values up to {:.3g}, whose squares are too {} for {}; scale it first{}", owner, what,
                  magnitude, fault, is_float32 ? "float32" : "float64", is_float32 ? ", or use float64" : ""),
      ""};
}

template <class T>
void require_columns(const Context& ctx, std::string_view owner, const Samples<T>& X, Squares squares) {
  constexpr bool kIsFloat32 = std::is_same_v<T, float>;
  const bool is_table = squares == Squares::kRows || squares == Squares::kProducts;
  if (kIsFloat32 && !is_table) return;   // the square of any float is a double
  const SquareBounds bounds = is_table ? bounds_of<T>(squares == Squares::kRows ? 4 * static_cast<double>(X.n_cols()) : cells(X))
                                 : bounds_of<double>(cells(X));
  const std::vector<double> size = magnitudes(ctx, X);
  const auto largest = std::ranges::max_element(size) - size.begin();
  for (std::size_t j = 0; j < size.size(); ++j) {
    const auto column = static_cast<std::int64_t>(j);
    const bool matters = squares == Squares::kEachColumn || (is_table && column == largest);
    const bool small = matters && is_small(bounds, size[j]);
    if (small || is_large(bounds, size[j]))
      refuse_values(owner, "column " + X.table->column_label(column), size[j], small ? "small" : "large",
                    kIsFloat32 && is_table);
  }
}

}   // namespace

double near_one(double value) {
  return std::ldexp(1.0, std::clamp(-std::ilogb(value), -1000, 1000));
}

template <class T>
double table_factor(const Context& ctx, const Samples<T>& X) {
  return factor_within(bounds_of<T>(cells(X)), largest_of(magnitudes(ctx, X)));
}

// The largest magnitude is at least the root of the mean square, and at most that of the sum.
template <class T>
bool needs_no_factor(const Samples<T>& X, double squares) {
  constexpr double kDoubt = 2;
  const SquareBounds bounds = bounds_of<T>(cells(X));
  return std::sqrt(squares / kDoubt / cells(X)) >= bounds.least && std::sqrt(squares * kDoubt) <= bounds.most;
}

template <class T>
std::vector<double> column_factors(const Context& ctx, const Samples<T>& X) {
  const SquareBounds bounds = bounds_of<double>(cells(X));
  std::vector<double> factors;
  for (const double size : magnitudes(ctx, X)) factors.push_back(factor_within(bounds, size));
  if (std::ranges::all_of(factors, [](double f) { return f == 1; })) factors.clear();
  return factors;
}

double value_factor(const Context& ctx, const Target& y) {
  return factor_within(bounds_of<double>(static_cast<double>(y.values.size())), y.largest_value(ctx));
}

template <class T>
Samples<T> multiplied(const Context& ctx, const Samples<T>& X, const std::vector<double>& factors) {
  Matrix<T> copy;
  X.then(std::vector<double>(factors.size(), 0.0), factors).values(ctx, copy);
  Samples<T> result = samples_of(std::move(copy), X.table->features);
  result.table->is_finite = X.table->is_finite;
  return result;
}

template <class T>
void require_magnitudes(const Context& ctx, std::string_view owner, const Estimator<T>& estimator, const Samples<T>& X,
                        const Target& y) {
  if (X.n_rows() == 0 || X.n_cols() == 0) return;
  if (const Squares squares = estimator.squares(); squares != Squares::kNone) require_columns(ctx, owner, X, squares);
  if (!estimator.squares_target()) return;
  const SquareBounds bounds = bounds_of<double>(static_cast<double>(y.values.size()));
  const double size = y.largest_value(ctx);
  if (is_small(bounds, size)) refuse_values(owner, "the target", size, "small", false);
  if (is_large(bounds, size)) refuse_values(owner, "the target", size, "large", false);
}

template double table_factor(const Context&, const Samples<float>&);
template double table_factor(const Context&, const Samples<double>&);
template bool needs_no_factor(const Samples<float>&, double);
template bool needs_no_factor(const Samples<double>&, double);
template std::vector<double> column_factors(const Context&, const Samples<float>&);
template std::vector<double> column_factors(const Context&, const Samples<double>&);
template Samples<float> multiplied(const Context&, const Samples<float>&, const std::vector<double>&);
template Samples<double> multiplied(const Context&, const Samples<double>&, const std::vector<double>&);
template void require_magnitudes(const Context&, std::string_view, const Estimator<float>&, const Samples<float>&,
                                 const Target&);
template void require_magnitudes(const Context&, std::string_view, const Estimator<double>&, const Samples<double>&,
                                 const Target&);

}   // namespace kedge::engine
