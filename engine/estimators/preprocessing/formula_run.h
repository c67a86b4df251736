// Computes formulas on a device, block after block of rows, with the ops on whole arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/array.h"
#include "engine/core/context.h"
#include "engine/estimators/preprocessing/formula.h"

namespace kedge::engine {

// Cells in one row of memory behind each other, as ops take them: `size` of them, filled up to whole rows of kWidth.
template <class T>
class Cells {
 public:
  static constexpr std::int64_t kWidth = 256;
  Cells() = default;
  Cells(Memory& memory, std::int64_t size) : values_(memory, (size + kWidth - 1) / kWidth, kWidth), size_(size) {}
  MatrixView<T> view() { return values_.view(); }
  std::int64_t size() const { return size_; }
  // The first of them as rows of `cols`, which divide the size.
  MatrixView<T> as_rows(std::int64_t cols) { return {values_.data(), size_ / cols, cols}; }

 private:
  Matrix<T> values_;
  std::int64_t size_ = 0;
};

// Borrows the context and the formula. Each operation rounds to T, as numpy's do; NaN stays NaN, and what has no value
// (the logarithm of a negative number) becomes it.
template <class T>
class FormulaRun {
 public:
  FormulaRun(const Context& ctx, const Formula& formula) : ctx_(ctx), formula_(formula) {}

  // The formula of one variable, each cell of X for itself.
  Cells<T> of_each_cell(MatrixView<const T> X);
  // places[c]: the column of X that the formula's column c is. One value a row.
  Cells<T> of_columns(MatrixView<const T> X, const std::vector<std::int32_t>& places);

 private:
  Cells<T> run(std::int32_t at);
  Cells<T> column(std::int32_t place);
  Cells<T> copy(Cells<T>& cells) const;
  Cells<T> full_of(double number, Cells<T>& like) const;   // NaN where that is
  Matrix<T> single(double number) const;

  void map(Unary f, double scale, Cells<T>& x) const;
  void map(ColumnMap f, double a, Cells<T>& x) const;
  void with(Binary f, double number, Cells<T>& x) const;
  void with(Binary f, Cells<T>& x, Cells<T>& y) const;   // into x
  void one(FormulaFunction f, Cells<T>& x) const;
  void log1p(Cells<T>& x) const;
  void sign(Cells<T>& x) const;
  void power(double exponent, Cells<T>& x) const;
  void whole_power(std::int64_t exponent, Cells<T>& x) const;
  void compare(FormulaFunction f, Cells<T>& x) const;   // with 0
  void of_number(FormulaFunction f, double left, Cells<T>& x) const;
  void to_number(FormulaFunction f, double right, Cells<T>& x) const;
  void both(FormulaFunction f, Cells<T>& x, Cells<T>& y) const;

  const Context& ctx_;
  const Formula& formula_;
  MatrixView<const T> X_;
  const std::vector<std::int32_t>* places_ = nullptr;   // null: each cell is the variable
};

}   // namespace kedge::engine
