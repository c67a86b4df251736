// The operations: the formulas of onnxruntime and CatBoost, step by step, each rounded to float32 where the graph
// computes in it.
#include "engine/imported/cell_ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "schemas/error.h"

namespace kedge::engine {
namespace {

// A sum, difference, product or quotient of floats in double, rounded once, is the one in float32.
struct Rounding {
  bool is_float32;
  double operator()(double value) const { return is_float32 ? static_cast<double>(static_cast<float>(value)) : value; }
};

double logistic(double value, bool is_float32) {
  if (!is_float32) return 1.0 / (1.0 + std::exp(-value));   // CatBoost's
  const auto x = static_cast<float>(value);
  const float large = 1.0F / (1.0F + std::exp(-std::abs(x)));
  return static_cast<double>(x < 0 ? 1.0F - large : large);
}

// The root of 2 times the inverse of erf, by Winitzki's approximation.
float probit(float share) {
  const float x = 2 * share - 1, log = std::log((1 - x) * (1 + x));
  const float half = 2 / (3.14159F * 0.147F) + 0.5F * log;
  return (x < 0 ? -1.0F : 1.0F) * 1.41421356F * std::sqrt(std::sqrt(half * half - log / 0.147F) - half);
}

// Of one row's scores, in place.
template <class T>
void softmax(std::vector<double>& row, bool keeps_zeros) {
  constexpr T kZero = T{1e-7F};
  std::vector<T> scores(row.begin(), row.end());
  const T most = *std::ranges::max_element(scores);
  T sum = 0;
  for (T& score : scores) {
    if (!keeps_zeros || score > kZero || score < -kZero) score = std::exp(score - most), sum += score;
    else score *= std::exp(-most);
  }
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = static_cast<double>(scores[k] / sum);
}

double norm_of(CellCode code, const std::vector<double>& row) {
  double norm = code == CellCode::kNormMax ? row[0] : 0;
  for (const double value : row) {
    if (code == CellCode::kNormMax) norm = std::max(norm, value);
    else norm += code == CellCode::kNormL1 ? std::abs(value) : value * value;
  }
  return code == CellCode::kNormL2 ? std::sqrt(norm) : norm;
}

void run_row(const CellOp& op, std::vector<double>& row) {
  if (op.code == CellCode::kSoftmax || op.code == CellCode::kSoftmaxZero) {
    const bool keeps_zeros = op.code == CellCode::kSoftmaxZero;
    return op.is_float32 ? softmax<float>(row, keeps_zeros) : softmax<double>(row, keeps_zeros);
  }
  const Rounding rounded{op.is_float32};
  const double norm = norm_of(op.code, row);
  for (double& value : row) value = norm == 0 ? value : rounded(value / norm);
}

// What needs all inputs of a row.
void run_rows(const CellOp& op, CellBlock& block, std::int64_t out) {
  const auto n = static_cast<std::int64_t>(op.inputs.size());
  std::vector<double> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < block.n_rows; ++i) {
    for (std::int64_t j = 0; j < n; ++j) row[j] = block.column(op.inputs[j])[i];
    if (op.code == CellCode::kFirstLargest) {
      std::size_t most = 0;
      for (std::size_t j = 1; j < row.size(); ++j)
        if (row[j] > row[most]) most = j;
      block.column(out)[i] = static_cast<double>(most);
      continue;
    }
    run_row(op, row);
    for (std::int64_t j = 0; j < n; ++j) block.column(out + j)[i] = row[j];
  }
}

// Sums in double, in the order of the columns.
void run_dot(const CellOp& op, CellBlock& block, std::int64_t out) {
  const std::size_t n = op.inputs.size();
  const Rounding rounded{op.is_float32};
  for (std::size_t k = 0; k < op.numbers.size() / (n + 1); ++k) {
    const double* const factors = op.numbers.data() + k * (n + 1);
    double* const sums = block.column(out + static_cast<std::int64_t>(k));
    std::fill(sums, sums + block.n_rows, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      const double* const cells = block.column(op.inputs[j]);
      for (std::int64_t i = 0; i < block.n_rows; ++i) sums[i] += cells[i] * factors[j];
    }
    for (std::int64_t i = 0; i < block.n_rows; ++i) sums[i] = rounded(sums[i] + factors[n]);
  }
}

void require_known(const CellOp& op, CellBlock& block) {
  const double* const cells = block.column(op.inputs[0]);
  for (std::int64_t i = 0; i < block.n_rows; ++i)
    if (std::ranges::find(op.numbers, cells[i]) == op.numbers.end())
      throw schema::Error(schema::ErrorCode::kBadData,
                          fmt::format("a cell is missing or has a category that the model's OneHotEncoder does not "
                                      "know (column {} of its graph)",
                                      op.inputs[0]));
}

double mapped(const std::vector<double>& numbers, double key) {
  const std::size_t n = numbers.size() / 2;
  for (std::size_t k = 1; k <= n; ++k)
    if (numbers[k] == key || (std::isnan(numbers[k]) && std::isnan(key))) return numbers[n + k];
  return numbers[0];
}

double value_of(const CellOp& op, std::size_t j, double value, const Rounding& rounded) {
  const std::vector<double>& numbers = op.numbers;
  switch (op.code) {
    case CellCode::kRound:
      return static_cast<double>(static_cast<float>(value));
    case CellCode::kTruncate:
      return std::trunc(value);
    case CellCode::kAdd:
      return rounded(value + numbers[j]);
    case CellCode::kSubtract:
      return rounded(value - numbers[j]);
    case CellCode::kMultiply:
      return rounded(value * numbers[j]);
    case CellCode::kDivide:
      return rounded(value / numbers[j]);
    case CellCode::kScale:
      return rounded(rounded(value - numbers[j]) * numbers[op.inputs.size() + j]);
    case CellCode::kExp:
      return op.is_float32 ? static_cast<double>(std::exp(static_cast<float>(value))) : std::exp(value);
    case CellCode::kReplace:
      return value == numbers[0] || (std::isnan(numbers[0]) && std::isnan(value)) ? numbers[j + 1] : value;
    case CellCode::kMap:
      return mapped(numbers, value);
    case CellCode::kLogistic:
      return logistic(value, op.is_float32);
    case CellCode::kProbit:
      return static_cast<double>(probit(static_cast<float>(value)));
    default:
      return value > numbers[0] ? 1 : 0;   // kAbove
  }
}

}   // namespace

