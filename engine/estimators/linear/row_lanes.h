// A number for each row, kept as a matrix of lanes, so that maps of elements suit a processor and a GPU alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

inline constexpr std::int64_t kLane = 256;   // numbers of a lane; blocks of rows begin at multiples of it

// As many doubles as there are rows, on the device, filled up to whole lanes.
class RowLanes {
 public:
  RowLanes() = default;
  RowLanes(const Context& ctx, std::int64_t n_rows, double filling)
      : n_rows_(n_rows), values_(ctx.memory(), lanes_of(n_rows), kLane) {
    std::vector<double> one(static_cast<std::size_t>(values_.rows() * kLane), filling);
    upload(ctx, one);
  }
  RowLanes(const Context& ctx, std::vector<double> rows, double filling)
      : n_rows_(static_cast<std::int64_t>(rows.size())), values_(ctx.memory(), lanes_of(n_rows_), kLane) {
    rows.resize(static_cast<std::size_t>(values_.rows() * kLane), filling);
    upload(ctx, rows);
  }

  std::int64_t n_rows() const { return n_rows_; }
  // Whole lanes from row `first`, a multiple of kLane, for `count` rows.
  MatrixView<double> lanes(std::int64_t first, std::int64_t count) {
    return {values_.data() + first, lanes_of(count), kLane};
  }
  // The rows alone, as one column.
  MatrixView<double> column(std::int64_t first, std::int64_t count) { return {values_.data() + first, count, 1}; }
  VectorView<const double> view() const { return {values_.data(), n_rows_}; }

 private:
  static std::int64_t lanes_of(std::int64_t n) { return std::max<std::int64_t>((n + kLane - 1) / kLane, 1); }
  void upload(const Context& ctx, const std::vector<double>& all) {
    ctx.memory().to_device(values_.data(), all.data(), all.size() * sizeof(double));
  }

  std::int64_t n_rows_ = 0;
  Matrix<double> values_;
};

// Arithmetic on lanes; `out` may be an operand. A 1 x 1 operand counts for all.
class LaneMath {
 public:
  explicit LaneMath(const Context& ctx) : maps_(*ctx.ops<double>().maps) {}
  using In = MatrixView<const double>;
  using Out = MatrixView<double>;

  void exp(double scale, In x, Out out) const { maps_.map(Unary::kExp, scale, x, out); }
  void log(In x, Out out) const { maps_.map(Unary::kLog, 1, x, out); }
  void abs(In x, Out out) const { maps_.map(Unary::kAbs, 1, x, out); }
  void square(In x, Out out) const { maps_.map(Unary::kSquare, 1, x, out); }
  void sqrt(In x, Out out) const { maps_.map(Unary::kSqrt, 1, x, out); }
  void add(In x, In y, Out out) const { maps_.combine(Binary::kAdd, x, y, out); }
  void subtract(In x, In y, Out out) const { maps_.combine(Binary::kSubtract, x, y, out); }
  void multiply(In x, In y, Out out) const { maps_.combine(Binary::kMultiply, x, y, out); }
  void divide(In x, In y, Out out) const { maps_.combine(Binary::kDivide, x, y, out); }
  void least(In x, In y, Out out) const { maps_.combine(Binary::kMinimum, x, y, out); }
  // 1 where x is above its column's threshold (kLane of them), otherwise 0.
  void above(In x, VectorView<const double> thresholds, Out out) const {
    maps_.map_columns(ColumnMap::kAbove, thresholds, {}, x, out);
  }
  void most(In x, In y, Out out) const { maps_.combine(Binary::kMaximum, x, y, out); }

 private:
  MapOps<double>& maps_;
};

// Numbers on the device, each as an operand for all elements.
class LaneConstants {
 public:
  LaneConstants() = default;
  LaneConstants(const Context& ctx, const std::vector<double>& values)
      : values_(ctx.memory(), std::span<const double>(values)) {}
  MatrixView<const double> operator[](std::int64_t i) const { return {values_.data() + i, 1, 1}; }
  VectorView<const double> slice(std::int64_t first, std::int64_t count) const {
    return values_.view().slice(first, count);
  }

 private:
  Array<double> values_;
};

}   // namespace kedge::engine
