// Sorts the columns and codes those of few values.
#include "engine/estimators/boosting/stage_columns.h"

#include <algorithm>

namespace kedge::engine {
namespace {

using Cell = StageColumns::Cell;

constexpr std::int64_t kRowsOfCode = 8;   // that a coded column has for each of its values, at least

// Its values in ascending order; none where it is to be listed.
std::vector<float> codable_values(std::span<const Cell> cells) {
  std::vector<float> values{cells[0].value};
  const auto most = static_cast<std::size_t>(
      std::min(StageColumns::kMostCodes, static_cast<std::int64_t>(cells.size()) / kRowsOfCode));
  for (const Cell& cell : cells) {
    if (cell.value == values.back()) continue;
    if (cell.value <= values.back() + kSameValue || values.size() >= most) return {};
    values.push_back(cell.value);
  }
  return values;
}

}   // namespace

StageColumns::StageColumns(std::span<const float> of_rows, std::int64_t rows, std::int64_t cols, StepTeam* team)
    : n_rows(rows), n_cols(cols), sorted(static_cast<std::size_t>(rows * cols)) {
  std::vector<std::vector<float>> of_codes(static_cast<std::size_t>(cols));
  const auto cells_of = [&](std::int64_t col) {
    return std::span<Cell>(sorted).subspan(static_cast<std::size_t>(col * rows), static_cast<std::size_t>(rows));
  };
  in_pieces(team, cols, [&](std::int64_t col, int) {
    const std::span<Cell> cells = cells_of(col);
    for (std::int64_t i = 0; i < rows; ++i)
      cells[static_cast<std::size_t>(i)] = {of_rows[static_cast<std::size_t>(i * cols + col)],
                                            static_cast<std::uint32_t>(i)};
    std::ranges::sort(
        cells, [](const Cell& a, const Cell& b) { return a.value != b.value ? a.value < b.value : a.row < b.row; });
    of_codes[static_cast<std::size_t>(col)] = codable_values(cells);
  });
  first.push_back(0);
  for (const std::vector<float>& own : of_codes) {
    coded.push_back(own.empty() ? -1 : static_cast<std::int32_t>(n_coded++));
    listed.push_back(own.empty() ? static_cast<std::int32_t>(n_listed++) : -1);
    values.insert(values.end(), own.begin(), own.end());
    if (!own.empty()) first.push_back(static_cast<std::int64_t>(values.size()));
  }
  words = (n_coded + 7) / 8;
  codes.resize(static_cast<std::size_t>(rows * words));
  for (std::int64_t col = 0; col < cols; ++col) {
    const auto at = static_cast<std::size_t>(col);
    const std::span<const Cell> cells = cells_of(col);
    if (listed[at] >= 0) {   // no further to the right than it was
      if (listed[at] < col) std::ranges::copy(cells, cells_of(listed[at]).begin());
      continue;
    }
    std::size_t code = 0;
    for (const Cell& cell : cells) {
      if (cell.value != of_codes[at][code]) ++code;
      reinterpret_cast<std::uint8_t*>(codes.data() + cell.row * words)[coded[at]] = static_cast<std::uint8_t>(code);
    }
  }
  sorted.resize(static_cast<std::size_t>(n_listed * rows));
  sorted.shrink_to_fit();
}

}   // namespace kedge::engine