void run_cells(const CellOp& op, CellBlock& block, std::int64_t out) {
  switch (op.code) {
    case CellCode::kNormMax:
    case CellCode::kNormL1:
    case CellCode::kNormL2:
    case CellCode::kSoftmax:
    case CellCode::kSoftmaxZero:
    case CellCode::kFirstLargest:
      return run_rows(op, block, out);
    case CellCode::kDot:
      return run_dot(op, block, out);
    case CellCode::kMustBe:
      return require_known(op, block);
    case CellCode::kIs:
      for (std::size_t k = 0; k < op.numbers.size(); ++k) {
        const double* const cells = block.column(op.inputs[0]);
        double* const is = block.column(out + static_cast<std::int64_t>(k));
        for (std::int64_t i = 0; i < block.n_rows; ++i) is[i] = cells[i] == op.numbers[k] ? 1 : 0;
      }
      return;
    default:
      break;
  }
  const Rounding rounded{op.is_float32};
  for (std::size_t j = 0; j < op.inputs.size(); ++j) {
    const double* const cells = block.column(op.inputs[j]);
    double* const values = block.column(out + static_cast<std::int64_t>(j));
    for (std::int64_t i = 0; i < block.n_rows; ++i) values[i] = value_of(op, j, cells[i], rounded);
  }
}

}   // namespace kedge::engine
