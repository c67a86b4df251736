// Walks the tree of a formula; each node is one op, or a few where no op is the function.
#include "engine/estimators/preprocessing/formula_run.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <span>

namespace kedge::engine {
namespace {

using F = FormulaFunction;
using Kind = FormulaNode::Kind;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostWhole = 64;   // powers up to it are products

template <class T>
MatrixView<const T> read(Cells<T>& cells) {
  return cells.view();
}

}   // namespace

template <class T>
Cells<T> FormulaRun<T>::of_each_cell(MatrixView<const T> X) {
  X_ = X, places_ = nullptr;
  return run(static_cast<std::int32_t>(formula_.nodes.size()) - 1);
}

template <class T>
Cells<T> FormulaRun<T>::of_columns(MatrixView<const T> X, const std::vector<std::int32_t>& places) {
  X_ = X, places_ = &places;
  return run(static_cast<std::int32_t>(formula_.nodes.size()) - 1);
}

template <class T>
Cells<T> FormulaRun<T>::column(std::int32_t place) {
  const std::int64_t cols = places_ ? 1 : X_.cols;
  Cells<T> cells(ctx_.memory(), X_.rows * cols);
  MatrixView<const T> from = X_;
  if (places_) {
    from = X_.last_columns(X_.cols - (*places_)[static_cast<std::size_t>(place)]);
    from.cols = 1;
  }
  ctx_.ops<T>().tables->gather(from, {}, {}, {}, cells.as_rows(cols));
  return cells;
}

template <class T>
Cells<T> FormulaRun<T>::run(std::int32_t at) {
  const FormulaNode& node = formula_.nodes[static_cast<std::size_t>(at)];
  if (node.kind == Kind::kColumn) return column(node.column);
  const FormulaNode& left = formula_.nodes[static_cast<std::size_t>(node.left)];
  if (node.right < 0) {
    Cells<T> x = run(node.left);
    one(node.function, x);
    return x;
  }
  const FormulaNode& right = formula_.nodes[static_cast<std::size_t>(node.right)];
  if (left.kind == Kind::kNumber) {
    Cells<T> x = run(node.right);
    of_number(node.function, left.number, x);
    return x;
  }
  Cells<T> x = run(node.left);
  if (right.kind == Kind::kNumber) {
    to_number(node.function, right.number, x);
  } else {
    Cells<T> y = run(node.right);
    both(node.function, x, y);
  }
  return x;
}

template <class T>
Cells<T> FormulaRun<T>::copy(Cells<T>& cells) const {
  Cells<T> same(ctx_.memory(), cells.size());
  ctx_.ops<T>().tables->gather(read(cells), {}, {}, {}, same.view());
  return same;
}

template <class T>
Matrix<T> FormulaRun<T>::single(double number) const {
  const T cell = static_cast<T>(number);
  return Matrix<T>(ctx_.memory(), 1, 1, std::span(&cell, 1));
}

template <class T>
Cells<T> FormulaRun<T>::full_of(double number, Cells<T>& like) const {
  Cells<T> full = copy(like);
  map(ColumnMap::kAbove, kInfinity, full);
  with(Binary::kAdd, number, full);
  return full;
}

template <class T>
void FormulaRun<T>::map(Unary f, double scale, Cells<T>& x) const {
  ctx_.ops<T>().maps->map(f, scale, read(x), x.view());
}

template <class T>
void FormulaRun<T>::map(ColumnMap f, double a, Cells<T>& x) const {
  const Array<double> bounds(ctx_.memory(), std::vector<double>(static_cast<std::size_t>(Cells<T>::kWidth), a));
  ctx_.ops<T>().maps->map_columns(f, bounds.view(), {}, read(x), x.view());
}

template <class T>
void FormulaRun<T>::with(Binary f, double number, Cells<T>& x) const {
  const Matrix<T> cell = single(number);
  ctx_.ops<T>().maps->combine(f, read(x), cell.view(), x.view());
}

template <class T>
void FormulaRun<T>::with(Binary f, Cells<T>& x, Cells<T>& y) const {
  ctx_.ops<T>().maps->combine(f, read(x), read(y), x.view());
}

// log1p(max(x, 0)) + log1p(m), m = min(x, 0): of u = 1 + m, log(u) + (m - (u - 1)) / u, which puts back what 1 + m has
// rounded.
template <class T>
void FormulaRun<T>::log1p(Cells<T>& x) const {
  Cells<T> m = copy(x);
  with(Binary::kMaximum, 0, x);
  map(ColumnMap::kSignedLog, 0, x);
  with(Binary::kMinimum, 0, m);
  Cells<T> u = copy(m);
  with(Binary::kAdd, 1, u);
  Cells<T> log = copy(u);
  map(Unary::kLog, 1, log);
  with(Binary::kAdd, x, log);
  Cells<T> rounded = copy(u);
  with(Binary::kSubtract, 1, rounded);
  with(Binary::kSubtract, m, rounded);
  with(Binary::kMaximum, static_cast<double>(std::numeric_limits<T>::min()), u);   // 0 / 0 at -1
  with(Binary::kDivide, m, u);
  with(Binary::kAdd, x, m);
}

template <class T>
void FormulaRun<T>::sign(Cells<T>& x) const {
  Cells<T> below = copy(x);
  with(Binary::kMultiply, -1, below);
  map(ColumnMap::kAbove, 0, below), map(ColumnMap::kAbove, 0, x);
  with(Binary::kSubtract, x, below);
}

template <class T>
void FormulaRun<T>::one(FormulaFunction f, Cells<T>& x) const {
  switch (f) {
    case F::kLog:
      return map(Unary::kLog, 1, x);
    case F::kLog2:
      return map(Unary::kLog, 1, x), with(Binary::kDivide, std::numbers::ln2, x);
    case F::kLog10:
      return map(Unary::kLog, 1, x), with(Binary::kDivide, std::numbers::ln10, x);
    case F::kLog1p:
      return log1p(x);
    case F::kExp:
      return map(Unary::kExp, 1, x);
    case F::kExp2:
      return map(Unary::kExp, std::numbers::ln2, x);
    case F::kExpm1:
      return map(ColumnMap::kBoxCoxOfLog, 1, x);   // expm1(a x) / a
    case F::kSqrt:
      return map(Unary::kSqrt, 1, x);
    case F::kSquare:
      return map(Unary::kSquare, 1, x);
    case F::kAbs:
      return map(Unary::kAbs, 1, x);
    case F::kReciprocal:
      return of_number(F::kDivide, 1, x);
    case F::kNegative:
      return with(Binary::kMultiply, -1, x);
    case F::kSign:
      return sign(x);
    case F::kTanh:
      return map(Unary::kTanh, 1, x);
    default:
      return map(Unary::kLogistic, 1, x);
  }
}

template <class T>
void FormulaRun<T>::whole_power(std::int64_t exponent, Cells<T>& x) const {
  if (exponent == 0) {
    x = full_of(1, x);
    return;
  }
  Cells<T> square = copy(x);
  bool is_first = true;
  for (std::int64_t left = exponent; left > 0; left /= 2) {
    if (left % 2 == 1) {
      if (is_first) x = copy(square), is_first = false;
      else with(Binary::kMultiply, x, square);
    }
    if (left > 1) map(Unary::kSquare, 1, square);
  }
}

template <class T>
void FormulaRun<T>::power(double exponent, Cells<T>& x) const {
  const double size = std::abs(exponent);
  if (exponent == 0.5) return map(Unary::kSqrt, 1, x);
  if (size == std::floor(size) && size <= kMostWhole) {
    whole_power(static_cast<std::int64_t>(size), x);
    if (exponent < 0) of_number(F::kDivide, 1, x);
    return;
  }
  map(Unary::kLog, 1, x);
  map(Unary::kExp, exponent, x);
}

// x > 0, x >= 0, x < 0, x <= 0, of a difference, which has the sign of the comparison to the bit.
template <class T>
void FormulaRun<T>::compare(FormulaFunction f, Cells<T>& x) const {
  const bool is_of_negative = f == F::kLess || f == F::kGreaterEqual,
             is_not = f == F::kGreaterEqual || f == F::kLessEqual;
  if (is_of_negative) with(Binary::kMultiply, -1, x);
  map(ColumnMap::kAbove, 0, x);
  if (is_not) with(Binary::kMultiply, -1, x), with(Binary::kAdd, 1, x);
}

template <class T>
void FormulaRun<T>::of_number(FormulaFunction f, double left, Cells<T>& x) const {
  switch (f) {
    case F::kAdd:
    case F::kMultiply:
    case F::kMinimum:
    case F::kMaximum:
      return to_number(f, left, x);
    case F::kSubtract:
      return with(Binary::kMultiply, -1, x), with(Binary::kAdd, left, x);
    case F::kPower:
      return map(Unary::kExp, std::log(left), x);
    case F::kDivide: {
      Cells<T> full = full_of(left, x);
      with(Binary::kDivide, full, x);
      x = std::move(full);
      return;
    }
    default: {
      with(Binary::kMultiply, -1, x), with(Binary::kAdd, left, x);
      return compare(f, x);
    }
  }
}

template <class T>
void FormulaRun<T>::to_number(FormulaFunction f, double right, Cells<T>& x) const {
  switch (f) {
    case F::kAdd:
      return with(Binary::kAdd, right, x);
    case F::kSubtract:
      return with(Binary::kSubtract, right, x);
    case F::kMultiply:
      return with(Binary::kMultiply, right, x);
    case F::kDivide:
      return with(Binary::kDivide, right, x);
    case F::kMinimum:
      return with(Binary::kMinimum, right, x);
    case F::kMaximum:
      return with(Binary::kMaximum, right, x);
    case F::kPower:
      return power(right, x);
    default:
      return with(Binary::kSubtract, right, x), compare(f, x);
  }
}

template <class T>
void FormulaRun<T>::both(FormulaFunction f, Cells<T>& x, Cells<T>& y) const {
  switch (f) {
    case F::kAdd:
      return with(Binary::kAdd, x, y);
    case F::kSubtract:
      return with(Binary::kSubtract, x, y);
    case F::kMultiply:
      return with(Binary::kMultiply, x, y);
    case F::kDivide:
      return with(Binary::kDivide, x, y);
    case F::kMinimum:
      return with(Binary::kMinimum, x, y);
    case F::kMaximum:
      return with(Binary::kMaximum, x, y);
    case F::kPower:
      return map(Unary::kLog, 1, x), with(Binary::kMultiply, x, y), map(Unary::kExp, 1, x);
    default:
      return with(Binary::kSubtract, x, y), compare(f, x);
  }
}

template class FormulaRun<float>;
template class FormulaRun<double>;

}   // namespace kedge::engine
