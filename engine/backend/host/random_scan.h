// Random cuts of several columns at once: the columns of a node lie side by side, so that all codes of a row are compared together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace kedge::engine {

// The codes of a node's rows in up to kMost columns, row-major; places beyond the columns hold 0. Reused memory.
class CodeBlock {
 public:
  static constexpr std::int64_t kMost = 64;

  // Column k has code(i, k) in row i.
  template <class Code>
  void fill(std::uint32_t n_rows, std::int64_t n_cols, const Code& code) {
    n_ = n_rows, stride_ = (n_cols + 15) / 16 * 16;
    codes_.assign(static_cast<std::size_t>(n_ * stride_), 0);
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t k = 0; k < n_cols; ++k) codes_[i * stride_ + k] = code(static_cast<std::uint32_t>(i), k);
  }
  std::uint8_t at(std::int64_t row, std::int64_t col) const { return codes_[row * stride_ + col]; }

  // Least and greatest code of each column.
  void ranges(std::uint8_t* least, std::uint8_t* most) const;
  // sums[group[i] * kMost + k] += value[i] for the rows i with a code up to left_bin[k] in column k; without `group`, sums[k].
  void sum_left(const std::uint8_t* left_bin, const std::int64_t* value, const std::int32_t* group, std::int64_t* sums) const;
  // The rows with a code up to left_bin[k].
  void count_left(const std::uint8_t* left_bin, std::int32_t* counts) const;

 private:
  std::int64_t n_ = 0, stride_ = 0;
  std::vector<std::uint8_t> codes_;
};

}  // namespace kedge::engine
