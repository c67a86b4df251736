// What a parity check is given: a device, a shape, tables of test numbers, and comparison with a plain double reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/rng.h"
#include "tests/parity/cases.h"
#include "tests/parity/expect.h"

namespace kedge::parity {

using engine::Array;
using engine::Matrix;
using engine::MatrixView;
using engine::VectorView;

// A table on the host in double, every value exact in float.
struct Table {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> values;
  Table(std::int64_t rows, std::int64_t cols) : rows(rows), cols(cols), values(static_cast<std::size_t>(rows * cols)) {}
  double& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * cols + j)]; }
  double at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * cols + j)]; }
};

constexpr std::int64_t kPadding = 3;      // elements between rows: ops must honour the stride
constexpr double kUntouched = -12345;     // what is there before, and must stay

// A matrix on the device with padding between its rows.
template <class T>
class Padded {
 public:
  Padded(engine::Memory& memory, const Table& table) : Padded(memory, table.rows, table.cols) {
    std::vector<T> host(static_cast<std::size_t>(rows_ * stride()), static_cast<T>(kUntouched));
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < cols_; ++j) host[static_cast<std::size_t>(i * stride() + j)] = static_cast<T>(table.at(i, j));
    }
    if (!host.empty()) memory.to_device(values_.data(), host.data(), host.size() * sizeof(T));
  }
  Padded(engine::Memory& memory, std::int64_t rows, std::int64_t cols)
      : values_(memory, std::vector<T>(static_cast<std::size_t>(rows * (cols + kPadding)), static_cast<T>(kUntouched))), rows_(rows), cols_(cols) {}
  MatrixView<T> view() { return {values_.data(), rows_, cols_, stride()}; }
  MatrixView<const T> view() const { return {values_.data(), rows_, cols_, stride()}; }
  Table to_table() const {
    const auto host = values_.to_host();
    Table table(rows_, cols_);
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < stride(); ++j) {
        const double value = static_cast<double>(host[static_cast<std::size_t>(i * stride() + j)]);
        if (j < cols_) table.at(i, j) = value;
        else EXPECT_EQ(value, kUntouched) << "padding of row " << i << " was written";
      }
    }
    return table;
  }

 private:
  std::int64_t stride() const { return cols_ + kPadding; }
  Array<T> values_;
  std::int64_t rows_, cols_;
};

template <class T>
class Probe {
 public:
  // `launches` may be empty: which kernels run is then not asked.
  Probe(engine::Device& device, Shape shape, double tolerance, const LaunchWatch& launches)
      : device_(device), shape_(shape), tolerance_(tolerance), launches_(launches) {}

  engine::Memory& memory() { return device_.memory(); }
  engine::Backend<T>& ops() { return device_.ops<T>(); }
  engine::TreeOps& trees() { return device_.trees(); }
  std::unique_ptr<Launches> watch_launches() const {
    return launches_ ? launches_() : nullptr;
  }   // null: cannot be seen
  const Shape& shape() const { return shape_; }

  // Numbers around 0 with many ties (multiples of 1/8), then shifted; or small integers.
  Table numbers(std::int64_t rows, std::int64_t cols, std::uint64_t stream, double offset = 0) {
    Table table(rows, cols);
    engine::PhiloxStream random(1234, stream);
    for (double& v : table.values) v = offset + (static_cast<double>(random.below(129)) - 64) / 8;
    return table;
  }
  std::vector<std::int32_t> codes(std::int64_t n, int bound, std::uint64_t stream) {
    std::vector<std::int32_t> codes(static_cast<std::size_t>(n));
    engine::PhiloxStream random(99, stream);
    for (auto& c : codes) c = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(bound)));
    return codes;
  }
  std::vector<double> weights(std::int64_t n) {
    std::vector<double> weights(static_cast<std::size_t>(n));
    engine::PhiloxStream random(5, 5);
    for (double& w : weights) w = 0.25 + random.uniform();
    return weights;
  }

  template <class U>
  Array<U> upload(const std::vector<U>& host) { return Array<U>(memory(), std::span<const U>(host)); }

  // |got - expected| <= tolerance * scale; both NaN also agrees.
  void expect_near(double got, double expected, double scale, const std::string& what) const {
    if (std::isnan(got) && std::isnan(expected)) return;
    if (got == expected) return;
    EXPECT_LE(std::abs(got - expected), tolerance_ * scale) << what << ": got " << got << ", expected " << expected;
  }
  void expect_near(const Table& got, const Table& expected, double scale, const std::string& what) const {
    ASSERT_EQ(got.values.size(), expected.values.size());
    for (std::int64_t i = 0; i < got.rows && !Findings::any(); ++i) {
      for (std::int64_t j = 0; j < got.cols; ++j)
        expect_near(got.at(i, j), expected.at(i, j), scale, what + "[" + std::to_string(i) + ", " + std::to_string(j) + "]");
    }
  }
  template <class U>
  void expect_near(const Array<U>& got, const std::vector<double>& expected, double scale, const std::string& what) const {
    const auto host = got.to_host();
    ASSERT_EQ(host.size(), expected.size());
    for (std::size_t i = 0; i < host.size(); ++i) expect_near(static_cast<double>(host[i]), expected[i], scale, what + "[" + std::to_string(i) + "]");
  }

 private:
  engine::Device& device_;
  Shape shape_;
  double tolerance_;
  const LaunchWatch& launches_;
};

// One op of the table in rows.cc: how to check it, how exactly, at which shapes.
template <class T>
struct Row {
  const char* op;
  double tolerance;
  void (*check)(Probe<T>&);
  std::vector<Shape> shapes;
};

// All rows, by family. A new op is one more row.
template <class T> std::vector<Row<T>> table_rows();
template <class T> std::vector<Row<T>> linear_rows();
template <class T> std::vector<Row<T>> regression_rows();
template <class T> std::vector<Row<T>> row_rows();
template <class T> std::vector<Row<T>> neighbour_rows();
template <class T> std::vector<Row<T>> cluster_rows();
template <class T> std::vector<Row<T>> index_rows();
template <class T> std::vector<Row<T>> category_rows();
template <class T> std::vector<Row<T>> tree_rows();
template <class T> std::vector<Row<T>> column_rows();
template <class T> std::vector<Row<T>> sparse_rows();
template <class T>
std::vector<Row<T>> network_rows();

// Spreads of shapes shared by the rows: empty, one row, one column, off and beyond the tiles.
std::vector<Shape> tall_shapes();
std::vector<Shape> nonempty(std::vector<Shape> shapes);

}  // namespace kedge::parity
